/* How the threads of a pass got processors. */
#ifndef TT_SCHEDULE_H
#define TT_SCHEDULE_H

#include "tt_state.h"
#include "tt_thread_time.h"

struct tt_schedule_begin { /* the counters of all threads when a pass began */
    struct tt_thread_time * times; /* indexed by the writer's place */
    uint32_t                n, size;
    uint64_t                ns; /* just before the first counter was read */
};
/* Read the counters when a pass begins. false: out of memory; then each thread counts from when it got its writer. */
bool tt_schedule_begin(struct tt_trace * trace, struct tt_schedule_begin * begin);
/* The sums over all threads since the begin; the caller fills in the pass. */
struct tt_schedule tt_schedule_end(struct tt_trace * trace, const struct tt_schedule_begin * begin);

#endif
