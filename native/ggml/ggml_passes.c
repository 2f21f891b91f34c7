/* What runs when: contexts, calls, passes, the computes of a pass, and the threads of a compute. */
#include "tt_ggml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONTEXTS = 256, MAX_COMPUTES = 64 };

struct live_context {
    const void *          key;
    struct tt_known_graph last;
};
struct live_compute {
    _Atomic(const void *)  key;
    struct tt_compute_work work;
};

static pthread_mutex_t     lock = PTHREAD_MUTEX_INITIALIZER; /* guards contexts and n_contexts */
static struct live_context contexts[MAX_CONTEXTS];
static uint32_t            n_contexts;
static struct live_compute computes[MAX_COMPUTES];

static __thread struct { /* the pass that this thread is evaluating */
    uint32_t              pass, split, n_computes, n_tokens;
    struct tt_known_graph graph;
    bool                  open, outside, graph_built, warming_up;
    bool                  called;   /* a call told whether its passes are recorded: all of them or none */
    bool                  skipping; /* ... and they are not */
    bool                  skipped;  /* such a pass is going on */
} now_in;
static __thread struct tt_writer *       my_writer;
static __thread struct tt_schedule_begin scheduled;
__thread uint64_t                        tt_hook_ticks;

/* ---- contexts and calls ---- */

