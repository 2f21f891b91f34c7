/*
 * Page faults of a thread: when each began, how long it took, where; and when it had no processor in its part of a
 * compute. The kernel notes both in a ring (ring.c), which is emptied when its thread begins and ends that
 * part, after an op when half of it is used, and inside an op when the kernel has woken the thread for it (wake.c). Only
 * the thread itself does so, until the trace is closed.
 */
#include "tt_faults.h"
#include "tt_mapped.h"
#include "tt_record.h"
#include "tt_system.h"
#include "tt_wake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 256 << 10 };

struct tt_faults {
    struct tt_segment segment;
    struct tt_ring    ring;
    uint32_t          os_thread;
    _Atomic uint64_t  compute;             /* the part of a compute that the thread runs; TT_UNKNOWN: none */
    _Atomic uint32_t  thread;              /* its number in it */
    bool              is_open;             /* a fault has begun, and its end was not seen yet */
    uint64_t          open_ns, open_address;
    bool              is_off, has_slept;   /* it has no processor, as far as was seen; it slept when it lost it */
    uint64_t          off_ns;
    uint64_t          part_compute;        /* what the last TT_FAULT_PART says; TT_UNKNOWN: in none */
    uint32_t          part_thread;
    bool              has_part;
    struct tt_mapped  mapped[TT_MOST_MAPPED]; /* of the emptying under way; not on the stack of whom a signal woke */
    size_t            n_mapped;
    unsigned          n_barriers;          /* of the op that runs */
    struct {
        uint64_t begin, took;              /* ticks */
    } barriers[TT_MOST_BARRIERS];
    atomic_flag collecting;
};

/* ---- from the ring into the segment ---- */

static bool put(struct tt_faults * faults, const void * record) {
    if (!tt_segment_reserve(&faults->segment, TT_FAULT_BYTES)) {
        tt_segment_drop(&faults->segment, 1, TT_FAULT_BYTES);
        return false;
    }
    memcpy(faults->segment.payload + faults->segment.used, record, TT_FAULT_BYTES);
    tt_segment_commit(&faults->segment, TT_FAULT_BYTES);
    return true;
}

/* Writes a record of this type, with these fields and the thread's number. */
#define PUT(faults, type, ...) put(faults, &(const struct type) { .os_thread = (faults)->os_thread, __VA_ARGS__ })

static void put_lost(struct tt_faults * faults, uint64_t before_ns, uint64_t n_events) {
    PUT(faults, tt_faults_lost, .kind = TT_FAULT_LOST, .before_ns = before_ns, .n_events = n_events);
}

struct part { /* of a compute */
    uint64_t compute; /* TT_UNKNOWN: of none */
    uint32_t thread;
};

static struct part part_of(struct tt_faults * faults) {
    const uint64_t compute = atomic_load_explicit(&faults->compute, memory_order_acquire);
    return (struct part) {
        .compute = compute,
        .thread  = compute == TT_UNKNOWN ? 0 : atomic_load_explicit(&faults->thread, memory_order_relaxed),
    };
}

/* Says of what part the records that follow are, unless the last one was of it too. */
static void put_part(struct tt_faults * faults, struct part part) {
    if (faults->has_part && faults->part_compute == part.compute && faults->part_thread == part.thread) {
        return;
    }
    faults->has_part     = PUT(faults, tt_fault_part, .kind = TT_FAULT_PART, .time_ns = tt_now(), .thread = part.thread,
                               .compute = part.compute);
    faults->part_compute = part.compute;
    faults->part_thread  = part.thread;
}

struct collection { /* one emptying of a ring */
    struct tt_faults *         faults;
    struct part                part; /* that all of it is of */
    bool                       has_mapped; /* faults->mapped is known */
    bool                       has_lost;
    struct tt_faults_elsewhere elsewhere; /* so far; n_faults 0: none */
};

static void put_missed(struct collection * at, uint64_t n_events) {
    if (n_events) {
        put_part(at->faults, at->part);
        put_lost(at->faults, tt_now(), n_events);
    }
}

