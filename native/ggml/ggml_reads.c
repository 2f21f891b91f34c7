/* Records reads of model files that a program makes itself, and what it asks the kernel to read ahead. */
#include "ggml_process.h"
#include "tt_record.h"

#include "tensor_trace.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILES = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct {
    dev_t    device;
    ino_t    inode;
    uint32_t path; /* string */
} files[MOST_FILES];
static size_t n_files;

static __thread uint32_t thread;

/* The string of the path of an open file; TT_NONE: it is no regular file, or there are too many. */
static uint32_t path_of(int fd) {
    struct stat status;
    uint32_t    path = TT_NONE;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return TT_NONE;
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_files && path == TT_NONE; i++) {
        if (files[i].device == status.st_dev && files[i].inode == status.st_ino) {
            path = files[i].path;
        }
    }
    if (path == TT_NONE && n_files < MOST_FILES) {
        char link[64], text[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t length          = readlink(link, text, sizeof text - 1);
        text[length > 0 ? length : 0] = 0;
        path                          = tt_string(tt_process, text);
        files[n_files].device         = status.st_dev;
        files[n_files].inode          = status.st_ino;
        files[n_files++].path         = path;
    }
    pthread_mutex_unlock(&lock);
    return path;
}

uint64_t tensor_trace_now(void) { return tt_now(); }

void tensor_trace_read(const struct tensor_trace_read * read) {
    const uint64_t end = read->end_ns ? read->end_ns : tt_now();
    if (!tt_enter()) {
        return;
    }
    const uint32_t path = path_of(read->fd);
    if (path == TT_NONE) {
        tt_leave();
        return;
    }
    if (!thread) {
        thread = (uint32_t) gettid();
    }
    const struct tt_read record = {
        .begin_ns   = read->begin_ns,
        .offset     = read->offset,
        .size_bytes = read->size_bytes,
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
