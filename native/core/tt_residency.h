/* Which pages of the mapped files are in memory. */
#ifndef TT_RESIDENCY_H
#define TT_RESIDENCY_H

#include "tt_state.h"

void tt_residency_write(struct tt_trace * trace, uint32_t pass, uint32_t load);

#endif
