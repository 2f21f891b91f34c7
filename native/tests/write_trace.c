/*
 * write_trace FOLDER [killed]: writes a small trace with records of every kind, for tests of readers.
 *
 * A load, a context, three passes (warm-up, a prompt of two tokens, one generated token)
 * of one graph on two threads: a lookup, a fused pair, a view, a KV write, a router, experts,
 * an op that is switched off. With `killed` the process ends in the middle of the last pass.
 */
#include "tt_graphs.h"
#include "tt_record.h"
#include "tt_trace.h"
#include "tt_writer.h"

#include "tensor_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_NODES = 9, N_LEAFS = 7, N_THREADS = 2, N_EXPERTS = 4, N_USED = 2, WIDTH = 8 };
enum { INP_EMBD, NORM, ATTN_NORM, K_VIEW, K_WRITE, TOPK, UP, WEIGHTED, SCALED };
enum { TOKEN_EMBD = N_NODES, TOKENS, NORM_WEIGHT, CACHE_K, K_IDXS, UP_WEIGHT, MOE_WEIGHTS };

static const char * const ops[N_NODES + N_LEAFS] = {
    "GET_ROWS", "RMS_NORM", "MUL",  "VIEW", "SET_ROWS", "ARGSORT", "MUL_MAT_ID", "MUL",
    "SCALE",    "NONE",     "NONE", "NONE", "NONE",     "NONE",    "NONE",       "NONE",
};
static const char * const names[N_NODES + N_LEAFS] = {
    "inp_embd",
    "norm-0",
    "attn_norm-0",
    "cache_k_l0 (view)",
    "cache_k_l0 (view) (view)",
    "ffn_moe_topk-0",
    "ffn_moe_up-0",
    "ffn_moe_weighted-0",
    "result_output",
    "token_embd.weight",
    "inp_tokens",
    "blk.0.attn_norm.weight",
    "cache_k_l0",
    "self_k_idxs",
    "blk.0.ffn_up_exps.weight",
    "ffn_moe_weights-0",
};
static const uint32_t sources[N_NODES][3] = {
    { TOKEN_EMBD, TOKENS, TT_NONE }, { INP_EMBD, TT_NONE, TT_NONE }, { NORM, NORM_WEIGHT, TT_NONE },
    { CACHE_K, TT_NONE, TT_NONE },   { ATTN_NORM, K_IDXS, K_VIEW },  { ATTN_NORM, TT_NONE, TT_NONE },
    { UP_WEIGHT, ATTN_NORM, TOPK },  { UP, MOE_WEIGHTS, TT_NONE },   { WEIGHTED, TT_NONE, TT_NONE },
};
static const uint64_t base = 0x7f0000000000;

static uint32_t write_graph(struct tt_trace * trace, uint32_t n_tokens) {
    struct tt_node nodes[N_NODES + N_LEAFS];
    for (uint32_t i = 0; i < N_NODES + N_LEAFS; i++) {
        const uint64_t rows = i == UP_WEIGHT ? WIDTH : i == TOKEN_EMBD ? 32 : n_tokens;
        const uint64_t deep = i == UP_WEIGHT ? N_EXPERTS : 1;

        nodes[i] = (struct tt_node) {
            .op         = tt_string(trace, ops[i]),
            .name       = tt_string(trace, names[i]),
            .dtype      = tt_string(trace,
                                    i == TOKENS       ? "i32"
                                        : i == K_IDXS ? "i64"
                                                      : "f32"),
            .flags      = 16,
            .computes   = i >= N_NODES || i == K_VIEW ? 0
                : i == SCALED                         ? 2
                                                      : 1,
            .view_of    = i == K_VIEW || i == K_WRITE ? CACHE_K : TT_NONE,
            .size_bytes = 4 * WIDTH * rows * deep,
            .ne         = { WIDTH, rows, deep, 1 },
            .nb         = { 4, 4 * WIDTH, 4 * WIDTH * rows, 4 * WIDTH * rows * deep },
        };
        for (int j = 0; j < 10; j++) {
            nodes[i].src[j] = i < N_NODES && j < 3 ? sources[i][j] : TT_NONE;
        }
    }
    return tt_graph(trace, nodes, N_NODES, N_LEAFS).number;
}

