/*
 * write_faults FOLDER CASE [N]: writes traces of unusual and failing runs, for tests of readers.
 *
 *     threads     200 threads in each compute
 *     graphs      10,000 distinct graphs, a pass of each
 *     large       tensors, mappings, buffers and a trace file of more than 4 GiB
 *     clock       CLOCK_MONOTONIC jumps by hours: between two ops, in an op, in a barrier
 *     counters    a day of passes; numbers of computes, page faults and drops beyond 2^32
 *     dies        a thread ends in the middle of a compute; another thread takes its place
 *     killed      a small trace, killed at its Nth stop; it stops at the begin and the end of each system call.
 *                 Exit code 3: it has fewer stops
 */
#include "tt_graphs.h"
#include "tt_record.h"
#include "tt_trace.h"
#include "tt_writer.h"

#include "tensor_trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_NODES = 40, N_THREADS = 200, N_PASSES = 3, N_GRAPHS = 10000, DIES_AT = 15 };
static const uint64_t HOUR = 3600u * 1000000000ull, GIB = 1ull << 30;

/* Replaces libc's clock_gettime: this program's CLOCK_MONOTONIC is ahead by ahead_ns. */
static _Atomic uint64_t ahead_ns;

int clock_gettime(clockid_t clock, struct timespec * t) {
    const long status = syscall(SYS_clock_gettime, clock, t);
    if (status == 0 && clock == CLOCK_MONOTONIC) {
        const uint64_t ns = (uint64_t) t->tv_sec * 1000000000u + (uint64_t) t->tv_nsec + ahead_ns;
        *t = (struct timespec) { .tv_sec = (time_t) (ns / 1000000000u), .tv_nsec = (long) (ns % 1000000000u) };
    }
    return (int) status;
}

static uint32_t write_graph(struct tt_trace * trace, uint32_t n_nodes, uint64_t width) {
    struct tt_node nodes[N_NODES];
    for (uint32_t i = 0; i < n_nodes; i++) {
        nodes[i] = (struct tt_node) {
            .op         = tt_string(trace, "ADD"),
            .name       = tt_string(trace, "sum"),
            .dtype      = tt_string(trace, "f32"),
            .computes   = 1,
            .view_of    = TT_NONE,
            .size_bytes = 4 * width,
            .ne         = { width, 1, 1, 1 },
            .nb         = { 4, 4 * width, 4 * width, 4 * width },
        };
        memset(nodes[i].src, 0xff, sizeof nodes[i].src);
    }
    return tt_graph(trace, nodes, n_nodes, 0).number;
}

static struct tt_compute_work begin_pass(struct tt_trace * trace, uint32_t graph, uint32_t n_nodes) {
    const struct tt_pass pass = {
        .pass = tt_next_pass(trace), .context = TT_NONE, .graph = graph, .placement = TT_NONE
    };
    const struct tt_compute compute = {
        .compute = tt_next_compute(trace),
        .pass    = pass.pass,
        .backend = tt_string(trace, "CPU"),
        .n_nodes = n_nodes,
    };
    const struct tt_moment moment = tt_moment();
    tt_clock(trace, &moment);
    tt_record(trace, TT_PASS_BEGIN, &pass, sizeof pass, moment.ns);
    tt_record(trace, TT_COMPUTE, &compute, sizeof compute, tt_now());
    return (struct tt_compute_work) { .compute = compute.compute, .n_nodes = n_nodes };
}

static void end_pass(struct tt_trace * trace, uint64_t faults) {
    const struct tt_pass pass = { .usage   = { .minor_faults = faults },
                                  .pass    = trace->n_passes - 1,
                                  .context = TT_NONE };
    tt_record(trace, TT_PASS_END, &pass, sizeof pass, tt_now());
}

static void run_ops(struct tt_writer * writer, int from, int to) {
    for (int node = from; node < to; node++) {
        tensor_trace_op_begin(writer, node);
        tensor_trace_op_end(writer, node);
    }
}

