/* Records reads of model files, and requests to read them ahead, by calls of the C library. */
#include "attach_reads.h"
#include "attach.h"
#include "attach_find.h"
#include "attach_loading.h"
#include "attach_opened.h"
#include "ggml_reads.h"
#include "tt_clock.h"

#include "tensor_trace_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SMALL = 4096 };

/* The string of the path of a model file that is open there; TT_NONE: none is. Keeps errno. */
static uint32_t model_path(int fd) {
    const int      error = errno;
    const uint32_t path  = tensor_trace_on ? tt_model_path(fd, false) : TT_NONE;
    errno                = error;
    return path;
}

/* libc's own function; NULL before it can be found: then a system call does the same. */
#define LIBC(result, name, parameters) \
    static result(*libc) parameters; \
    if (TT_UNLIKELY(!libc)) { \
        *(void **) &libc = tt_find(RTLD_NEXT, name); \
    }

/* The header of a model is read in as many calls as its vocabulary has words: those that follow each other are one. */
static __thread struct tensor_trace_read small __attribute__((tls_model("initial-exec"))); /* n_calls 0: none waits */

static bool follows(const struct tensor_trace_read * read) {
    return small.n_calls && read->call == TT_CALL_FREAD && read->size_bytes <= SMALL && small.path == read->path
        && small.offset + small.got_bytes == read->offset && small.got_bytes == small.size_bytes;
}

void tt_reads_written(void) {
    if (small.n_calls && tensor_trace_on) {
        tensor_trace_read(&small);
    }
    small.n_calls = 0;
}

/* What a call read, after it; keeps errno. `got` is negative where it failed. */
static void note(struct tensor_trace_read * read, long got) {
    const int error = errno;
    read->got_bytes = got > 0 ? (uint64_t) got : 0;
    read->end_ns    = tt_now();
    read->direct    = read->call < TT_CALL_FREAD && (fcntl(read->fd, F_GETFL) & O_DIRECT) != 0;
    if (follows(read)) {
        small.size_bytes += read->size_bytes;
        small.got_bytes += read->got_bytes;
        small.end_ns = read->end_ns;
        small.n_calls++;
    } else {
        tt_reads_written();
        if (read->call == TT_CALL_FREAD && read->size_bytes <= SMALL && tt_is_loading()) {
            small = *read;
        } else {
            tensor_trace_read(read);
        }
    }
    errno = error;
}

static struct tensor_trace_read begin_read(int fd, uint32_t path, enum tt_read_call call, off_t offset, size_t size) {
    return (struct tensor_trace_read) {
        .begin_ns   = tt_now(),
        .offset     = offset > 0 ? (uint64_t) offset : 0,
        .size_bytes = size,
        .fd         = fd,
        .call       = call,
        .n_calls    = 1,
        .path       = path,
    };
}

/* ---- reads ---- */

REPLACES ssize_t read(int fd, void * to, size_t size) {
    LIBC(ssize_t, "read", (int, void *, size_t) )
    const uint32_t path = model_path(fd);
    if (path == TT_NONE) {
        return libc ? libc(fd, to, size) : (ssize_t) syscall(SYS_read, fd, to, size);
    }
    struct tensor_trace_read read = begin_read(fd, path, TT_CALL_READ, lseek(fd, 0, SEEK_CUR), size);
    const ssize_t            got  = libc ? libc(fd, to, size) : (ssize_t) syscall(SYS_read, fd, to, size);
    read.address                  = to;
    note(&read, got);
    return got;
}

static ssize_t read_at(int fd, void * to, size_t size, off_t offset) {
    LIBC(ssize_t, "pread64", (int, void *, size_t, off_t))
    const uint32_t path = model_path(fd);
    if (path == TT_NONE) {
        return libc ? libc(fd, to, size, offset) : (ssize_t) syscall(SYS_pread64, fd, to, size, offset);
    }
    struct tensor_trace_read read = begin_read(fd, path, TT_CALL_PREAD, offset, size);
    const ssize_t got = libc ? libc(fd, to, size, offset) : (ssize_t) syscall(SYS_pread64, fd, to, size, offset);
    read.address      = to;
    note(&read, got);
    return got;
}