static uint32_t write_placement(struct tt_trace * trace, uint32_t graph) {
    struct tt_place places[N_NODES + N_LEAFS];
    for (uint32_t i = 0; i < N_NODES + N_LEAFS; i++) {
        const bool mapped = i == TOKEN_EMBD || i == NORM_WEIGHT;

        places[i] = (struct tt_place) {
            .address = mapped    ? base + 4096 * i
                : i == UP_WEIGHT ? base + 0x200000
                                 : base + 0x100000 + 1024 * i,
            .buffer  = mapped    ? TT_NONE
                : i == UP_WEIGHT ? 1
                                 : 0,
        };
    }
    return tt_placement(trace, graph, places, N_NODES + N_LEAFS).number;
}

/* As if the device had read 1,000 sectors in each load or pass, and had dropped ten pages of the file since the first. */
static void write_storage(struct tt_trace * trace, uint32_t pass, uint32_t load, uint64_t i) {
    const struct tt_device device = {
        .begin    = { 10 + i, 1000 * i, 500 * i, 7, 80, 1, UINT32_MAX - 1 },
        .end      = { 20 + i, 1000 * i + 1000, 500 * i + 30, 8, 88, 2, 3 }, /* busy_ms wraps round */
        .begin_ns = tt_now(),
        .device   = tt_string(trace, "vdz"),
        .pass     = pass,
        .load     = load,
    };
    const struct tt_cache cache = {
        .cached           = 60 - 10 * i,
        .dirty            = 1,
        .writeback        = 1,
        .evicted          = 10 * i,
        .recently_evicted = 3 * i,
        .path             = tt_string(trace, "/models/small.gguf"),
        .pass             = pass,
        .load             = load,
        .page_bytes       = 4096,
    };
    const struct tt_memory memory = {
        .anon_bytes  = (1 << 20) + i,
        .group_bytes = i == 0 ? TT_UNKNOWN : 4096 * i,
        .pass        = pass,
        .load        = load,
    };
    tt_record(trace, TT_DEVICE, &device, sizeof device, tt_now());
    tt_record(trace, TT_CACHE, &cache, sizeof cache, tt_now());
    tt_record(trace, TT_MEMORY, &memory, sizeof memory, tt_now());
}

static void write_model(struct tt_trace * trace) {
    const struct tt_usage    usage = { 100, 2, 30, 4, 512 };
    const uint32_t           path  = tt_string(trace, "/models/small.gguf");
    const struct tt_load     load  = { .usage = usage, .path = path };
    const struct tt_file_map map   = { .address = base, .size_bytes = 1 << 18, .inode = 77, .path = path };
    const struct tt_file_map head  = { .address = base, .size_bytes = 4096 };
    tt_record(trace, TT_LOAD_BEGIN, &load, sizeof load, tt_now());
    tt_record(trace, TT_FILE_MAP, &map, sizeof map, tt_now());
    for (uint32_t i = 0; i < 2; i++) {
        const struct tt_buffer allocated = { .buffer = i, .size_bytes = 1 << 16 };
        const struct tt_buffer described = {
            .buffer     = i,
            .usage      = i ? 1 : 2,
            .address    = base + (i ? 0x200000 : 0x100000),
            .size_bytes = 1 << 16,
            .name       = tt_string(trace, i ? "CPU_REPACK" : "CPU"),
            .backend    = tt_string(trace, "CPU"),
        };
        tt_record(trace, TT_BUFFER, &allocated, sizeof allocated, tt_now());
        tt_record(trace, TT_BUFFER_IS, &described, sizeof described, tt_now());
    }
    const uint32_t stored[] = { TOKEN_EMBD, NORM_WEIGHT, UP_WEIGHT };
    for (int i = 0; i < 3; i++) {
        const struct tt_weight weight = {
            .name        = tt_string(trace, names[stored[i]]),
            .mapped      = i < 2,
            .file_offset = 4096 * stored[i],
            .size_bytes  = i == 2 ? 4 * WIDTH * WIDTH * N_EXPERTS : 4 * WIDTH,
            .address     = i == 2 ? base + 0x200000 : base + 4096 * stored[i],
            .buffer      = i == 2 ? 1 : TT_NONE,
        };
        tt_record(trace, TT_WEIGHT, &weight, sizeof weight, tt_now());
    }
    tt_record(trace, TT_FILE_UNMAP, &head, sizeof head, tt_now());
    tt_record(trace, TT_LOAD_END, &load, sizeof load, tt_now());
    const struct {
        struct tt_residency head;
        uint32_t            runs[2][2];
    } pages = { /* the mapping, without its first page, which was unmapped */
        .head = {
            .address = base + 4096, .size_bytes = (1 << 18) - 4096, .pass = TT_NONE, .page_bytes = 4096, .n_runs = 2,
        },
        .runs = { { 0, 2 }, { 10, 1 } },
    };
    tt_record(trace, TT_RESIDENCY, &pages, sizeof pages, tt_now());
    write_storage(trace, TT_NONE, 0, 0);
    const struct tt_context context = {
        .n_ctx     = 64,
        .n_batch   = 64,
        .n_ubatch  = 64,
        .n_threads = N_THREADS,
        .type_k    = tt_string(trace, "f16"),
        .type_v    = tt_string(trace, "f16"),
    };
    tt_record(trace, TT_CONTEXT, &context, sizeof context, tt_now());
}

