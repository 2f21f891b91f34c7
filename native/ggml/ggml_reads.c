/* Records reads of model files that a program makes itself, and what it asks the kernel to read ahead. */
#include "ggml_reads.h"
#include "ggml_memory.h"
#include "ggml_process.h"
#include "tt_record.h"
#include "tt_storage.h"
#include "tt_system.h"

#include "tensor_trace.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILES = 256 };
static const uint64_t MOST_BYTES = (uint64_t) 1 << 60;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for adding; readers look at the first n_files */
static struct {
    dev_t    device;
    ino_t    inode;
    uint32_t path; /* string */
} files[MOST_FILES];
static atomic_uint n_files;

static __thread uint32_t thread;

bool tt_is_gguf(int fd) {
    char begin[4]; /* by a system call: pread may be the one that records */
    return tt_read_at(fd, begin, sizeof begin, 0) == (long) sizeof begin && memcmp(begin, "GGUF", sizeof begin) == 0;
}

static uint32_t known_path(const struct stat * status) {
    for (unsigned i = 0, n = atomic_load_explicit(&n_files, memory_order_acquire); i < n; i++) {
        if (files[i].device == status->st_dev && files[i].inode == status->st_ino) {
            return files[i].path;
        }
    }
    return TT_NONE;
}

static uint32_t add_path(int fd, const struct stat * status) {
    char text[TT_PATH];
    (void) tt_path_of(fd, text);
    pthread_mutex_lock(&lock);
    uint32_t       path = known_path(status);
    const unsigned n    = atomic_load(&n_files);
    if (path == TT_NONE && n < MOST_FILES) {
        path            = tt_string(tt_process, text);
        files[n].device = status->st_dev;
        files[n].inode  = status->st_ino;
        files[n].path   = path;
        atomic_store_explicit(&n_files, n + 1, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return path;
}

uint32_t tt_model_path(int fd, bool surely) {
    struct stat status;
    const bool  loads = tt_in_load();
    if (!loads && !atomic_load_explicit(&n_files, memory_order_relaxed)) {
        return TT_NONE;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !status.st_size) { /* files of /proc have no size */
        return TT_NONE;
    }
    const uint32_t path = known_path(&status);
    return path == TT_NONE && loads && (surely || tt_is_gguf(fd)) ? add_path(fd, &status) : path;
}

uint64_t tensor_trace_now(void) { return tt_now(); }

void tensor_trace_ahead(uint64_t begin_ns, const void * address, size_t size) {
    struct tensor_trace_read read = {
        .begin_ns = begin_ns, .size_bytes = size, .fd = -1, .call = TT_CALL_WILLNEED, .n_calls = 1, .end_ns = tt_now()
    };
    if (tt_storage_place(address, &read.path, &read.offset)) {
        tensor_trace_read(&read);
    }
}

void tensor_trace_read(const struct tensor_trace_read * read) {
    const uint64_t end = read->end_ns ? read->end_ns : tt_now();
    if (!tt_enter()) {
        return;
    }
    const uint32_t path = read->path ? read->path : tt_model_path(read->fd, true);
    if (path == TT_NONE) {
        tt_leave();
        return;
    }
    if (!thread) {
        thread = tt_thread_number();
    }
    const struct tt_read record = {
        .begin_ns   = read->begin_ns,
        .offset     = read->offset,
        .size_bytes = read->size_bytes < MOST_BYTES ? read->size_bytes : MOST_BYTES, /* -1 asks for all there is */
        .got_bytes  = read->got_bytes,
        .address    = (uintptr_t) read->address,
        .path       = path,
        .thread     = thread,
        .call       = (uint32_t) read->call,
        .direct     = read->direct,
        .n_calls    = read->n_calls,
    };
    tt_record(tt_process, TT_READ, &record, sizeof record, end);
    tt_leave();
}
