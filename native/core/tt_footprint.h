/* What the resident memory of this process is made of. */
#ifndef TT_FOOTPRINT_H
#define TT_FOOTPRINT_H

#include "tt_state.h"

void tt_footprint_open(void); /* reads TENSOR_TRACE_FOOTPRINT */
/* A range of memory whose resident bytes are counted apart: a buffer or a saved state, by its number. One at the same
   address is forgotten, as is what another one overlaps. */
void tt_footprint_add(enum tt_part kind, uint32_t number, const void * address, size_t size);
void tt_footprint_remove(enum tt_part kind, uint32_t number);
/* Calls `visit` for each buffer; it must not add or remove one. */
void tt_footprint_buffers(void (*visit)(const void * context, uint32_t number, uintptr_t address, size_t size),
                          const void * context);
/* Writes a sample where it is due (see footprint.c). `pass`, `load`: what has ended, or TT_NONE. */
void tt_footprint_write(struct tt_trace * trace, enum tt_occasion occasion, uint32_t pass, uint32_t load);

#endif