static void put_fault(struct collection * at, enum tt_fault_kind kind, uint64_t begin_ns, uint64_t took_ns,
                      uint64_t address) {
    const struct tt_mapped * mapped = at->faults->mapped;
    if (!at->has_mapped) {
        at->faults->n_mapped = tt_mapped_copy(at->faults->mapped);
        at->has_mapped       = true;
    }
    for (size_t i = 0; i < at->faults->n_mapped; i++) {
        if (address - mapped[i].address < mapped[i].size && begin_ns >= mapped[i].since_ns) {
            put_part(at->faults, at->part);
            PUT(at->faults, tt_fault, .kind = kind, .begin_ns = begin_ns, .took_ns = took_ns, .address = address);
            return;
        }
    }
    at->elsewhere.begin_ns = at->elsewhere.n_faults ? at->elsewhere.begin_ns : begin_ns;
    at->elsewhere.took_ns += took_ns;
    at->elsewhere.n_faults++;
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

/* A begin that was lost took the place with it: the end alone says nothing. */
static void end_fault(struct collection * at, enum tt_fault_kind kind, uint64_t time_ns) {
    struct tt_faults * faults = at->faults;
    if (!faults->is_open) {
        put_part(faults, at->part);
        put_lost(faults, time_ns, 1);
        return;
    }
    put_fault(at, kind, faults->open_ns, time_ns - faults->open_ns, faults->open_address);
    faults->is_open = false;
}

/* A thread in no compute has nothing to wait for: what it does not do there delays no pass. The clock that the kernel
   notes may step back by some ns. */
static void resume(struct collection * at, uint64_t time_ns) {
    struct tt_faults * faults = at->faults;
    if (faults->is_off && at->part.compute != TT_UNKNOWN) {
        put_part(faults, at->part);
        PUT(faults, tt_off_cpu, .kind = TT_FAULT_OFF_CPU, .begin_ns = faults->off_ns,
            .took_ns = time_ns > faults->off_ns ? time_ns - faults->off_ns : 0, .slept = faults->has_slept);
    }
    faults->is_off = false;
}

static void take(struct collection * at, const struct tt_noted * noted) {
    switch (noted->what) {
        case TT_NOTED_BEGIN: begin_fault(at, noted->time_ns, noted->address); break;
        case TT_NOTED_MINOR: end_fault(at, TT_FAULT_MINOR, noted->time_ns); break;
        case TT_NOTED_MAJOR: end_fault(at, TT_FAULT_MAJOR, noted->time_ns); break;
        case TT_NOTED_PREEMPTED:
        case TT_NOTED_SLEPT:
            at->faults->is_off    = true;
            at->faults->has_slept = noted->what == TT_NOTED_SLEPT;
            at->faults->off_ns    = noted->time_ns;
            break;
        case TT_NOTED_RESUMED: resume(at, noted->time_ns); break;
        case TT_NOTED_LOST:
            at->faults->is_open = false;
            at->faults->is_off  = false;
            at->has_lost        = true;
            break;
    }
}

/* The thread that closes the trace collects too; and a signal may come in the middle of a collection. */
static bool try_hold(struct tt_faults * faults) { return !atomic_flag_test_and_set(&faults->collecting); }

static void hold(struct tt_faults * faults) {
    const struct timespec pause = { .tv_nsec = 100000 };
    while (!try_hold(faults)) {
        nanosleep(&pause, NULL);
    }
}

static void let_go(struct tt_faults * faults) { atomic_flag_clear(&faults->collecting); }

static void take_until(struct collection * at, uint64_t head) {
    struct tt_noted noted;
    while (tt_ring_next(&at->faults->ring, head, &noted)) {
        take(at, &noted);
    }
}

/* Page faults that this has itself are left for the next time. Lost events may be switches: those of page faults are
   what the kernel has counted and the ring did not hold. */
static void collect(struct tt_faults * faults) {
    struct tt_ring *  ring = &faults->ring;
    struct collection at   = { .faults = faults, .part = part_of(faults), .elsewhere = { .kind = TT_FAULT_ELSEWHERE } };
    at.elsewhere.os_thread = faults->os_thread;
    take_until(&at, tt_ring_head(ring));
    if (at.has_lost) {
        const uint64_t n_happened = tt_ring_happened(ring);
        take_until(&at, tt_ring_head(ring));
        put_missed(&at, tt_ring_missed(ring, n_happened));
    }
    if (at.elsewhere.n_faults) {
        put_part(faults, at.part);
        put(faults, &at.elsewhere);
    }
}

void tt_faults_collect(struct tt_faults * faults) {
    if (faults && try_hold(faults)) {
        collect(faults);
        let_go(faults);
    }
}

/* What the thread did before is not of the compute. A signal may come at any moment: see wake.c. */
void tt_faults_enter(struct tt_faults * faults, uint64_t compute, uint32_t thread) {
    if (faults) {
        tt_faults_collect(faults);
        atomic_store_explicit(&faults->thread, thread, memory_order_relaxed);
        atomic_store_explicit(&faults->compute, compute, memory_order_release);
    }
}

void tt_faults_leave(struct tt_faults * faults) {
    if (faults) {
        tt_faults_collect(faults);
        atomic_store_explicit(&faults->compute, TT_UNKNOWN, memory_order_relaxed);
    }
}

static void collect_when_half_full(struct tt_faults * faults) {
    if (tt_ring_half_full(&faults->ring)) {
        collect(faults);
    }
}

/* In a signal handler: writes the faults if there is soon no room for more. */
static void woken(struct tt_faults * faults) {
    if (try_hold(faults)) {
        collect_when_half_full(faults);
        let_go(faults);
    }
}

/* ---- waits at barriers inside ops ---- */

void tt_faults_barrier(struct tt_faults * faults, uint64_t begin, uint64_t end) {
    if (faults && faults->n_barriers < TT_MOST_BARRIERS) {
        faults->barriers[faults->n_barriers].begin = begin;
        faults->barriers[faults->n_barriers].took  = end - begin;
        faults->n_barriers++;
    }
}

void tt_faults_op(struct tt_faults * faults, int node) {
    if (!faults) {
        return;
    }
    if (try_hold(faults)) {
        if (faults->n_barriers) {
            put_part(faults, part_of(faults));
        }
        for (unsigned i = 0; i < faults->n_barriers; i++) {
            PUT(faults, tt_barrier_wait, .kind = TT_FAULT_BARRIER, .begin = faults->barriers[i].begin,
                .took = faults->barriers[i].took, .node = (uint64_t) node);
        }
        collect_when_half_full(faults);
        let_go(faults);
    }
    faults->n_barriers = 0;
}

/* The last time: the kernel tells of lost events only when it notes the next one, but it counts all of them. */
static void finish(struct tt_faults * faults) {
    tt_ring_stop(&faults->ring);
    tt_wake_forget(faults); /* then: a signal that was sent until now is not the program's */
    collect(faults);
    const uint64_t missed = tt_ring_missed(&faults->ring, tt_ring_happened(&faults->ring));
    if (missed) {
        put_lost(faults, tt_now(), missed);
    }
    tt_ring_close(&faults->ring);
}

/* ---- from the first thread that has them to the end of the trace ---- */

void tt_faults_start(struct tt_trace * trace) {
    const char *   asked = getenv("TENSOR_TRACE_FAULTS");
    struct tt_ring trial;
    if (!asked || strcmp(asked, "1") != 0) {
        return;
    }
    const int failure = tt_ring_open(&trial);
    char      text[64];
    if (failure) {
        tt_info(trace, "faults.refused", strerror(failure));
        return;
    }
    snprintf(text, sizeof text, "%zu", trial.n_bytes);
    tt_info(trace, "faults.ring_bytes", text);
    tt_info(trace, "faults.off_cpu", trial.has_switches ? "1" : "0");
    tt_ring_close(&trial);
    tt_wake_start(woken);
    trace->faults = true;
}

void tt_faults_stop(struct tt_trace * trace) {
    if (trace->faults) {
        tt_wake_stop();
    }
}

/* The segment stays the same when another thread gets it; each record names its thread. */
static struct tt_faults * with_segment(struct tt_trace * trace, uint32_t place) {
    struct tt_faults * faults = calloc(1, sizeof *faults);
    if (faults) {
        atomic_init(&faults->compute, TT_UNKNOWN);
        memset(faults->ring.noted, -1, sizeof faults->ring.noted);
        memset(faults->ring.wakes, -1, sizeof faults->ring.wakes);
        tt_segment_of_thread(&faults->segment, trace, TT_SEGMENT_FAULTS, place, CHUNK);
    }
    return faults;
}

struct tt_faults * tt_faults_watch(struct tt_faults * faults, struct tt_trace * trace, uint32_t place) {
    if (!trace->faults) {
        return NULL;
    }
    if (!faults && (faults = with_segment(trace, place)) == NULL) {
        tt_segment_drop(&trace->main, 1, 0);
        return NULL;
    }
    hold(faults);
    faults->os_thread = tt_thread_number();
    faults->is_open   = false;
    faults->is_off    = false;
    const int failure = tt_ring_open(&faults->ring);
    if (failure) {
        PUT(faults, tt_faults_unseen, .kind = TT_FAULT_UNSEEN, .since_ns = tt_now(), .error = (uint64_t) failure);
    } else {
        tt_wake_for(faults, &faults->ring); /* first: else the program would get what wakes the thread */
        tt_ring_start(&faults->ring);
    }
    let_go(faults);
    return faults;
}

void tt_faults_end(struct tt_faults * faults) {
    if (faults && try_hold(faults)) {
        finish(faults);
        let_go(faults);
    }
}

/* Held from then on: what happens later is neither recorded nor counted. */
void tt_faults_close(struct tt_faults * faults) {
    if (faults) {
        hold(faults);
        finish(faults);
        tt_segment_close(&faults->segment, false);
    }
}

void tt_faults_free(struct tt_faults * faults) {
    if (faults) {
        tt_ring_close(&faults->ring);
        free(faults);
    }
}

uint64_t tt_faults_own_bytes(const struct tt_faults * faults) { return faults ? faults->segment.own_bytes : 0; }
