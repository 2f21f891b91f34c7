/* Checks that ggml's structures have the layout of our headers: ggml makes tensors that we know, and we read them. */
#include "attach_layout.h"

#include <stdlib.h>
#include <string.h>

#define OTHER_LAYOUT(name) name " of this ggml is not as in the llama.cpp that the tracer was compiled for"

static bool tensor_matches(const struct ggml_tensor * product, const struct ggml_tensor * a,
                           const struct ggml_tensor * b) {
    return a->type == GGML_TYPE_F16 && a->ne[0] == 32 && a->ne[1] == 3 && a->ne[2] == 1 && a->ne[3] == 1
        && a->nb[0] == 2 && a->nb[1] == 64 && a->nb[2] == 192 && a->nb[3] == 192 && a->buffer == NULL && a->data != NULL
        && (char *) b->data > (char *) a->data && strcmp(a->name, "tensor trace") == 0
        && (a->flags & GGML_TENSOR_FLAG_INPUT) && product->src[0] == a && product->src[1] == b
        && product->src[2] == NULL && product->view_src == NULL && strcmp(ggml_op_desc(product), "MUL_MAT") == 0
        && product->op == GGML_OP_MUL_MAT;
}

static bool view_matches(const struct ggml_tensor * view, const struct ggml_tensor * scaled,
                         const struct ggml_tensor * of) {
    float factor;
    memcpy(&factor, scaled->op_params, sizeof factor);
    return view->view_src == of && view->view_offs == 8 && view->op == GGML_OP_VIEW
        && view->data == (char *) of->data + 8 && scaled->op == GGML_OP_SCALE && factor == 2.5f
        && scaled->src[0] == view;
}

static bool graph_matches(const struct ggml_cgraph * graph, struct ggml_tensor * const nodes[3],
                          const struct ggml_tensor * a, const struct ggml_tensor * b) {
    return graph->n_nodes == 3 && graph->nodes[0] == nodes[0] && graph->nodes[1] == nodes[1]
        && graph->nodes[2] == nodes[2] && graph->n_leafs == 2 && graph->leafs[0] == a && graph->leafs[1] == b;
}

const char * tt_other_layout(void) {
    const size_t          room   = 16 * (tt_api.ggml_tensor_overhead_() + 1024) + tt_api.ggml_graph_overhead_();
    void *                memory = calloc(1, room);
    struct ggml_context * context =
        memory ? tt_api.ggml_init_((struct ggml_init_params) { .mem_size = room, .mem_buffer = memory }) : NULL;
    const char * fault = "no memory to check the layout of ggml's structures";
    if (context) {
        struct ggml_tensor * a = tt_api.ggml_new_tensor_2d_(context, GGML_TYPE_F16, 32, 3);
        struct ggml_tensor * b = tt_api.ggml_new_tensor_2d_(context, GGML_TYPE_F32, 32, 2);
        tt_api.ggml_set_name_(a, "tensor trace");
        tt_api.ggml_set_input_(a);
        struct ggml_tensor * nodes[3];
        nodes[0]                   = tt_api.ggml_mul_mat_(context, a, b);
        nodes[1]                   = tt_api.ggml_view_1d_(context, nodes[0], 4, 8);
        nodes[2]                   = tt_api.ggml_scale_(context, nodes[1], 2.5f);
        struct ggml_cgraph * graph = tt_api.ggml_new_graph_(context);
        tt_api.ggml_build_forward_expand_(graph, nodes[2]);
        fault = !tensor_matches(nodes[0], a, b) || !view_matches(nodes[1], nodes[2], nodes[0])
            ? OTHER_LAYOUT("struct ggml_tensor")
            : !graph_matches(graph, nodes, a, b) ? OTHER_LAYOUT("struct ggml_cgraph")
                                                 : NULL;
        tt_api.ggml_free_(context);
    }
    free(memory);
    return fault;
}
