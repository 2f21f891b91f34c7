/* Prints the records of a main segment. */
#include "dump.h"

static struct {
    const uint8_t * text;
    uint32_t        size;
} *             strings;
static uint32_t n_strings;

static void print_string(const char * label, uint32_t number, size_t at) {
    printf(" %s=", label);
    if (number >= n_strings) {
        stop(at, "string %" PRIu32 " was not written before", number);
    }
    print_text(strings[number].text, strings[number].size);
}

/* ---- what events refer to: a node of a compute, which is a node of a graph ---- */

struct graph {
    uint32_t        number, n, n_nodes;
    const uint8_t * nodes;
};
struct pass {
    uint32_t number, graph;
};
struct compute {
    uint64_t        number;
    uint32_t        graph, n_nodes, first_node;
    const uint8_t * map;
};

static struct graph *   graphs;
static struct pass *    passes;
static struct compute * computes;
static size_t           n_graphs, n_passes, n_computes;

static const struct graph * graph_of(uint32_t number) {
    for (size_t i = n_graphs; i-- > 0;) {
        if (graphs[i].number == number) {
            return &graphs[i];
        }
    }
    return NULL;
}

static uint32_t graph_of_pass(uint32_t number) {
    for (size_t i = n_passes; i-- > 0;) {
        if (passes[i].number == number) {
            return passes[i].graph;
        }
    }
    return TT_NONE;
}

static const struct compute * compute_of(uint64_t number) {
    static size_t last; /* begin there: a thread runs one compute after the other */
    for (size_t i = 0; i < n_computes; i++, last++) {
        last = last < n_computes ? last : 0;
        if (computes[last].number == number) {
            return &computes[last];
        }
    }
    return NULL;
}

void print_node(uint64_t compute_number, uint32_t node) {
    const struct compute * compute = compute_of(compute_number);
    const struct graph *   graph   = compute ? graph_of(compute->graph) : NULL;
    printf(" node=%" PRIu32, node);
    if (!graph || node >= compute->n_nodes) {
        return; /* the main segment was not dumped before */
    }
    uint64_t place = (uint64_t) compute->first_node + node;
    if (compute->map) {
        uint32_t mapped;
        memcpy(&mapped, compute->map + (size_t) node * sizeof mapped, sizeof mapped);
        place = mapped;
    }
    if (place < graph->n) {
        struct tt_node graph_node;
        memcpy(&graph_node, graph->nodes + place * sizeof graph_node, sizeof graph_node);
        printf(" graph_node=%" PRIu64, place);
        print_string("op", graph_node.op, 0);
        print_string("name", graph_node.name, 0);
    }
}

/* ---- one function for each struct of a record; `at` is the byte of the record in the file ---- */

static void dump_string(struct bytes * in, size_t at) {
    TAKE(in, uint32_t, number);
    TAKE(in, uint32_t, size);
    const uint8_t * text = take(in, size);
    if (number != n_strings) {
        stop(at, "string %" PRIu32 " where %" PRIu32 " is expected", number, n_strings);
    }
    strings                   = resized(strings, (size_t) n_strings + 1, sizeof *strings);
    strings[n_strings].text   = text;
    strings[n_strings++].size = size;
    print_string("text", number, at);
}

static void dump_info(struct bytes * in, size_t at) {
    TAKE(in, uint32_t, key);
    TAKE(in, uint32_t, value);
    print_string("key", key, at);
    print_string("value", value, at);
}

static void dump_file_map(struct bytes * in, size_t at) {
    TAKE(in, struct tt_file_map, map);
    printf(" address=%#" PRIx64 " size_bytes=%" PRIu64 " inode=%" PRIu64, map.address, map.size_bytes, map.inode);
    print_string("path", map.path, at);
}

static void print_usage(const struct tt_usage * usage) {
    printf(" minor_faults=%" PRIu64 " major_faults=%" PRIu64 " voluntary_switches=%" PRIu64
           " involuntary_switches=%" PRIu64 " read_bytes=%" PRIu64,
           usage->minor_faults, usage->major_faults, usage->voluntary_switches, usage->involuntary_switches,
           usage->read_bytes);
}

static void dump_load(struct bytes * in, size_t at) {
    TAKE(in, struct tt_load, load);
    print_number("load", load.load);
    print_string("path", load.path, at);
    print_usage(&load.usage);
}

