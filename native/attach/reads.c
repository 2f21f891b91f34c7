/* Records reads of model files, and requests to read them ahead, by calls of the C library. */
#include "attach.h"
#include "attach_find.h"
#include "attach_memory.h"
#include "tt_clock.h"

#include "tensor_trace_format.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_MODELS = 256, SMALL = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for adding; readers look at the first n_models */
static struct {
    dev_t device;
    ino_t inode;
} models[MOST_MODELS];
static atomic_uint n_models;

static bool is_known(const struct stat * status) {
    for (unsigned i = 0, n = atomic_load_explicit(&n_models, memory_order_acquire); i < n; i++) {
        if (models[i].inode == status->st_ino && models[i].device == status->st_dev) {
            return true;
        }
    }
    return false;
}

static bool begins_with_gguf(int fd) {
    char begin[4];
    return syscall(SYS_pread64, fd, begin, sizeof begin, (off_t) 0) == (long) sizeof begin && begin[0] == 'G'
        && begin[1] == 'G' && begin[2] == 'U' && begin[3] == 'F';
}

/* Whether a model file is open there: one that was read while a model was loaded. O_DIRECT allows no short read: such a
   file is known by an earlier one. */
static bool is_model(int fd) {
    struct stat status;
    if (!tensor_trace_on || (!tt_is_loading() && !atomic_load_explicit(&n_models, memory_order_relaxed))) {
        return false;
    }
    const int  error = errno;
    bool       found = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    const bool known = found && is_known(&status);
    if (found && !known) {
        found = tt_is_loading() && begins_with_gguf(fd);
        pthread_mutex_lock(&lock);
        const unsigned n = atomic_load(&n_models);
        if (found && !is_known(&status) && n < MOST_MODELS) {
            models[n].device = status.st_dev;
            models[n].inode  = status.st_ino;
            atomic_store_explicit(&n_models, n + 1, memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
    errno = error;
    return found;
}

/* The header of a model is read in as many calls as its vocabulary has words: those that follow each other are one. */
static __thread struct tensor_trace_read small __attribute__((tls_model("initial-exec"))); /* n_calls 0: none waits */

static bool follows(const struct tensor_trace_read * read) {
    return small.n_calls && read->call == TT_CALL_FREAD && read->size_bytes <= SMALL && small.fd == read->fd
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
    read->direct    = read->call != TT_CALL_FREAD && (fcntl(read->fd, F_GETFL) & O_DIRECT) != 0;
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

static struct tensor_trace_read begin_read(int fd, enum tt_read_call call, off_t offset, const void * to, size_t size) {
    return (struct tensor_trace_read) {
        .begin_ns   = tt_now(),
        .offset     = offset > 0 ? (uint64_t) offset : 0,
        .size_bytes = size,
        .address    = to,
        .fd         = fd,
        .call       = call,
        .n_calls    = 1,
    };
}

/* ---- reads; by system calls, because these functions are called before libc's own can be found ---- */

REPLACES ssize_t read(int fd, void * to, size_t size) {
    if (!is_model(fd)) {
        return (ssize_t) syscall(SYS_read, fd, to, size);
    }
    struct tensor_trace_read read = begin_read(fd, TT_CALL_READ, lseek(fd, 0, SEEK_CUR), to, size);
    const ssize_t            got  = (ssize_t) syscall(SYS_read, fd, to, size);
    note(&read, got);
    return got;
}

static ssize_t read_at(int fd, void * to, size_t size, off_t offset) {
    if (!is_model(fd)) {
        return (ssize_t) syscall(SYS_pread64, fd, to, size, offset);
    }
    struct tensor_trace_read read = begin_read(fd, TT_CALL_PREAD, offset, to, size);
    const ssize_t            got  = (ssize_t) syscall(SYS_pread64, fd, to, size, offset);
    note(&read, got);
    return got;
}

REPLACES ssize_t pread(int fd, void * to, size_t size, off_t offset) { return read_at(fd, to, size, offset); }
REPLACES ssize_t pread64(int fd, void * to, size_t size, off_t offset) { return read_at(fd, to, size, offset); }

static ssize_t read_parts_at(int fd, const struct iovec * parts, int n, off_t offset) {
    const unsigned long low = (unsigned long) offset;
    if (n < 1 || !is_model(fd)) {
        return (ssize_t) syscall(SYS_preadv, fd, parts, n, low, 0ul);
    }
    size_t size = 0;
    for (int i = 0; i < n; i++) {
        size += parts[i].iov_len;
    }
    struct tensor_trace_read read = begin_read(fd, TT_CALL_PREAD, offset, parts[0].iov_base, size);
    const ssize_t            got  = (ssize_t) syscall(SYS_preadv, fd, parts, n, low, 0ul);
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
    if (!stream || !is_model(fileno(stream))) {
        return theirs(to, size, n, stream);
    }
    struct tensor_trace_read read  = begin_read(fileno(stream), TT_CALL_FREAD, ftello(stream), to, size * n);
    const size_t             got_n = theirs(to, size, n, stream);
    note(&read, (long) (got_n * size));
    return got_n;
}

/* ---- reading ahead ---- */

static int advise_file(int fd, off_t offset, off_t size, int advice) {
    if (advice == POSIX_FADV_WILLNEED && is_model(fd)) {
        struct tensor_trace_read read = begin_read(fd, TT_CALL_FADVISE, offset, NULL, (size_t) size);
        const long               done = syscall(SYS_fadvise64, fd, offset, size, advice);
        note(&read, 0);
        return done == 0 ? 0 : errno;
    }
    return syscall(SYS_fadvise64, fd, offset, size, advice) == 0 ? 0 : errno;
}

REPLACES int posix_fadvise(int fd, off_t offset, off_t size, int advice) {
    return advise_file(fd, offset, size, advice);
}
REPLACES int posix_fadvise64(int fd, off_t offset, off_t size, int advice) {
    return advise_file(fd, offset, size, advice);
}

REPLACES ssize_t readahead(int fd, off_t offset, size_t size) {
    if (!is_model(fd)) {
        return (ssize_t) syscall(SYS_readahead, fd, offset, size);
    }
    struct tensor_trace_read read = begin_read(fd, TT_CALL_READAHEAD, offset, NULL, size);
    const ssize_t            done = (ssize_t) syscall(SYS_readahead, fd, offset, size);
    note(&read, 0);
    return done;
}
