/*
 * tt_dump: a tensor trace as text, one line per header, chunk, record and event.
 *
 *     tt_dump [--events] FOLDER|FILE...   a trace folder, or some of its segments
 *     tt_dump --layout                    struct.field, offset, size of every struct in a trace
 *
 * Exit code 0, or 2 when a file is not what it claims to be (what came before is printed).
 * Nothing read from a file is used as a length or an index before it was checked.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* scandir, asprintf */
#endif
#include "tensor_trace_format.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- layout ---- */

#define WHOLE(type) printf("%s 0 %zu\n", #type, sizeof(struct type))
#define FIELD(type, field) \
    printf("%s.%s %zu %zu\n", #type, #field, offsetof(struct type, field), sizeof(((struct type *) 0)->field))

/* clang-format off */
static void print_layout(void) {
    WHOLE(tt_file_header);
    FIELD(tt_file_header, magic); FIELD(tt_file_header, version); FIELD(tt_file_header, kind);
    FIELD(tt_file_header, run_id); FIELD(tt_file_header, number); FIELD(tt_file_header, os_thread);
    FIELD(tt_file_header, open_ns); FIELD(tt_file_header, reserved); FIELD(tt_file_header, clock);
    FIELD(tt_file_header, crc); FIELD(tt_file_header, dropped_records); FIELD(tt_file_header, dropped_bytes);
    FIELD(tt_file_header, dropped_why); FIELD(tt_file_header, reserved2);
    WHOLE(tt_chunk_header);
    FIELD(tt_chunk_header, magic); FIELD(tt_chunk_header, sequence); FIELD(tt_chunk_header, size_bytes);
    FIELD(tt_chunk_header, committed); FIELD(tt_chunk_header, sealed); FIELD(tt_chunk_header, crc);
    FIELD(tt_chunk_header, reserved);
    WHOLE(tt_record);
    FIELD(tt_record, type); FIELD(tt_record, length); FIELD(tt_record, time_ns);
    WHOLE(tt_file_map);
    FIELD(tt_file_map, address); FIELD(tt_file_map, size_bytes); FIELD(tt_file_map, inode);
    FIELD(tt_file_map, path); FIELD(tt_file_map, reserved);
    WHOLE(tt_usage);
    FIELD(tt_usage, minor_faults); FIELD(tt_usage, major_faults);
    FIELD(tt_usage, voluntary_switches); FIELD(tt_usage, involuntary_switches); FIELD(tt_usage, read_bytes);
    WHOLE(tt_load);
    FIELD(tt_load, usage); FIELD(tt_load, load); FIELD(tt_load, path);
    WHOLE(tt_weight);
    FIELD(tt_weight, load); FIELD(tt_weight, name); FIELD(tt_weight, split_index); FIELD(tt_weight, mapped);
    FIELD(tt_weight, file_offset); FIELD(tt_weight, size_bytes); FIELD(tt_weight, address);
    WHOLE(tt_context);
    FIELD(tt_context, context); FIELD(tt_context, load); FIELD(tt_context, n_ctx); FIELD(tt_context, n_batch);
    FIELD(tt_context, n_ubatch); FIELD(tt_context, n_threads); FIELD(tt_context, type_k); FIELD(tt_context, type_v);
    WHOLE(tt_buffer);
    FIELD(tt_buffer, buffer); FIELD(tt_buffer, usage); FIELD(tt_buffer, address); FIELD(tt_buffer, size_bytes);
    FIELD(tt_buffer, name); FIELD(tt_buffer, backend);
    WHOLE(tt_graph);
    FIELD(tt_graph, hash); FIELD(tt_graph, graph); FIELD(tt_graph, n_nodes); FIELD(tt_graph, n_leafs);
    FIELD(tt_graph, reserved);
    WHOLE(tt_node);
    FIELD(tt_node, op); FIELD(tt_node, name); FIELD(tt_node, dtype); FIELD(tt_node, flags); FIELD(tt_node, computes);
    FIELD(tt_node, view_of); FIELD(tt_node, view_offset); FIELD(tt_node, size_bytes); FIELD(tt_node, ne);
    FIELD(tt_node, nb); FIELD(tt_node, src); FIELD(tt_node, op_params);
    WHOLE(tt_placement);
    FIELD(tt_placement, hash); FIELD(tt_placement, placement); FIELD(tt_placement, graph); FIELD(tt_placement, n);
    FIELD(tt_placement, reserved);
    WHOLE(tt_place);
    FIELD(tt_place, address); FIELD(tt_place, buffer); FIELD(tt_place, reserved);
    WHOLE(tt_pass);
    FIELD(tt_pass, usage); FIELD(tt_pass, pass); FIELD(tt_pass, context); FIELD(tt_pass, graph);
    FIELD(tt_pass, placement); FIELD(tt_pass, flags); FIELD(tt_pass, status); FIELD(tt_pass, n_tokens);
    FIELD(tt_pass, n_sequences);
    WHOLE(tt_token);
    FIELD(tt_token, token); FIELD(tt_token, position); FIELD(tt_token, sequence); FIELD(tt_token, output);
    WHOLE(tt_compute);
    FIELD(tt_compute, compute); FIELD(tt_compute, pass); FIELD(tt_compute, split); FIELD(tt_compute, backend);
    FIELD(tt_compute, n_nodes); FIELD(tt_compute, first_node); FIELD(tt_compute, n_map);
    WHOLE(tt_split);
    FIELD(tt_split, begin_ns); FIELD(tt_split, pass); FIELD(tt_split, split); FIELD(tt_split, backend);
    FIELD(tt_split, n_nodes); FIELD(tt_split, first_node); FIELD(tt_split, n_map); FIELD(tt_split, by_op);
    FIELD(tt_split, reserved);
    WHOLE(tt_copy);
    FIELD(tt_copy, begin_ns); FIELD(tt_copy, size_bytes); FIELD(tt_copy, pass); FIELD(tt_copy, split);
    FIELD(tt_copy, tensor); FIELD(tt_copy, from); FIELD(tt_copy, to); FIELD(tt_copy, reserved);
    WHOLE(tt_hooks);
    FIELD(tt_hooks, ticks); FIELD(tt_hooks, pass); FIELD(tt_hooks, inside);
    WHOLE(tt_schedule);
    FIELD(tt_schedule, run_delay_ns); FIELD(tt_schedule, cpu_ns); FIELD(tt_schedule, blocked_ns); FIELD(tt_schedule, counted_ns);
    FIELD(tt_schedule, pass);
    FIELD(tt_schedule, n_threads);
    WHOLE(tt_residency);
    FIELD(tt_residency, address); FIELD(tt_residency, size_bytes); FIELD(tt_residency, pass); FIELD(tt_residency, load);
    FIELD(tt_residency, page_bytes); FIELD(tt_residency, n_runs);
    WHOLE(tt_end);
    FIELD(tt_end, wall_ns); FIELD(tt_end, n_passes); FIELD(tt_end, n_segments); FIELD(tt_end, n_skipped);
    WHOLE(tt_op);
    FIELD(tt_op, gap); FIELD(tt_op, took); FIELD(tt_op, barrier); FIELD(tt_op, node); FIELD(tt_op, n_fused);
    FIELD(tt_op, type);
    WHOLE(tt_long_op);
    FIELD(tt_long_op, begin); FIELD(tt_long_op, node); FIELD(tt_long_op, n_fused); FIELD(tt_long_op, reserved);
    FIELD(tt_long_op, type); FIELD(tt_long_op, took); FIELD(tt_long_op, barrier); FIELD(tt_long_op, barrier_high);
    FIELD(tt_long_op, reserved2); FIELD(tt_long_op, more);
    WHOLE(tt_thread_begin);
    FIELD(tt_thread_begin, time); FIELD(tt_thread_begin, thread); FIELD(tt_thread_begin, n_threads);
    FIELD(tt_thread_begin, reserved); FIELD(tt_thread_begin, type); FIELD(tt_thread_begin, compute);
    FIELD(tt_thread_begin, os_thread); FIELD(tt_thread_begin, reserved2); FIELD(tt_thread_begin, reserved3);
    FIELD(tt_thread_begin, more);
    WHOLE(tt_thread_end);
    FIELD(tt_thread_end, time); FIELD(tt_thread_end, thread); FIELD(tt_thread_end, reserved);
    FIELD(tt_thread_end, reserved2); FIELD(tt_thread_end, type);
    WHOLE(tt_index);
    FIELD(tt_index, time); FIELD(tt_index, node); FIELD(tt_index, what); FIELD(tt_index, bytes);
    FIELD(tt_index, reserved); FIELD(tt_index, type); FIELD(tt_index, ne0); FIELD(tt_index, ne1);
    FIELD(tt_index, reserved2); FIELD(tt_index, reserved3); FIELD(tt_index, reserved4); FIELD(tt_index, more);
}
/* clang-format on */

/* ---- errors, bytes, names ---- */

static const char * file_name;

static _Noreturn void stop(size_t at, const char * format, ...) {
    va_list list;
    fflush(stdout);
    fprintf(stderr, "tt_dump: %s: byte %zu: ", file_name, at);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(2);
}

static void * grown(void * old, size_t n, size_t each) {
    void * made = n > SIZE_MAX / each ? NULL : realloc(old, n * each);
    if (!made) {
        fprintf(stderr, "tt_dump: out of memory\n");
        exit(2);
    }
    return made;
}

/* Bytes of a segment that were read but not yet taken. */
struct bytes {
    const uint8_t * data;
    size_t          at, end;
};

static const void * take(struct bytes * from, size_t size) {
    if (size > from->end - from->at) {
        stop(from->at, "%zu bytes are wanted, %zu are left", size, from->end - from->at);
    }
    from->at += size;
    return from->data + from->at - size;
}

#define TAKE(from, type, name) \
    type name; \
    memcpy(&name, take(from, sizeof name), sizeof name)

static struct {
    const uint8_t * text;
    uint32_t        size;
} *             strings;
static uint32_t n_strings;

static void print_text(const uint8_t * text, size_t size) {
    putchar('"');
    for (size_t i = 0; i < size; i++) {
        if (text[i] < 32 || text[i] == 127 || text[i] == '"' || text[i] == '\\') {
            printf("\\x%02x", text[i]);
        } else {
            putchar(text[i]);
        }
    }
    putchar('"');
}

static void print_string(const char * label, uint32_t number, size_t at) {
    printf(" %s=", label);
    if (number >= n_strings) {
        stop(at, "string %" PRIu32 " was not written before", number);
    }
    print_text(strings[number].text, strings[number].size);
}

static void print_number(const char * label, uint32_t number) {
    printf(number == TT_NONE ? " %s=-" : " %s=%" PRIu32, label, number);
}

/* ---- what the thread segments point to: compute -> nodes of a graph ---- */

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
    static size_t last; /* a thread runs one after the other */
    for (size_t i = 0; i < n_computes; i++, last++) {
        last = last < n_computes ? last : 0;
        if (computes[last].number == number) {
            return &computes[last];
        }
    }
    return NULL;
}

