/*
 * Programs that open libllama by name (Python's ctypes) ask dlsym for its functions, and would get theirs, not ours.
 * So we stand in for dlsym too: for a function that we take the place of, the answer is ours, and theirs is kept.
 */
#include "attach.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPENED = 256 };

static struct {
    const char * name;
    void *       theirs;
} opened[MAX_OPENED];
static atomic_uint     n_opened;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of who adds; readers see what n_opened counts */
static void *          ourselves; /* this library, opened */
typedef void * (*dlsym_fn)(void *, const char *);
static dlsym_fn find;

/* Libc's own: dlsym cannot be asked for dlsym. By the versions under which x86-64, others and newer libcs have it. */
static __attribute__((constructor)) void begin(void) {
    static const char * const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27" };
    for (size_t i = 0; i < sizeof versions / sizeof *versions && !find; i++) {
        find = (dlsym_fn) dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    }
    Dl_info info;
    if (find && dladdr((void *) begin, &info)) {
        ourselves = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
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

static bool keep(const char * name, void * theirs) {
    pthread_mutex_lock(&lock);
    const unsigned n    = atomic_load(&n_opened);
    bool           kept = tt_opened(name) == theirs;
    if (!kept && !tt_opened(name) && n < MAX_OPENED && (opened[n].name = strdup(name)) != NULL) {
        opened[n].theirs = theirs;
        atomic_store(&n_opened, n + 1);
        kept = true;
    }
    pthread_mutex_unlock(&lock);
    return kept; /* a second library with the same function stays as it is, and is not traced */
}

static __attribute__((noinline)) void * ours_or_theirs(void * library, const char * name) {
    void *     theirs = find(library, name);
    void *     ours   = find(ourselves, name);
    Dl_info    of_ours, of_us;
    const bool taken = theirs && ours && ours != theirs && dladdr(ours, &of_ours) && dladdr((void *) begin, &of_us)
        && of_ours.dli_fbase == of_us.dli_fbase;
    return taken && keep(name, theirs) ? ours : theirs;
}

/* The last call is a jump: with RTLD_NEXT libc looks at who called. */
SEEN void * dlsym(void * library, const char * name) {
    if (!find) { /* a library that begins before us asks */
        begin();
    }
    const bool special = library == RTLD_NEXT || library == RTLD_DEFAULT || !ourselves;
    if (!special && (strncmp(name, "llama_", 6) == 0 || strncmp(name, "ggml_", 5) == 0) && getenv("TENSOR_TRACE_DIR")) {
        return ours_or_theirs(library, name);
    }
    return find(library, name);
}
