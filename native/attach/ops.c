/*
 * When which thread ran which op. The CPU backend calls three functions of its own across files, and we stand between:
 *
 *     ggml_cpu_extra_compute_forward, or a fused kernel   before each op that has elements
 *     ggml_barrier                                         inside some ops, and once after each node but the last
 *     ...                                                  and once after all of them
 *
 * So an op has ended where the barrier after it began, and which barrier that was shows when the next op begins: the last
 * one before it, or one earlier for each node between that has no elements. Until then an op is kept, not written.
 */
#include "attach.h"

#include <stdlib.h>

enum { MAX_RUNNING = 64, MAX_WAITS = 256 };

/* ith and nth have been first since there are threads; nothing else of it is used */
struct ggml_compute_params {
    int ith, nth;
};

struct running { /* a compute that a thread of ours may come to */
    _Atomic(const void *)  first;   /* the tensor that each thread begins with; NULL: free */
    atomic_uint_fast64_t   compute; /* its number plus 1; 0: free */
    struct tt_compute_work work;
};
static struct running            runs[MAX_RUNNING];
static atomic_uint               n_running;
static __thread struct running * my_run; /* the one that this thread began */

enum {
    MINE,
    OFFERED,
    TAKEN,
    WRITTEN
}; /* who may write what is kept: this thread; anybody; another, just now; nobody */

struct kept { /* of a writer and its thread; lives as long as the trace */
    struct kept *              next;
    struct tt_writer *         writer;
    struct running *           run;
    const struct ggml_cgraph * graph; /* NULL: in no compute */
    uint64_t                   compute;
    int                        node, n_fused; /* the op that is kept */
    int                        following;     /* the node after it */
    bool                       last;          /* no op comes after it; then what follows is known: */
    unsigned                   n_after;       /* barriers since the kept op that belong to no op */
    int                        n_empty, empty_size;
    int *                      empty;         /* the nodes without elements that were passed by since */
    uint64_t                   begin;
    uint64_t                   passed_waits;  /* ticks in barriers that no longer fit into `waits` */
    unsigned                   n_waits;
    struct {
        uint64_t begin, end;
    } waits[MAX_WAITS];
    atomic_int hold;
};
static pthread_mutex_t        lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct kept *          all;
static __thread struct kept * mine;

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

/* ---- what is kept, written ---- */

static uint64_t wait_begin(const struct kept * k, unsigned i) { return k->waits[i % MAX_WAITS].begin; }
static uint64_t wait_end(const struct kept * k, unsigned i) { return k->waits[i % MAX_WAITS].end; }

/* What lies between the kept op and the next one, or the end of the graph. The graph must still be there. */
static void look_ahead(struct kept * k, int until) {
    const int n = k->graph->n_nodes;
    /* the barrier after the op, and the one after all of them */
    k->n_after = (k->following < n ? 1u : 0u) + (until == n ? 1u : 0u);
    k->n_empty = 0;
    for (int i = k->following; i < until; i++) {
        if (is_skipped(k->graph->nodes[i]) || !is_empty(k->graph->nodes[i])) {
            continue; /* an op that was not seen is not recorded */
        }
        if (k->n_empty == k->empty_size) {
            const int size = k->empty_size * 2 + 16;
            int *     made = realloc(k->empty, (size_t) size * sizeof *made);
            if (!made) {
                tt_segment_drop(&k->writer->segment, 1, 0);
                return;
            }
            k->empty      = made;
            k->empty_size = size;
        }
        k->empty[k->n_empty++] = i;
        k->n_after += i + 1 < n;
    }
}

/* Nodes without elements are passed by from barrier to barrier. `now`: where the compiler let us see no barrier. */
static void write_kept(struct kept * k, uint64_t now) {
    const unsigned oldest = k->n_waits > MAX_WAITS ? k->n_waits - MAX_WAITS : 0;
    unsigned       i      = k->n_waits >= k->n_after ? k->n_waits - k->n_after : 0;
    uint64_t       inside = k->passed_waits;

    i = i < oldest ? oldest : i;
    for (unsigned own = oldest; own < i; own++) {
        inside += wait_end(k, own) - wait_begin(k, own);
    }
    tt_op_was(k->writer, k->node, k->n_fused, k->begin, i < k->n_waits ? wait_begin(k, i) : now, inside);
    for (int j = 0; j < k->n_empty; j++) {
        const uint64_t from = i < k->n_waits ? wait_end(k, i++) : now;
        const uint64_t to   = i < k->n_waits ? wait_begin(k, i) : from;
        tt_op_was(k->writer, k->empty[j], 0, from, to, 0);
    }
}