static void print_node(uint64_t compute, uint32_t node) {
    const struct compute * of    = compute_of(compute);
    const struct graph *   graph = of ? graph_of(of->graph) : NULL;
    printf(" node=%" PRIu32, node);
    if (!graph || node >= of->n_nodes) {
        return; /* a segment alone, without its main segment */
    }
    uint64_t place = (uint64_t) of->first_node + node;
    if (of->map) {
        uint32_t mapped;
        memcpy(&mapped, of->map + (size_t) node * sizeof mapped, sizeof mapped);
        place = mapped;
    }
    if (place < graph->n) {
        struct tt_node it;
        memcpy(&it, graph->nodes + place * sizeof it, sizeof it);
        printf(" graph_node=%" PRIu64, place);
        print_string("op", it.op, 0);
        print_string("name", it.name, 0);
    }
}

/* ---- main segment: one function per shape of record ---- */

static void dump_string(struct bytes * in, size_t at) {
    TAKE(in, uint32_t, number);
    TAKE(in, uint32_t, size);
    const uint8_t * text = take(in, size);
    if (number != n_strings) {
        stop(at, "string %" PRIu32 " where %" PRIu32 " is expected", number, n_strings);
    }
    strings                   = grown(strings, (size_t) n_strings + 1, sizeof *strings);
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
        stop(at, "%" PRIu64 " nodes", n);
    }
    graphs             = grown(graphs, n_graphs + 1, sizeof *graphs);
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

