/*
 * Records when each thread ran each op. We replace functions that the CPU backend calls across its files:
 *
 *     ggml_cpu_extra_compute_forward, or a fused kernel   before each op that has elements
 *     ggml_barrier                                         inside some ops, once after each node but the last, and once
 *                                                          at the end of the graph
 *
 * An op ends where the barrier after it begins. Which barrier that was is known only when the next op begins: it is the
 * last barrier before that, or an earlier one if nodes without elements lie between, each of which has a barrier too.
 * Until then the op is pending: not yet written.
 */
#include "attach_ops.h"
#include "attach.h"
#include "attach_find.h"
#include "ggml_passes.h"
#include "ggml_process.h"

#include <stdlib.h>

enum { MAX_RUNNING = 64, MAX_WAITS = 256 };

/* The first two fields, the same in all releases; we use no others. */
struct ggml_compute_params {
    int ith, nth;
};

struct running { /* a running compute */
    _Atomic(const void *)  first;   /* the tensor of its first op; NULL: this entry is free */
    atomic_uint_fast64_t   compute; /* its number plus 1; 0: this entry is free */
    struct tt_compute_work work;
};
static struct running            computes[MAX_RUNNING];
static atomic_uint               n_running;
static __thread struct running * my_compute; /* the compute that this thread began */

/* Who may write a pending op. */
enum {
    OWNED,   /* its thread */
    OFFERED, /* any thread */
    TAKEN,   /* another thread, which writes it now */
    WRITTEN, /* nobody: it is written */
};

struct pending { /* the pending op of a writer and its thread; lives as long as the trace */
    struct pending *           next;
    struct tt_writer *         writer;
    struct running *           running;
    const struct ggml_cgraph * graph; /* NULL: in no compute */
    uint64_t                   compute;
    int                        node, n_fused; /* the op */
    int                        following;     /* the node after the op and its fused nodes */
    bool                       last;          /* no op comes after it: n_after and `empty` are known already */
    unsigned                   n_after;       /* barriers since the op that are not inside it */
    int                        n_empty, empty_size;
    int *                      empty; /* the nodes without elements between the op and the next one */
    uint64_t                   begin;
    uint64_t                   passed_waits; /* ticks in barriers that no longer fit into `waits` */
    unsigned                   n_waits;      /* barriers since the op began; `waits` holds the newest, as a ring */
    struct {
        uint64_t begin, end;
    } waits[MAX_WAITS];
    atomic_int state;
};
static pthread_mutex_t           lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct pending *          all;
static __thread struct pending * mine;

/* ---- nodes ---- */

static bool is_skipped(const struct ggml_tensor * node) {
    return node->op == GGML_OP_NONE || node->op == GGML_OP_RESHAPE || node->op == GGML_OP_TRANSPOSE
        || node->op == GGML_OP_VIEW || node->op == GGML_OP_PERMUTE || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0;
}

static bool is_empty(const struct ggml_tensor * node) {
    return node->ne[0] == 0 || node->ne[1] == 0 || node->ne[2] == 0 || node->ne[3] == 0;
}

static bool is_op(const struct ggml_tensor * node) { return !is_skipped(node) && !is_empty(node); }

static int next_op(const struct ggml_cgraph * graph, int from) {
    while (from < graph->n_nodes && !is_op(graph->nodes[from])) {
        from++;
    }
    return from;
}

/* ---- pending ops, written ---- */

static uint64_t wait_begin(const struct pending * p, unsigned i) { return p->waits[i % MAX_WAITS].begin; }
static uint64_t wait_end(const struct pending * p, unsigned i) { return p->waits[i % MAX_WAITS].end; }

/* Finds the barriers and the empty nodes between the op and `until`, the next op or the end of the graph. The graph
   must still exist. */
static void look_ahead(struct pending * p, int until) {
    const int n = p->graph->n_nodes;
    /* the barrier after the op, and the one at the end of the graph */
    p->n_after = (p->following < n ? 1u : 0u) + (until == n ? 1u : 0u);
    p->n_empty = 0;
    for (int i = p->following; i < until; i++) {
        if (is_skipped(p->graph->nodes[i]) || !is_empty(p->graph->nodes[i])) {
            continue; /* a skipped node has no barrier; an op that no function of ours saw is not recorded */
        }
        if (p->n_empty == p->empty_size) {
            const int size   = p->empty_size * 2 + 16;
            int *     larger = realloc(p->empty, (size_t) size * sizeof *larger);
            if (!larger) {
                tt_segment_drop(&p->writer->segment, 1, 0);
                return;
            }
            p->empty      = larger;
            p->empty_size = size;
        }
        p->empty[p->n_empty++] = i;
        p->n_after += i + 1 < n;
    }
}

/* Writes the op, and each empty node after it as lasting from one barrier to the next. `now` stands for the begin of a
   barrier that we did not see, because the compiler inlined it. */