static void dump_weight(struct bytes * in, size_t at) {
    TAKE(in, struct tt_weight, weight);
    print_number("load", weight.load);
    print_string("name", weight.name, at);
    printf(" split_index=%" PRIu32 " mapped=%" PRIu32 " file_offset=%" PRIu64 " size_bytes=%" PRIu64
           " address=%#" PRIx64,
           weight.split_index, weight.mapped, weight.file_offset, weight.size_bytes, weight.address);
    print_number("buffer", weight.buffer);
}

static void dump_context(struct bytes * in, size_t at) {
    TAKE(in, struct tt_context, context);
    print_number("context", context.context);
    print_number("load", context.load);
    printf(" n_ctx=%" PRIu32 " n_batch=%" PRIu32 " n_ubatch=%" PRIu32 " n_threads=%" PRIu32, context.n_ctx,
           context.n_batch, context.n_ubatch, context.n_threads);
    print_string("type_k", context.type_k, at);
    print_string("type_v", context.type_v, at);
}

static void dump_buffer(struct bytes * in, size_t at) {
    TAKE(in, struct tt_buffer, buffer);
    print_number("buffer", buffer.buffer);
    printf(" usage=%" PRIu32 " address=%#" PRIx64 " size_bytes=%" PRIu64, buffer.usage, buffer.address,
           buffer.size_bytes);
    print_string("name", buffer.name, at);
    print_string("backend", buffer.backend, at);
}

static void dump_graph(struct bytes * in, size_t at) {
    TAKE(in, struct tt_graph, head);
    const uint64_t  n     = (uint64_t) head.n_nodes + head.n_leafs;
    const uint8_t * nodes = take(in, (size_t) n * sizeof(struct tt_node));
    if (n > UINT32_MAX) {
        stop(at, "graph of %" PRIu64 " nodes", n);
    }
    graphs             = resized(graphs, n_graphs + 1, sizeof *graphs);
    graphs[n_graphs++] = (struct graph) { head.graph, (uint32_t) n, head.n_nodes, nodes };
    printf(" graph=%" PRIu32 " hash=%016" PRIx64 " n_nodes=%" PRIu32 " n_leafs=%" PRIu32, head.graph, head.hash,
           head.n_nodes, head.n_leafs);
    for (uint32_t i = 0; i < n; i++) {
        struct tt_node node;
        memcpy(&node, nodes + i * sizeof node, sizeof node);
        printf("\n    %s %" PRIu32, i < head.n_nodes ? "node" : "leaf", i);
        print_string("op", node.op, at);
        print_string("name", node.name, at);
        print_string("dtype", node.dtype, at);
        printf(" flags=%#" PRIx32 " computes=%" PRIu32, node.flags, node.computes);
        print_number("view_of", node.view_of);
        printf(" view_offset=%" PRIu64 " size_bytes=%" PRIu64, node.view_offset, node.size_bytes);
        printf(" ne=%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, node.ne[0], node.ne[1], node.ne[2], node.ne[3]);
        printf(" nb=%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, node.nb[0], node.nb[1], node.nb[2], node.nb[3]);
        for (int j = 0; j < 10; j++) {
            if (node.src[j] != TT_NONE) {
                printf(" src%d=%" PRIu32, j, node.src[j]);
            }
        }
        printf(" op_params=");
        for (int j = 0; j < 16; j++) {
            printf(j ? ",%" PRIx32 : "%" PRIx32, node.op_params[j]);
        }
    }
}

static void dump_placement(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_placement, head);
    const uint8_t * places = take(in, (size_t) head.n * sizeof(struct tt_place));
    printf(" placement=%" PRIu32 " graph=%" PRIu32 " hash=%016" PRIx64 " n=%" PRIu32, head.placement, head.graph,
           head.hash, head.n);
    for (uint32_t i = 0; i < head.n; i++) {
        struct tt_place place;
        memcpy(&place, places + i * sizeof place, sizeof place);
        printf("\n    place %" PRIu32 " address=%#" PRIx64, i, place.address);
        print_number("buffer", place.buffer);
    }
}

static void dump_pair(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, uint32_t, context);
    TAKE(in, int32_t, value);
    print_number("context", context);
    printf(" value=%" PRId32, value);
}

