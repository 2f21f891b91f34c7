/*
 * Programs that open libllama by name (Python's ctypes) get its functions from dlsym, and so would call the originals.
 * So we replace dlsym too: for a function that we replace it returns ours, and we keep the original.
 */
#include "attach_opened.h"
#include "attach.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPENED = 256 };

static struct {
    const char * name;
    void *       theirs;
} opened[MAX_OPENED];
static atomic_uint     n_opened;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for adding; readers look at the first n_opened entries */
static void *          our_library; /* a handle of this library */
typedef void * (*dlsym_fn)(void *, const char *);
static dlsym_fn find; /* libc's dlsym */

/* Finds libc's dlsym by dlvsym, because dlsym is ours. glibc's versions of it depend on the processor and its age. */
static __attribute__((constructor)) void begin(void) {
    static const char * const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27" };
    for (size_t i = 0; i < sizeof versions / sizeof *versions && !find; i++) {
        find = (dlsym_fn) dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    }
    Dl_info info;
    if (find && dladdr((void *) begin, &info)) {
        our_library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }
}

void * tt_find(void * library, const char * name) { return find ? find(library, name) : NULL; }

void * tt_opened(const char * name) {
    for (unsigned i = 0; i < atomic_load(&n_opened); i++) {
        if (strcmp(opened[i].name, name) == 0) {
            return opened[i].theirs;
        }
    }
    return NULL;
}

/* Keeps an original; false: it cannot be kept, so the program must get the original itself. */
static bool keep_theirs(const char * name, void * theirs) {
    pthread_mutex_lock(&lock);
    const unsigned n       = atomic_load(&n_opened);
    bool           is_kept = tt_opened(name) == theirs;
    if (!is_kept && !tt_opened(name) && n < MAX_OPENED && (opened[n].name = strdup(name)) != NULL) {
        opened[n].theirs = theirs;
        atomic_store(&n_opened, n + 1);
        is_kept = true;
    }
    pthread_mutex_unlock(&lock);
    return is_kept; /* false for a second library with the same function: it is not traced */
}

static __attribute__((noinline)) void * ours_or_theirs(void * library, const char * name) {
    void *     theirs = find(library, name);
    void *     ours   = find(our_library, name);
    Dl_info    of_ours, of_us;
    const bool replaced = theirs && ours && ours != theirs && dladdr(ours, &of_ours) && dladdr((void *) begin, &of_us)
        && of_ours.dli_fbase == of_us.dli_fbase;
    return replaced && keep_theirs(name, theirs) ? ours : theirs;
}

/* The last call compiles to a jump, so that libc sees the program as the caller, which RTLD_NEXT depends on. */
REPLACES void * dlsym(void * library, const char * name) {
    if (!find) { /* called by a library that is initialised before ours */
        begin();
    }
    const bool special = library == RTLD_NEXT || library == RTLD_DEFAULT || !our_library;
    if (!special && (strncmp(name, "llama_", 6) == 0 || strncmp(name, "ggml_", 5) == 0) && getenv("TENSOR_TRACE_DIR")) {
        return ours_or_theirs(library, name);
    }
    return find(library, name);
}
