/* Records contexts, calls, passes, the computes of a pass, and the threads of a compute. */
#include "ggml_passes.h"
#include "ggml_graphs.h"
#include "ggml_memory.h"
#include "ggml_process.h"
#include "tt_footprint.h"
#include "tt_memory.h"
#include "tt_nodes.h"
#include "tt_record.h"
#include "tt_residency.h"
#include "tt_schedule.h"
#include "tt_storage.h"

#include "tensor_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONTEXTS = 256, MAX_COMPUTES = 64 };

struct live_context {
    const void *          key;  /* the llama_context */
    struct tt_known_graph last; /* of its last pass */
};
struct live_compute {
    _Atomic(const void *)  key; /* its ggml_cgraph; NULL: this entry is free */
    struct tt_compute_work work;
};

static pthread_mutex_t     lock = PTHREAD_MUTEX_INITIALIZER; /* guards contexts and n_contexts */
static struct live_context contexts[MAX_CONTEXTS];
static uint32_t            n_contexts;
static struct live_compute computes[MAX_COMPUTES];

/* The end of a pass: when, and what the threads had counted by then. */
struct ended {
    int                status;
    uint64_t           entered; /* the hook that notes it, ticks */
    struct tt_moment   moment;
    struct tt_schedule schedule;
};
static __thread struct { /* the pass that this thread evaluates */
    uint32_t              pass, split, n_computes, n_tokens;
    struct tt_known_graph graph;
    bool                  open, outside, graph_built, warming_up;
    bool                  called;   /* this thread has made a call: all passes of a call are recorded, or none */
    bool                  skipping; /* the passes of this call are not recorded */
    bool                  skipped;  /* the current pass is not recorded */
    bool                  devices_work; /* only if the tracer is passive */
    bool                  handed_over;  /* llama.cpp has done its part of the pass, while devices work */
    struct ended          handed;       /* when that was */
} current;
static __thread struct tt_schedule_begin schedule_begin;
static __thread struct tt_devices        devices_begin;
static __thread uint64_t                 between_ticks; /* in hooks between the pass before and this one */
__thread uint64_t                        tt_hook_ticks;

static void end_handed_over(void); /* of the pass that devices still work for, the part of llama.cpp, if there is one */

/* ---- contexts and calls ---- */

