/* Writes each distinct graph and each distinct placement once. */
#include "tt_graphs.h"
#include "tt_record.h"

#include <string.h>

/* Looks up a hash; if it is new, gives it a number (`number`, a field of `head`) and writes the record. All of it under
   one lock: no other thread may use a number before its record is written. */
static struct tt_known find_or_write(struct tt_trace * trace, struct tt_map * map, uint64_t hash, uint32_t * count,
                                     enum tt_type type, const void * head, size_t head_bytes, uint32_t * number,
                                     const void * rows, size_t rows_bytes) {
    struct tt_known known = { .number = TT_NONE, .is_new = false };
    pthread_mutex_lock(&trace->lock);
    if (!tt_map_get(map, hash, &known.number)) {
        known.number = TT_NONE;
        uint8_t * at = tt_record_begin_locked(trace, type, head_bytes + rows_bytes, tt_now());
        if (at && tt_map_put(map, hash, *count)) {
            known = (struct tt_known) { .number = *number = (*count)++, .is_new = true };
            memcpy(at, head, head_bytes);
            memcpy(at + head_bytes, rows, rows_bytes);
            tt_record_end_locked(trace);
        }
    }
    pthread_mutex_unlock(&trace->lock);
    return known;
}

struct tt_known tt_graph(struct tt_trace * trace, const struct tt_node * nodes, uint32_t n_nodes, uint32_t n_leafs) {
    const size_t    bytes = ((size_t) n_nodes + n_leafs) * sizeof *nodes;
    struct tt_graph head  = { .hash = tt_hash(n_nodes, nodes, bytes), .n_nodes = n_nodes, .n_leafs = n_leafs };
    return find_or_write(trace, &trace->graphs, head.hash, &trace->n_graphs, TT_GRAPH, &head, sizeof head, &head.graph,
                         nodes, bytes);
}

struct tt_known tt_placement(struct tt_trace * trace, uint32_t graph, const struct tt_place * places, uint32_t n) {
    const size_t        bytes = n * sizeof *places;
    struct tt_placement head  = { .hash = tt_hash(graph + 1u, places, bytes), .graph = graph, .n = n };
    return find_or_write(trace, &trace->placements, head.hash, &trace->n_placements, TT_PLACEMENT, &head, sizeof head,
                         &head.placement, places, bytes);
}
