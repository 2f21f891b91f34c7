/* Writes the events of the ops, each thread by its own writer; tensor_trace.h has the other functions. */
#ifndef TT_WRITER_H
#define TT_WRITER_H

#include "tt_faults.h"
#include "tt_state.h"
#include "tt_thread_time.h"

/* Copies the index data of a node: fills `what`, `bytes`, `ne0` and `ne1` of `index` and puts the numbers behind it.
   Returns the bytes of the numbers, or TT_NO_ROOM when they need more than `room`. */
#define TT_NO_ROOM SIZE_MAX
typedef size_t (*tt_index_fn)(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens);
struct tt_compute_work { /* what the threads of a compute need; valid until compute_end */
    const void *    graph;
    uint64_t        compute;
    const uint8_t * plan; /* per node: not 0 where index data must be copied; NULL: nowhere */
    size_t          index_bytes; /* most bytes that these copies can take */
    uint32_t        n_nodes, n_tokens;
    tt_index_fn     copy_index;
};

struct tt_writer {
    struct tt_segment      segment;
    struct tt_trace *      trace;
    struct tt_writer *     next;
    uint64_t               last, begin, barrier, barrier_begin; /* ticks; begin is 0 between ops */
    struct tt_compute_work work;
    const uint8_t *        plan; /* work.plan if this thread copies index data, else NULL */
    int                    first_node;
    uint32_t               thread, os_thread;
    uint32_t               place; /* index among the writers of the run, from 0 */
    int                    schedstat; /* descriptor of its thread's schedstat; -1: it cannot be opened */
    struct tt_thread_time  since; /* the thread's counters when it got this writer */
    struct tt_faults *     faults; /* NULL: the page faults of its thread are not recorded */
    bool                   dropping; /* there is no room: the events of this compute are counted, not written */
    bool                   is_watched; /* dropping, or page faults are recorded: see watched_op */
    atomic_bool            busy, owned; /* busy: between thread_begin and thread_end */
};
/* A writer for the calling thread: a released one or a new one. NULL: the trace is sealed, or out of memory. */
struct tt_writer * tt_writer_acquire(struct tt_trace * trace);
void               tt_writer_release(struct tt_writer * writer);
/* Make room for a compute with so many nodes and bytes of index data. Called before a pass, so that allocating a chunk
   is not part of the pass. */
bool tt_writer_prepare(struct tt_writer * writer, uint32_t n_nodes, size_t index_bytes);
void tt_thread_begin(struct tt_writer * writer, const struct tt_compute_work * work, int ith, int nth);
void tt_thread_end(struct tt_writer * writer);
/* For attached tracing, which learns the times of an op only after it. All times are in ticks. */
void tt_thread_end_at(struct tt_writer * writer, uint64_t ticks);
void tt_index_at(struct tt_writer * writer, int node); /* before the op: copies its index data if the plan says so */
void tt_op_was(struct tt_writer * writer, int node, int n_fused, uint64_t begin, uint64_t end, uint64_t barrier);
void tt_writers_seal(struct tt_trace * trace); /* under the lock */
void tt_writers_free(struct tt_trace * trace);
enum { TT_THREAD_CHUNK = 1 << 20 };

#endif