static void run_pass(struct tt_trace * trace, struct tt_writer * writer, uint32_t graph, uint32_t n_nodes,
                     uint64_t faults) {
    const struct tt_compute_work work = begin_pass(trace, graph, n_nodes);
    tt_thread_begin(writer, &work, 0, 1);
    run_ops(writer, 0, (int) n_nodes);
    tt_thread_end(writer);
    end_pass(trace, faults);
}

struct job {
    struct tt_trace *              trace;
    const struct tt_compute_work * work;
    pthread_barrier_t *            barrier;
    int                            ith, nth, n_computes, dies_at; /* the node at which the thread ends; 0: never */
};

/* Like a thread of llama.cpp's pool: the hooks release its writer when it ends. */
static void * run_job(void * arg) {
    const struct job * job    = arg;
    struct tt_writer * writer = tt_writer_acquire(job->trace);
    for (int i = 0; i < job->n_computes; i++) {
        if (job->barrier) {
            pthread_barrier_wait(job->barrier);
        }
        tt_thread_begin(writer, job->work, job->ith, job->nth);
        run_ops(writer, 0, job->dies_at ? job->dies_at : N_NODES);
        if (!job->dies_at) {
            tt_thread_end(writer);
        }
        if (job->barrier) {
            pthread_barrier_wait(job->barrier);
        }
    }
    tt_writer_release(writer);
    return NULL;
}

static bool start(pthread_t * thread, struct job * job) { return pthread_create(thread, NULL, run_job, job) == 0; }