/* The graph may be gone by now: what follows the last op was looked at before. */
static void write_end(struct kept * k) {
    const uint64_t now = tt_ticks();
    if (!k->last) { /* the compute was aborted after this op: the barrier after it, and the one after all */
        k->n_after = 2;
        k->n_empty = 0;
    }
    write_kept(k, now);
    tt_thread_end_at(k->writer, k->n_waits ? wait_end(k, k->n_waits - 1) : now);
    k->graph = NULL;
}

/* Whether this thread may go on with what it keeps; if not, another has written it, and it is waited for. */
static bool take_back(struct kept * k) {
    int offered = OFFERED;
    if (!k->last || atomic_compare_exchange_strong(&k->hold, &offered, MINE) || offered == MINE) {
        return true;
    }
    while (atomic_load(&k->hold) == TAKEN) {
    }
    return false;
}

static void write_late(struct tt_writer * writer) {
    pthread_mutex_lock(&lock);
    for (struct kept * k = all; k; k = k->next) {
        int offered = OFFERED;
        if (writer ? k->writer == writer : atomic_load(&k->run->compute) != k->compute) {
            if (atomic_compare_exchange_strong(&k->hold, &offered, TAKEN)) {
                write_end(k);
                atomic_store(&k->hold, WRITTEN);
            }
        }
    }
    pthread_mutex_unlock(&lock);
    if (writer && mine && mine->writer == writer) {
        mine = NULL;
    }
}

static struct kept * kept_by(struct tt_writer * writer) {
    pthread_mutex_lock(&lock);
    struct kept * k = all;
    while (k && k->writer != writer) {
        k = k->next;
    }
    if (!k && (k = calloc(1, sizeof *k)) != NULL) {
        k->writer = writer;
        k->run    = &runs[0];
        k->next   = all;
        all       = k;
    }
    if (k) {
        atomic_store(&k->hold, MINE);
    }
    pthread_mutex_unlock(&lock);
    return k;
}

/* ---- computes ---- */

void tt_ops_begin(struct ggml_cgraph * graph) {
    struct tt_compute_work work;
    const int              first = next_op(graph, 0);

    tt_write_late = write_late;
    my_run        = NULL;
    if (first == graph->n_nodes || !tt_compute_of(graph, &work)) {
        return;
    }
    for (int i = 0; i < MAX_RUNNING; i++) {
        uint_fast64_t none = 0;
        if (atomic_compare_exchange_strong(&runs[i].compute, &none, work.compute + 1)) {
            my_run       = &runs[i];
            my_run->work = work;
            atomic_fetch_add(&n_running, 1);
            atomic_store_explicit(&my_run->first, graph->nodes[first], memory_order_release);
            return;
        }
    }
    tt_segment_drop(&tt_process->main, 1, 0);
}

void tt_ops_written(void) { write_late(NULL); }

void tt_ops_end(void) {
    if (!my_run) {
        return;
    }
    if (mine && mine->graph == my_run->work.graph && take_back(mine)) {
        write_end(mine); /* what others keep is written at the end of the pass, or when they begin the next */
    }
    atomic_store(&my_run->first, NULL);
    atomic_store(&my_run->compute, 0);
    atomic_fetch_sub(&n_running, 1);
    my_run = NULL;
}

static struct running * begins_with(const struct ggml_tensor * tensor) {
    for (int i = 0; i < MAX_RUNNING; i++) {
        if (atomic_load_explicit(&runs[i].first, memory_order_acquire) == tensor) {
            return &runs[i];
        }
    }
    return NULL;
}

/* Whether the compute of the kept op still runs; else its graph may be gone, and a barrier belongs to the next one. */
static bool goes_on(const struct kept * k) {
    return k->graph && atomic_load_explicit(&k->run->compute, memory_order_acquire) == k->compute;
}

