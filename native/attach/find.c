/* Finds the functions of the ggml and llama.cpp that the process has loaded. */
#include "attach_find.h"
#include "attach_layout.h"
#include "attach_opened.h"
#include "ggml_process.h"
#include "tt_record.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct tt_api tt_api;

static pthread_once_t  once = PTHREAD_ONCE_INIT;
static void *          first_theirs; /* the first original that was called: an address in their library */
static _Atomic(void *) last_theirs; /* the last original that was found */

/* A handle of the library that contains an address, or NULL; the caller closes it. Looking up a name by it searches the
   libraries that it depends on too. */
static void * library_of(void * address) {
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static bool is_ours(void * address) {
    Dl_info info, ours;
    return dladdr(address, &info) && dladdr((void *) &tt_api, &ours) && info.dli_fbase == ours.dli_fbase;
}

void * tt_theirs(const char * name, void * caller) {
    void * function = tt_opened(name);

    function = function ? function : tt_find(RTLD_NEXT, name);
    if (!function) { /* the default search leaves out libraries that Python or ggml itself has loaded */
        /* the last call of their function returns to whoever called that: to us, if it was a replaced one */
        void * library = library_of(is_ours(caller) ? last_theirs : caller);
        if (library) {
            function = tt_find(library, name);
            dlclose(library);
        }
    }
    if (!function) {
        fprintf(
            stderr,
            "tensor_trace: %s was called, but no loaded library has it; run this program without attached tracing\n",
            name);
        abort();
    }
    last_theirs = function;
    return function;
}

static void * look_up(void * library, const char * name) {
    void * function = library ? tt_find(library, name) : NULL;
    return function ? function : tt_find(RTLD_DEFAULT, name);
}

static const char * fill_api(void * library) {
    const char * missing = NULL;
#define REQUIRED(result, name, parameters) \
    *(void **) &tt_api.name##_ = look_up(library, #name); \
    missing                    = missing || tt_api.name##_ ? missing : #name;
#define OPTIONAL(result, name, parameters) *(void **) &tt_api.name##_ = look_up(library, #name);
    TT_GGML_FUNCTIONS(REQUIRED)
    TT_GGML_OPTIONAL(OPTIONAL)
    return missing;
}

static void prepare(void) {
    const char * folder  = getenv("TENSOR_TRACE_DIR");
    void *       library = library_of(first_theirs);
    if (folder && *folder) {
        const char * missing = fill_api(library);
        const char * fault   = missing ? NULL : tt_other_layout();
        if (look_up(library, "tensor_trace_start")) {
            fprintf(stderr,
                    "tensor_trace: this llama.cpp has hooks: they record it, not the library that is attached\n");
        } else if (missing) {
            fprintf(stderr, "tensor_trace: nothing is recorded: this ggml has no function %s\n", missing);
        } else if (fault) {
            fprintf(stderr, "tensor_trace: nothing is recorded: %s\n", fault);
        } else {
            tensor_trace_start();
        }
    }
    if (library) {
        dlclose(library);
    }
    if (tensor_trace_on) {
        tt_info(tt_process, "attached", "yes");
    }
}

static void find_llama(void * theirs) {
    static atomic_bool has_llama;
    if (atomic_load_explicit(&has_llama, memory_order_acquire)) {
        return;
    }
    void * library = library_of(theirs);
    TT_LLAMA_OPTIONAL(OPTIONAL)
    if (library) {
        dlclose(library);
    }
    atomic_store_explicit(&has_llama, tt_api.llama_get_model_ != NULL, memory_order_release);
}

bool tt_ready(void * theirs) {
    first_theirs = first_theirs ? first_theirs : theirs;
    pthread_once(&once, prepare);
    if (TT_UNLIKELY(tensor_trace_on)) {
        find_llama(theirs);
    }
    return __atomic_load_n(&tensor_trace_on, __ATOMIC_RELAXED);
}
