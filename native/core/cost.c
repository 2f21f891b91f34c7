/* Measures what recording costs on this machine and in this folder, when a run begins. */
#include "tt_cost.h"
#include "tt_clock.h"
#include "tt_writer.h"

#include "tensor_trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORK_BYTES = 256 << 10 };

static volatile uint8_t sink;

/* Reads memory as a kernel does between the begin and the end of an op: it evicts the tracer's data from the nearest
   caches. */
static void work_like_a_kernel(const uint8_t * bytes, size_t size) {
    uint8_t sum = 0;
    for (size_t i = 0; i < size; i += 64) {
        sum = (uint8_t) (sum + bytes[i]);
    }
    sink = sum;
}

static int by_size(const void * a, const void * b) {
    const uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return (x > y) - (x < y);
}

/* The ns that an op event adds to a pass: the median with an event in such work less the median without one. Medians,
   because other programs may use the machine. 0: out of memory. */
static double event_beside_work(struct tt_writer * writer, const struct tt_compute_work * work) {
    enum { N = 500 };
    uint8_t * bytes = malloc(WORK_BYTES);
    uint64_t  took[2][N];
    if (!bytes) {
        return 0;
    }
    memset(bytes, 1, WORK_BYTES);
    tt_thread_begin(writer, work, 1, 2);
    for (int i = 0; i < 2 * N; i++) {
        const int with_event = i & 1;
        work_like_a_kernel(bytes, WORK_BYTES);
        const uint64_t t0 = tt_now();
        if (with_event) {
            tensor_trace_op_begin(writer, i / 2);
        }
        const uint64_t t1 = tt_now();
        work_like_a_kernel(bytes, WORK_BYTES);
        const uint64_t t2 = tt_now();
        if (with_event) {
            tensor_trace_op_end(writer, i / 2);
        }
        const uint64_t t3       = tt_now();
        took[with_event][i / 2] = t1 - t0 + t3 - t2;
    }
    tt_thread_end(writer);
    free(bytes);
    qsort(took[0], N, sizeof took[0][0], by_size);
    qsort(took[1], N, sizeof took[1][0], by_size);
    return (double) took[1][N / 2] - (double) took[0][N / 2];
}

/* Takes the fastest of several rounds. The events go into a file of their own, deleted afterwards, so that the cost of
   allocating chunks is part of the figure. event_ns is that or the cost beside work, whichever is larger. */
bool tt_measure_cost(struct tt_trace * trace, struct tt_cost * cost) {
    enum { ROUNDS = 5, N_NODES = 800, N_COMPUTES = 82, N = N_NODES * N_COMPUTES }; /* a round fills a chunk */
    const struct tt_compute_work work   = { .n_nodes = N_NODES };
    struct tt_budget             budget = { .left = UINT64_MAX, .outside = true };
    struct tt_writer             writer = { 0 };
    char                         name[TT_NAME_BYTES];
    tt_segment_name(trace, "cost", name);
    name[strlen(name) - strlen(".tt")] = 0; /* no part of the trace, should it be left */
    if (!tt_segment_open(&writer.segment, trace->folder, name, trace->run_id, TT_SEGMENT_THREAD, 0, TT_THREAD_CHUNK,
                         &budget)) {
        return false;
    }
    cost->event_ns = cost->clock_ns = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t begin = tt_now();
        for (int compute = 0; compute < N_COMPUTES; compute++) {
            tt_thread_begin(&writer, &work, 1, 2);
            for (int i = 0; i < N_NODES; i++) {
                tensor_trace_op_begin(&writer, i);
                tensor_trace_op_end(&writer, i);
            }
            tt_thread_end(&writer);
        }
        const uint64_t middle = tt_now();
        for (int i = 0; i < N; i++) {
            (void) tt_ticks();
        }
        const uint64_t end   = tt_now();
        const double   event = (double) (middle - begin) / (double) N, clock = (double) (end - middle) / (double) N;
        cost->event_ns = event < cost->event_ns ? event : cost->event_ns;
        cost->clock_ns = clock < cost->clock_ns ? clock : cost->clock_ns;
    }
    const double beside_work = event_beside_work(&writer, &work);

    cost->event_ns      = beside_work > cost->event_ns ? beside_work : cost->event_ns;
    const bool complete = writer.segment.header->dropped_records == 0;
    tt_segment_discard(&writer.segment);
    unlinkat(trace->folder, name, 0);
    return complete;
}
