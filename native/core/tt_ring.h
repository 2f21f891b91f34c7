/* The memory in which the kernel notes the page faults of a thread, and when it has a processor. */
#ifndef TT_RING_H
#define TT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TT_RING_NOTED = 3, TT_RING_WAKES = 2 };
struct perf_event_mmap_page;
struct tt_ring {
    struct perf_event_mmap_page * shared; /* NULL: no thread is watched */
    size_t                        page, n_bytes; /* of the machine; of the ring without its first page */
    int                           noted[TT_RING_NOTED], wakes[TT_RING_WAKES]; /* descriptors; -1: none */
    bool                          has_switches; /* that the thread loses and gets processors is noted */
    uint64_t n_seen; /* begins and ends of faults that were in the ring, or were said to be missed */
};
enum tt_noted_what {
    TT_NOTED_BEGIN,
    TT_NOTED_MINOR,
    TT_NOTED_MAJOR,
    TT_NOTED_PREEMPTED, /* the thread lost its processor, and could have run on */
    TT_NOTED_SLEPT, /* it lost its processor, as it waited for something else */
    TT_NOTED_RESUMED, /* it got one */
    TT_NOTED_LOST, /* there was no room for what happened here, of any kind; without a time */
};
struct tt_noted { /* what the kernel noted */
    enum tt_noted_what what;
    uint64_t           time_ns, address; /* address: only of a begin */
};
int      tt_ring_open(struct tt_ring * ring); /* for the thread that calls; 0, or the errno that says why not */
void     tt_ring_start(const struct tt_ring * ring); /* from now on its page faults and switches are noted */
void     tt_ring_stop(const struct tt_ring * ring); /* nothing is noted any more */
void     tt_ring_close(struct tt_ring * ring);
bool     tt_ring_half_full(const struct tt_ring * ring);
uint64_t tt_ring_head(const struct tt_ring * ring); /* where what comes from now on will begin */
/* Take the oldest of what stands before `head`; false: there is no more. */
bool     tt_ring_next(struct tt_ring * ring, uint64_t head, struct tt_noted * noted);
uint64_t tt_ring_happened(const struct tt_ring * ring); /* begins and ends of faults that the kernel counted so far */
/* How many of these were never in the ring, if what they noted was taken since; each is said once. */
uint64_t tt_ring_missed(struct tt_ring * ring, uint64_t n_happened);

#endif