uint32_t tt_context_number(const void * key) {
    pthread_mutex_lock(&lock);
    uint32_t number = n_contexts;
    for (uint32_t i = 0; i < n_contexts; i++) { /* the newest context at this address */
        number = contexts[i].key == key ? i : number;
    }
    if (number == n_contexts) {
        number = TT_NONE;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

static uint32_t type_name(int type) {
    return tt_string(tt_process, type < 0 ? "" : ggml_type_name((enum ggml_type) type));
}

void tensor_trace_context(const struct tensor_trace_context * sizes) {
    pthread_mutex_lock(&lock);
    const uint32_t number = n_contexts < MAX_CONTEXTS ? n_contexts++ : TT_NONE;
    if (number != TT_NONE) {
        contexts[number] = (struct live_context) { .key = sizes->context };
    }
    pthread_mutex_unlock(&lock);
    if (number == TT_NONE) {
        tt_segment_drop(&tt_process->main, 1, sizeof(struct tt_context));
        return;
    }
    const struct tt_context record = {
        .context   = number,
        .load      = sizes->load == TT_NONE ? tt_last_load() : sizes->load,
        .n_ctx     = sizes->n_ctx,
        .n_batch   = sizes->n_batch,
        .n_ubatch  = sizes->n_ubatch,
        .n_threads = sizes->n_threads,
        .type_k    = type_name(sizes->type_k),
        .type_v    = type_name(sizes->type_v),
    };
    tt_record(tt_process, TT_CONTEXT, &record, sizeof record, tt_now());
}

static void context_event(enum tt_type type, uint32_t context, uint32_t value) {
    const uint32_t record[2] = { context, value };
    tt_record(tt_process, type, record, sizeof record, tt_now());
}

void tensor_trace_call(const void * context) {
    end_handed_over(); /* what follows is no part of the last pass */
    TT_TIMED_HOOK;
    current.called   = true;
    current.skipping = !tt_wanted();
    if (!current.skipping) {
        context_event(TT_CALL, tt_context_number(context), 0);
    }
}

void tensor_trace_logits(const void * context) {
    TT_TIMED_HOOK;
    if (!current.skipping) {
        context_event(TT_LOGITS, tt_context_number(context), 0);
    }
}

void tensor_trace_sampled(int32_t token) {
    TT_TIMED_HOOK;
    if (!current.skipping) {
        context_event(TT_SAMPLED, TT_NONE, (uint32_t) token);
    }
}

void tt_was_warmup(const void * context) {
    if (!current.skipping) {
        context_event(TT_WARMUP, tt_context_number(context), 0);
    }
}

void tensor_trace_warmup(bool begins) { current.warming_up = begins; }
void tensor_trace_graph_built(void) { current.graph_built = true; }

static struct tt_known_graph graph_of_pass(uint32_t context, const struct ggml_cgraph * graph) {
    struct tt_known_graph * last      = context != TT_NONE ? &contexts[context].last : NULL;
    const bool              unchanged = last && !current.graph_built && last->graph == graph && last->number != TT_NONE;
    if (unchanged && !tt_verify) {
        return *last;
    }
    const struct tt_known_graph known = tt_register(graph);
    if (unchanged && (known.number != last->number || known.placement != last->placement)) {
        fprintf(stderr, "tensor_trace: a graph said to be unchanged has changed\n");
        abort();
    }
    if (last) {
        *last = known;
    }
    return known;
}

/* A pass outside the window. Its graph is not registered, so the context's last graph is no longer known. */
static void skip_pass(uint32_t context) {
    tt_skip_pass(tt_process);
    if (context != TT_NONE) {
        contexts[context].last = (struct tt_known_graph) { .number = TT_NONE };
    }
    current.skipped = true;
}

void tensor_trace_pass_begin(const struct tensor_trace_ubatch * ubatch) {
    end_handed_over();
    TT_TIMED_HOOK;
    const uint32_t context = tt_context_number(ubatch->context);
    if (!current.called || !ubatch->context) {
        current.skipping = !tt_wanted();
    }
    if (current.skipping || !tt_enter()) {
        skip_pass(context);
        return;
    }
    current.graph             = graph_of_pass(context, ubatch->graph);
    current.graph_built       = false;
    current.pass              = tt_next_pass(tt_process);
    current.split             = 0;
    current.n_computes        = 0;
    current.n_tokens          = ubatch->n_tokens;
    current.open              = true;
    struct tt_writer * writer = tt_my_writer(); /* so that this thread has a writer when the pass begins */
    if (writer && current.graph.number != TT_NONE) {
        const struct tt_graph_plan plan = tt_plan_of(current.graph.number);
        (void) tt_writer_prepare(writer, (uint32_t) ubatch->graph->n_nodes,
                                 plan.index_bytes); /* if it fails, the ops are dropped and counted */
    }
    tt_devices_begin(tt_process, &devices_begin);
    (void) tt_schedule_begin(tt_process, &schedule_begin);
    struct tt_pass pass = {
        .pass      = current.pass,
        .context   = context,
        .graph     = current.graph.number,
        .placement = current.graph.placement,
        .flags = (ubatch->warmup || current.warming_up ? TT_PASS_WARMUP : 0u) | (ubatch->encoder ? TT_PASS_ENCODER : 0u)
            | (ubatch->context ? 0u : TT_PASS_OUTSIDE),
        .n_tokens    = ubatch->n_tokens,
        .n_sequences = ubatch->n_sequences,
        .usage       = tt_usage_now(),
    };
    const size_t           size   = sizeof pass + ubatch->n_tokens * sizeof(struct tt_token);
    const struct tt_moment moment = tt_moment();

    between_ticks = tt_hook_ticks + moment.ticks - entered;
    tt_hook_ticks = entered - moment.ticks; /* only the rest of this hook is part of the pass */
    tt_clock(tt_process, &moment);
    uint8_t * at = tt_record_begin(tt_process, TT_PASS_BEGIN, size, moment.ns);
    if (!at) {
        return;
    }
    memcpy(at, &pass, sizeof pass);
    struct tt_token * token = (struct tt_token *) (at + sizeof pass);
    for (uint32_t i = 0; i < ubatch->n_tokens; i++) {
        token[i] = (struct tt_token) {
            .token    = ubatch->token ? ubatch->token[i] : -1,
            .position = ubatch->position ? ubatch->position[i] : -1,
            .sequence = ubatch->sequence ? ubatch->sequence[i][0] : -1,
            .output   = !ubatch->output ? 0
                : ubatch->output[i] < 0 ? TT_NONE
                                        : ubatch->output[i] != 0,
        };
    }
    tt_record_end(tt_process);
}

/* Writes what is known about the pass. The pass ended before, so that this is no part of it. */
static void write_pass_end(int status, const struct tt_moment * ended, const struct tt_schedule * schedule) {
    const struct tt_moment moment = *ended;
    const struct tt_pass   pass   = {
        .pass      = current.pass,
        .context   = TT_NONE,
        .graph     = current.graph.number,
        .placement = current.graph.placement,
        .status    = status,
        .usage     = tt_usage_now(),
    };
    current.open = false;
    tt_collect_faults(); /* what follows has some of its own, and belongs to no pass */
    tt_devices_end(tt_process, &devices_begin, pass.pass, TT_NONE);
    tt_record(tt_process, TT_PASS_END, &pass, sizeof pass, moment.ns);
    tt_clock(tt_process, &moment);
    tt_record(tt_process, TT_SCHEDULE, schedule, sizeof *schedule, moment.ns);
    if (tt_watch_pages) {
        tt_residency_write(tt_process, pass.pass, TT_NONE);
    }
    tt_cache_write(tt_process, pass.pass, TT_NONE);
    tt_memory_write(tt_process, pass.pass, TT_NONE);
    tt_nodes_write(tt_process, pass.pass, TT_NONE);
    tt_footprint_write(tt_process, TT_OCCASION_PASS, pass.pass, TT_NONE);
}

static struct ended ended_now(int status) {
    struct ended ended = { .status = status, .entered = tt_ticks(), .moment = tt_moment() };

    ended.schedule      = tt_schedule_end(tt_process, &schedule_begin);
    ended.schedule.pass = current.pass;
    return ended;
}

static void end_pass(const struct ended * ended) {
    const struct tt_hooks hooks = {
        .ticks   = tt_hook_ticks + ended->moment.ticks - ended->entered,
        .pass    = current.pass,
        .inside  = 1,
        .between = between_ticks,
    };
    write_pass_end(ended->status, &ended->moment, &ended->schedule);
    tt_record(tt_process, TT_HOOKS, &hooks, sizeof hooks, tt_now());
    tt_leave();
    tt_hook_ticks = tt_ticks() - ended->moment.ticks; /* between this pass and the next */
}

/* Ends the pass that llama.cpp has handed over; nothing is written if the trace has ended meanwhile. */
static void end_handed_over_at(const struct ended * ended) {
    current.handed_over = current.devices_work = false;
    if (tt_enter()) {
        end_pass(ended);
    } else {
        current.open = false;
    }
}

static void end_handed_over(void) {
    if (current.handed_over) {
        end_handed_over_at(&current.handed);
    }
}

void tt_devices_work(bool work) {
    current.devices_work = work;
    if (!work && current.handed_over) {
        const struct ended ended = ended_now(current.handed.status);
        end_handed_over_at(&ended);
    }
}

void tensor_trace_pass_end(int status) {
    if (current.skipped) {
        current.skipped = false;
        tt_hook_ticks   = 0;
        return;
    }
    const struct ended ended = ended_now(status);
    if (current.devices_work) {
        current.handed_over = true;
        current.handed      = ended;
        tt_leave(); /* the trace may end before somebody waits */
    } else {
        end_pass(&ended);
    }
}

/* ---- computes: a graph, or the part of it that the CPU backend runs ---- */

uint32_t tt_first_node(const struct ggml_cgraph * part, const struct ggml_cgraph * whole) {
    for (int first = 0; first + part->n_nodes <= whole->n_nodes; first++) {
        if (whole->nodes[first] == part->nodes[0]) {
            return memcmp(whole->nodes + first, part->nodes, (size_t) part->n_nodes * sizeof *part->nodes) == 0
                ? (uint32_t) first
                : TT_NONE;
        }
    }
    return TT_NONE;
}

void tt_map_nodes(const struct ggml_cgraph * part, const struct ggml_cgraph * whole, uint32_t * map) {
    for (int i = 0; i < part->n_nodes; i++) {
        map[i] = TT_NONE;
        for (int j = 0; j < whole->n_nodes && map[i] == TT_NONE; j++) {
            map[i] = whole->nodes[j] == part->nodes[i] ? (uint32_t) j : TT_NONE;
        }
    }
}

struct tt_current tt_current(void) {
    const bool recorded = current.open && current.graph.number != TT_NONE;
    return (struct tt_current) { recorded ? current.graph.graph : NULL, current.pass, current.n_computes };
}

void tt_in_split(uint32_t split) { current.split = split; }

/* A graph that is computed for no ubatch (for example, to shift the KV cache) is a pass of its own. */
static void begin_outside_pass(struct ggml_cgraph * graph) {
    const struct tensor_trace_ubatch nothing = { .graph = graph };

    current.graph_built = true;
    tensor_trace_pass_begin(&nothing);
    current.outside = true;
}

void tensor_trace_compute_begin(struct ggml_cgraph * graph) {
    if (graph->n_nodes == 0) {
        return;
    }
    end_handed_over();
    if (!current.open && !current.skipped) {
        begin_outside_pass(graph);
    }
    if (current.skipped) {
        return;
    }
    TT_TIMED_HOOK;
    if (current.graph.number == TT_NONE) { /* without its graph, its ops would refer to nothing */
        tt_segment_drop(&tt_process->main, 1, 0);
        return;
    }
    current.n_computes++;
    const struct ggml_cgraph * whole  = current.graph.graph;
    const uint32_t             first  = tt_first_node(graph, whole);
    struct tt_compute          record = {
        .compute    = tt_next_compute(tt_process),
        .pass       = current.pass,
        .split      = current.split++,
        .backend    = tt_string(tt_process, "CPU"),
        .n_nodes    = (uint32_t) graph->n_nodes,
        .first_node = first,
        .n_map      = first == TT_NONE ? (uint32_t) graph->n_nodes : 0,
    };
    uint8_t * at = tt_record_begin(tt_process, TT_COMPUTE, sizeof record + record.n_map * sizeof(uint32_t), tt_now());
    if (!at) {
        return; /* dropped and counted; its threads find no compute and record nothing */
    }
    memcpy(at, &record, sizeof record);
    if (record.n_map) {
        tt_map_nodes(graph, whole, (uint32_t *) (at + sizeof record));
    }
    tt_record_end(tt_process);
    const struct tt_graph_plan plan = tt_plan_of(first != TT_NONE ? current.graph.number : TT_NONE);
    for (int i = 0; i < MAX_COMPUTES; i++) {
        const void * unused = NULL;
        if (atomic_compare_exchange_strong(&computes[i].key, &unused, (const void *) &computes[i])) {
            computes[i].work = (struct tt_compute_work) {
                .graph       = graph,
                .compute     = record.compute,
                .plan        = plan.copies ? plan.copies + first : NULL,
                .index_bytes = plan.index_bytes,
                .n_nodes     = record.n_nodes,
                .n_tokens    = current.n_tokens,
                .copy_index  = tt_copy_index,
            };
            atomic_store_explicit(&computes[i].key, graph, memory_order_release);
            break;
        }
    }
}

static void forget_compute(const struct ggml_cgraph * graph) {
    TT_TIMED_HOOK;
    for (int i = 0; i < MAX_COMPUTES; i++) {
        if (atomic_load(&computes[i].key) == graph) {
            atomic_store(&computes[i].key, NULL);
        }
    }
}

void tensor_trace_compute_end(struct ggml_cgraph * graph) {
    forget_compute(graph);
    if (current.outside) {
        current.outside = false;
        tensor_trace_pass_end(0);
    }
}

bool tt_compute_of(const struct ggml_cgraph * graph, struct tt_compute_work * work) {
    for (int i = 0; i < MAX_COMPUTES; i++) {
        if (atomic_load_explicit(&computes[i].key, memory_order_acquire) == graph) {
            *work = computes[i].work;
            return true;
        }
    }
    return false;
}

void tensor_trace_thread_begin(struct ggml_cgraph * graph, int ith, int nth) {
    TT_TIMED_HOOK;
    struct tt_compute_work work;
    struct tt_writer *     writer;
    if (tt_compute_of(graph, &work) && (writer = tt_my_writer()) != NULL) {
        tt_thread_begin(writer, &work, ith, nth);
        tensor_trace_self = writer;
    }
}

void tensor_trace_thread_end(void) {
    TT_TIMED_HOOK;
    tt_thread_end(tensor_trace_self);
    tensor_trace_self = NULL;
}
