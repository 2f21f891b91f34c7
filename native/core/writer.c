/* Writes the events of the ops: two clock reads and one unit of 16 bytes per op and thread. */
#include "tt_writer.h"
#include "tt_clock.h"
#include "tt_system.h"

#include "tensor_trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CHUNK = 16 << 20, COMPUTES_PER_CHUNK = 16 };

static const uint64_t PATIENCE_NS = 3000000000; /* a thread may wait so long for a processor on a busy machine */

struct tt_writer * tt_writer_acquire(struct tt_trace * trace) {
    pthread_mutex_lock(&trace->lock);
    struct tt_writer * writer = trace->writers;
    while (writer && atomic_load(&writer->owned)) {
        writer = writer->next;
    }
    if (trace->sealed) {
        pthread_mutex_unlock(&trace->lock);
        return NULL;
    }
    if (!writer && (writer = calloc(1, sizeof *writer)) != NULL) {
        tt_segment_of_thread(&writer->segment, trace, TT_SEGMENT_THREAD, trace->n_writers, TT_THREAD_CHUNK);
        writer->trace  = trace;
        writer->place  = trace->n_writers++;
        writer->next   = trace->writers;
        trace->writers = writer;
    }
    if (writer) {
        writer->os_thread = tt_thread_number(); /* here, because a system call for every compute would cost too much */
        if (writer->schedstat > 0) {
            close(writer->schedstat); /* of the thread that owned this writer before */
        }
        writer->schedstat = tt_thread_time_open(writer->os_thread);
        writer->since     = tt_thread_time(writer->os_thread, writer->schedstat);
        writer->faults    = tt_faults_watch(writer->faults, trace, writer->place);
        atomic_store(&writer->owned, true);
    }
    pthread_mutex_unlock(&trace->lock);
    return writer;
}

/* The writer of a thread that ends in the middle of a compute stays owned: no other thread may append to its file. */
void tt_writer_release(struct tt_writer * writer) {
    tt_faults_end(writer->faults);
    atomic_store(&writer->owned, atomic_load(&writer->busy));
}

/* Waits for a thread that has left its last barrier and will end its part as soon as it gets a processor. */
static bool still_busy(struct tt_writer * writer, uint64_t until) {
    const struct timespec pause = { .tv_nsec = 100000 };
    bool                  busy  = atomic_load_explicit(&writer->busy, memory_order_acquire);
    while (busy && tt_now() < until) {
        nanosleep(&pause, NULL);
        busy = atomic_load_explicit(&writer->busy, memory_order_acquire);
    }
    return busy;
}

void tt_writers_seal(struct tt_trace * trace) {
    const uint64_t until = tt_now() + PATIENCE_NS;
    for (struct tt_writer * writer = trace->writers; writer; writer = writer->next) {
        const bool busy = still_busy(writer, until);
        tt_segment_close(&writer->segment, busy);
        tt_faults_close(writer->faults);
    }
}

void tt_writers_free(struct tt_trace * trace) {
    for (struct tt_writer * writer = trace->writers; writer;) {
        struct tt_writer * next = writer->next;
        if (!atomic_load(&writer->busy)) {
            if (writer->schedstat > 0) {
                close(writer->schedstat);
            }
            tt_faults_free(writer->faults);
            free(writer);
        }
        writer = next;
    }
    trace->writers = NULL;
}

/* Events are built in place: building one elsewhere and copying it would stall on its own stores. They are aligned,
   because chunks and units are. */
static inline void * next_unit(struct tt_writer * writer) { return writer->segment.payload + writer->segment.used; }

/* Reserves room for a whole compute, so that no event of it can fail. Each of its ops may need a long unit. */
bool tt_writer_prepare(struct tt_writer * writer, uint32_t n_nodes, size_t index_bytes) {
    const size_t bytes = (size_t) n_nodes * sizeof(struct tt_long_op) + sizeof(struct tt_thread_begin)
        + sizeof(struct tt_thread_end) + index_bytes;
    if (TT_UNLIKELY(bytes > writer->segment.chunk_bytes / COMPUTES_PER_CHUNK
                    && writer->segment.chunk_bytes < MAX_CHUNK)) {
        writer->segment.chunk_bytes = bytes < MAX_CHUNK / COMPUTES_PER_CHUNK
            ? bytes * COMPUTES_PER_CHUNK
            : MAX_CHUNK; /* little is left at the end */
    }
    return tt_segment_reserve(&writer->segment, bytes);
}

void tt_thread_begin(struct tt_writer * writer, const struct tt_compute_work * work, int ith, int nth) {
    writer->work   = *work;
    writer->thread = (uint32_t) ith;
    writer->begin  = 0;
    atomic_store_explicit(&writer->busy, true, memory_order_release);
    tt_faults_enter(writer->faults, work->compute, writer->thread);
    writer->dropping   = !tt_writer_prepare(writer, work->n_nodes, ith == 0 ? work->index_bytes : 0);
    writer->is_watched = writer->dropping || writer->faults;
    writer->plan       = ith == 0 && !writer->dropping ? work->plan : NULL;
    if (writer->dropping) {
        tt_segment_drop(&writer->segment, 2, sizeof(struct tt_thread_begin) + sizeof(struct tt_thread_end));
        return;
    }
    const uint64_t time                           = tt_ticks();
    *(struct tt_thread_begin *) next_unit(writer) = (struct tt_thread_begin) {
        .time      = time,
        .thread    = writer->thread,
        .n_threads = (uint16_t) nth,
        .type      = TT_THREAD_BEGIN,
        .compute   = work->compute,
        .os_thread = writer->os_thread,
        .more      = TT_MORE,
    };
    writer->last = time;
    tt_segment_commit(&writer->segment, sizeof(struct tt_thread_begin));
}