static void write_pending(struct pending * p, uint64_t now) {
    const unsigned oldest = p->n_waits > MAX_WAITS ? p->n_waits - MAX_WAITS : 0;
    unsigned       i      = p->n_waits >= p->n_after ? p->n_waits - p->n_after : 0;
    uint64_t       inside = p->passed_waits;

    i = i < oldest ? oldest : i;
    for (unsigned w = oldest; w < i; w++) {
        inside += wait_end(p, w) - wait_begin(p, w);
        tt_faults_barrier(p->writer->faults, wait_begin(p, w), wait_end(p, w));
    }
    tt_op_was(p->writer, p->node, p->n_fused, p->begin, i < p->n_waits ? wait_begin(p, i) : now, inside);
    for (int j = 0; j < p->n_empty; j++) {
        const uint64_t from = i < p->n_waits ? wait_end(p, i++) : now;
        const uint64_t to   = i < p->n_waits ? wait_begin(p, i) : from;
        tt_op_was(p->writer, p->empty[j], 0, from, to, 0);
    }
}

/* Writes the last op and the end of the thread's part. The graph may no longer exist: look_ahead was called before. */
static void end_part(struct pending * p) {
    const uint64_t now = tt_ticks();
    if (!p->last) { /* the compute was aborted after this op: one barrier after the op, one at the end */
        p->n_after = 2;
        p->n_empty = 0;
    }
    write_pending(p, now);
    tt_thread_end_at(p->writer, p->n_waits ? wait_end(p, p->n_waits - 1) : now);
    p->graph = NULL;
}

/* Takes back the op if it was offered; false: another thread has written it. Waits while another thread writes it. */
static bool take_back(struct pending * p) {
    int offered = OFFERED;
    if (!p->last || atomic_compare_exchange_strong(&p->state, &offered, OWNED) || offered == OWNED) {
        return true;
    }
    while (atomic_load(&p->state) == TAKEN) {
    }
    return false;
}

/* Writes the offered op of a writer; with NULL, those of all computes that have ended. */
static void write_late(struct tt_writer * writer) {
    pthread_mutex_lock(&lock);
    for (struct pending * p = all; p; p = p->next) {
        int offered = OFFERED;
        if (writer ? p->writer == writer : atomic_load(&p->running->compute) != p->compute) {
            if (atomic_compare_exchange_strong(&p->state, &offered, TAKEN)) {
                end_part(p);
                atomic_store(&p->state, WRITTEN);
            }
        }
    }
    pthread_mutex_unlock(&lock);
    if (writer && mine && mine->writer == writer) {
        mine = NULL;
    }
}

static struct pending * pending_of(struct tt_writer * writer) {
    pthread_mutex_lock(&lock);
    struct pending * p = all;
    while (p && p->writer != writer) {
        p = p->next;
    }
    if (!p && (p = calloc(1, sizeof *p)) != NULL) {
        p->writer  = writer;
        p->running = &computes[0];
        p->next    = all;
        all        = p;
    }
    if (p) {
        atomic_store(&p->state, OWNED);
    }
    pthread_mutex_unlock(&lock);
    return p;
}

/* ---- computes ---- */

void tt_ops_begin(struct ggml_cgraph * graph) {
    struct tt_compute_work work;
    const int              first = next_op(graph, 0);

    tt_write_late = write_late;
    my_compute    = NULL;
    if (first == graph->n_nodes || !tt_compute_of(graph, &work)) {
        return;
    }
    for (int i = 0; i < MAX_RUNNING; i++) {
        uint_fast64_t unused = 0;
        if (atomic_compare_exchange_strong(&computes[i].compute, &unused, work.compute + 1)) {
            my_compute       = &computes[i];
            my_compute->work = work;
            atomic_fetch_add(&n_running, 1);
            atomic_store_explicit(&my_compute->first, graph->nodes[first], memory_order_release);
            return;
        }
    }
    tt_segment_drop(&tt_process->main, 1, 0);
}

void tt_ops_written(void) { write_late(NULL); }

void tt_ops_end(void) {
    if (!my_compute) {
        return;
    }
    if (mine && mine->graph == my_compute->work.graph && take_back(mine)) {
        end_part(mine); /* other threads' ops are written at the end of the pass, or when they begin the next compute */
    }
    atomic_store(&my_compute->first, NULL);
    atomic_store(&my_compute->compute, 0);
    atomic_fetch_sub(&n_running, 1);
    my_compute = NULL;
}

static struct running * running_with(const struct ggml_tensor * tensor) {
    for (int i = 0; i < MAX_RUNNING; i++) {
        if (atomic_load_explicit(&computes[i].first, memory_order_acquire) == tensor) {
            return &computes[i];
        }
    }
    return NULL;
}