static void dump_pass(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_pass, pass);
    const uint8_t * tokens = take(in, (size_t) pass.n_tokens * sizeof(struct tt_token));

    passes             = grown(passes, n_passes + 1, sizeof *passes);
    passes[n_passes++] = (struct pass) { pass.pass, pass.graph };
    print_number("pass", pass.pass);
    print_number("context", pass.context);
    print_number("graph", pass.graph);
    print_number("placement", pass.placement);
    printf(" flags=%s%s%s status=%" PRId32 " n_tokens=%" PRIu32 " n_sequences=%" PRIu32,
           pass.flags & TT_PASS_WARMUP ? "w" : "", pass.flags & TT_PASS_ENCODER ? "e" : "",
           pass.flags & TT_PASS_OUTSIDE ? "o" : "", pass.status, pass.n_tokens, pass.n_sequences);
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
    TAKE(in, struct tt_compute, it);
    const uint8_t * map = it.n_map ? take(in, (size_t) it.n_map * sizeof(uint32_t)) : NULL;
    if (it.n_map && it.n_map != it.n_nodes) {
        stop(at, "map of %" PRIu32 " for %" PRIu32 " nodes", it.n_map, it.n_nodes);
    }
    computes               = grown(computes, n_computes + 1, sizeof *computes);
    computes[n_computes++] = (struct compute) { it.compute, graph_of_pass(it.pass), it.n_nodes, it.first_node, map };
    printf(" compute=%" PRIu64 " pass=%" PRIu32 " split=%" PRIu32, it.compute, it.pass, it.split);
    print_string("backend", it.backend, at);
    printf(" n_nodes=%" PRIu32, it.n_nodes);
    print_number("first_node", it.first_node);
    printf(" n_map=%" PRIu32, it.n_map);
    print_map(map, it.n_map);
}

