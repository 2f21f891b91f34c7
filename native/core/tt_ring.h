/* The memory in which the kernel notes the page faults of a thread. */
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
    uint64_t                      n_seen; /* events that were in the ring, or were said to be lost */
};
struct tt_noted { /* what the kernel noted */
    enum { TT_NOTED_BEGIN, TT_NOTED_MINOR, TT_NOTED_MAJOR, TT_NOTED_LOST } what;
    uint64_t n; /* events: more than one if they were lost */
    uint64_t time_ns, address; /* address: only of a begin */
};
int      tt_ring_open(struct tt_ring * ring); /* watch the thread that calls; 0, or the errno that says why not */
void     tt_ring_stop(const struct tt_ring * ring); /* nothing is noted any more */
void     tt_ring_close(struct tt_ring * ring);
bool     tt_ring_half_full(const struct tt_ring * ring);
uint64_t tt_ring_head(const struct tt_ring * ring); /* where what comes from now on will begin */
/* Take the oldest of what stands before `head`; false: there is no more. */
bool     tt_ring_next(struct tt_ring * ring, uint64_t head, struct tt_noted * noted);
uint64_t tt_ring_missed(const struct tt_ring * ring); /* events that happened and were never seen; after the stop */

#endif