/* Whether the op's compute still runs. If not, its graph may no longer exist, and barriers are of another compute. */
static bool still_runs(const struct pending * p) {
    return p->graph && atomic_load_explicit(&p->running->compute, memory_order_acquire) == p->compute;
}

/* The place of a tensor among the nodes that are still to come, or -1. */
static int place_of(const struct pending * p, const struct ggml_tensor * tensor) {
    if (!still_runs(p)) {
        return -1;
    }
    for (int i = p->following; i < p->graph->n_nodes; i++) {
        if (p->graph->nodes[i] == tensor) {
            return i;
        }
    }
    return -1;
}

static bool begin_part(const struct ggml_compute_params * params, const struct ggml_tensor * tensor) {
    struct running *   running = atomic_load_explicit(&n_running, memory_order_relaxed) ? running_with(tensor) : NULL;
    struct tt_writer * writer  = running ? tt_my_writer() : NULL;
    if (!writer || (!mine && (mine = pending_of(writer)) == NULL)) {
        return false;
    }
    mine->running   = running;
    mine->compute   = atomic_load(&running->compute);
    mine->graph     = running->work.graph;
    mine->following = 0;
    tt_thread_begin(writer, &running->work, params->ith, params->nth);
    return true;
}

static void op_begins(const struct ggml_compute_params * params, const struct ggml_tensor * tensor, int n_fused) {
    int at = -1;
    if (mine && take_back(mine)) {
        at = place_of(mine, tensor);
        if (at >= 0) {
            look_ahead(mine, at);
            write_pending(mine, tt_ticks());
        } else if (mine->graph) {
            end_part(mine);
        }
    } else if (mine) {
        atomic_store(&mine->state, OWNED);
    }
    if (at < 0) {
        if (!begin_part(params, tensor)) {
            return;
        }
        at = place_of(mine, tensor);
        look_ahead(mine, at);
        for (int i = 0; i < mine->n_empty; i++) { /* empty nodes before the first op */
            tt_op_was(mine->writer, mine->empty[i], 0, mine->writer->last, mine->writer->last, 0);
        }
    }
    struct pending * p = mine;

    p->node      = at;
    p->n_fused   = n_fused;
    p->following = at + n_fused + 1;
    p->last      = next_op(p->graph, p->following) == p->graph->n_nodes;
    if (p->last) {
        look_ahead(p, p->graph->n_nodes);
    }
    p->n_waits      = 0;
    p->passed_waits = 0;
    tt_index_at(p->writer, at);
    p->begin = tt_ticks();
}

/* ---- the functions that we replace ---- */

REPLACES bool ggml_cpu_extra_compute_forward(struct ggml_compute_params * params, struct ggml_tensor * op) {
    THEIRS(bool, ggml_cpu_extra_compute_forward, (struct ggml_compute_params *, struct ggml_tensor *) )
    if (TT_UNLIKELY(tensor_trace_on) && !is_skipped(op)) {
        op_begins(params, op, 0);
    }
    return theirs(params, op);
}

REPLACES void ggml_compute_forward_rms_norm_mul_fused(const struct ggml_compute_params * params,
                                                      struct ggml_tensor * norm, struct ggml_tensor * product) {
    THEIRS(void, ggml_compute_forward_rms_norm_mul_fused,
           (const struct ggml_compute_params *, struct ggml_tensor *, struct ggml_tensor *) )
    if (TT_UNLIKELY(tensor_trace_on)) {
        op_begins(params, norm, 1);
    }
    theirs(params, norm, product);
}

REPLACES void ggml_barrier(struct ggml_threadpool * pool) {
    THEIRS(void, ggml_barrier, (struct ggml_threadpool *) )
    struct pending * p = mine;
    if (!p || !still_runs(p) || !take_back(p)) {
        theirs(pool);
        return;
    }
    const unsigned i = p->n_waits % MAX_WAITS;
    if (p->n_waits >= MAX_WAITS) {
        p->passed_waits += p->waits[i].end - p->waits[i].begin;
    }
    p->waits[i].begin = tt_ticks();
    theirs(pool);
    p->waits[i].end = tt_ticks();
    p->n_waits++;
    if (p->last) {
        atomic_store(&p->state, OFFERED);
    }
}

struct ggml_cplan;
REPLACES enum ggml_status ggml_graph_compute(struct ggml_cgraph * graph, struct ggml_cplan * plan) {
    THEIRS(enum ggml_status, ggml_graph_compute, (struct ggml_cgraph *, struct ggml_cplan *) )
    if (!tt_ready((void *) theirs)) {
        return theirs(graph, plan);
    }
    tensor_trace_compute_begin(graph);
    tt_ops_begin(graph);
    const enum ggml_status status = theirs(graph, plan);
    tt_ops_end();
    tensor_trace_compute_end(graph);
    return status;
}
