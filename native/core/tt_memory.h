/* What the memory group of the program holds. */
#ifndef TT_MEMORY_H
#define TT_MEMORY_H

#include "tt_state.h"

void tt_memory_open(void); /* reads TENSOR_TRACE_MEMORY */
void tt_memory_write(struct tt_trace * trace, uint32_t pass, uint32_t load);

#endif