/* The place of a tensor among the nodes that are still to come, or -1. */
static int place_of(const struct kept * k, const struct ggml_tensor * tensor) {
    if (!goes_on(k)) {
        return -1;
    }
    for (int i = k->following; i < k->graph->n_nodes; i++) {
        if (k->graph->nodes[i] == tensor) {
            return i;
        }
    }
    return -1;
}

static bool begin_part(const struct ggml_compute_params * params, const struct ggml_tensor * tensor) {
    struct running *   run    = atomic_load_explicit(&n_running, memory_order_relaxed) ? begins_with(tensor) : NULL;
    struct tt_writer * writer = run ? tt_my_writer() : NULL;
    if (!writer || (!mine && (mine = kept_by(writer)) == NULL)) {
        return false;
    }
    mine->run       = run;
    mine->compute   = atomic_load(&run->compute);
    mine->graph     = run->work.graph;
    mine->following = 0;
    tt_thread_begin(writer, &run->work, params->ith, params->nth);
    return true;
}

static void op_begins(const struct ggml_compute_params * params, const struct ggml_tensor * tensor, int n_fused) {
    int at = -1;
    if (mine && take_back(mine)) {
        at = place_of(mine, tensor);
        if (at >= 0) {
            look_ahead(mine, at);
            write_kept(mine, tt_ticks());
        } else if (mine->graph) {
            write_end(mine);
        }
    } else if (mine) {
        atomic_store(&mine->hold, MINE);
    }
    if (at < 0) {
        if (!begin_part(params, tensor)) {
            return;
        }
        at = place_of(mine, tensor);
        look_ahead(mine, at);
        for (int i = 0; i < mine->n_empty; i++) { /* passed by before the first op */
            tt_op_was(mine->writer, mine->empty[i], 0, mine->writer->last, mine->writer->last, 0);
        }
    }
    struct kept * k = mine;

    k->node      = at;
    k->n_fused   = n_fused;
    k->following = at + n_fused + 1;
    k->last      = next_op(k->graph, k->following) == k->graph->n_nodes;
    if (k->last) {
        look_ahead(k, k->graph->n_nodes);
    }
    k->n_waits      = 0;
    k->passed_waits = 0;
    tt_index_at(k->writer, at);
    k->begin = tt_ticks();
}

/* ---- in their place ---- */

SEEN bool ggml_cpu_extra_compute_forward(struct ggml_compute_params * params, struct ggml_tensor * op) {
    THEIRS(bool, ggml_cpu_extra_compute_forward, (struct ggml_compute_params *, struct ggml_tensor *) )
    if (TT_UNLIKELY(tensor_trace_on) && !is_skipped(op)) {
        op_begins(params, op, 0);
    }
    return theirs(params, op);
}

SEEN void ggml_compute_forward_rms_norm_mul_fused(const struct ggml_compute_params * params, struct ggml_tensor * norm,
                                                  struct ggml_tensor * product) {
    THEIRS(void, ggml_compute_forward_rms_norm_mul_fused,
           (const struct ggml_compute_params *, struct ggml_tensor *, struct ggml_tensor *) )
    if (TT_UNLIKELY(tensor_trace_on)) {
        op_begins(params, norm, 1);
    }
    theirs(params, norm, product);
}

SEEN void ggml_barrier(struct ggml_threadpool * pool) {
    THEIRS(void, ggml_barrier, (struct ggml_threadpool *) )
    struct kept * k = mine;
    if (!k || !goes_on(k) || !take_back(k)) {
        theirs(pool);
        return;
    }
    const unsigned i = k->n_waits % MAX_WAITS;
    if (k->n_waits >= MAX_WAITS) {
        k->passed_waits += k->waits[i].end - k->waits[i].begin;
    }
    k->waits[i].begin = tt_ticks();
    theirs(pool);
    k->waits[i].end = tt_ticks();
    k->n_waits++;
    if (k->last) {
        atomic_store(&k->hold, OFFERED);
    }
}

struct ggml_cplan;
SEEN enum ggml_status ggml_graph_compute(struct ggml_cgraph * graph, struct ggml_cplan * plan) {
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
