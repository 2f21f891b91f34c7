/* Writes graphs: each tensor as a struct tt_node, its address as a struct tt_place. Copies index data when they run. */
#include "ggml_graphs.h"
#include "ggml_memory.h"
#include "ggml_process.h"
#include "tt_graphs.h"
#include "tt_record.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t        lock = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static struct tt_graph_plan * plans;
static uint32_t               plans_size;

struct scratch { /* memory for writing a graph, reused by each thread */
    struct tt_map         numbers; /* tensor -> number of node or leaf */
    struct ggml_tensor ** tensors; /* nodes, leafs, then operands that are neither */
    struct tt_node *      nodes;
    struct tt_place *     places;
    size_t                size;
};
static __thread struct scratch scratch;

static bool make_room(struct scratch * s, size_t n) {
    if (n <= s->size) {
        return true;
    }
    free(s->nodes);
    free(s->places);
    struct ggml_tensor ** tensors = realloc(s->tensors, n * sizeof *tensors);
    if (tensors) {
        s->tensors = tensors;
    }
    s->nodes  = malloc(n * sizeof *s->nodes);
    s->places = malloc(n * sizeof *s->places);
    s->size   = tensors && s->nodes && s->places ? n : 0;
    return s->size != 0;
}

static uint32_t number_of(const struct scratch * s, const struct ggml_tensor * tensor) {
    uint32_t number;
    return tensor && tt_map_get(&s->numbers, (uintptr_t) tensor, &number) ? number : TT_NONE;
}

static bool add_tensor(struct scratch * s, struct ggml_tensor * tensor, size_t * n) {
    if (!tensor || number_of(s, tensor) != TT_NONE) {
        return true;
    }
    s->tensors[*n] = tensor;
    return tt_map_put(&s->numbers, (uintptr_t) tensor, (uint32_t) (*n)++);
}

/* Numbers the nodes, the leafs, and then the other tensors that these read or view (copies between backends). false:
   out of memory, or more tensors than there is room for. */
static bool number_tensors(struct scratch * s, const struct ggml_cgraph * graph, size_t * n) {
    tt_map_clear(&s->numbers);
    if (!make_room(s, (size_t) (graph->n_nodes * 4 + graph->n_leafs + 16))) {
        return false;
    }
    *n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        if (!add_tensor(s, graph->nodes[i], n)) {
            return false;
        }
    }
    for (int i = 0; i < graph->n_leafs; i++) {
        if (!add_tensor(s, graph->leafs[i], n)) {
            return false;
        }
    }
    for (size_t i = 0; i < *n; i++) {
        if (*n + GGML_MAX_SRC + 1 > s->size) {
            return false;
        }
        for (int j = 0; j < GGML_MAX_SRC; j++) {
            if (!add_tensor(s, s->tensors[i]->src[j], n)) {
                return false;
            }
        }
        if (!add_tensor(s, s->tensors[i]->view_src, n)) {
            return false;
        }
    }
    return true;
}

static bool is_noop(enum ggml_op op) {
    return op == GGML_OP_NONE || op == GGML_OP_RESHAPE || op == GGML_OP_TRANSPOSE || op == GGML_OP_VIEW
        || op == GGML_OP_PERMUTE;
}

static void fill_node(const struct scratch * s, const struct ggml_tensor * tensor, struct tt_node * node) {
    *node = (struct tt_node) {
        .op          = tt_string(tt_process, ggml_op_desc(tensor)),
        .name        = tt_string(tt_process, tensor->name),
        .dtype       = tt_string(tt_process, ggml_type_name(tensor->type)),
        .flags       = (uint32_t) tensor->flags,
        .computes    = is_noop(tensor->op)               ? 0
            : (tensor->flags & GGML_TENSOR_FLAG_COMPUTE) ? 1
                                                         : 2,
        .view_of     = number_of(s, tensor->view_src),
        .view_offset = tensor->view_offs,
        .size_bytes  = ggml_nbytes(tensor),
    };
    for (int i = 0; i < 4; i++) {
        node->ne[i] = (uint64_t) tensor->ne[i];
        node->nb[i] = tensor->nb[i];
    }
    for (int i = 0; i < 10; i++) {
        node->src[i] = i < GGML_MAX_SRC ? number_of(s, tensor->src[i]) : TT_NONE;
    }
    memcpy(node->op_params, tensor->op_params, sizeof node->op_params);
}

