/* What recording costs on this machine, in this folder, now: measured when a run begins, and noted in its trace. */
#include "tt.h"

#include "tensor_trace.h"

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
    tt_segment_close(&probe.main, false);
    tt_forget(&probe);
    return !probe.full;
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
    const bool whole = writer.segment.header->dropped_records == 0;
    tt_segment_close(&writer.segment, false);
    return whole;
}

bool tt_measure_cost(struct tt_trace * trace, struct tt_cost * cost) {
    return measure_events(trace, cost) && measure_passes(trace, &cost->pass_ns);
}
