/*
 * The ring of memory in which the kernel notes the page faults of a thread, through perf_event_open(2). It works without
 * any right where kernel.perf_event_paranoid is at most 2:
 *
 *     PERF_COUNT_SW_PAGE_FAULTS       is noted when a fault begins: time and address; and each time when the thread
 *                                     loses or gets a processor: time, and whether it could have run on
 *     PERF_COUNT_SW_PAGE_FAULTS_MIN   when it has been served, and no read was started for it: time
 *     PERF_COUNT_SW_PAGE_FAULTS_MAJ   when it has been served, and a read was: time, beside two words that we do not use
 *
 * They write into one ring, so that their order is kept, and an end belongs to the begin before it. Their records differ
 * in size, which tells them apart. Two more events count the ends and write nothing: each time when so many faults have
 * ended that the ring may be filling, the kernel sends SIGURG to the thread itself, before it goes on. See wake.c.
 * Switches alone wake nobody: of one op without page faults, a full ring has those of some thousand.
 */
#include "tt_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifndef PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1 << 14) /* not in the headers of before Linux 4.17 */
#endif

enum { BEGIN, MINOR, MAJOR };
enum { WAKE_MINOR, WAKE_MAJOR };
/* A user without rights has 516 KiB for each processor, all threads together: each is to get its ring. */
enum { MOST_PAGES = 32, LEAST_PAGES = 1 };
/* A thread may sleep in a fault of either kind, and wait for a processor before or after: twice it loses and gets one. */
enum {
    BEGIN_BYTES  = 24,
    MINOR_BYTES  = 16,
    MAJOR_BYTES  = 32,
    SWITCH_BYTES = 16,
    FAULT_BYTES  = BEGIN_BYTES + MAJOR_BYTES + 4 * SWITCH_BYTES,
};

struct event {
    uint64_t config, sample;
    bool     switches; /* those of the thread between processors are noted too */
};
static const struct event noted_events[TT_RING_NOTED] = {
    [BEGIN] = { PERF_COUNT_SW_PAGE_FAULTS, PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR, true },
    [MINOR] = { PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_SAMPLE_TIME, false },
    [MAJOR] = { PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR, false },
};
static const struct event wake_events[TT_RING_WAKES] = {
    [WAKE_MINOR] = { PERF_COUNT_SW_PAGE_FAULTS_MIN, 0, false },
    [WAKE_MAJOR] = { PERF_COUNT_SW_PAGE_FAULTS_MAJ, 0, false },
};