static void dump_split(struct bytes * in, size_t at) {
    TAKE(in, struct tt_split, it);
    const uint8_t * map = take(in, it.n_map * sizeof(uint32_t));
    printf(" pass=%" PRIu32 " split=%" PRIu32 " begin_ns=%" PRIu64, it.pass, it.split, it.begin_ns);
    print_string("backend", it.backend, at);
    printf(" by_op=%" PRIu32 " n_nodes=%" PRIu32, it.by_op, it.n_nodes);
    print_number("first_node", it.first_node);
    printf(" n_map=%" PRIu32, it.n_map);
    print_map(map, it.n_map);
}

static void dump_copy(struct bytes * in, size_t at) {
    TAKE(in, struct tt_copy, it);
    printf(" pass=%" PRIu32 " split=%" PRIu32 " begin_ns=%" PRIu64 " size_bytes=%" PRIu64, it.pass, it.split,
           it.begin_ns, it.size_bytes);
    print_string("tensor", it.tensor, at);
    print_string("from", it.from, at);
    print_string("to", it.to, at);
}

static void dump_hooks(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_hooks, it);
    print_number("pass", it.pass);
    printf(" ticks=%" PRIu64 " inside=%" PRIu32, it.ticks, it.inside);
}

static void print_known(const char * name, uint64_t value) {
    if (value == TT_UNKNOWN) {
        printf(" %s=unknown", name);
    } else {
        printf(" %s=%" PRIu64, name, value);
    }
}

static void dump_schedule(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_schedule, it);
    print_number("pass", it.pass);
    print_known("run_delay_ns", it.run_delay_ns);
    print_known("cpu_ns", it.cpu_ns);
    print_known("blocked_ns", it.blocked_ns);
    printf(" counted_ns=%" PRIu64, it.counted_ns);
    printf(" n_threads=%" PRIu32, it.n_threads);
}

static void dump_residency(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_residency, it);
    print_number("pass", it.pass);
    print_number("load", it.load);
    printf(" address=%#" PRIx64 " size_bytes=%" PRIu64 " page_bytes=%" PRIu32, it.address, it.size_bytes,
           it.page_bytes);
    print_number("n_runs", it.n_runs);
    const size_t    n    = it.n_runs == TT_NONE ? 0 : it.n_runs;
    const uint8_t * runs = take(in, n * 8);
    for (size_t i = 0; i < n; i++) {
        uint32_t run[2];
        memcpy(run, runs + 8 * i, sizeof run);
        printf("\n    pages first=%" PRIu32 " n=%" PRIu32, run[0], run[1]);
    }
}

static void dump_end(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, struct tt_end, end);
    printf(" wall_ns=%" PRIu64 " n_passes=%" PRIu64 " n_segments=%" PRIu64, end.wall_ns, end.n_passes, end.n_segments);
}

