/* The path of the ops: two clock reads and one 32-byte record per op and thread. */
#include "tt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREAD_CHUNK = 1 << 20 };

struct tt_writer * tt_writer_acquire(struct tt_trace * trace) {
    pthread_mutex_lock(&trace->lock);
    struct tt_writer * writer = trace->writers;
    while (writer && atomic_load(&writer->owned)) {
        writer = writer->next;
    }
    if (!writer && (writer = calloc(1, sizeof *writer)) != NULL) {
        char hex[33], name[64];
        for (int i = 0; i < 16; i++) {
            snprintf(hex + 2 * i, 3, "%02x", trace->run_id[i]);
        }
        const uint32_t number = trace->n_segments;
        snprintf(name, sizeof name, "%s.t%03u.tt", hex, number - 1);
        if (tt_segment_open(&writer->segment, trace->folder, name, trace->run_id, TT_SEGMENT_THREAD, number,
                            THREAD_CHUNK, &trace->budget)) {
            trace->n_segments++;
        } else {
            writer->segment.header = trace->main.header; /* what it drops is counted there */
        }
        writer->trace  = trace;
        writer->next   = trace->writers;
        trace->writers = writer;
    }
    if (writer) {
        writer->os_thread = (uint32_t) gettid(); /* a system call: not for every compute */
        atomic_store(&writer->owned, true);
    }
    pthread_mutex_unlock(&trace->lock);
    return writer;
}

void tt_writer_release(struct tt_writer * writer) {
    atomic_store(&writer->owned, false);
}

void tt_writers_close(struct tt_trace * trace) {
    for (struct tt_writer * writer = trace->writers; writer; ) {
        struct tt_writer * next = writer->next;
        const bool busy = atomic_load_explicit(&writer->busy, memory_order_acquire);
        tt_segment_close(&writer->segment, busy);
        if (!busy) {
            free(writer);
        }
        writer = next;
    }
    trace->writers = NULL;
}

/* In place: an event built elsewhere and copied stalls on its own stores. Chunks and events keep it aligned. */
static inline struct tt_event * next_event(struct tt_writer * writer) {
    return (struct tt_event *) (void *) (writer->segment.payload + writer->segment.used);
}

static void mark(struct tt_writer * writer, uint16_t type, uint64_t pool) {
    *next_event(writer) = (struct tt_event) {
        .begin_ns = tt_now(), .end_ns = writer->work.compute, .barrier_ns = pool, .node = writer->thread, .type = type,
    };
    tt_segment_commit(&writer->segment, sizeof(struct tt_event));
}

void tt_thread_begin(struct tt_writer * writer, const struct tt_compute_work * work, int ith, int nth) {
    const size_t events = (size_t) work->n_nodes + 2;
    const size_t bytes  = events * sizeof(struct tt_event) + (ith == 0 ? work->index_bytes : 0);
    writer->work     = *work;
    writer->thread   = (uint32_t) ith;
    writer->in_op    = false;
    atomic_store_explicit(&writer->busy, true, memory_order_relaxed);
    writer->dropping = !tt_segment_reserve(&writer->segment, bytes);
    writer->plan     = ith == 0 && !writer->dropping ? work->plan : NULL;
    if (writer->dropping) {
        tt_segment_drop(&writer->segment, 2, 2 * sizeof(struct tt_event));
        return;
    }
    mark(writer, TT_THREAD_BEGIN, (uint64_t) nth | (uint64_t) writer->os_thread << 32);
}

void tt_thread_end(struct tt_writer * writer) {
    if (!writer->dropping) {
        mark(writer, TT_THREAD_END, 0);
    }
    atomic_store_explicit(&writer->busy, false, memory_order_release);
}

static void copy_index(struct tt_writer * writer, int node) {
    struct tt_segment * segment = &writer->segment;
    const size_t kept = ((size_t) writer->work.n_nodes + 2 - (size_t) node) * sizeof(struct tt_event);
    const size_t left = segment->room - segment->used;
    size_t       size = 0;
    if (left > kept) {
        size = writer->work.copy_index(writer->work.graph, node, segment->payload + segment->used, left - kept,
                                       writer->work.n_tokens);
    }
    if (size == 0) {
        tt_segment_drop(segment, 1, 0);
        return;
    }
    tt_segment_commit(segment, size);
}

void tt_op_begin(struct tt_writer * writer, int node) {
    if (writer->plan && writer->plan[node]) {
        copy_index(writer, node);
    }
    writer->first_node = node;
    writer->barrier_ns = 0;
    writer->in_op      = true;
    writer->begin_ns   = tt_now();
}

void tt_op_end(struct tt_writer * writer, int node) {
    const uint64_t end_ns = tt_now();
    writer->in_op = false;
    if (writer->dropping) {
        tt_segment_drop(&writer->segment, 1, sizeof(struct tt_event));
        return;
    }
    struct tt_event * event = next_event(writer);
    event->begin_ns   = writer->begin_ns;
    event->end_ns     = end_ns;
    event->barrier_ns = writer->barrier_ns;
    event->node       = (uint32_t) writer->first_node;
    event->n_fused    = (uint16_t) (node - writer->first_node);
    event->type       = TT_OP;
    tt_segment_commit(&writer->segment, sizeof *event);
}

void tt_measure_cost(double * event_ns, double * clock_ns) {
    enum { N = 4096 };
    struct tt_file_header   header = { 0 };
    struct tt_chunk_header * chunk = aligned_alloc(64, sizeof *chunk + N * sizeof(struct tt_event));
    *event_ns = *clock_ns = 0;
    if (!chunk) {
        return;
    }
    memset(chunk, 0, sizeof *chunk + N * sizeof(struct tt_event));
    struct tt_writer writer = { .segment = { .fd = -1, .chunk = chunk, .header = &header } };
    writer.segment.payload  = (uint8_t *) (chunk + 1);
    writer.segment.room     = N * sizeof(struct tt_event);
    double best_event = 1e9, best_clock = 1e9;
    for (int round = 0; round < 5; round++) { /* the least disturbed of five */
        writer.segment.used = 0;
        const uint64_t begin = tt_now();
        for (int i = 0; i < N; i++) {
            tt_op_begin(&writer, i);
            tt_op_end(&writer, i);
        }
        const uint64_t middle = tt_now();
        for (int i = 0; i < N; i++) {
            (void) tt_now();
        }
        const uint64_t end = tt_now();
        const double   event = (double) (middle - begin) / N, clock = (double) (end - middle) / N;
        best_event = event < best_event ? event : best_event;
        best_clock = clock < best_clock ? clock : best_clock;
    }
    *event_ns = best_event;
    *clock_ns = best_clock;
    free(chunk);
}