static void print_flags(uint32_t flags, size_t at) {
    static const char * const names[] = { "warmup", "encoder", "outside" }; /* bit by bit */
    const char *              comma   = "";
    printf(" flags=");
    for (uint32_t bit = 0; flags >> bit; bit++) {
        if (flags >> bit & 1) {
            printf("%s%s", comma, NAME_OF(names, bit, "bit of the flags of a pass", at));
            comma = ",";
        }
    }
}

static void dump_pass(struct bytes * in, size_t at) {
    TAKE(in, struct tt_pass, pass);
    const uint8_t * tokens = take(in, (size_t) pass.n_tokens * sizeof(struct tt_token));

    passes             = resized(passes, n_passes + 1, sizeof *passes);
    passes[n_passes++] = (struct pass) { pass.pass, pass.graph };
    print_number("pass", pass.pass);
    print_number("context", pass.context);
    print_number("graph", pass.graph);
    print_number("placement", pass.placement);
    print_flags(pass.flags, at);
    printf(" status=%" PRId32 " n_tokens=%" PRIu32 " n_sequences=%" PRIu32, pass.status, pass.n_tokens,
           pass.n_sequences);
    print_usage(&pass.usage);
    for (uint32_t i = 0; i < pass.n_tokens; i++) {
        struct tt_token token;
        memcpy(&token, tokens + i * sizeof token, sizeof token);
        printf("\n    row %" PRIu32 " token=%" PRId32 " position=%" PRId32 " sequence=%" PRId32 " output=%" PRIu32, i,
               token.token, token.position, token.sequence, token.output);
    }
}

static void print_map(const uint8_t * map, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node;
        memcpy(&node, map + i * sizeof node, sizeof node);
        printf(node == TT_NONE ? "\n    map %" PRIu32 " -" : "\n    map %" PRIu32 " %" PRIu32, i, node);
    }
}

static void dump_compute(struct bytes * in, size_t at) {
    TAKE(in, struct tt_compute, compute);
    const uint8_t * map = compute.n_map ? take(in, (size_t) compute.n_map * sizeof(uint32_t)) : NULL;
    if (compute.n_map && compute.n_map != compute.n_nodes) {
        stop(at, "map of %" PRIu32 " for %" PRIu32 " nodes", compute.n_map, compute.n_nodes);
    }
    computes = resized(computes, n_computes + 1, sizeof *computes);
    computes[n_computes++] =
        (struct compute) { compute.compute, graph_of_pass(compute.pass), compute.n_nodes, compute.first_node, map };
    printf(" compute=%" PRIu64 " pass=%" PRIu32 " split=%" PRIu32, compute.compute, compute.pass, compute.split);
    print_string("backend", compute.backend, at);
    printf(" n_nodes=%" PRIu32, compute.n_nodes);
    print_number("first_node", compute.first_node);
    printf(" n_map=%" PRIu32, compute.n_map);
    print_map(map, compute.n_map);
}

static void print_proof(uint32_t proof, size_t at) {
    static const char * const names[] = {
        [TT_PROOF_UNRECORDED] = "unrecorded", [TT_PROOF_NONE] = "none",   [TT_PROOF_SYNCHRONISE] = "synchronise",
        [TT_PROOF_BLOCKING] = "blocking",     [TT_PROOF_REPLY] = "reply",
    };
    printf(" proof=%s", NAME_OF(names, proof, "proof", at));
}

static void dump_split(struct bytes * in, size_t at) {
    TAKE(in, struct tt_split, split);
    const uint8_t * map = take(in, split.n_map * sizeof(uint32_t));
    printf(" pass=%" PRIu32 " split=%" PRIu32 " begin_ns=%" PRIu64 " submitted_ns=%" PRIu64, split.pass, split.split,
           split.begin_ns, split.submitted_ns);
    print_string("backend", split.backend, at);
    printf(" by_op=%" PRIu32, split.by_op);
    print_proof(split.proof, at);
    printf(" n_nodes=%" PRIu32, split.n_nodes);
    print_number("first_node", split.first_node);
    printf(" n_map=%" PRIu32, split.n_map);
    print_map(map, split.n_map);
}

