/*
 * Pages of the trace that somebody outside makes. The kernel charges a page of a file to the memory group of whoever
 * touches it first. Under a limit, pages that the traced program touches first would take the room of its model; so
 * tracegen, which is not in that group, writes the zeros of each new chunk. It reads requests (struct tt_page_request)
 * from a FIFO, named by TENSOR_TRACE_PAGES, and makes the file longer; a chunk may be used when its file is so long.
 *
 * While it serves, it holds a lock on the FIFO. Where it cannot make pages (the disk is full, say) or ends, the lock goes,
 * and the tracer makes its pages itself; it then knows that nobody else will write into its files. All of this may
 * happen in a signal handler (wake.c).
 */
#include "tt_pages.h"

#include "tensor_trace_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { POLLS_PER_LOOK = 64 }; /* how often the file's length is read before the lock is tried */

static int         fifo = -1;
static atomic_bool served;

void tt_pages_open(void) {
    const char * path = getenv("TENSOR_TRACE_PAGES");
    /* For reading too: a FIFO that nobody reads would kill the program by SIGPIPE. */
    fifo = path && *path ? open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
    struct stat status;
    if (fifo >= 0 && (fstat(fifo, &status) != 0 || !S_ISFIFO(status.st_mode))) {
        close(fifo);
        fifo = -1;
    }
    atomic_store(&served, fifo >= 0);
}

/* Who takes the lock knows that nobody serves any more. It is shared: other traced processes may look, too. */
static bool nobody_serves(void) {
    if (flock(fifo, LOCK_SH | LOCK_NB) != 0) {
        return false;
    }
    (void) flock(fifo, LOCK_UN);
    return true;
}

static bool send_request(const char * name, uint64_t at, uint64_t bytes, enum tt_page_wish wish) {
    struct tt_page_request request = { .at = at, .bytes = bytes, .wish = wish };
    strncpy(request.name, name, sizeof request.name - 1);
    return write(fifo, &request, sizeof request) == (ssize_t) sizeof request;
}

static bool is_long(int fd, uint64_t bytes) {
    struct stat status;
    return fstat(fd, &status) == 0 && (uint64_t) status.st_size >= bytes;
}

bool tt_pages_made(int fd, const char * name, uint64_t at, uint64_t bytes) {
    const struct timespec pause = { .tv_nsec = 20000 };
    const int             error = errno;
    bool                  ready = false;
    if (!atomic_load(&served)) {
        return false;
    }
    bool waits = send_request(name, at, bytes, TT_PAGES_MAKE);
    for (unsigned polls = 0; waits && !ready; polls++) {
        ready = is_long(fd, at + bytes);
        if (!ready && polls % POLLS_PER_LOOK == POLLS_PER_LOOK - 1 && nobody_serves()) {
            waits = false;
            ready = is_long(fd, at + bytes); /* it may have ended just after it made them */
        } else if (!ready) {
            nanosleep(&pause, NULL);
        }
    }
    if (!ready) {
        atomic_store(&served, false);
    }
    errno = error;
    return ready;
}

void tt_pages_done(const char * name, uint64_t at, uint64_t bytes) {
    const int error = errno;
    if (atomic_load(&served)) {
        (void) send_request(name, at, bytes, TT_PAGES_DROP); /* unsent: the pages stay in the cache */
    }
    errno = error;
}
