/* Writes each distinct graph once, and plans which index data to copy when it runs. */
#ifndef GGML_GRAPHS_H
#define GGML_GRAPHS_H

#include "tt_ggml.h"
#include "tensor_trace_format.h"

struct tt_graph_plan {
    uint8_t * copies;      /* per node: its enum tt_index_kind, or 0 where nothing is copied; or NULL; never freed */
    size_t    index_bytes; /* most bytes that the copies can take */
};
struct tt_known_graph {
    const struct ggml_cgraph * graph;
    uint32_t                   number, placement; /* TT_NONE: not recorded */
};
TT_HIDDEN struct tt_known_graph tt_register(const struct ggml_cgraph * graph);
TT_HIDDEN struct tt_graph_plan  tt_plan_of(uint32_t graph);
TT_HIDDEN size_t tt_copy_index(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens);

#endif