static size_t copy_index(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens) {
    static const int64_t cells[] = { 5, 6 };
    static const int32_t rows[] = { 1, 31 }, experts[] = { 3, 0, 1, 3 };
    static const float   weights[] = { 0.75f, 0.25f, 0.5f, 0.5f };
    const bool           routed    = node == UP || node == WEIGHTED;
    const void *         data      = node == K_WRITE ? (const void *) cells
        : node == UP                                 ? (const void *) experts
        : node == WEIGHTED                           ? (const void *) weights
                                                     : (const void *) rows;
    (void) graph;
    index->what       = node == K_WRITE ? TT_INDEX_CELLS
        : node == UP                    ? TT_INDEX_EXPERTS
        : node == WEIGHTED              ? TT_INDEX_WEIGHTS
                                        : TT_INDEX_ROWS;
    index->bytes      = node == K_WRITE ? 8 : 4;
    index->ne0        = routed ? N_USED : n_tokens;
    index->ne1        = routed ? n_tokens : 1;
    const size_t size = (size_t) index->ne0 * index->ne1 * index->bytes;
    if (room < size + TT_UNIT) {
        return TT_NO_ROOM;
    }
    memcpy(index + 1, data, size);
    return size;
}

static void write_pass(struct tt_trace * trace, struct tt_writer ** writers, uint32_t flags, uint32_t n_tokens,
                       bool killed) {
    static const uint8_t plan[N_NODES] = { [INP_EMBD] = 1, [K_WRITE] = 1, [UP] = 1, [WEIGHTED] = 1 };
    const uint32_t       call[2]       = { 0, 0 };
    const uint32_t       graph = write_graph(trace, n_tokens), number = tt_next_pass(trace);
    struct tt_pass       pass = {
        .usage       = { 110 + number, 2, 30, 4, 1024 },
        .pass        = number,
        .graph       = graph,
        .placement   = write_placement(trace, graph),
        .flags       = flags,
        .n_tokens    = n_tokens,
        .n_sequences = 1,
    };
    tt_record(trace, TT_CALL, call, sizeof call, tt_now());
    struct tt_moment moment = tt_moment();
    tt_clock(trace, &moment);
    uint8_t * at = tt_record_begin(trace, TT_PASS_BEGIN, sizeof pass + n_tokens * sizeof(struct tt_token), moment.ns);
    if (!at) {
        exit(3);
    }
    memcpy(at, &pass, sizeof pass);
    for (uint32_t i = 0; i < n_tokens; i++) {
        const struct tt_token token = {
            .token    = (int32_t) (i ? 31 : 1),
            .position = (int32_t) (n_tokens == 1 ? 2 : i),
            .output   = i + 1 == n_tokens,
        };
        memcpy(at + sizeof pass + i * sizeof token, &token, sizeof token);
    }
    tt_record_end(trace);
    const struct tt_compute compute = {
        .compute = tt_next_compute(trace),
        .pass    = number,
        .backend = tt_string(trace, "CPU"),
        .n_nodes = N_NODES,
    };
    tt_record(trace, TT_COMPUTE, &compute, sizeof compute, tt_now());
    const struct tt_compute_work work = {
        .compute     = compute.compute,
        .plan        = plan,
        .index_bytes = 4 * (sizeof(struct tt_index) + 2 * TT_UNIT),
        .n_nodes     = N_NODES,
        .n_tokens    = n_tokens,
        .copy_index  = copy_index,
    };
    static const int kernels[][2] = { { 0, 0 }, { 1, 2 }, { 4, 4 }, { 5, 5 }, { 6, 6 }, { 7, 7 } };
    for (int t = 0; t < N_THREADS; t++) {
        tt_thread_begin(writers[t], &work, t, N_THREADS);
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
            if (killed && t == 1 && i == 3) {
                _exit(0);
            }
            tensor_trace_op_begin(writers[t], kernels[i][0]);
            if (kernels[i][0] == UP) {
                tensor_trace_barrier_begin(writers[t]);
                tensor_trace_barrier_end(writers[t]);
            }
            tensor_trace_op_end(writers[t], kernels[i][1]);
        }
        tt_thread_end(writers[t]);
    }
    if (n_tokens
        == 2) { /* as if an accelerator had run the node that is switched off, and a tensor had been copied to it */
        const struct tt_copy copy = {
            .begin_ns   = tt_now(),
            .size_bytes = 64,
            .pass       = number,
            .split      = 1,
            .tensor     = tt_string(trace, "ffn_moe_weighted-0"),
            .from       = tt_string(trace, "CPU"),
            .to         = tt_string(trace, "GPU"),
            .proof      = TT_PROOF_BLOCKING,
        };
        tt_record(trace, TT_COPY, &copy, sizeof copy, tt_now());
        const struct {
            struct tt_split head;
            uint32_t        map[2];
        } split = {
            { .begin_ns     = tt_now(),
              .pass         = number,
              .split        = 1,
              .backend      = tt_string(trace, "GPU"),
              .n_nodes      = 2,
              .first_node   = TT_NONE,
              .n_map        = 2,
              .proof        = TT_PROOF_SYNCHRONISE,
              .submitted_ns = tt_now() },
            { K_VIEW, SCALED },
        };
        tt_record(trace, TT_SPLIT, &split, sizeof split, tt_now());
    }
    pass.usage.minor_faults += 3;
    pass.usage.read_bytes += 4096;
    pass.context  = TT_NONE;
    pass.n_tokens = 0;
    moment        = tt_moment();
    tt_record(trace, TT_PASS_END, &pass, sizeof pass, moment.ns);
    tt_clock(trace, &moment);
    const struct tt_hooks hooks = { .ticks = 1000 * (number + 1), .pass = number, .inside = 1, .between = 77 * number };
    tt_record(trace, TT_HOOKS, &hooks, sizeof hooks, tt_now());
    const struct tt_schedule schedule = {
        /* all counters are known for the last pass only */
        .run_delay_ns = number < 1 ? TT_UNKNOWN : 500 * number,
        .cpu_ns       = 70000 + number,
        .blocked_ns   = number < 2 ? TT_UNKNOWN : 0,
        .counted_ns   = 90000 + number,
        .pass         = number,
        .n_threads    = N_THREADS,
    };
    tt_record(trace, TT_SCHEDULE, &schedule, sizeof schedule, tt_now());
    const struct tt_residency pages = {
        /* nothing has changed */
        .address = base + 4096, .size_bytes = (1 << 18) - 4096, .pass = number, .page_bytes = 4096, .n_runs = TT_NONE,
    };
    tt_record(trace, TT_RESIDENCY, &pages, sizeof pages, tt_now());
    write_storage(trace, number, TT_NONE, number + 1);
    if (!(flags & TT_PASS_WARMUP)) {
        const uint32_t sampled[2] = { TT_NONE, 7 + number };
        tt_record(trace, TT_LOGITS, call, sizeof call, tt_now());
        tt_record(trace, TT_SAMPLED, sampled, sizeof sampled, tt_now());
    }
}

int main(int argc, char ** argv) {
    const bool        killed = argc == 3 && strcmp(argv[2], "killed") == 0;
    char              error[256];
    struct tt_trace * trace = argc == 2 || killed ? tt_open(argv[1], UINT64_MAX, error) : NULL;
    if (!trace) {
        fprintf(stderr, "usage: write_trace FOLDER [killed]\n%s\n", argc > 1 ? error : "");
        return 2;
    }
    tt_info(trace, "argv.000", "write_trace");
    tt_info(trace, "cost.event_ns", "50.00");
    tt_info(trace, "cost.clock_ns", "20.00");
    tt_info(trace, "cost.begin_ns", "31000000.00");
    write_model(trace);
    struct tt_writer * writers[N_THREADS] = { tt_writer_acquire(trace), tt_writer_acquire(trace) };
    write_pass(trace, writers, TT_PASS_WARMUP, 2, false);
    write_pass(trace, writers, 0, 2, false);
    write_pass(trace, writers, 0, 1, killed);
    for (uint32_t i = 0; i < 2; i++) {
        const struct tt_buffer end = { .buffer = i };
        tt_record(trace, TT_BUFFER_END, &end, sizeof end, tt_now());
    }
    tt_close(trace);
    return 0;
}
