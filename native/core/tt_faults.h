/* Page faults of the threads that record. A `faults` may be NULL: those of its thread are not recorded. */
#ifndef TT_FAULTS_H
#define TT_FAULTS_H

#include "tt_state.h"

struct tt_faults;
void tt_faults_start(struct tt_trace * trace); /* TENSOR_TRACE_FAULTS=1; says in the trace why not */
void tt_faults_stop(struct tt_trace * trace); /* those of all threads are closed */
/* Record the page faults of the thread that calls, under the lock: `faults`, if another thread had them before, else new
   ones with this place. */
struct tt_faults * tt_faults_watch(struct tt_faults * faults, struct tt_trace * trace, uint32_t place);
void               tt_faults_collect(struct tt_faults * faults); /* write the faults that the kernel has noted so far */
/* The thread begins and ends its part of a compute, in which it has the number `thread`. */
void     tt_faults_enter(struct tt_faults * faults, uint64_t compute, uint32_t thread);
void     tt_faults_leave(struct tt_faults * faults);
void     tt_faults_end(struct tt_faults * faults); /* the thread is about to end */
void     tt_faults_close(struct tt_faults * faults); /* the trace ends: seal the segment */
void     tt_faults_free(struct tt_faults * faults);
uint64_t tt_faults_own_bytes(const struct tt_faults * faults); /* of the segment; see tt_own_bytes */
/* The waits at barriers inside an op are written beside the faults: they tell who waited for whose fault. Of one op at
   most TT_MOST_BARRIERS; those beyond it are part of the op's time all the same. */
enum { TT_MOST_BARRIERS = 256 };
void tt_faults_barrier(struct tt_faults * faults, uint64_t begin, uint64_t end); /* ticks */
/* The op of these waits has ended. Faults are written if there is soon no room for more. */
void tt_faults_op(struct tt_faults * faults, int node);

#endif
