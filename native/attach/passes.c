/* Records passes: what libllama calls in ggml's scheduler. The tokens of a ubatch are read from the graph's inputs. */
#include "attach.h"
#include "attach_calls.h"
#include "attach_copies.h"
#include "attach_find.h"
#include "attach_ops.h"
#include "ggml_passes.h"
#include "ggml_process.h"
#include "ggml_splits.h"
#include "tt_record.h"

#include <stdlib.h>
#include <string.h>

struct inputs {
    const struct ggml_tensor *tokens, *embedding, *position, *outputs;
};

static bool is_row_of_numbers(const struct ggml_tensor * tensor) {
    return tensor->type == GGML_TYPE_I32 && tensor->data && tensor->buffer
        && ggml_backend_buffer_is_host(tensor->buffer);
}

/* The leaf of which the scheduler made this copy, `BACKEND#NAME#N`, for another backend; the tensor itself if it is none
   or was not found. */
static const struct ggml_tensor * original_of(const struct ggml_cgraph * graph, const struct ggml_tensor * tensor) {
    const char *from = strchr(tensor->name, '#'), *to = strrchr(tensor->name, '#');
    if (from && to > from) {
        const size_t length = (size_t) (to - from - 1);
        for (int i = 0; i < graph->n_leafs; i++) {
            const char * name = graph->leafs[i]->name;
            if (strncmp(name, from + 1, length) == 0 && name[length] == 0) {
                return graph->leafs[i];
            }
        }
    }
    return tensor;
}

static struct inputs inputs_of(const struct ggml_cgraph * graph) {
    struct inputs inputs = { 0 };
    for (int i = 0; i < graph->n_leafs; i++) {
        const struct ggml_tensor * leaf = graph->leafs[i];
        if ((leaf->flags & GGML_TENSOR_FLAG_INPUT) == 0) {
            continue;
        }
        inputs.tokens    = strcmp(leaf->name, "inp_tokens") == 0 ? leaf : inputs.tokens;
        inputs.embedding = strcmp(leaf->name, "inp_embd") == 0 ? leaf : inputs.embedding;
        inputs.position  = strcmp(leaf->name, "inp_pos") == 0 ? leaf : inputs.position;
    }
    bool tokens_used = false;
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct ggml_tensor * node = graph->nodes[i];
        if (node->op != GGML_OP_GET_ROWS || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
            continue;
        }
        const struct ggml_tensor * rows = original_of(graph, node->src[1]);
        if (rows == inputs.tokens) {
            tokens_used = true;
        } else if (node->src[0]->op != GGML_OP_NONE && rows->op == GGML_OP_NONE
                   && (rows->flags & GGML_TENSOR_FLAG_INPUT) && rows->type == GGML_TYPE_I32) {
            inputs.outputs = rows; /* selects rows of a computed tensor: the outputs */
        }
    }
    /* a graph may contain both tokens and embeddings, and compute only one of them */
    inputs.tokens = tokens_used ? inputs.tokens : NULL;
    return inputs;
}

/* Fills 1 for rows named in `rows` and 0 for others; -1 (unknown) for all if `rows` is NULL. */
static void fill_outputs(int8_t * outputs, uint32_t n, const struct ggml_tensor * rows) {
    memset(outputs, rows ? 0 : -1, n);
    for (int64_t i = 0; rows && i < rows->ne[0]; i++) {
        const int32_t row = is_row_of_numbers(rows) ? ((const int32_t *) rows->data)[i] : -1;
        if (row >= 0 && (uint32_t) row < n) {
            outputs[row] = 1;
        }
    }
}

static bool begin_pass(struct ggml_cgraph * graph) {
    const struct inputs inputs = inputs_of(graph);
    const int64_t       rows   = inputs.tokens ? inputs.tokens->ne[0] : inputs.embedding ? inputs.embedding->ne[1] : 0;
    if (!tt_call.context || rows <= 0) {
        return false; /* for example a shift of the KV cache: it becomes a pass of its own */
    }
    const uint32_t n         = (uint32_t) rows;
    int32_t *      positions = malloc(n * sizeof *positions);
    int32_t **     sequences = malloc(n * sizeof *sequences);
    int8_t *       outputs   = malloc(n);
    if (positions && sequences && outputs) {
        const bool known = inputs.position && is_row_of_numbers(inputs.position) && inputs.position->ne[0] >= rows;
        for (uint32_t i = 0; i < n; i++) {
            positions[i] = known       ? ((const int32_t *) inputs.position->data)[i]
                : tt_call.position < 0 ? -1
                                       : tt_call.position + (int32_t) i;
            sequences[i] = &tt_call.sequence;
        }
        if (tt_call.position >= 0) {
            tt_call.position += (int32_t) n;
        }
        fill_outputs(outputs, n, inputs.outputs);
        const struct tensor_trace_ubatch ubatch = {
            .context     = tt_call.context,
            .graph       = graph,
            .encoder     = tt_call.encoding,
            .n_tokens    = n,
            .n_sequences = tt_call.n_sequences,
            .token       = inputs.tokens && is_row_of_numbers(inputs.tokens) ? inputs.tokens->data : NULL,
            .position    = positions,
            .sequence    = tt_call.n_sequences == 1 ? (const int32_t * const *) sequences : NULL,
            .output      = outputs,
        };
        tensor_trace_pass_begin(&ubatch);
    }
    free(positions);
    free(sequences);
    free(outputs);
    return true;
}

REPLACES enum ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t scheduler,
                                                                 struct ggml_cgraph * graph) {
    THEIRS(enum ggml_status, ggml_backend_sched_graph_compute_async, (ggml_backend_sched_t, struct ggml_cgraph *) )
    const bool recorded = tt_ready((void *) theirs) && begin_pass(graph);

    tt_call.n_splits              = 0;
    const enum ggml_status status = theirs(scheduler, graph);
    if (recorded) {
        tt_ops_written();
        tensor_trace_pass_end((int) status);
    }
    return status;
}

/* The splits of a pass, one after the other. Their number is not known here, so each is announced as the only one; a
   split that the CPU backend runs then gets no record. */
REPLACES enum ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, struct ggml_cgraph * graph) {
    THEIRS(enum ggml_status, ggml_backend_graph_compute_async, (ggml_backend_t, struct ggml_cgraph *) )
    if (!tensor_trace_on) {
        return theirs(backend, graph);
    }
    tt_copies_end();
    tensor_trace_split_begin(graph, tt_call.n_splits++, 1);
    const enum ggml_status status = theirs(backend, graph);
    tensor_trace_split_end(backend);
    return status;
}

REPLACES bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t scheduler, struct ggml_cgraph * graph) {
    THEIRS(bool, ggml_backend_sched_alloc_graph, (ggml_backend_sched_t, struct ggml_cgraph *) )
    if (tensor_trace_on) {
        tensor_trace_graph_built();
    }
    return theirs(scheduler, graph);
}
