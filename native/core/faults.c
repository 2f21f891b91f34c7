/*
 * Page faults of a thread: when each began, how long it took, where. The kernel notes them in a ring of memory that it
 * shares with us, through perf_event_open(2), and works without any right where kernel.perf_event_paranoid is at most 2:
 *
 *     PERF_COUNT_SW_PAGE_FAULTS       is noted when a fault begins
 *     PERF_COUNT_SW_PAGE_FAULTS_MIN   when it has been served, and no read was started for it
 *     PERF_COUNT_SW_PAGE_FAULTS_MAJ   when it has been served, and a read was
 *
 * All three write into one ring, so that their order is kept and an end belongs to the begin before it. The ring is
 * emptied when its thread begins and ends its part of a compute, and after an op when half of it is used.
 */
#include "tt.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BEGIN, MINOR, MAJOR, N_EVENTS };
enum { MOST_PAGES = 128, LEAST_PAGES = 1, CHUNK = 256 << 10 };

static const uint64_t events[N_EVENTS] = {
    PERF_COUNT_SW_PAGE_FAULTS,
    PERF_COUNT_SW_PAGE_FAULTS_MIN,
    PERF_COUNT_SW_PAGE_FAULTS_MAJ,
};

struct tt_faults {
    struct tt_segment             segment;
    struct perf_event_mmap_page * ring;    /* NULL: this thread is not watched */
    size_t                        page, n_bytes; /* of the machine; of the ring without its first page */
    int                           fds[N_EVENTS];
    uint64_t                      ids[N_EVENTS];
    uint32_t                      os_thread;
    uint64_t                      n_seen; /* events that were in the ring, or were said to be lost */
    bool                          is_open;            /* a fault has begun, and its end was not seen yet */
    uint64_t                      open_ns, open_address;
    uint64_t                      part_compute;       /* what the last TT_FAULT_PART says; TT_UNKNOWN: in none */
    uint32_t                      part_thread;
    bool                          has_part;
    unsigned                      n_barriers;         /* of the op that runs */
    struct {
        uint64_t begin, took;                         /* ticks */
    } barriers[TT_MOST_BARRIERS];
    atomic_flag collecting;
};

/* ---- the kernel's side ---- */