static void dump_done(struct bytes * in, size_t at) {
    TAKE(in, struct tt_done, done);
    const uint8_t * ids = take(in, (size_t) done.n_splits * 2 * sizeof(uint32_t));
    printf(" begin_ns=%" PRIu64, done.begin_ns);
    print_proof(done.proof, at);
    printf(" n_splits=%" PRIu32, done.n_splits);
    print_map(ids, done.n_splits * 2);
}

static void dump_chosen(struct bytes * in, size_t at) {
    TAKE(in, struct tt_chosen, chosen);
    const uint64_t  n       = (uint64_t) chosen.n_rows * chosen.n_chosen;
    const uint8_t * numbers = take(in, n > UINT32_MAX / 4 ? SIZE_MAX : n * sizeof(uint32_t));
    printf(" pass=%" PRIu32, chosen.pass);
    print_string("tensor", chosen.tensor, at);
    printf(" n_rows=%" PRIu32 " n_chosen=%" PRIu32, chosen.n_rows, chosen.n_chosen);
    print_map(numbers, (uint32_t) n);
}

static void dump_device_op(struct bytes * in, size_t at) {
    TAKE(in, struct tt_device_op, op);
    printf(" pass=%" PRIu32 " split=%" PRIu32 " order=%" PRIu32 " begin_ns=%" PRIu64 " end_ns=%" PRIu64
           " exact=%" PRIu32,
           op.pass, op.split, op.order, op.begin_ns, op.end_ns, op.exact);
    print_string("label", op.label, at);
}

static void dump_copy(struct bytes * in, size_t at) {
    TAKE(in, struct tt_copy, copy);
    printf(" pass=%" PRIu32 " split=%" PRIu32 " begin_ns=%" PRIu64 " size_bytes=%" PRIu64, copy.pass, copy.split,
           copy.begin_ns, copy.size_bytes);
    print_string("tensor", copy.tensor, at);
    print_string("from", copy.from, at);
    print_string("to", copy.to, at);
    print_proof(copy.proof, at);
}

/* Older traces do not have the last number. */
static void dump_hooks(struct bytes * in, size_t at) {
    (void) at;
    struct tt_hooks hooks = { 0 };
    const size_t    known = offsetof(struct tt_hooks, between);
    const size_t    size  = in->end - in->at < sizeof hooks ? known : sizeof hooks;
    memcpy(&hooks, take(in, size), size);
    print_number("pass", hooks.pass);
    printf(" ticks=%" PRIu64 " inside=%" PRIu32 " between=%" PRIu64, hooks.ticks, hooks.inside, hooks.between);
}

static void print_if_known(const char * name, uint64_t value) {
    if (value == TT_UNKNOWN) {
        printf(" %s=unknown", name);
    } else {
        printf(" %s=%" PRIu64, name, value);
    }
}

static void dump_schedule(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_schedule, schedule);
    print_number("pass", schedule.pass);
    print_if_known("run_delay_ns", schedule.run_delay_ns);
    print_if_known("cpu_ns", schedule.cpu_ns);
    print_if_known("blocked_ns", schedule.blocked_ns);
    printf(" counted_ns=%" PRIu64, schedule.counted_ns);
    printf(" n_threads=%" PRIu32, schedule.n_threads);
}

static void dump_residency(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_residency, residency);
    print_number("pass", residency.pass);
    print_number("load", residency.load);
    printf(" address=%#" PRIx64 " size_bytes=%" PRIu64 " page_bytes=%" PRIu32, residency.address, residency.size_bytes,
           residency.page_bytes);
    print_number("n_runs", residency.n_runs);
    const size_t    n    = residency.n_runs == TT_NONE ? 0 : residency.n_runs;
    const uint8_t * runs = take(in, n * 8);
    for (size_t i = 0; i < n; i++) {
        uint32_t run[2];
        memcpy(run, runs + 8 * i, sizeof run);
        printf("\n    pages first=%" PRIu32 " n=%" PRIu32, run[0], run[1]);
    }
}

static void print_counts(const char * when, const struct tt_device_counts * counts) {
    printf("\n    %s n_reads=%" PRIu64 " read_sectors=%" PRIu64 " read_ms=%" PRIu64 " n_writes=%" PRIu64
           " written_sectors=%" PRIu64 " in_flight=%" PRIu64 " busy_ms=%" PRIu64,
           when, counts->n_reads, counts->read_sectors, counts->read_ms, counts->n_writes, counts->written_sectors,
           counts->in_flight, counts->busy_ms);
}

