/* Finds the functions of the ggml and llama.cpp that the process has loaded, wherever the loader put them. */
#include "attach.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct tt_api tt_api;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *         first_found; /* a function of theirs: by it the library is found */

/* The library that holds an address, as a handle whose search goes on in what it depends on; close it. */
static void * library_of(void * address) {
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

void * tt_theirs(const char * name, void * caller) {
    void * found = tt_opened(name);

    found = found ? found : tt_find(RTLD_NEXT, name);
    if (!found) { /* a library that Python or ggml itself loaded is not among those that are searched by default */
        void * library = library_of(caller);
        if (library) {
            found = tt_find(library, name);
            dlclose(library);
        }
    }
    if (!found) {
        fprintf(stderr, "tensor_trace: %s was called and is not to be found; this program cannot be traced attached\n",
                name);
        abort();
    }
    return found;
}

static void * look_up(void * library, const char * name) {
    void * found = library ? tt_find(library, name) : NULL;
    return found ? found : tt_find(RTLD_DEFAULT, name);
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
    void *       library = library_of(first_found);
    if (folder && *folder) {
        const char * missing = fill_api(library);
        const char * other   = missing ? NULL : tt_other_layout();
        if (look_up(library, "tensor_trace_start")) {
            fprintf(stderr,
                    "tensor_trace: this llama.cpp has hooks: they record it, not the library that is attached\n");
        } else if (missing) {
            fprintf(stderr, "tensor_trace: nothing is recorded: this ggml has no %s\n", missing);
        } else if (other) {
            fprintf(stderr,
                    "tensor_trace: nothing is recorded: %s of this ggml is not as in the llama.cpp that the tracer "
                    "was made for\n",
                    other);
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
    static atomic_bool found;
    if (atomic_load_explicit(&found, memory_order_acquire)) {
        return;
    }
    void * library = library_of(theirs);
    TT_LLAMA_OPTIONAL(OPTIONAL)
    if (library) {
        dlclose(library);
    }
    atomic_store_explicit(&found, tt_api.llama_get_model_ != NULL, memory_order_release);
}

bool tt_ready(void * theirs) {
    first_found = first_found ? first_found : theirs;
    pthread_once(&once, prepare);
    if (TT_UNLIKELY(tensor_trace_on)) {
        find_llama(theirs);
    }
    return __atomic_load_n(&tensor_trace_on, __ATOMIC_RELAXED);
}