static int open_event(uint64_t event) {
    struct perf_event_attr attributes = {
        .type           = PERF_TYPE_SOFTWARE,
        .size           = sizeof attributes,
        .config         = event,
        .sample_period  = 1,
        .sample_type    = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
        .disabled       = 1,
        .exclude_kernel = 1,
        .exclude_hv     = 1,
        .use_clockid    = 1,
        .clockid        = CLOCK_MONOTONIC,
    };
    return (int) syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void stop_watching(struct tt_faults * faults) {
    if (faults->ring) {
        (void) syscall(SYS_munmap, faults->ring, faults->page + faults->n_bytes);
    }
    for (int i = 0; i < N_EVENTS; i++) {
        if (faults->fds[i] >= 0) {
            close(faults->fds[i]);
        }
        faults->fds[i] = -1;
    }
    faults->ring = NULL;
}

/* The largest ring that the kernel allows: kernel.perf_event_mlock_kb limits it for a user without rights. */
static void * map_ring(struct tt_faults * faults) {
    const char * asked = getenv("TENSOR_TRACE_FAULT_PAGES");
    size_t       n     = MOST_PAGES;
    void *       ring  = MAP_FAILED;
    for (const size_t most = asked ? strtoull(asked, NULL, 10) : MOST_PAGES; n > most && n > LEAST_PAGES;) {
        n /= 2;
    }
    for (; ring == MAP_FAILED && n >= LEAST_PAGES; n /= 2) {
        faults->n_bytes = n * faults->page;
        ring = mmap(NULL, faults->page + faults->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, faults->fds[BEGIN], 0);
        if (ring == MAP_FAILED && errno != EPERM && errno != EAGAIN) {
            break;
        }
    }
    return ring;
}

/* Watch the thread that calls; 0, or the errno that says why not. */
static int watch(struct tt_faults * faults) {
    faults->page      = (size_t) sysconf(_SC_PAGESIZE);
    faults->os_thread = (uint32_t) gettid();
    faults->is_open   = false;
    faults->n_seen    = 0;
    for (int i = 0; i < N_EVENTS; i++) {
        faults->fds[i] = -1;
    }
    bool ready = true;
    for (int i = 0; ready && i < N_EVENTS; i++) {
        faults->fds[i] = open_event(events[i]);
        ready          = faults->fds[i] >= 0 && ioctl(faults->fds[i], PERF_EVENT_IOC_ID, &faults->ids[i]) == 0;
    }
    void * ring = ready ? map_ring(faults) : MAP_FAILED;
    ready       = ring != MAP_FAILED;
    for (int i = 0; ready && i < N_EVENTS; i++) {
        ready = (i == BEGIN || ioctl(faults->fds[i], PERF_EVENT_IOC_SET_OUTPUT, faults->fds[BEGIN]) == 0)
            && ioctl(faults->fds[i], PERF_EVENT_IOC_ENABLE, 0) == 0;
    }
    const int failure = ready ? 0 : errno;
    faults->ring      = ring == MAP_FAILED ? NULL : ring;
    if (failure) {
        stop_watching(faults);
    }
    return failure;
}

/* ---- from the ring into the segment ---- */

static bool put(struct tt_faults * faults, enum tt_fault_kind kind, uint64_t begin_ns, uint64_t took_ns,
                uint64_t address) {
    if (!tt_segment_reserve(&faults->segment, sizeof(struct tt_fault))) {
        tt_segment_drop(&faults->segment, 1, sizeof(struct tt_fault));
        return false;
    }
    *(struct tt_fault *) (void *) (faults->segment.payload + faults->segment.used) = (struct tt_fault) {
        .begin_ns  = begin_ns,
        .took_ns   = took_ns,
        .address   = address,
        .os_thread = faults->os_thread,
        .kind      = kind,
    };
    tt_segment_commit(&faults->segment, sizeof(struct tt_fault));
    return true;
}

struct collection { /* one emptying of a ring */
    struct tt_faults * faults;
    struct tt_mapped   mapped[TT_MOST_MAPPED];
    size_t             n_mapped;
    uint64_t           n_elsewhere, elsewhere_begin_ns, elsewhere_ns;
};

static void put_fault(struct collection * at, enum tt_fault_kind kind, uint64_t begin_ns, uint64_t took_ns,
                      uint64_t address) {
    for (size_t i = 0; i < at->n_mapped; i++) {
        if (address - at->mapped[i].address < at->mapped[i].size && begin_ns >= at->mapped[i].since_ns) {
            put(at->faults, kind, begin_ns, took_ns, address);
            return;
        }
    }
    at->elsewhere_begin_ns = at->n_elsewhere ? at->elsewhere_begin_ns : begin_ns;
    at->elsewhere_ns += took_ns;
    at->n_elsewhere++;
}

static void put_elsewhere(const struct collection * at) {
    if (at->n_elsewhere) {
        put(at->faults, TT_FAULT_ELSEWHERE, at->elsewhere_begin_ns, at->elsewhere_ns, at->n_elsewhere);
    }
}

static void begin_fault(struct collection * at, uint64_t time_ns, uint64_t address) {
    struct tt_faults * faults = at->faults;
    if (faults->is_open && faults->open_address != address) { /* else the kernel served it again, after a signal say */
        put_fault(at, TT_FAULT_OPEN, faults->open_ns, 0, faults->open_address);
        faults->is_open = false;
    }
    faults->open_ns      = faults->is_open ? faults->open_ns : time_ns;
    faults->open_address = address;
    faults->is_open      = true;
}

static void end_fault(struct collection * at, enum tt_fault_kind kind, uint64_t time_ns, uint64_t address) {
    struct tt_faults * faults = at->faults;
    const bool         begun  = faults->is_open && faults->open_address == address;
    put_fault(at, kind, begun ? faults->open_ns : time_ns, begun ? time_ns - faults->open_ns : 0, address);
    faults->is_open = faults->is_open && !begun;
}

struct sample { /* what open_event asks for, in the kernel's order */
    struct perf_event_header header;
    uint64_t                 id, time_ns, address;
};
struct lost {
    struct perf_event_header header;
    uint64_t                 id, n;
};

static void take(struct collection * at, const void * record) {
    struct tt_faults *       faults = at->faults;
    struct perf_event_header header;
    memcpy(&header, record, sizeof header);
    if (header.type == PERF_RECORD_SAMPLE && header.size >= sizeof(struct sample)) {
        struct sample sample;
        memcpy(&sample, record, sizeof sample);
        faults->n_seen++;
        if (sample.id == faults->ids[BEGIN]) {
            begin_fault(at, sample.time_ns, sample.address);
        } else {
            end_fault(at, sample.id == faults->ids[MAJOR] ? TT_FAULT_MAJOR : TT_FAULT_MINOR, sample.time_ns,
                      sample.address);
        }
    } else if (header.type == PERF_RECORD_LOST && header.size >= sizeof(struct lost)) {
        struct lost lost;
        memcpy(&lost, record, sizeof lost);
        faults->n_seen += lost.n;
        put(faults, TT_FAULT_LOST, tt_now(), 0, lost.n);
        faults->is_open = false;
    }
}

static void empty(struct collection * at) {
    enum { MOST_RECORD = 256 };
    struct perf_event_mmap_page * ring = at->faults->ring;
    const uint8_t *               data = (const uint8_t *) ring + at->faults->page;
    const uint64_t                head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
    uint64_t                      tail = ring->data_tail;
    while (tail < head) {
        const size_t             from = (size_t) tail & (at->faults->n_bytes - 1), end = at->faults->n_bytes - from;
        uint8_t                  record[MOST_RECORD];
        struct perf_event_header header; /* never across the end of the ring: records are multiples of 8 bytes */
        memcpy(&header, data + from, sizeof header);
        const size_t size = header.size;
        if (size < sizeof header || size > head - tail) {
            tail = head; /* what follows is counted as lost at the end */
            break;
        }
        if (size <= sizeof record) {
            memcpy(record, data + from, size < end ? size : end);
            memcpy(record + (size < end ? size : end), data, size < end ? 0 : size - end);
            take(at, record);
        }
        tail += size;
    }
    __atomic_store_n(&ring->data_tail, tail, __ATOMIC_RELEASE);
}

/* The thread that closes the trace collects too. */
static bool try_hold(struct tt_faults * faults) { return !atomic_flag_test_and_set(&faults->collecting); }

static void hold(struct tt_faults * faults) {
    const struct timespec pause = { .tv_nsec = 100000 };
    while (!try_hold(faults)) {
        nanosleep(&pause, NULL);
    }
}

static void let_go(struct tt_faults * faults) { atomic_flag_clear(&faults->collecting); }

bool tt_faults_half_full(const struct tt_writer * writer) {
    const struct tt_faults * faults = writer->faults;
    return faults && faults->ring
        && __atomic_load_n(&faults->ring->data_head, __ATOMIC_ACQUIRE) - faults->ring->data_tail > faults->n_bytes / 2;
}

static void put_part(const struct tt_writer * writer) {
    struct tt_faults * faults     = writer->faults;
    const bool         in_compute = atomic_load_explicit(&writer->busy, memory_order_relaxed);
    const uint64_t     compute    = in_compute ? writer->work.compute : TT_UNKNOWN;
    const uint32_t     thread     = in_compute ? writer->thread : 0;
    if (faults->has_part && faults->part_compute == compute && faults->part_thread == thread) {
        return;
    }
    faults->has_part     = put(faults, TT_FAULT_PART, tt_now(), thread, compute);
    faults->part_compute = compute;
    faults->part_thread  = thread;
}

static void collect(struct tt_writer * writer) {
    struct tt_faults * faults = writer->faults;
    if (faults->ring && __atomic_load_n(&faults->ring->data_head, __ATOMIC_ACQUIRE) != faults->ring->data_tail) {
        struct collection at;
        at.faults      = faults;
        at.n_mapped    = tt_mapped_copy(at.mapped);
        at.n_elsewhere = at.elsewhere_ns = at.elsewhere_begin_ns = 0;
        put_part(writer);
        empty(&at);
        put_elsewhere(&at);
    }
}

void tt_faults_collect(struct tt_writer * writer) {
    if (writer->faults && try_hold(writer->faults)) {
        collect(writer);
        let_go(writer->faults);
    }
}

/* ---- waits at barriers inside ops ---- */

void tt_faults_barrier(struct tt_writer * writer, uint64_t begin, uint64_t end) {
    struct tt_faults * faults = writer->faults;
    if (faults->n_barriers < TT_MOST_BARRIERS) {
        faults->barriers[faults->n_barriers].begin = begin;
        faults->barriers[faults->n_barriers].took  = end - begin;
        faults->n_barriers++;
    }
}

void tt_faults_op(struct tt_writer * writer, int node) {
    struct tt_faults * faults = writer->faults;
    if (faults->n_barriers && try_hold(faults)) {
        put_part(writer);
        for (unsigned i = 0; i < faults->n_barriers; i++) {
            put(faults, TT_FAULT_BARRIER, faults->barriers[i].begin, faults->barriers[i].took, (uint64_t) node);
        }
        let_go(faults);
    }
    faults->n_barriers = 0;
}

/* The last time: the kernel tells of lost events only when it notes the next one, but it counts all of them. */
static void finish(struct tt_writer * writer) {
    struct tt_faults * faults = writer->faults;
    uint64_t           n      = 0, count;
    for (int i = 0; faults->ring && i < N_EVENTS; i++) {
        (void) ioctl(faults->fds[i], PERF_EVENT_IOC_DISABLE, 0);
    }
    collect(writer);
    for (int i = 0; faults->ring && i < N_EVENTS; i++) {
        n += read(faults->fds[i], &count, sizeof count) == (ssize_t) sizeof count ? count : 0;
    }
    if (n > faults->n_seen) {
        put(faults, TT_FAULT_LOST, tt_now(), 0, n - faults->n_seen);
    }
    stop_watching(faults);
}

/* ---- the life of a writer ---- */

void tt_faults_start(struct tt_trace * trace) {
    const char *     asked = getenv("TENSOR_TRACE_FAULTS");
    struct tt_faults trial = { 0 };
    if (!asked || strcmp(asked, "1") != 0) {
        return;
    }
    const int failure = watch(&trial);
    char      text[64];
    if (failure) {
        tt_info(trace, "faults.refused", strerror(failure));
        return;
    }
    snprintf(text, sizeof text, "%zu", trial.n_bytes);
    tt_info(trace, "faults.ring_bytes", text);
    stop_watching(&trial);
    trace->faults = true;
}

/* A writer keeps its segment when another thread gets it; each record names its thread. */
static struct tt_faults * with_segment(struct tt_writer * writer) {
    struct tt_trace *  trace  = writer->trace;
    struct tt_faults * faults = calloc(1, sizeof *faults);
    char               suffix[16], name[64];
    if (!faults) {
        return NULL;
    }
    memset(faults->fds, -1, sizeof faults->fds);
    snprintf(suffix, sizeof suffix, "f%03u", writer->place);
    tt_name(trace, suffix, name);
    if (tt_segment_open(&faults->segment, trace->folder, name, trace->run_id, TT_SEGMENT_FAULTS, trace->n_segments,
                        CHUNK, &trace->budget)) {
        trace->n_segments++;
    } else {
        const int failure      = errno;
        faults->segment.header = trace->main.header; /* what it drops is counted there */
        tt_segment_explain(&faults->segment, failure);
    }
    return faults;
}

void tt_faults_watch(struct tt_writer * writer) {
    if (!writer->trace->faults) {
        return;
    }
    if (!writer->faults && (writer->faults = with_segment(writer)) == NULL) {
        tt_segment_drop(&writer->trace->main, 1, 0);
        return;
    }
    hold(writer->faults);
    const int failure = watch(writer->faults);
    if (failure) {
        put(writer->faults, TT_FAULT_UNSEEN, tt_now(), 0, (uint64_t) failure);
    }
    let_go(writer->faults);
}

void tt_faults_end(struct tt_writer * writer) {
    if (writer->faults && try_hold(writer->faults)) {
        finish(writer);
        let_go(writer->faults);
    }
}

/* Held from then on: what happens later is neither recorded nor counted. */
void tt_faults_close(struct tt_writer * writer) {
    if (writer->faults) {
        hold(writer->faults);
        finish(writer);
        tt_segment_close(&writer->faults->segment, false);
    }
}

void tt_faults_free(struct tt_writer * writer) {
    if (writer->faults) {
        stop_watching(writer->faults);
        free(writer->faults);
        writer->faults = NULL;
    }
}