static uint32_t context_number(const void * key) {
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

void tensor_trace_context(const struct tensor_trace_context * made) {
    pthread_mutex_lock(&lock);
    const uint32_t number = n_contexts < MAX_CONTEXTS ? n_contexts++ : TT_NONE;
    if (number != TT_NONE) {
        contexts[number] = (struct live_context) { .key = made->context };
    }
    pthread_mutex_unlock(&lock);
    if (number == TT_NONE) {
        tt_segment_drop(&tt_process->main, 1, sizeof(struct tt_context));
        return;
    }
    const struct tt_context record = {
        .context   = number,
        .load      = made->load == TT_NONE ? tt_last_load() : made->load,
        .n_ctx     = made->n_ctx,
        .n_batch   = made->n_batch,
        .n_ubatch  = made->n_ubatch,
        .n_threads = made->n_threads,
        .type_k    = type_name(made->type_k),
        .type_v    = type_name(made->type_v),
    };
    tt_record(tt_process, TT_CONTEXT, &record, sizeof record, tt_now());
}

static void context_event(enum tt_type type, uint32_t context, uint32_t value) {
    const uint32_t record[2] = { context, value };
    tt_record(tt_process, type, record, sizeof record, tt_now());
}

void tensor_trace_call(const void * context) {
    TT_TIMED_HOOK;
    now_in.called   = true;
    now_in.skipping = !tt_wanted();
    if (!now_in.skipping) {
        context_event(TT_CALL, context_number(context), 0);
    }
}

void tensor_trace_logits(const void * context) {
    TT_TIMED_HOOK;
    if (!now_in.skipping) {
        context_event(TT_LOGITS, context_number(context), 0);
    }
}

void tensor_trace_sampled(int32_t token) {
    TT_TIMED_HOOK;
    if (!now_in.skipping) {
        context_event(TT_SAMPLED, TT_NONE, (uint32_t) token);
    }
}

void tt_was_warmup(const void * context) {
    if (!now_in.skipping) {
        context_event(TT_WARMUP, context_number(context), 0);
    }
}

void tensor_trace_warmup(bool begins) { now_in.warming_up = begins; }
void tensor_trace_graph_built(void) { now_in.graph_built = true; }

static struct tt_known_graph graph_of_pass(uint32_t context, const struct ggml_cgraph * graph) {
    struct tt_known_graph * last      = context != TT_NONE ? &contexts[context].last : NULL;
    const bool              unchanged = last && !now_in.graph_built && last->graph == graph && last->number != TT_NONE;
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

/* A pass outside the window: what it would have said of its graph must be asked for again. */
static void skip_pass(uint32_t context) {
    tt_skip_pass(tt_process);
    if (context != TT_NONE) {
        contexts[context].last = (struct tt_known_graph) { .number = TT_NONE };
    }
    now_in.skipped = true;
}

void tensor_trace_pass_begin(const struct tensor_trace_ubatch * ubatch) {
    TT_TIMED_HOOK;
    const uint32_t context = context_number(ubatch->context);
    if (!now_in.called || !ubatch->context) {
        now_in.skipping = !tt_wanted();
    }
    if (now_in.skipping || !tt_enter()) {
        skip_pass(context);
        return;
    }
    now_in.graph              = graph_of_pass(context, ubatch->graph);
    now_in.graph_built        = false;
    now_in.pass               = tt_next_pass(tt_process);
    now_in.split              = 0;
    now_in.n_computes         = 0;
    now_in.n_tokens           = ubatch->n_tokens;
    now_in.open               = true;
    struct tt_writer * writer = tt_my_writer(); /* this thread is there from the begin */
    if (writer && now_in.graph.number != TT_NONE) {
        const struct tt_graph_plan plan = tt_plan_of(now_in.graph.number);
        (void) tt_writer_prepare(writer, (uint32_t) ubatch->graph->n_nodes,
                                 plan.index_bytes); /* else its ops are dropped */
    }
    (void) tt_schedule_begin(tt_process, &scheduled);
    struct tt_pass pass = {
        .pass      = now_in.pass,
        .context   = context,
        .graph     = now_in.graph.number,
        .placement = now_in.graph.placement,
        .flags = (ubatch->warmup || now_in.warming_up ? TT_PASS_WARMUP : 0u) | (ubatch->encoder ? TT_PASS_ENCODER : 0u)
            | (ubatch->context ? 0u : TT_PASS_OUTSIDE),
        .n_tokens    = ubatch->n_tokens,
        .n_sequences = ubatch->n_sequences,
        .usage       = tt_usage_now(),
    };
    const size_t           size   = sizeof pass + ubatch->n_tokens * sizeof(struct tt_token);
    const struct tt_moment moment = tt_moment();

    tt_hook_ticks = entered - moment.ticks; /* of this hook only what comes now lies in the pass */
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

/* The pass ends first: what is asked and written about it then is not in it. */
static void end_pass(int status, const struct tt_moment * ended, const struct tt_schedule * schedule) {
    const struct tt_moment moment = *ended;
    const struct tt_pass   pass   = {
        .pass      = now_in.pass,
        .context   = TT_NONE,
        .graph     = now_in.graph.number,
        .placement = now_in.graph.placement,
        .status    = status,
        .usage     = tt_usage_now(),
    };
    now_in.open = false;
    tt_record(tt_process, TT_PASS_END, &pass, sizeof pass, moment.ns);
    tt_clock(tt_process, &moment);
    tt_record(tt_process, TT_SCHEDULE, schedule, sizeof *schedule, moment.ns);
    if (tt_watch_pages) {
        tt_residency_write(tt_process, pass.pass, TT_NONE);
    }
}

void tensor_trace_pass_end(int status) {
    const uint64_t entered = tt_ticks();
    if (now_in.skipped) {
        now_in.skipped = false;
        tt_hook_ticks  = 0;
        return;
    }
    const struct tt_moment moment   = tt_moment();
    struct tt_schedule     schedule = tt_schedule_end(tt_process, &scheduled);

    schedule.pass               = now_in.pass;
    const struct tt_hooks hooks = { .ticks = tt_hook_ticks + moment.ticks - entered, .pass = now_in.pass, .inside = 1 };
    end_pass(status, &moment, &schedule);
    tt_hook_ticks = 0;
    tt_record(tt_process, TT_HOOKS, &hooks, sizeof hooks, tt_now());
    tt_leave();
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
    const bool recorded = now_in.open && now_in.graph.number != TT_NONE;
    return (struct tt_current) { recorded ? now_in.graph.graph : NULL, now_in.pass, now_in.n_computes };
}

void tt_in_split(uint32_t split) { now_in.split = split; }

/* A graph that no ubatch asked for (a shift of the KV cache, say) is a pass of its own. */
static void begin_outside_pass(struct ggml_cgraph * graph) {
    const struct tensor_trace_ubatch nothing = { .graph = graph };

    now_in.graph_built = true;
    tensor_trace_pass_begin(&nothing);
    now_in.outside = true;
}

void tensor_trace_compute_begin(struct ggml_cgraph * graph) {
    if (graph->n_nodes == 0) {
        return;
    }
    if (!now_in.open && !now_in.skipped) {
        begin_outside_pass(graph);
    }
    if (now_in.skipped) {
        return;
    }
    TT_TIMED_HOOK;
    if (now_in.graph.number == TT_NONE) { /* nothing that its ops could point to */
        tt_segment_drop(&tt_process->main, 1, 0);
        return;
    }
    now_in.n_computes++;
    const struct ggml_cgraph * whole  = now_in.graph.graph;
    const uint32_t             first  = tt_first_node(graph, whole);
    struct tt_compute          record = {
        .compute    = tt_next_compute(tt_process),
        .pass       = now_in.pass,
        .split      = now_in.split++,
        .backend    = tt_string(tt_process, "CPU"),
        .n_nodes    = (uint32_t) graph->n_nodes,
        .first_node = first,
        .n_map      = first == TT_NONE ? (uint32_t) graph->n_nodes : 0,
    };
    uint8_t * at = tt_record_begin(tt_process, TT_COMPUTE, sizeof record + record.n_map * sizeof(uint32_t), tt_now());
    if (!at) {
        return; /* dropped and counted; its threads then find no compute and record nothing */
    }
    memcpy(at, &record, sizeof record);
    if (record.n_map) {
        tt_map_nodes(graph, whole, (uint32_t *) (at + sizeof record));
    }
    tt_record_end(tt_process);
    const struct tt_graph_plan plan = tt_plan_of(first != TT_NONE ? now_in.graph.number : TT_NONE);
    for (int i = 0; i < MAX_COMPUTES; i++) {
        const void * none = NULL;
        if (atomic_compare_exchange_strong(&computes[i].key, &none, (const void *) &computes[i])) {
            computes[i].work = (struct tt_compute_work) {
                .graph       = graph,
                .compute     = record.compute,
                .plan        = plan.copies ? plan.copies + first : NULL,
                .index_bytes = plan.index_bytes,
                .n_nodes     = record.n_nodes,
                .n_tokens    = now_in.n_tokens,
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
    if (now_in.outside) {
        now_in.outside = false;
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

struct tt_writer * tt_my_writer(void) {
    if (!my_writer && (my_writer = tt_writer_acquire(tt_process)) != NULL) {
        tt_release_at_exit(my_writer);
    }
    return my_writer;
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