static bool starts_with(const char * text, const char * prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static const struct ggml_tensor * root_of(const struct ggml_tensor * tensor) {
    while (tensor->view_src) {
        tensor = tensor->view_src;
    }
    return tensor;
}

/* Whether a tensor is a weight or in the KV cache: only for these large tensors the used rows are recorded. */
static bool is_stored(const struct ggml_tensor * tensor) {
    const struct ggml_tensor * root = root_of(tensor);
    return root->op == GGML_OP_NONE && root->buffer
        && (ggml_backend_buffer_get_usage(root->buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS
            || starts_with(root->name, "cache_"));
}

/* The kind (enum tt_index_kind) of the index data of a node, and the operand that holds it; 0: there is none. */
static int index_kind(const struct ggml_tensor * node, const struct ggml_tensor ** data) {
    switch (node->op) {
        case GGML_OP_GET_ROWS: *data = node->src[1]; return is_stored(node->src[0]) ? TT_INDEX_ROWS : 0;
        case GGML_OP_MUL_MAT_ID: *data = node->src[2]; return TT_INDEX_EXPERTS;
        case GGML_OP_SET_ROWS:
            *data = node->src[1];
            return !is_stored(node) ? 0 : node->ne[0] == 1 ? TT_INDEX_COLUMNS : TT_INDEX_CELLS;
        case GGML_OP_MUL:
            *data = node->src[1];
            return starts_with(node->src[1]->name, "ffn_moe_weights") && node->src[1]->type == GGML_TYPE_F32
                ? TT_INDEX_WEIGHTS
                : 0;
        case GGML_OP_FLASH_ATTN_EXT:
            *data = node->src[3];
            return node->src[3] && node->src[3]->type == GGML_TYPE_F16 && node->src[3]->nb[0] == sizeof(ggml_fp16_t)
                ? TT_INDEX_MASK
                : 0;
        default: return 0;
    }
}

/* Whether an earlier node uses the same data: gate, up and down of a layer share one routing, and layers share a mask.
   Only the first of them copies it. */
static bool copied_before(const struct ggml_cgraph * graph, int node, int what, const struct ggml_tensor * data) {
    const int slot = what == TT_INDEX_MASK ? 3 : 2;
    for (int i = node - 1; i >= 0 && (what == TT_INDEX_MASK || i >= node - 64); i--) {
        if (graph->nodes[i]->op == graph->nodes[node]->op && graph->nodes[i]->src[slot] == data) {
            return true;
        }
    }
    return false;
}

/* How many rows the KV cache of an attention op has, all streams together. */
static size_t n_cells(const struct ggml_tensor * attention) {
    return (size_t) (attention->src[1]->ne[1] * attention->src[1]->ne[3]);
}

static size_t most_index_bytes(const struct ggml_tensor * node, int what, const struct ggml_tensor * data) {
    return what == TT_INDEX_MASK ? (n_cells(node) / 2 + 1) * 2 * sizeof(uint32_t)
                                 : (size_t) ggml_nelements(data) * ggml_type_size(data->type);
}

static void make_plan(struct tt_graph_plan * plan, const struct ggml_cgraph * graph) {
    *plan = (struct tt_graph_plan) { 0 };
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct ggml_tensor * data   = NULL;
        const int                  what   = index_kind(graph->nodes[i], &data);
        const bool                 shared = what == TT_INDEX_EXPERTS || what == TT_INDEX_MASK;
        if (what == 0 || (shared && copied_before(graph, i, what, data))) {
            continue;
        }
        if (!plan->copies && !(plan->copies = calloc((size_t) graph->n_nodes, 1))) {
            return;
        }
        plan->copies[i] = (uint8_t) what;
        plan->index_bytes += sizeof(struct tt_index) + TT_UNIT + most_index_bytes(graph->nodes[i], what, data);
    }
}

/* Marks each row of the cache for which the mask is not minus infinity in some row of a query that reads its stream. */
static void mark_attended(const struct ggml_tensor * attention, uint8_t * attended) {
    enum { MINUS_INFINITY = 0xfc00 };
    const struct ggml_tensor *q = attention->src[0], *k = attention->src[1], *mask = attention->src[3];
    const int64_t             n = k->ne[1] < mask->ne[0] ? k->ne[1] : mask->ne[0], per_stream = q->ne[3] / k->ne[3];
    for (int64_t i3 = 0; i3 < q->ne[3]; i3++) {
        uint8_t * stream = attended + i3 / per_stream * k->ne[1];
        for (int64_t i2 = 0; i2 < mask->ne[2]; i2++) {
            for (int64_t i1 = 0; i1 < q->ne[1]; i1++) {
                const uint16_t * row =
                    (const uint16_t *) (const void *) ((const char *) mask->data + i1 * (int64_t) mask->nb[1]
                                                       + i2 * (int64_t) mask->nb[2]
                                                       + i3 % mask->ne[3] * (int64_t) mask->nb[3]);
                for (int64_t i = 0; i < n; i++) {
                    stream[i] = (uint8_t) (stream[i] | (row[i] != MINUS_INFINITY));
                }
            }
        }
    }
}

static size_t copy_mask(const struct ggml_tensor * attention, struct tt_index * index, size_t room) {
    const size_t n        = n_cells(attention);
    uint8_t *    attended = attention->src[3]->data ? calloc(n + 1, 1) : NULL;
    uint32_t *   at       = (uint32_t *) (void *) (index + 1);
    uint32_t     n_runs   = 0;
    if (!attended || most_index_bytes(attention, TT_INDEX_MASK, NULL) + TT_UNIT > room) {
        free(attended);
        return TT_NO_ROOM;
    }
    mark_attended(attention, attended);
    for (size_t i = 0; i < n; i++) {
        if (!attended[i]) {
            continue;
        }
        const size_t first = i;
        while (attended[i]) { /* the last byte is 0 */
            i++;
        }
        *at++ = (uint32_t) first;
        *at++ = (uint32_t) (i - first);
        n_runs++;
    }
    free(attended);
    index->what  = TT_INDEX_MASK;
    index->bytes = sizeof(uint32_t);
    index->ne0   = 2;
    index->ne1   = n_runs;
    return n_runs * 2 * sizeof(uint32_t);
}

size_t tt_copy_index(const void * graph_, int i, struct tt_index * index, size_t room, uint32_t n_tokens) {
    const struct ggml_cgraph * graph = graph_;
    const struct ggml_tensor * data  = NULL;
    const int                  what  = index_kind(graph->nodes[i], &data);
    if (what == TT_INDEX_MASK) {
        return copy_mask(graph->nodes[i], index, room);
    }
    const size_t element = ggml_type_size(data->type);
    const size_t n       = (size_t) ggml_nelements(data);
    /* the V cache is written element by element, token after token: the first element of a token gives its column */
    const size_t step     = what == TT_INDEX_COLUMNS && n_tokens && n % n_tokens == 0 ? n / n_tokens : 1;
    const size_t n_copied = n / step;
    if (n_copied * element + TT_UNIT > room || !data->data || (element != 4 && element != 8)) {
        return TT_NO_ROOM;
    }
    index->what  = (uint8_t) what;
    index->bytes = (uint8_t) element;
    index->ne0   = (uint32_t) (step > 1 ? n_copied : (size_t) data->ne[0]);
    index->ne1   = (uint32_t) (n_copied / (index->ne0 ? index->ne0 : 1));
    uint8_t * at = (uint8_t *) (index + 1);
    for (size_t k = 0; k < n_copied; k++, at += element) {
        size_t       rest = k * step;
        const size_t i0 = rest % (size_t) data->ne[0], i1 = (rest /= (size_t) data->ne[0]) % (size_t) data->ne[1];
        const size_t i2 = (rest /= (size_t) data->ne[1]) % (size_t) data->ne[2], i3 = rest / (size_t) data->ne[2];
        memcpy(at,
               (const char *) data->data + i0 * data->nb[0] + i1 * data->nb[1] + i2 * data->nb[2] + i3 * data->nb[3],
               element);
    }
    return n_copied * element;
}

static bool store_plan(uint32_t number, const struct ggml_cgraph * graph) {
    struct tt_graph_plan plan;
    make_plan(&plan, graph);
    pthread_mutex_lock(&lock);
    if (number >= plans_size) {
        const uint32_t         size   = number * 2 + 16;
        struct tt_graph_plan * larger = realloc(plans, size * sizeof *larger);
        if (!larger) {
            pthread_mutex_unlock(&lock);
            free(plan.copies);
            return false;
        }
        memset(larger + plans_size, 0, (size - plans_size) * sizeof *larger);
        plans      = larger;
        plans_size = size;
    }
    plans[number] = plan;
    pthread_mutex_unlock(&lock);
    return true;
}

struct tt_known_graph tt_register(const struct ggml_cgraph * graph) {
    struct scratch *      s     = &scratch;
    struct tt_known_graph known = { .graph = graph, .number = TT_NONE, .placement = TT_NONE };
    size_t                n     = 0;
    if (!number_tensors(s, graph, &n)) {
        return known;
    }
    for (size_t i = 0; i < n; i++) {
        const struct ggml_tensor * tensor = s->tensors[i];
        fill_node(s, tensor, &s->nodes[i]);
        ggml_backend_buffer_t buffer = tensor->view_src ? root_of(tensor)->buffer : tensor->buffer;

        s->places[i] = (struct tt_place) {
            .address = (uintptr_t) tensor->data,
            .buffer  = buffer ? tt_buffer_of(buffer) : TT_NONE,
        };
    }
    const uint32_t        n_nodes = (uint32_t) graph->n_nodes;
    const struct tt_known written = tt_graph(tt_process, s->nodes, n_nodes, (uint32_t) n - n_nodes);
    if (written.number == TT_NONE || (written.is_new && !store_plan(written.number, graph))) {
        return known;
    }
    known.number    = written.number;
    known.placement = tt_placement(tt_process, written.number, s->places, (uint32_t) n).number;
    return known;
}

struct tt_graph_plan tt_plan_of(uint32_t graph) {
    pthread_mutex_lock(&lock);
    const struct tt_graph_plan plan = graph < plans_size ? plans[graph] : (struct tt_graph_plan) { 0 };
    pthread_mutex_unlock(&lock);
    return plan;
}