static int open_event(struct event event, uint64_t period) {
    struct perf_event_attr attributes = {
        .type           = PERF_TYPE_SOFTWARE,
        .size           = sizeof attributes,
        .config         = event.config,
        .sample_period  = period,
        .sample_type    = event.sample,
        .disabled       = 1,
        .exclude_kernel = 1,
        .exclude_hv     = 1,
        .use_clockid    = 1,
        .clockid        = CLOCK_MONOTONIC,
        .context_switch = event.switches,
        .sample_id_all  = event.switches, /* else a switch has no time */
    };
    return (int) syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Since Linux 4.17 a switch says whether the thread could have run on; before 4.3 there is none. */
static bool has_switches(void) {
    struct utsname name;
    unsigned       major = 0, minor = 0;
    return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2
        && (major > 4 || (major == 4 && minor >= 17));
}

static int open_noted(struct tt_ring * ring, struct event event) {
    event.switches = event.switches && has_switches();
    int fd         = open_event(event, 1);
    if (fd < 0 && errno == EINVAL && event.switches) {
        event.switches = false;
        fd             = open_event(event, 1);
    }
    ring->has_switches |= event.switches;
    return fd;
}

/* The largest ring that the kernel allows: kernel.perf_event_mlock_kb limits it for a user without rights. */
static void * map_ring(struct tt_ring * ring) {
    const char * asked  = getenv("TENSOR_TRACE_FAULT_PAGES");
    size_t       n      = MOST_PAGES;
    void *       shared = MAP_FAILED;
    for (const size_t most = asked ? strtoull(asked, NULL, 10) : MOST_PAGES; n > most && n > LEAST_PAGES;) {
        n /= 2;
    }
    for (; shared == MAP_FAILED && n >= LEAST_PAGES; n /= 2) {
        ring->n_bytes = n * ring->page;
        shared = mmap(NULL, ring->page + ring->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->noted[BEGIN], 0);
        if (shared == MAP_FAILED && errno != EPERM && errno != EAGAIN) {
            break;
        }
    }
    return shared;
}

/* The signal goes to the thread whose faults are counted. Between two of them there is room for the faults of both
   kinds in half of the ring, and some are left for what the handler touches. */
static bool open_wake(const struct tt_ring * ring, int * fd, struct event event) {
    const struct f_owner_ex owner = { F_OWNER_TID, gettid() };
    *fd                           = open_event(event, ring->n_bytes / FAULT_BYTES * 7 / 32);
    return *fd >= 0 && fcntl(*fd, F_SETOWN_EX, &owner) == 0 && fcntl(*fd, F_SETSIG, SIGURG) == 0
        && fcntl(*fd, F_SETFL, O_ASYNC) == 0;
}

static bool each(const struct tt_ring * ring, unsigned long request) {
    bool done = true;
    for (int i = 0; done && i < TT_RING_NOTED; i++) {
        done = ioctl(ring->noted[i], request, 0) == 0;
    }
    for (int i = 0; done && i < TT_RING_WAKES; i++) {
        done = ioctl(ring->wakes[i], request, 0) == 0;
    }
    return done;
}

int tt_ring_open(struct tt_ring * ring) {
    *ring      = (struct tt_ring) { .page = (size_t) sysconf(_SC_PAGESIZE) };
    bool ready = true;
    memset(ring->noted, -1, sizeof ring->noted);
    memset(ring->wakes, -1, sizeof ring->wakes);
    for (int i = 0; ready && i < TT_RING_NOTED; i++) {
        ring->noted[i] = open_noted(ring, noted_events[i]);
        ready          = ring->noted[i] >= 0;
    }
    void * shared = ready ? map_ring(ring) : MAP_FAILED;
    ready         = shared != MAP_FAILED;
    ring->shared  = ready ? shared : NULL;
    for (int i = 0; ready && i < TT_RING_WAKES; i++) {
        ready = open_wake(ring, &ring->wakes[i], wake_events[i]);
    }
    for (int i = 0; ready && i < TT_RING_NOTED; i++) {
        ready = i == BEGIN || ioctl(ring->noted[i], PERF_EVENT_IOC_SET_OUTPUT, ring->noted[BEGIN]) == 0;
    }
    const int failure = ready ? 0 : errno;
    if (failure) {
        tt_ring_close(ring);
    }
    return failure;
}

void tt_ring_start(const struct tt_ring * ring) { (void) each(ring, PERF_EVENT_IOC_ENABLE); }

void tt_ring_stop(const struct tt_ring * ring) {
    if (ring->shared) {
        (void) each(ring, PERF_EVENT_IOC_DISABLE);
    }
}

static void shut(int * fd) {
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

void tt_ring_close(struct tt_ring * ring) {
    if (ring->shared) {
        (void) syscall(SYS_munmap, ring->shared, ring->page + ring->n_bytes);
    }
    for (int i = 0; i < TT_RING_NOTED; i++) {
        shut(&ring->noted[i]);
    }
    for (int i = 0; i < TT_RING_WAKES; i++) {
        shut(&ring->wakes[i]);
    }
    ring->shared = NULL;
}

uint64_t tt_ring_head(const struct tt_ring * ring) {
    return ring->shared ? __atomic_load_n(&ring->shared->data_head, __ATOMIC_ACQUIRE) : 0;
}

bool tt_ring_half_full(const struct tt_ring * ring) {
    return ring->shared && tt_ring_head(ring) - ring->shared->data_tail > ring->n_bytes / 2;
}

/* Records are multiples of 8 bytes, and so is the ring: a word is never across its end. */
static uint64_t word(const struct tt_ring * ring, uint64_t at) {
    uint64_t value;
    memcpy(&value, (const uint8_t *) ring->shared + ring->page + (at & (ring->n_bytes - 1)), sizeof value);
    return value;
}

static struct tt_noted switched(const struct perf_event_header * header, uint64_t time_ns) {
    const bool out       = header->misc & PERF_RECORD_MISC_SWITCH_OUT;
    const bool could_run = header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    return (struct tt_noted) { !out ? TT_NOTED_RESUMED : could_run ? TT_NOTED_PREEMPTED : TT_NOTED_SLEPT, time_ns, 0 };
}

static bool is_known(const struct tt_ring * ring, const struct perf_event_header * header, uint64_t at,
                     struct tt_noted * noted) {
    switch (header->type) {
        case PERF_RECORD_LOST: *noted = (struct tt_noted) { .what = TT_NOTED_LOST }; return true;
        case PERF_RECORD_SWITCH: *noted = switched(header, word(ring, at + 8)); return header->size == SWITCH_BYTES;
        case PERF_RECORD_SAMPLE: break;
        default: return false;
    }
    switch (header->size) {
        case BEGIN_BYTES: *noted = (struct tt_noted) { TT_NOTED_BEGIN, word(ring, at + 8), word(ring, at + 16) }; break;
        case MINOR_BYTES: *noted = (struct tt_noted) { TT_NOTED_MINOR, word(ring, at + 8), 0 }; break;
        case MAJOR_BYTES: *noted = (struct tt_noted) { TT_NOTED_MAJOR, word(ring, at + 16), 0 }; break;
        default: return false;
    }
    return true;
}

static bool is_counted(const struct tt_noted * noted) {
    return noted->what == TT_NOTED_BEGIN || noted->what == TT_NOTED_MINOR || noted->what == TT_NOTED_MAJOR;
}

bool tt_ring_next(struct tt_ring * ring, uint64_t head, struct tt_noted * noted) {
    bool found = false;
    while (ring->shared && !found && ring->shared->data_tail < head) {
        const uint64_t           tail = ring->shared->data_tail, first = word(ring, tail);
        struct perf_event_header header;
        memcpy(&header, &first, sizeof header);
        const bool whole = header.size >= sizeof header && header.size <= head - tail;

        found = whole && is_known(ring, &header, tail, noted);
        /* what follows a record that is none is counted as lost at the end */
        __atomic_store_n(&ring->shared->data_tail, whole ? tail + header.size : head, __ATOMIC_RELEASE);
    }
    ring->n_seen += found && is_counted(noted);
    return found;
}

uint64_t tt_ring_happened(const struct tt_ring * ring) {
    uint64_t n = 0, count;
    for (int i = 0; ring->shared && i < TT_RING_NOTED; i++) {
        n += read(ring->noted[i], &count, sizeof count) == (ssize_t) sizeof count ? count : 0;
    }
    return n;
}

uint64_t tt_ring_missed(struct tt_ring * ring, uint64_t n_happened) {
    const uint64_t missed = n_happened > ring->n_seen ? n_happened - ring->n_seen : 0;
    ring->n_seen += missed;
    return missed;
}
