/* What recording costs on this machine, in this folder, now: measured when a run begins, and noted in its trace. */
#include "tt.h"

#include "tensor_trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What is written for a pass of one token beside its ops: counters twice, the clock twice, eight records. */
void tt_write_pass(struct tt_trace * trace) {
    const uint32_t pair[2] = { 0, 0 };
    struct rusage  usage;
    struct tt_pass pass = { .pass = tt_next_pass(trace), .n_tokens = 1 };
    uint8_t        begin[sizeof pass + sizeof(struct tt_token)] = { 0 };
    tt_record(trace, TT_CALL, pair, sizeof pair, tt_now());
    getrusage(RUSAGE_SELF, &usage);
    pass.usage.minor_faults = (uint64_t) usage.ru_minflt;
    memcpy(begin, &pass, sizeof pass);
    struct tt_moment moment = tt_moment();
    tt_clock(trace, &moment);
    tt_record(trace, TT_PASS_BEGIN, begin, sizeof begin, moment.ns);
    const struct tt_compute compute = { .compute = tt_next_compute(trace), .pass = pass.pass, .backend = tt_string(trace, "CPU") };
    tt_record(trace, TT_COMPUTE, &compute, sizeof compute, tt_now());
    getrusage(RUSAGE_SELF, &usage);
    pass.usage.minor_faults = (uint64_t) usage.ru_minflt;
    moment = tt_moment();
    tt_record(trace, TT_PASS_END, &pass, sizeof pass, moment.ns);
    tt_clock(trace, &moment);
    tt_record(trace, TT_LOGITS, pair, sizeof pair, tt_now());
    tt_record(trace, TT_SAMPLED, pair, sizeof pair, tt_now());
}

enum { WORK_BYTES = 256 << 10, DISTURBED_NS = 20000 }; /* what takes longer was interrupted */

static volatile uint8_t seen;

/* As kernels do between the begin and the end of an op: what the tracer had in the nearest caches is gone. */
static void work_like_a_kernel(const uint8_t * bytes, size_t size) {
    uint8_t sum = 0;
    for (size_t i = 0; i < size; i += 64) {
        sum = (uint8_t) (sum + bytes[i]);
    }
    seen = sum;
}

/* The records of a pass beside such work, in the mean; 0: no memory. */
static double pass_beside_work(struct tt_trace * probe) {
    enum { N = 200 };
    uint8_t * bytes = malloc(WORK_BYTES);
    double    sum   = 0;
    int       n     = 0;
    if (!bytes) {
        return 0;
    }
    memset(bytes, 1, WORK_BYTES);
    for (int i = 0; i < N; i++) {
        work_like_a_kernel(bytes, WORK_BYTES);
        const uint64_t begin = tt_now();
        tt_write_pass(probe);
        const uint64_t took = tt_now() - begin;
        if (took < DISTURBED_NS) {
            sum += (double) took;
            n++;
        }
    }
    free(bytes);
    return n ? sum / n : 0;
}

static bool measure_passes(struct tt_trace * trace, double * pass_ns) {
    enum { ROUNDS = 5, N = 200, CHUNK = 256 << 10 };
    static const char name[] = "cost-passes";
    struct tt_trace   probe  = { .folder = trace->folder };
    pthread_mutex_init(&probe.lock, NULL);
    atomic_init(&probe.budget.left, UINT64_MAX);
    if (!tt_segment_open(&probe.main, trace->folder, name, trace->run_id, TT_SEGMENT_MAIN, 0, CHUNK, &probe.budget)) {
        return false;
    }
    unlinkat(trace->folder, name, 0);
    tt_string(&probe, "CPU");
    *pass_ns = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t begin = tt_now();
        for (int i = 0; i < N; i++) {
            tt_write_pass(&probe);
        }
        const double found = (double) (tt_now() - begin) / N;
        *pass_ns = found < *pass_ns ? found : *pass_ns;
    }
    const double beside = pass_beside_work(&probe);
    *pass_ns = beside > *pass_ns ? beside : *pass_ns;
    tt_segment_close(&probe.main, false);
    tt_forget(&probe);
    return !probe.full;
}

/* What an op event takes out of a pass: beside such work, less what the same clock reads take without it. 0: no memory. */
static double event_beside_work(struct tt_writer * writer, const struct tt_compute_work * work) {
    enum { N = 500 };
    uint8_t * bytes = malloc(WORK_BYTES);
    double    sum[2] = { 0 };
    int       n[2]   = { 0 };
    if (!bytes) {
        return 0;
    }
    memset(bytes, 1, WORK_BYTES);
    tt_thread_begin(writer, work, 1, 2);
    for (int i = 0; i < 2 * N; i++) {
        const int with = i & 1;
        work_like_a_kernel(bytes, WORK_BYTES);
        const uint64_t t0 = tt_now();
        if (with) {
            tensor_trace_op_begin(writer, i / 2);
        }
        const uint64_t t1 = tt_now();
        work_like_a_kernel(bytes, WORK_BYTES);
        const uint64_t t2 = tt_now();
        if (with) {
            tensor_trace_op_end(writer, i / 2);
        }
        const uint64_t t3 = tt_now(), took = t1 - t0 + t3 - t2;
        if (took < DISTURBED_NS) {
            sum[with] += (double) took;
            n[with]++;
        }
    }
    tt_thread_end(writer);
    free(bytes);
    return n[0] && n[1] ? sum[1] / n[1] - sum[0] / n[0] : 0;
}

/* The least disturbed of some rounds of events into a file of their own, which has no name: chunks are paid for. */
static bool measure_events(struct tt_trace * trace, struct tt_cost * cost) {
    enum { ROUNDS = 5, N_NODES = 800, N_COMPUTES = 82, N = N_NODES * N_COMPUTES }; /* a round fills a chunk */
    static const char            name[] = "cost-events";
    const struct tt_compute_work work   = { .n_nodes = N_NODES };
    struct tt_budget             budget = { UINT64_MAX };
    struct tt_writer             writer = { 0 };
    if (!tt_segment_open(&writer.segment, trace->folder, name, trace->run_id, TT_SEGMENT_THREAD, 0, TT_THREAD_CHUNK, &budget)) {
        return false;
    }
    unlinkat(trace->folder, name, 0);
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
        const uint64_t end = tt_now();
        const double   event = (double) (middle - begin) / N, clock = (double) (end - middle) / N;
        cost->event_ns = event < cost->event_ns ? event : cost->event_ns;
        cost->clock_ns = clock < cost->clock_ns ? clock : cost->clock_ns;
    }
    const double beside = event_beside_work(&writer, &work);
    cost->event_ns = beside > cost->event_ns ? beside : cost->event_ns;
    const bool whole = writer.segment.header->dropped_records == 0;
    tt_segment_close(&writer.segment, false);
    return whole;
}

bool tt_measure_cost(struct tt_trace * trace, struct tt_cost * cost) {
    return measure_events(trace, cost) && measure_passes(trace, &cost->pass_ns);
}