static void dump_clock(struct bytes * in, size_t at) {
    (void) at;
    TAKE(in, uint64_t, ticks);
    printf(" ticks=%" PRIu64, ticks);
}

static const struct {
    const char * name;
    void (*dump)(struct bytes *, size_t);
} kinds[] = {
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
    [TT_HOOKS]      = { "hooks", dump_hooks },
    [TT_SCHEDULE]   = { "schedule", dump_schedule },
};

static void dump_records(struct bytes chunk) {
    while (chunk.at < chunk.end) {
        const size_t at = chunk.at;
        TAKE(&chunk, struct tt_record, record);
        if (record.length < sizeof record || record.length % 8 || record.length > chunk.end - at) {
            stop(at, "record of %" PRIu32 " bytes, %zu are left", record.length, chunk.end - at);
        }
        if (record.type >= sizeof kinds / sizeof *kinds || !kinds[record.type].name) {
            stop(at, "record type %" PRIu32 " is unknown", record.type);
        }
        struct bytes payload = { chunk.data, chunk.at, at + record.length };
        printf("  %s time_ns=%" PRIu64, kinds[record.type].name, record.time_ns);
        kinds[record.type].dump(&payload, at);
        putchar('\n');
        chunk.at = at + record.length;
    }
}

/* ---- thread segment ---- */

struct thread_count {
    uint64_t computes, open, ops, fused, indexes, work, barrier;
};
struct op {                /* of either length, in ticks */
    uint64_t begin, end, barrier;
    uint32_t node;
    uint16_t n_fused;
};

static void print_index(const struct tt_index * index, const uint8_t * data, uint64_t n) {
    static const char * const meanings[] = { "?", "rows", "experts", "cells", "columns", "weights" };
    printf(" what=%s ne=%" PRIu32 ",%" PRIu32 " values=", meanings[index->what <= TT_INDEX_WEIGHTS ? index->what : 0],
           index->ne0, index->ne1);
    for (uint64_t i = 0; i < n; i++) {
        int64_t wide = 0;
        int32_t narrow;
        float   weight;
        memcpy(&narrow, data + i * index->bytes, sizeof narrow);
        memcpy(&wide, data + i * index->bytes, index->bytes == 8 ? sizeof wide : 0);
        memcpy(&weight, &narrow, sizeof weight);
        printf("%s", i ? "," : "");
        if (index->what == TT_INDEX_WEIGHTS) {
            printf("%.9g", (double) weight);
        } else {
            printf("%" PRId64, index->bytes == 8 ? wide : narrow);
        }
    }
}

static void dump_op(const struct op * op, uint64_t compute, bool show, struct thread_count * count) {
    count->ops++;
    count->fused += op->n_fused;
    count->work += op->end - op->begin - op->barrier;
    count->barrier += op->barrier;
    if (show) {
        printf("  op compute=%" PRIu64, compute);
        print_node(compute, op->node);
        printf(" begin=%" PRIu64 " end=%" PRIu64 " barrier=%" PRIu64 " n_fused=%" PRIu16 "\n", op->begin, op->end,
               op->barrier, op->n_fused);
    }
}

static void dump_index(const struct tt_index * index, struct bytes * chunk, uint64_t compute, bool show) {
    const uint64_t n = (uint64_t) index->ne0 * index->ne1, left = chunk->end - chunk->at;
    if ((index->bytes != 4 && index->bytes != 8) || n > left / index->bytes) {
        stop(chunk->at, "index of %" PRIu32 " x %" PRIu32 " numbers of %u bytes, %" PRIu64 " bytes are left",
             index->ne0, index->ne1, index->bytes, left);
    }
    const uint8_t * data = take(chunk, ((size_t) n * index->bytes + TT_UNIT - 1) / TT_UNIT * TT_UNIT);
    if (show) {
        printf("  index time=%" PRIu64 " compute=%" PRIu64, index->time, compute);
        print_node(compute, index->node);
        print_index(index, data, n);
        putchar('\n');
    }
}