static void dump_device(struct bytes * in, size_t at) {
    TAKE(in, struct tt_device, device);
    print_number("pass", device.pass);
    print_number("load", device.load);
    print_string("device", device.device, at);
    printf(" begin_ns=%" PRIu64, device.begin_ns);
    print_counts("begin", &device.begin);
    print_counts("end", &device.end);
}

static void dump_cache(struct bytes * in, size_t at) {
    TAKE(in, struct tt_cache, cache);
    print_number("pass", cache.pass);
    print_number("load", cache.load);
    print_string("path", cache.path, at);
    printf(" page_bytes=%" PRIu32 " cached=%" PRIu64 " dirty=%" PRIu64 " writeback=%" PRIu64 " evicted=%" PRIu64
           " recently_evicted=%" PRIu64,
           cache.page_bytes, cache.cached, cache.dirty, cache.writeback, cache.evicted, cache.recently_evicted);
}

static void dump_memory(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_memory, memory);
    print_number("pass", memory.pass);
    print_number("load", memory.load);
    printf(" anon_bytes=%" PRIu64 " group_bytes=%" PRIu64, memory.anon_bytes, memory.group_bytes);
}

static void dump_footprint(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_footprint, sample);
    printf(" begin_ns=%" PRIu64 " resident_bytes=%" PRIu64, sample.begin_ns, sample.resident_bytes);
    print_number("pass", sample.pass);
    print_number("load", sample.load);
    printf(" occasion=%" PRIu32 " n_parts=%" PRIu32, sample.occasion, sample.n_parts);
    for (uint32_t i = 0; i < sample.n_parts; i++) {
        TAKE(in, struct tt_footprint_part, part);
        printf(" %" PRIu32 ".%" PRIu32 "=%" PRIu64, part.kind, part.number, part.bytes);
    }
}

static void dump_nodes(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_nodes, nodes);
    print_number("pass", nodes.pass);
    print_number("load", nodes.load);
    print_number("buffer", nodes.buffer);
    printf(" address=0x%" PRIx64 " size_bytes=%" PRIu64 " granule_bytes=%" PRIu64 " page_bytes=%" PRIu32
           " n_nodes=%" PRIu32 " n_runs=%" PRIu32,
           nodes.address, nodes.size_bytes, nodes.granule_bytes, nodes.page_bytes, nodes.n_nodes, nodes.n_runs);
    for (uint64_t i = 0; i < (uint64_t) nodes.n_runs * ((uint64_t) nodes.n_nodes + 1); i++) {
        TAKE(in, uint32_t, number);
        printf("%c%" PRIu32, i % ((uint64_t) nodes.n_nodes + 1) ? ',' : ' ', number);
    }
}

static void dump_allocated(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_allocated, allocated);
    printf(" n_lost=%" PRIu64 " n_classes=%" PRIu32 " n_sites=%" PRIu32, allocated.n_lost, allocated.n_classes,
           allocated.n_sites);
    for (uint32_t i = 0; i < allocated.n_classes; i++) {
        TAKE(in, struct tt_allocated_class, class);
        printf(" 2^%" PRIu32 "=%" PRIu64 ".%" PRIu64, class.size_class, class.n_live, class.live_bytes);
    }
    for (uint32_t i = 0; i < allocated.n_sites; i++) {
        TAKE(in, struct tt_allocated_site, site);
        printf(" string%" PRIu32 "=%" PRIu64 ".%" PRIu64 ".%" PRIu64, site.stack, site.n_live, site.live_bytes,
               site.n_all);
    }
}

static void dump_saved(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_saved, saved);
    printf(" saved=%" PRIu32 " begin_ns=%" PRIu64 " address=0x%" PRIx64 " size_bytes=%" PRIu64, saved.saved,
           saved.begin_ns, saved.address, saved.size_bytes);
    print_number("context", saved.context);
    printf(" sequence=%" PRIi32 " partial=%" PRIu32 " on_device=%" PRIu32 " restored=%" PRIu32, saved.sequence,
           saved.flags & 1, saved.flags >> 1 & 1, saved.restored);
}

