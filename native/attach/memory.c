/* Records mappings of model files, weights and buffers, as far as calls between libraries show them. */
#include "attach.h"
#include "attach_find.h"
#include "attach_loading.h"
#include "attach_reads.h"
#include "ggml_reads.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_MAPPINGS = 4096 };

struct mapping { /* a mapped model file, or a part of it that is still mapped */
    uintptr_t begin, end;
    uintptr_t base;  /* address of the first byte of the file */
    uint32_t  split; /* which file of its model: they are mapped in order */
    uint32_t  path;  /* string */
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static struct mapping  mappings[MAX_MAPPINGS];
static atomic_uint     n_mappings;

static void note_mapping(const void * address, size_t size, int fd) {
    const uint32_t path = tt_model_path(fd, true), split = tt_next_split();
    pthread_mutex_lock(&lock);
    const unsigned n = atomic_load(&n_mappings);
    if (n < MAX_MAPPINGS) {
        const uintptr_t begin = (uintptr_t) address;
        mappings[n] =
            (struct mapping) { .begin = begin, .end = begin + size, .base = begin, .split = split, .path = path };
        atomic_store(&n_mappings, n + 1);
    }
    pthread_mutex_unlock(&lock);
    tensor_trace_file_mapped(address, size, fd);
}

static bool find_mapping(const void * address, struct mapping * mapping) {
    const uintptr_t at    = (uintptr_t) address;
    bool            found = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = atomic_load(&n_mappings); i-- > 0 && !found;) { /* the newest first */
        if (at >= mappings[i].begin && at < mappings[i].end) {
            *mapping = mappings[i];
            found    = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Removes a range that is about to be unmapped: other memory may soon be there. Whether any of it was a model file. */
static bool remove_mapping(const void * address, size_t size) {
    const uintptr_t begin = (uintptr_t) address, end = begin + size;
    bool            found = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0, n = atomic_load(&n_mappings); i < n; i++) {
        struct mapping * mapping = &mappings[i];
        if (begin >= mapping->end || end <= mapping->begin) {
            continue;
        }
        found                       = true;
        const struct mapping behind = {
            .begin = end, .end = mapping->end, .base = mapping->base, .split = mapping->split, .path = mapping->path
        };
        if (begin > mapping->begin && end < mapping->end
            && atomic_load(&n_mappings) < MAX_MAPPINGS) { /* a hole in the middle: a second mapping behind it */
            mappings[atomic_fetch_add(&n_mappings, 1)] = behind;
        }
        if (begin > mapping->begin) {
            mapping->end = begin;
        } else {
            mapping->begin = end < mapping->end ? end : mapping->end;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- files; by system calls, because these functions are called before libc's own can be found ---- */

static void * map_file(void * address, size_t size, int protection, int flags, int fd, off_t offset) {
    const bool is_model = tt_is_loading() && fd >= 0 && offset == 0 && tensor_trace_on && tt_is_gguf(fd);
    if (is_model && tensor_trace_prefault_off()) {
        flags &= ~MAP_POPULATE;
    }
    void * begin = (void *) syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    if (is_model && begin != MAP_FAILED) {
        const int error = errno;
        note_mapping(begin, size, fd);
        errno = error;
    }
    return begin;
}

REPLACES void * mmap(void * address, size_t size, int protection, int flags, int fd, off_t offset) {
    return map_file(address, size, protection, flags, fd, offset);
}
REPLACES void * mmap64(void * address, size_t size, int protection, int flags, int fd, off_t offset) {
    return map_file(address, size, protection, flags, fd, offset);
}

REPLACES int munmap(void * address, size_t size) {
    if (tensor_trace_on && atomic_load_explicit(&n_mappings, memory_order_relaxed) && remove_mapping(address, size)) {
        tensor_trace_file_unmapped(address, size);
    }
    return (int) syscall(SYS_munmap, address, size);
}

/* Records that the kernel was asked to read a part of a mapped model. */
static void note_advice(const void * address, size_t size, bool will_need) {
    struct mapping mapping;
    if (will_need && tensor_trace_on && find_mapping(address, &mapping) && mapping.path != UINT32_MAX) {
        tt_willneed(mapping.path, (uintptr_t) address - mapping.base, size);
    }
}

REPLACES int madvise(void * address, size_t size, int advice) {
    const int result = (int) syscall(SYS_madvise, address, size, advice);
    const int error  = errno;
    note_advice(address, size, advice == MADV_WILLNEED);
    errno = error;
    return result;
}

REPLACES int posix_madvise(void * address, size_t size, int advice) {
    THEIRS(int, posix_madvise, (void *, size_t, int) )
    struct mapping mapping;
    if (advice == POSIX_MADV_WILLNEED && tt_is_loading() && tensor_trace_on && find_mapping(address, &mapping)
        && tensor_trace_prefault_off()) {
        return 0;
    }
    const int error = theirs(address, size, advice);
    note_advice(address, size, advice == POSIX_MADV_WILLNEED);
    return error;
}

/* ---- weights ---- */

static void note_weight(const struct ggml_tensor * tensor, const void * bytes, bool in_place) {
    struct mapping file;
    if (tt_is_loading() && tensor_trace_on && find_mapping(bytes, &file)) {
        tensor_trace_weight(tensor, file.split, (uintptr_t) bytes - file.base, in_place);
    }
}

REPLACES enum ggml_status ggml_backend_tensor_alloc(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor,
                                                    void * address) {
    THEIRS(enum ggml_status, ggml_backend_tensor_alloc, (ggml_backend_buffer_t, struct ggml_tensor *, void *) )
    const enum ggml_status status = theirs(buffer, tensor, address);
    note_weight(tensor, address, true);
    return status;
}

REPLACES void ggml_backend_tensor_set(struct ggml_tensor * tensor, const void * bytes, size_t offset, size_t size) {
    THEIRS(void, ggml_backend_tensor_set, (struct ggml_tensor *, const void *, size_t, size_t) )
    theirs(tensor, bytes, offset, size);
    if (offset == 0) {
        note_weight(tensor, bytes, false);
    }
}

/* ---- buffers ---- */

REPLACES ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t type, struct by_value functions,
                                                        void * context, size_t size) {
    THEIRS(ggml_backend_buffer_t, ggml_backend_buffer_init,
           (ggml_backend_buffer_type_t, struct by_value, void *, size_t) )
    ggml_backend_buffer_t buffer = theirs(type, functions, context, size);
    if (buffer && tt_ready((void *) theirs)) {
        tensor_trace_buffer_begin(buffer);
    }
    return buffer;
}

REPLACES void ggml_backend_buffer_free(ggml_backend_buffer_t buffer) {
    THEIRS(void, ggml_backend_buffer_free, (ggml_backend_buffer_t))
    if (buffer && tensor_trace_on) {
        tensor_trace_buffer_end(buffer);
    }
    theirs(buffer);
}

REPLACES void ggml_backend_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage) {
    THEIRS(void, ggml_backend_buffer_set_usage, (ggml_backend_buffer_t, enum ggml_backend_buffer_usage))
    theirs(buffer, usage);
    if (buffer && tensor_trace_on) {
        tensor_trace_buffer_is(buffer);
    }
}