static void dump_events(struct bytes chunk, bool show, struct thread_count * count) {
    static uint64_t compute, last;
    while (chunk.at < chunk.end) {
        const size_t at    = chunk.at;
        struct bytes again = chunk;
        TAKE(&again, struct tt_op, op);
        switch (op.type) {
            case TT_OP: {
                const uint64_t  begin    = last + op.gap;
                const struct op short_op = { begin, begin + op.took, op.barrier, op.node, op.n_fused };

                last     = short_op.end;
                chunk.at = again.at;
                dump_op(&short_op, compute, show, count);
                break;
            }
            case TT_LONG_OP: {
                TAKE(&chunk, struct tt_long_op, found);
                const uint64_t  barrier = found.barrier | (uint64_t) found.barrier_high << 32;
                const struct op long_op = { found.begin, found.begin + found.took, barrier, found.node, found.n_fused };

                last = long_op.end;
                dump_op(&long_op, compute, show, count);
                break;
            }
            case TT_THREAD_BEGIN: {
                TAKE(&chunk, struct tt_thread_begin, begin);
                compute = begin.compute;
                last    = begin.time;
                count->computes++;
                count->open++;
                if (show) {
                    printf("  thread_begin time=%" PRIu64 " compute=%" PRIu64 " thread=%" PRIu32 " pool=%" PRIu16
                           " os_thread=%" PRIu32 "\n",
                           begin.time, compute, begin.thread, begin.n_threads, begin.os_thread);
                }
                break;
            }
            case TT_THREAD_END: {
                TAKE(&chunk, struct tt_thread_end, end);
                last = end.time;
                count->open--;
                if (show) {
                    printf("  thread_end time=%" PRIu64 " compute=%" PRIu64 " thread=%" PRIu32 "\n", end.time, compute,
                           end.thread);
                }
                break;
            }
            case TT_INDEX: {
                TAKE(&chunk, struct tt_index, index);
                last = index.time;
                count->indexes++;
                dump_index(&index, &chunk, compute, show);
                break;
            }
            default: stop(at, "unit type %u is unknown", op.type);
        }
    }
}

/* ---- segments ---- */

static uint32_t crc32_of(const uint8_t * data, size_t size) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

static struct bytes read_file(const char * path) {
    struct bytes file   = { NULL, 0, 0 };
    FILE *       stream = fopen(path, "rb");
    size_t       got, size = 0;
    uint8_t *    data = NULL;
    if (!stream) {
        stop(0, "%s", strerror(errno));
    }
    do {
        data = grown(data, size + (1 << 20), 1);
        got  = fread(data + size, 1, 1 << 20, stream);
        size += got;
    } while (got > 0);
    if (ferror(stream)) {
        stop(size, "cannot be read");
    }
    fclose(stream);
    file.data = data; /* kept: names and nodes point into it */
    file.end  = size;
    return file;
}

static void dump_header(const struct tt_file_header * header, const uint8_t * data) {
    const bool whole = header->crc == crc32_of(data, offsetof(struct tt_file_header, crc));
    printf("segment version=%" PRIu32 " kind=%s number=%" PRIu32 " run_id=", header->version,
           header->kind == TT_SEGMENT_MAIN ? "main" : "thread", header->number);
    for (int i = 0; i < 16; i++) {
        printf("%02x", header->run_id[i]);
    }
    printf(" os_thread=%" PRIu32 " open_ns=%" PRIu64 " clock=%s crc=%s dropped_records=%" PRIu64
           " dropped_bytes=%" PRIu64 " dropped_why=%" PRIu32 "\n",
           header->os_thread, header->open_ns, header->clock == TT_CLOCK_TSC ? "tsc" : "monotonic",
           whole ? "right" : "wrong", header->dropped_records, header->dropped_bytes, header->dropped_why);
    if (!whole) {
        stop(offsetof(struct tt_file_header, crc), "the header has a wrong checksum");
    }
}

