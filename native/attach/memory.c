/* What lies where, as far as calls between libraries show it: mappings of model files, weights, buffers. */
#include "attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_MAPPED = 4096 };

struct mapped { /* a model file in memory, or what is left of it */
    uintptr_t begin, end;
    uintptr_t base;  /* where its first byte lay */
    uint32_t  split; /* which file of its model: mapped in their order */
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct mapped   mapped[MAX_MAPPED];
static atomic_uint     n_mapped;

static __thread bool     loading __attribute__((tls_model("initial-exec")));
static __thread uint32_t n_files __attribute__((tls_model("initial-exec"))); /* of this load, mapped so far */

void tt_loading(bool begins) {
    loading = begins;
    n_files = 0;
}

bool tt_is_loading(void) { return loading; }

static bool is_gguf(int fd) {
    char begin[4];
    return pread(fd, begin, sizeof begin, 0) == (ssize_t) sizeof begin && memcmp(begin, "GGUF", 4) == 0;
}

static void note_mapping(const void * address, size_t size, int fd) {
    pthread_mutex_lock(&lock);
    const unsigned n = atomic_load(&n_mapped);
    if (n < MAX_MAPPED) {
        const uintptr_t begin = (uintptr_t) address;
        mapped[n] = (struct mapped) { .begin = begin, .end = begin + size, .base = begin, .split = n_files };
        atomic_store(&n_mapped, n + 1);
    }
    pthread_mutex_unlock(&lock);
    n_files++;
    tensor_trace_file_mapped(address, size, fd);
}

static bool find_mapping(const void * address, struct mapped * found) {
    const uintptr_t at   = (uintptr_t) address;
    bool            made = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = atomic_load(&n_mapped); i-- > 0 && !made;) { /* the newest first */
        if (at >= mapped[i].begin && at < mapped[i].end) {
            *found = mapped[i];
            made   = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return made;
}

/* Others may soon have what was unmapped: it is no model file then. Whether any of it was one. */
static bool forget_mapping(const void * address, size_t size) {
    const uintptr_t begin = (uintptr_t) address, end = begin + size;
    bool            made = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0, n = atomic_load(&n_mapped); i < n; i++) {
        struct mapped * one = &mapped[i];
        if (begin >= one->end || end <= one->begin) {
            continue;
        }
        made                       = true;
        const struct mapped behind = { .begin = end, .end = one->end, .base = one->base, .split = one->split };
        if (begin > one->begin && end < one->end
            && atomic_load(&n_mapped) < MAX_MAPPED) { /* a hole: what is behind it */
            mapped[atomic_fetch_add(&n_mapped, 1)] = behind;
        }
        if (begin > one->begin) {
            one->end = begin;
        } else {
            one->begin = end < one->end ? end : one->end;
        }
    }
    pthread_mutex_unlock(&lock);
    return made;
}

/* ---- files; system calls, not libc's functions: these are called before there is a way to find those ---- */

static void * map(void * address, size_t size, int protection, int flags, int fd, off_t offset) {
    const bool model = loading && fd >= 0 && offset == 0 && tensor_trace_on && is_gguf(fd);
    if (model && tensor_trace_prefault_off()) {
        flags &= ~MAP_POPULATE;
    }
    void * made = (void *) syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    if (model && made != MAP_FAILED) {
        const int kept = errno;
        note_mapping(made, size, fd);
        errno = kept;
    }
    return made;
}

SEEN void * mmap(void * address, size_t size, int protection, int flags, int fd, off_t offset) {
    return map(address, size, protection, flags, fd, offset);
}
SEEN void * mmap64(void * address, size_t size, int protection, int flags, int fd, off_t offset) {
    return map(address, size, protection, flags, fd, offset);
}

SEEN int munmap(void * address, size_t size) {
    if (tensor_trace_on && atomic_load_explicit(&n_mapped, memory_order_relaxed) && forget_mapping(address, size)) {
        tensor_trace_file_unmapped(address, size);
    }
    return (int) syscall(SYS_munmap, address, size);
}

SEEN int posix_madvise(void * address, size_t size, int advice) {
    THEIRS(int, posix_madvise, (void *, size_t, int) )
    struct mapped found;
    if (advice == POSIX_MADV_WILLNEED && loading && tensor_trace_on && find_mapping(address, &found)
        && tensor_trace_prefault_off()) {
        return 0;
    }
    return theirs(address, size, advice);
}

/* ---- weights ---- */

static void note_weight(const struct ggml_tensor * tensor, const void * bytes, bool in_place) {
    struct mapped file;
    if (loading && tensor_trace_on && find_mapping(bytes, &file)) {
        tensor_trace_weight(tensor, file.split, (uintptr_t) bytes - file.base, in_place);
    }
}

SEEN enum ggml_status ggml_backend_tensor_alloc(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor,
                                                void * address) {
    THEIRS(enum ggml_status, ggml_backend_tensor_alloc, (ggml_backend_buffer_t, struct ggml_tensor *, void *) )
    const enum ggml_status status = theirs(buffer, tensor, address);
    note_weight(tensor, address, true);
    return status;
}

SEEN void ggml_backend_tensor_set(struct ggml_tensor * tensor, const void * bytes, size_t offset, size_t size) {
    THEIRS(void, ggml_backend_tensor_set, (struct ggml_tensor *, const void *, size_t, size_t) )
    theirs(tensor, bytes, offset, size);
    if (offset == 0) {
        note_weight(tensor, bytes, false);
    }
}

/* ---- buffers ---- */

SEEN ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t type, struct by_value functions,
                                                    void * context, size_t size) {
    THEIRS(ggml_backend_buffer_t, ggml_backend_buffer_init,
           (ggml_backend_buffer_type_t, struct by_value, void *, size_t) )
    ggml_backend_buffer_t made = theirs(type, functions, context, size);
    if (made && tt_ready((void *) theirs)) {
        tensor_trace_buffer_begin(made);
    }
    return made;
}

SEEN void ggml_backend_buffer_free(ggml_backend_buffer_t buffer) {
    THEIRS(void, ggml_backend_buffer_free, (ggml_backend_buffer_t))
    if (buffer && tensor_trace_on) {
        tensor_trace_buffer_end(buffer);
    }
    theirs(buffer);
}

SEEN void ggml_backend_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage) {
    THEIRS(void, ggml_backend_buffer_set_usage, (ggml_backend_buffer_t, enum ggml_backend_buffer_usage))
    theirs(buffer, usage);
    if (buffer && tensor_trace_on) {
        tensor_trace_buffer_is(buffer);
    }
}