void tt_thread_end_at(struct tt_writer * writer, uint64_t ticks) {
    if (!writer->dropping) {
        *(struct tt_thread_end *) next_unit(writer) = (struct tt_thread_end) {
            .time   = ticks,
            .thread = writer->thread,
            .type   = TT_THREAD_END,
        };
        tt_segment_commit(&writer->segment, sizeof(struct tt_thread_end));
    }
    tt_faults_leave(writer->faults);
    atomic_store_explicit(&writer->busy, false, memory_order_release);
}

void tt_thread_end(struct tt_writer * writer) { tt_thread_end_at(writer, tt_ticks()); }

/* Not inlined: else every op would save the registers that this needs. */
static __attribute__((noinline)) void copy_index(struct tt_writer * writer, int node) {
    struct tt_segment * segment = &writer->segment;
    const size_t        reserved =
        ((size_t) writer->work.n_nodes - (size_t) node) * sizeof(struct tt_long_op) + sizeof(struct tt_thread_end);
    const size_t      left  = segment->room - segment->used;
    struct tt_index * index = next_unit(writer);
    size_t            size  = TT_NO_ROOM;
    if (left > reserved + sizeof *index) {
        *index = (struct tt_index) { .time = tt_ticks(), .node = (uint32_t) node, .type = TT_INDEX, .more = TT_MORE };
        size   = writer->work.copy_index(writer->work.graph, node, index, left - reserved - sizeof *index,
                                         writer->work.n_tokens);
    }
    if (size == TT_NO_ROOM) {
        tt_segment_drop(segment, 1, 0);
        return;
    }
    uint8_t *    end     = (uint8_t *) (index + 1) + size;
    const size_t padding = (TT_UNIT - size % TT_UNIT) % TT_UNIT;
    memset(end, 0, padding);
    writer->last = index->time;
    tt_segment_commit(segment, sizeof *index + size + padding);
}

void tt_index_at(struct tt_writer * writer, int node) {
    if (writer->plan && writer->plan[node]) {
        copy_index(writer, node);
    }
}

void tensor_trace_op_begin(struct tt_writer * writer, int node) {
    if (writer->plan && writer->plan[node]) {
        copy_index(writer, node);
    }
    writer->first_node = node;
    writer->barrier    = 0;
    writer->begin      = tt_ticks();
}

/* Writes an op whose numbers do not fit into one unit, as two units. */
static __attribute__((noinline)) void put_long_op(struct tt_writer * writer, uint64_t end, int n_fused) {
    *(struct tt_long_op *) next_unit(writer) = (struct tt_long_op) {
        .begin        = writer->begin,
        .node         = (uint32_t) writer->first_node,
        .n_fused      = (uint16_t) n_fused,
        .type         = TT_LONG_OP,
        .took         = end - writer->begin,
        .barrier      = (uint32_t) writer->barrier,
        .barrier_high = (uint16_t) (writer->barrier >> 32),
        .more         = TT_MORE,
    };
    tt_segment_commit(&writer->segment, sizeof(struct tt_long_op));
}

static inline void write_op(struct tt_writer * writer, int node, uint64_t end) {
    const uint64_t begin = writer->begin, gap = begin - writer->last, took = end - begin;
    const int      first = writer->first_node, n_fused = node - first;
    writer->begin = 0;
    writer->last  = end;
    if (TT_UNLIKELY((gap | took) >> 32 || (uint32_t) first >> 16 || (uint32_t) n_fused >> 8)) {
        writer->begin = begin;
        put_long_op(writer, end, n_fused);
        writer->begin = 0;
        return;
    }
    *(struct tt_op *) next_unit(writer) = (struct tt_op) {
        .gap     = (uint32_t) gap,
        .took    = (uint32_t) took,
        .barrier = (uint32_t) writer->barrier,
        .node    = (uint16_t) first,
        .n_fused = (uint8_t) n_fused,
        .type    = TT_OP,
    };
    tt_segment_commit(&writer->segment, sizeof(struct tt_op));
}

/* Where page faults are recorded, or events are dropped. Apart from put_op, which would save registers for the calls. */
static __attribute__((noinline)) void watched_op(struct tt_writer * writer, int node, uint64_t end) {
    tt_faults_op(writer->faults, writer->first_node);
    if (!writer->dropping) {
        write_op(writer, node, end);
        return;
    }
    writer->begin = 0;
    writer->last  = end;
    tt_segment_drop(&writer->segment, 1, sizeof(struct tt_op));
}

static inline void put_op(struct tt_writer * writer, int node, uint64_t end) {
    if (TT_UNLIKELY(writer->is_watched)) {
        watched_op(writer, node, end);
        return;
    }
    write_op(writer, node, end);
}

void tensor_trace_op_end(struct tt_writer * writer, int node) { put_op(writer, node, tt_ticks()); }

void tt_op_was(struct tt_writer * writer, int node, int n_fused, uint64_t begin, uint64_t end, uint64_t barrier) {
    writer->first_node = node;
    writer->barrier    = barrier;
    writer->begin      = begin;
    put_op(writer, node + n_fused, end);
}

/* A barrier between two ops belongs to neither of them: the reader sees its wait as the gap between them. */
void tensor_trace_barrier_begin(struct tt_writer * writer) {
    if (writer->begin) {
        writer->barrier_begin = tt_ticks();
    }
}

void tensor_trace_barrier_end(struct tt_writer * writer) {
    if (writer->begin) {
        const uint64_t end = tt_ticks();
        writer->barrier += end - writer->barrier_begin;
        if (writer->faults) {
            tt_faults_barrier(writer->faults, writer->barrier_begin, end);
        }
    }
}
