/* On which NUMA node memory lies. */
#ifndef TT_NODES_H
#define TT_NODES_H

#include "tt_state.h"

void tt_nodes_open(struct tt_trace * trace); /* which nodes there are; TENSOR_TRACE_NODES=1: counts also on one node */
/* Writes what lies where, when it is due (see nodes.c). `pass`, `load`: what has ended, one of them TT_NONE. */
void tt_nodes_write(struct tt_trace * trace, uint32_t pass, uint32_t load);

#endif