static void dump_segment(const char * path, bool show) {
    file_name         = path;
    struct bytes file = read_file(path);
    if (file.end < TT_PAGE) {
        stop(0, "%zu bytes, a segment has at least %u", file.end, TT_PAGE);
    }
    struct tt_file_header header;
    memcpy(&header, file.data, sizeof header);
    if (memcmp(header.magic, TT_MAGIC, sizeof header.magic) != 0) {
        stop(0, "no tensor trace");
    }
    if (header.version != TT_VERSION) {
        stop(offsetof(struct tt_file_header, version), "version %" PRIu32 ", this tt_dump reads version %u",
             header.version, TT_VERSION);
    }
    if (header.clock > TT_CLOCK_TSC) {
        stop(offsetof(struct tt_file_header, clock), "clock %" PRIu32 " is unknown", header.clock);
    }
    if (header.kind > TT_SEGMENT_THREAD) {
        stop(offsetof(struct tt_file_header, kind), "segment kind %" PRIu32 " is unknown", header.kind);
    }
    printf("file ");
    print_text((const uint8_t *) path, strlen(path));
    putchar('\n');
    dump_header(&header, file.data);
    struct thread_count count = { 0 };

    file.at = TT_PAGE;
    for (uint32_t sequence = 0; file.at < file.end; sequence++) {
        const size_t at = file.at;
        TAKE(&file, struct tt_chunk_header, chunk);
        if (chunk.magic == 0) {
            break; /* space that a killed process had just taken */
        }
        if (chunk.magic != TT_CHUNK_MAGIC || chunk.sequence != sequence) {
            stop(at, "chunk %" PRIu32 " is expected here and is not", sequence);
        }
        if (chunk.size_bytes % TT_PAGE || chunk.size_bytes < sizeof chunk || chunk.size_bytes > file.end - at) {
            stop(at, "chunk of %" PRIu64 " bytes, %zu are left", chunk.size_bytes, file.end - at);
        }
        if (chunk.committed > chunk.size_bytes - sizeof chunk) {
            stop(at, "chunk claims %" PRIu64 " of %" PRIu64 " bytes", chunk.committed, chunk.size_bytes);
        }
        struct bytes payload = { file.data, file.at, file.at + (size_t) chunk.committed };
        const bool   right   = !chunk.sealed || chunk.crc == crc32_of(file.data + payload.at, (size_t) chunk.committed);
        printf("chunk %" PRIu32 " at=%zu size_bytes=%" PRIu64 " committed=%" PRIu64 " %s%s\n", sequence, at,
               chunk.size_bytes, chunk.committed, chunk.sealed ? "sealed" : "not sealed",
               right ? "" : ", wrong checksum");
        if (!right || chunk.sealed > 1) {
            stop(at, "chunk %" PRIu32 " has a wrong checksum", sequence);
        }
        if (header.kind == TT_SEGMENT_MAIN) {
            dump_records(payload);
        } else {
            dump_events(payload, show, &count);
        }
        file.at = at + (size_t) chunk.size_bytes;
    }
    if (header.kind == TT_SEGMENT_THREAD) {
        printf("summary computes=%" PRIu64 " open=%" PRIu64 " ops=%" PRIu64 " fused=%" PRIu64 " indexes=%" PRIu64
               " work=%" PRIu64 " barrier=%" PRIu64 "\n",
               count.computes, count.open, count.ops, count.fused, count.indexes, count.work, count.barrier);
    }
}

static int is_segment(const struct dirent * entry) {
    const size_t n = strlen(entry->d_name);
    return n > 3 && strcmp(entry->d_name + n - 3, ".tt") == 0;
}

/* RUNID.main.tt sorts before RUNID.t000.tt. */
static void dump_path(const char * path, bool show) {
    struct dirent ** entries;
    const int        n = scandir(path, &entries, is_segment, alphasort);
    if (n < 0) {
        dump_segment(path, show);
        return;
    }
    file_name = path;
    if (n == 0) {
        stop(0, "holds no trace (*.tt)");
    }
    for (int i = 0; i < n; i++) {
        char * name = NULL;
        if (asprintf(&name, "%s/%s", path, entries[i]->d_name) < 0) {
            stop(0, "out of memory");
        }
        dump_segment(name, show); /* keeps the name: an error may still need it */
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char ** argv) {
    bool show = false;
    int  n    = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--layout") == 0) {
            print_layout();
            return 0;
        }
        if (strcmp(argv[i], "--events") == 0) {
            show = true;
        } else if (argv[i][0] == '-') {
            n = 0;
            break;
        } else {
            argv[n++] = argv[i];
        }
    }
    if (n == 0) {
        fprintf(stderr, "usage: tt_dump [--events] FOLDER|FILE...\n       tt_dump --layout\n");
        return 2;
    }
    for (int i = 0; i < n; i++) {
        dump_path(argv[i], show);
    }
    return 0;
}
