/* What the program has allocated: where a library that counts it is preloaded (native/allocations). */
#ifndef TT_ALLOCATED_H
#define TT_ALLOCATED_H

#include "tt_state.h"

void tt_allocated_write(
    struct tt_trace * trace); /* belongs to the TT_FOOTPRINT before it; nothing without the library */

#endif