static bool threads(struct tt_trace * trace) {
    static pthread_t       started[N_THREADS];
    static struct job      jobs[N_THREADS];
    struct tt_compute_work work  = { 0 };
    const uint32_t         graph = write_graph(trace, N_NODES, 8);
    pthread_barrier_t      barrier;
    pthread_barrier_init(&barrier, NULL, N_THREADS + 1);
    for (int i = 0; i < N_THREADS; i++) {
        jobs[i] = (struct job) { trace, &work, &barrier, i, N_THREADS, N_PASSES, 0 };
        if (!start(&started[i], &jobs[i])) {
            return false;
        }
    }
    for (int i = 0; i < N_PASSES; i++) {
        work = begin_pass(trace, graph, N_NODES);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        end_pass(trace, 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(started[i], NULL);
    }
    pthread_barrier_destroy(&barrier);
    return true;
}

static bool dies(struct tt_trace * trace) {
    const uint32_t graph = write_graph(trace, N_NODES, 8);
    for (int i = 0; i < N_PASSES; i++) {
        const struct tt_compute_work work = begin_pass(trace, graph, N_NODES);
        pthread_t                    started[2];
        struct job jobs[2] = { { trace, &work, NULL, 0, 2, 1, 0 }, { trace, &work, NULL, 1, 2, 1, 0 } };
        jobs[1].dies_at    = i == 1 ? DIES_AT : 0;
        for (int j = 0; j < 2; j++) {
            if (!start(&started[j], &jobs[j]) || pthread_join(started[j], NULL) != 0) {
                return false;
            }
        }
        end_pass(trace, 0);
    }
    return true;
}

static bool graphs(struct tt_trace * trace) {
    struct tt_writer * writer = tt_writer_acquire(trace);
    for (uint32_t i = 0; writer && i < N_GRAPHS; i++) {
        run_pass(trace, writer, write_graph(trace, 1, i + 1), 1, 0);
    }
    return writer;
}

static void large_model(struct tt_trace * trace) {
    const uint64_t           begin  = 0x7e0000000000;
    const uint32_t           path   = tt_string(trace, "/models/large.gguf");
    const struct tt_load     load   = { .path = path };
    const struct tt_file_map map    = { .address = begin, .size_bytes = 90 * GIB, .inode = 7, .path = path };
    const struct tt_buffer   buffer = { .address = begin + 200 * GIB, .size_bytes = 9 * GIB };
    const struct tt_weight   weight = {
        .name        = tt_string(trace, "blk.0.ffn_up.weight"),
        .mapped      = 1,
        .file_offset = 80 * GIB,
        .size_bytes  = 5 * GIB,
        .address     = begin + 80 * GIB,
        .buffer      = TT_NONE,
    };
    tt_record(trace, TT_LOAD_BEGIN, &load, sizeof load, tt_now());
    tt_record(trace, TT_FILE_MAP, &map, sizeof map, tt_now());
    tt_record(trace, TT_BUFFER, &buffer, sizeof buffer, tt_now());
    tt_record(trace, TT_BUFFER_IS, &buffer, sizeof buffer, tt_now());
    tt_record(trace, TT_WEIGHT, &weight, sizeof weight, tt_now());
    tt_record(trace, TT_LOAD_END, &load, sizeof load, tt_now());
}

static size_t high_rows(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens) {
    const uint64_t rows[2] = { 5 * GIB, 5 * GIB + 1 };
    (void) graph, (void) node, (void) n_tokens;
    index->what  = TT_INDEX_CELLS;
    index->bytes = 8;
    index->ne0   = 2;
    index->ne1   = 1;
    if (room < sizeof rows) {
        return TT_NO_ROOM;
    }
    memcpy(index + 1, rows, sizeof rows);
    return sizeof rows;
}

/* Makes the first chunk larger by a hole of `bytes`, and begins the next chunk behind it. */
static bool skip_bytes(struct tt_segment * segment, uint64_t bytes) {
    const uint64_t size = segment->file_bytes - TT_PAGE + bytes;
    segment->file_bytes += bytes;
    return tt_segment_reserve(segment, segment->room - segment->used + 1)
        && pwrite(segment->fd, &size, sizeof size, TT_PAGE + (off_t) offsetof(struct tt_chunk_header, size_bytes))
        == sizeof size;
}

static bool large(struct tt_trace * trace) {
    static const uint8_t plan[1] = { 1 };
    struct tt_writer *   writer  = tt_writer_acquire(trace);
    struct tt_node       nodes[] = { {
                                         .op          = tt_string(trace, "SET_ROWS"),
                                         .name        = tt_string(trace, "cache"),
                                         .dtype       = tt_string(trace, "f32"),
                                         .computes    = 1,
                                         .view_of     = 1,
                                         .view_offset = 6 * GIB,
                                         .size_bytes  = 8 * GIB,
                                         .ne          = { 2 * GIB, 1, 1, 1 },
                                         .nb          = { 4, 8 * GIB, 8 * GIB, 8 * GIB },
                                     },
                                     { .op         = tt_string(trace, "NONE"),
                                       .name       = tt_string(trace, "blk.0.ffn_up.weight"),
                                       .dtype      = tt_string(trace, "f32"),
                                       .view_of    = TT_NONE,
                                       .size_bytes = 5 * GIB,
                                       .ne         = { GIB, 5, 1, 1 },
                                       .nb         = { 1, GIB, 5 * GIB, 5 * GIB } } };
    memset(nodes[0].src, 0xff, sizeof nodes[0].src);
    memset(nodes[1].src, 0xff, sizeof nodes[1].src);
    large_model(trace);
    const uint32_t        graph    = tt_graph(trace, nodes, 1, 1).number;
    const struct tt_place places[] = { { .address = 0x7e0000000000 + 207 * GIB },
                                       { .address = 0x7e0000000000 + 81 * GIB, .buffer = TT_NONE } };
    struct tt_pass        pass     = { .pass = tt_next_pass(trace), .context = TT_NONE, .graph = graph };

    pass.placement = tt_placement(trace, graph, places, 2).number;
    tt_record(trace, TT_PASS_BEGIN, &pass, sizeof pass, tt_now());
    const struct tt_compute compute = { .pass = pass.pass, .backend = tt_string(trace, "CPU"), .n_nodes = 1 };
    tt_record(trace, TT_COMPUTE, &compute, sizeof compute, tt_now());
    const struct tt_compute_work work = { .plan = plan, .index_bytes = 256, .n_nodes = 1, .copy_index = high_rows };
    if (!writer || !tt_segment_reserve(&writer->segment, TT_UNIT) || !skip_bytes(&writer->segment, 5 * GIB)) {
        return false;
    }
    tt_thread_begin(writer, &work, 0, 1);
    run_ops(writer, 0, 1);
    tt_thread_end(writer);
    end_pass(trace, 0);
    return true;
}

static bool jumps(struct tt_trace * trace) {
    struct tt_writer *           writer = tt_writer_acquire(trace);
    const struct tt_compute_work work   = begin_pass(trace, write_graph(trace, 4, 8), 4);
    if (!writer) {
        return false;
    }
    tt_thread_begin(writer, &work, 0, 1);
    run_ops(writer, 0, 1);
    ahead_ns += 9 * HOUR;
    tensor_trace_op_begin(writer, 1);
    ahead_ns += 25 * HOUR;
    tensor_trace_op_end(writer, 1);
    tensor_trace_op_begin(writer, 2);
    tensor_trace_barrier_begin(writer);
    ahead_ns += 2 * HOUR;
    tensor_trace_barrier_end(writer);
    tensor_trace_op_end(writer, 2);
    run_ops(writer, 3, 4);
    tt_thread_end(writer);
    end_pass(trace, 0);
    return true;
}

static bool counters(struct tt_trace * trace) {
    struct tt_writer * writer = tt_writer_acquire(trace);
    const uint32_t     graph  = write_graph(trace, 2, 8);

    trace->n_computes = UINT32_MAX - 1;
    for (int hour = 0; writer && hour < 25; hour++) {
        run_pass(trace, writer, graph, 2, 6 * GIB);
        ahead_ns += HOUR;
    }
    tt_segment_drop(&trace->main, 7 * GIB, 8 * GIB);
    return writer;
}

static bool small_trace(struct tt_trace * trace) {
    struct tt_writer * writer = tt_writer_acquire(trace);
    if (!writer) {
        return false;
    }
    run_pass(trace, writer, write_graph(trace, 2, 8), 2, 0);
    struct tt_writer * second = tt_writer_acquire(trace);
    run_pass(trace, second, write_graph(trace, N_NODES, 9), N_NODES, 0);
    return second;
}

static int record(const char * folder, bool (*write)(struct tt_trace *)) {
    char              error[256];
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    if (!trace) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    const bool complete = write(trace);
    tt_close(trace);
    return complete ? 0 : 1;
}

/* Kills the child at the given stop. Every system call stops it twice: when it enters and when it leaves. */
static int killed(const char * folder, long stops) {
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(record(folder, small_trace));
    }
    int status = 0;
    for (long i = 0; waitpid(child, &status, 0) == child && WIFSTOPPED(status); i++) {
        if (i == stops) {
            kill(child, SIGKILL);
            return waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 0 : 1;
        }
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 3 : 1;
}

int main(int argc, char ** argv) {
    static const struct {
        const char * name;
        bool (*write)(struct tt_trace *);
    } cases[] = {
        { "threads", threads }, { "graphs", graphs },     { "large", large },
        { "clock", jumps },     { "counters", counters }, { "dies", dies },
    };
    for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[2], cases[i].name) == 0) {
            return record(argv[1], cases[i].write);
        }
    }
    if (argc == 4 && strcmp(argv[2], "killed") == 0) {
        return killed(argv[1], strtol(argv[3], NULL, 10));
    }
    fprintf(stderr, "usage: write_faults FOLDER threads|graphs|large|clock|counters|dies|killed [N]\n");
    return 2;
}
