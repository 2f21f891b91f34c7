/*
 * op_cost: measures what recording an op costs, compared with reading the clock only.
 *
 *     op_cost FOLDER [ROUNDS]         prints medians over the rounds in ns, as lines of `name value`
 *     op_cost FOLDER instructions     runs N op events, for callgrind (--toggle-collect=measured_*)
 *
 * The events go into a real segment in FOLDER, so the figures include new chunks, page faults and write-back;
 * only `op_in_cache_ns` writes the same chunk again and again. TENSOR_TRACE_CLOCK chooses the clock.
 */
#include "tt_clock.h"
#include "tt_trace.h"
#include "tt_writer.h"

#include "tensor_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N_NODES = 848, N_COMPUTES = 40, N = N_NODES * N_COMPUTES, N_EXPERTS = 8 }; /* 848: a pass of gpt-oss-20b */

static struct tt_trace *  trace;
static struct tt_writer * writer;
static volatile uint64_t  sink;

__attribute__((noinline)) void measured_ops(const struct tt_compute_work * work) {
    for (int compute = 0; compute < N_COMPUTES; compute++) {
        tt_thread_begin(writer, work, 0, 1);
        for (int node = 0; node < N_NODES; node++) {
            tensor_trace_op_begin(writer, node);
            tensor_trace_op_end(writer, node);
        }
        tt_thread_end(writer);
    }
}

__attribute__((noinline)) void measured_ops_with_barrier(const struct tt_compute_work * work) {
    for (int compute = 0; compute < N_COMPUTES; compute++) {
        tt_thread_begin(writer, work, 0, 1);
        for (int node = 0; node < N_NODES; node++) {
            tensor_trace_op_begin(writer, node);
            tensor_trace_barrier_begin(writer);
            tensor_trace_barrier_end(writer);
            tensor_trace_op_end(writer, node);
        }
        tt_thread_end(writer);
    }
}

__attribute__((noinline)) void measured_ops_in_cache(const struct tt_compute_work * work) {
    for (int compute = 0; compute < N_COMPUTES; compute++) {
        tt_thread_begin(writer, work, 0, 1);
        const size_t used = writer->segment.used;
        for (int node = 0; node < N_NODES; node++) {
            tensor_trace_op_begin(writer, node);
            tensor_trace_op_end(writer, node);
        }
        writer->segment.used = used - sizeof(struct tt_thread_begin);
    }
}

/* Copies eight experts of one token number by number, as the hooks do from a tensor with strides. */
static size_t copy_experts(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens) {
    static const int32_t experts[N_EXPERTS] = { 3, 1, 4, 15, 9, 2, 6, 5 };
    uint8_t *            at                 = (uint8_t *) (index + 1);
    (void) graph, (void) node, (void) n_tokens;
    if (sizeof experts > room) {
        return TT_NO_ROOM;
    }
    index->what  = TT_INDEX_EXPERTS;
    index->bytes = sizeof *experts;
    index->ne0   = N_EXPERTS;
    index->ne1   = 1;
    for (size_t i = 0; i < N_EXPERTS; i++, at += sizeof *experts) {
        memcpy(at, experts + i, sizeof *experts);
    }
    return sizeof experts;
}

__attribute__((noinline)) void measured_clock_reads(void) {
    uint64_t sum = 0;
    for (int i = 0; i < N; i++) {
        sum += tt_ticks();
    }
    sink = sum;
}

static int ascending(const void * a, const void * b) {
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double median(double * values, int n) {
    qsort(values, (size_t) n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int main(int argc, char ** argv) {
    char error[256] = "usage: op_cost FOLDER [ROUNDS|instructions]";

    trace  = argc > 1 ? tt_open(argv[1], UINT64_MAX, error) : NULL;
    writer = trace ? tt_writer_acquire(trace) : NULL;
    if (!writer) {
        fprintf(stderr, "op_cost: %s\n", error);
        return 2;
    }
    static uint8_t every_node[N_NODES];
    memset(every_node, 1, sizeof every_node);
    const struct tt_compute_work work    = { .n_nodes = N_NODES },
                                 copying = {
                                     .n_nodes     = N_NODES,
                                     .plan        = every_node,
                                     .copy_index  = copy_experts,
                                     .index_bytes = N_NODES * (sizeof(struct tt_index) + 2 * TT_UNIT),
                                 };
    if (argc > 2 && strcmp(argv[2], "instructions") == 0) {
        measured_ops(&work);
        measured_clock_reads();
        printf("n %d\n", N);
        tt_close(trace);
        return 0;
    }
    enum { MOST = 1000 };
    static double op[MOST], index_copy[MOST], in_cache[MOST], barrier[MOST], clock_read[MOST], op_ratio[MOST],
        barrier_ratio[MOST];
    const int wanted = argc > 2 ? atoi(argv[2]) : 25, rounds = wanted < 1 ? 1 : wanted > MOST ? MOST : wanted;
    for (int i = 0; i < rounds; i++) { /* all kinds in each round: a disturbance then affects all of them */
        const uint64_t t0 = tt_now();
        measured_clock_reads();
        const uint64_t t1 = tt_now();
        measured_ops(&work);
        const uint64_t t2 = tt_now();
        measured_ops_with_barrier(&work);
        const uint64_t t3 = tt_now();
        measured_ops_in_cache(&work);
        const uint64_t t4 = tt_now();
        measured_ops(&copying);
        const uint64_t t5 = tt_now();
        index_copy[i]     = (double) (t5 - t4) / N - (double) (t2 - t1) / N;
        clock_read[i]     = (double) (t1 - t0) / N;
        op[i]             = (double) (t2 - t1) / N;
        barrier[i]        = (double) (t3 - t2) / N;
        in_cache[i]       = (double) (t4 - t3) / N;
        op_ratio[i]       = op[i] / (2 * clock_read[i]);
        barrier_ratio[i]  = barrier[i] / (4 * clock_read[i]);
    }
    printf("rounds %d\nevents_per_round %d\ntsc %d\n", rounds, N, tt_tsc);
    printf("clock_read_ns %.2f\nop_ns %.2f\nop_with_barrier_ns %.2f\n", median(clock_read, rounds), median(op, rounds),
           median(barrier, rounds));
    printf("op_in_cache_ns %.2f\nindex_ns %.2f\n", median(in_cache, rounds), median(index_copy, rounds));
    printf("op_ratio %.4f\nbarrier_ratio %.4f\n", median(op_ratio, rounds), median(barrier_ratio, rounds));
    tt_thread_begin(writer, &work, 0, 1);
    const size_t begun = writer->segment.used;
    for (int i = 0; i < N_NODES; i++) {
        tensor_trace_op_begin(writer, i);
        tensor_trace_op_end(writer, i);
    }
    printf("bytes_per_event %.2f\n", (double) (writer->segment.used - begun) / N_NODES);
    tt_thread_end(writer);
    printf("dropped %llu\n", (unsigned long long) writer->segment.header->dropped_records);
    tt_close(trace);
    return 0;
}