static void dump_read(struct bytes * in, size_t at) {
    TAKE(in, struct tt_read, read);
    print_string("path", read.path, at);
    printf(" begin_ns=%" PRIu64 " offset=%" PRIu64 " size_bytes=%" PRIu64 " got_bytes=%" PRIu64 " address=0x%" PRIx64
           " thread=%" PRIu32 " call=%" PRIu32 " direct=%" PRIu32 " n_calls=%" PRIu32,
           read.begin_ns, read.offset, read.size_bytes, read.got_bytes, read.address, read.thread, read.call,
           read.direct, read.n_calls);
}

static void dump_end(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_end, end);
    printf(" wall_ns=%" PRIu64 " n_passes=%" PRIu64 " n_segments=%" PRIu64 " n_skipped=%" PRIu64, end.wall_ns,
           end.n_passes, end.n_segments, end.n_skipped);
}

static void dump_clock(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, uint64_t, ticks);
    printf(" ticks=%" PRIu64, ticks);
}

static const struct {
    const char * name;
    void (*dump)(struct bytes *, size_t);
} record_types[] = {
    [TT_INFO]       = { "info", dump_info },
    [TT_STRING]     = { "string", dump_string },
    [TT_FILE_MAP]   = { "file_map", dump_file_map },
    [TT_FILE_UNMAP] = { "file_unmap", dump_file_map },
    [TT_LOAD_BEGIN] = { "load_begin", dump_load },
    [TT_LOAD_END]   = { "load_end", dump_load },
    [TT_WEIGHT]     = { "weight", dump_weight },
    [TT_CONTEXT]    = { "context", dump_context },
    [TT_BUFFER]     = { "buffer", dump_buffer },
    [TT_BUFFER_IS]  = { "buffer_is", dump_buffer },
    [TT_BUFFER_END] = { "buffer_end", dump_buffer },
    [TT_GRAPH]      = { "graph", dump_graph },
    [TT_PLACEMENT]  = { "placement", dump_placement },
    [TT_CALL]       = { "call", dump_pair },
    [TT_PASS_BEGIN] = { "pass_begin", dump_pass },
    [TT_PASS_END]   = { "pass_end", dump_pass },
    [TT_COMPUTE]    = { "compute", dump_compute },
    [TT_LOGITS]     = { "logits", dump_pair },
    [TT_SAMPLED]    = { "sampled", dump_pair },
    [TT_END]        = { "end", dump_end },
    [TT_CLOCK]      = { "clock", dump_clock },
    [TT_RESIDENCY]  = { "residency", dump_residency },
    [TT_WARMUP]     = { "warmup", dump_pair },
    [TT_SPLIT]      = { "split", dump_split },
    [TT_COPY]       = { "copy", dump_copy },
    [TT_DEVICE_OP]  = { "device_op", dump_device_op },
    [TT_DONE]       = { "done", dump_done },
    [TT_CHOSEN]     = { "chosen", dump_chosen },
    [TT_HOOKS]      = { "hooks", dump_hooks },
    [TT_SCHEDULE]   = { "schedule", dump_schedule },
    [TT_DEVICE]     = { "device", dump_device },
    [TT_CACHE]      = { "cache", dump_cache },
    [TT_MEMORY]     = { "memory", dump_memory },
    [TT_FOOTPRINT]  = { "footprint", dump_footprint },
    [TT_NODES]      = { "nodes", dump_nodes },
    [TT_ALLOCATED]  = { "allocated", dump_allocated },
    [TT_SAVED]      = { "saved", dump_saved },
    [TT_READ]       = { "read", dump_read },
};

void dump_records(struct bytes chunk) {
    while (chunk.at < chunk.end) {
        const size_t at = chunk.at;
        TAKE(&chunk, struct tt_record, record);
        if (record.length < sizeof record || record.length % 8 || record.length > chunk.end - at) {
            stop(at, "record of %" PRIu32 " bytes, %zu are left", record.length, chunk.end - at);
        }
        if (record.type >= sizeof record_types / sizeof *record_types || !record_types[record.type].name) {
            stop(at, "record type %" PRIu32 " is unknown", record.type);
        }
        struct bytes payload = { chunk.data, chunk.at, at + record.length };
        printf("  %s time_ns=%" PRIu64, record_types[record.type].name, record.time_ns);
        record_types[record.type].dump(&payload, at);
        putchar('\n');
        chunk.at = at + record.length;
    }
}