REPLACES ssize_t pread(int fd, void * to, size_t size, off_t offset) { return read_at(fd, to, size, offset); }
REPLACES ssize_t pread64(int fd, void * to, size_t size, off_t offset) { return read_at(fd, to, size, offset); }

static ssize_t read_parts_at(int fd, const struct iovec * parts, int n, off_t offset) {
    LIBC(ssize_t, "preadv64", (int, const struct iovec *, int, off_t))
    const unsigned long low  = (unsigned long) offset;
    const uint32_t      path = n > 0 ? model_path(fd) : TT_NONE;
    if (path == TT_NONE) {
        return libc ? libc(fd, parts, n, offset) : (ssize_t) syscall(SYS_preadv, fd, parts, n, low, 0ul);
    }
    struct tensor_trace_read read = begin_read(fd, path, TT_CALL_PREAD, offset, 0);
    const ssize_t got = libc ? libc(fd, parts, n, offset) : (ssize_t) syscall(SYS_preadv, fd, parts, n, low, 0ul);
    for (int i = 0; got >= 0 && i < n; i++) { /* the kernel could read the list */
        read.size_bytes += parts[i].iov_len;
    }
    note(&read, got);
    return got;
}

REPLACES ssize_t preadv(int fd, const struct iovec * parts, int n, off_t offset) {
    return read_parts_at(fd, parts, n, offset);
}
REPLACES ssize_t preadv64(int fd, const struct iovec * parts, int n, off_t offset) {
    return read_parts_at(fd, parts, n, offset);
}

REPLACES size_t fread(void * to, size_t size, size_t n, FILE * stream) {
    THEIRS(size_t, fread, (void *, size_t, size_t, FILE *) )
    const uint32_t path = stream ? model_path(fileno(stream)) : TT_NONE;
    if (path == TT_NONE) {
        return theirs(to, size, n, stream);
    }
    struct tensor_trace_read read  = begin_read(fileno(stream), path, TT_CALL_FREAD, ftello(stream), size * n);
    const size_t             got_n = theirs(to, size, n, stream);
    read.address                   = to;
    note(&read, (long) (got_n * size));
    return got_n;
}

/* ---- reading ahead: these calls return before anything is read ---- */

static int advise_file(int fd, off_t offset, off_t size, int advice) {
    const int                error = errno;
    const uint32_t           path  = advice == POSIX_FADV_WILLNEED ? model_path(fd) : TT_NONE;
    const size_t             whole = size > 0 ? (size_t) size : SIZE_MAX; /* 0: to the end */
    struct tensor_trace_read read  = begin_read(fd, path, TT_CALL_FADVISE, offset, whole);
    const int                fault = syscall(SYS_fadvise64, fd, offset, size, advice) == 0 ? 0 : errno;
    if (path != TT_NONE) {
        note(&read, 0);
    }
    errno = error;
    return fault;
}

REPLACES int posix_fadvise(int fd, off_t offset, off_t size, int advice) {
    return advise_file(fd, offset, size, advice);
}
REPLACES int posix_fadvise64(int fd, off_t offset, off_t size, int advice) {
    return advise_file(fd, offset, size, advice);
}

REPLACES ssize_t readahead(int fd, off_t offset, size_t size) {
    const uint32_t           path = model_path(fd);
    struct tensor_trace_read read = begin_read(fd, path, TT_CALL_READAHEAD, offset, size);
    const ssize_t            done = (ssize_t) syscall(SYS_readahead, fd, offset, size);
    if (path != TT_NONE) {
        note(&read, 0);
    }
    return done;
}

void tt_willneed(uint32_t path, size_t offset, size_t size) {
    struct tensor_trace_read read = begin_read(-1, path, TT_CALL_WILLNEED, (off_t) offset, size);
    note(&read, 0);
}
