/* Writes each distinct graph and placement once; number TT_NONE: it could not be written. */
#ifndef TT_GRAPHS_H
#define TT_GRAPHS_H

#include "tt_state.h"

struct tt_known {
    uint32_t number;
    bool     is_new;
};
struct tt_known tt_graph(struct tt_trace * trace, const struct tt_node * nodes, uint32_t n_nodes, uint32_t n_leafs);
struct tt_known tt_placement(struct tt_trace * trace, uint32_t graph, const struct tt_place * places, uint32_t n);

#endif
