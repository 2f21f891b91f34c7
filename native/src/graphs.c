/* Each distinct graph and each distinct placement is written once. */
#include "tt.h"

#include <string.h>

static struct tt_known known(struct tt_map * map, pthread_mutex_t * lock, uint64_t hash, uint32_t * count) {
    struct tt_known made = { .number = TT_NONE, .is_new = false };
    pthread_mutex_lock(lock);
    if (!tt_map_get(map, hash, &made.number)) {
        made.number = TT_NONE;
        if (tt_map_put(map, hash, *count)) {
            made.number = (*count)++;
            made.is_new = true;
        }
    }
    pthread_mutex_unlock(lock);
    return made;
}

struct tt_known tt_graph(struct tt_trace * trace, const struct tt_node * nodes, uint32_t n_nodes, uint32_t n_leafs) {
    const size_t          n    = (size_t) n_nodes + n_leafs;
    const uint64_t        hash = tt_hash(n_nodes, nodes, n * sizeof *nodes);
    const struct tt_known made = known(&trace->graphs, &trace->lock, hash, &trace->n_graphs);
    if (made.is_new) {
        struct tt_graph * at = tt_record_begin(trace, TT_GRAPH, sizeof *at + n * sizeof *nodes, tt_now());
        if (at) {
            *at = (struct tt_graph) { .hash = hash, .graph = made.number, .n_nodes = n_nodes, .n_leafs = n_leafs };
            memcpy(at + 1, nodes, n * sizeof *nodes);
            tt_record_end(trace);
        }
    }
    return made;
}

struct tt_known tt_placement(struct tt_trace * trace, uint32_t graph, const struct tt_place * places, uint32_t n) {
    const uint64_t        hash = tt_hash(graph + 1u, places, n * sizeof *places);
    const struct tt_known made = known(&trace->placements, &trace->lock, hash, &trace->n_placements);
    if (made.is_new) {
        struct tt_placement * at = tt_record_begin(trace, TT_PLACEMENT, sizeof *at + n * sizeof *places, tt_now());
        if (at) {
            *at = (struct tt_placement) { .hash = hash, .placement = made.number, .graph = graph, .n = n };
            memcpy(at + 1, places, n * sizeof *places);
            tt_record_end(trace);
        }
    }
    return made;
}
