/* TT_INFO records about the process, the machine and the clock. */
#ifndef TT_FACTS_H
#define TT_FACTS_H

#include "tt_state.h"

void tt_facts(struct tt_trace * trace);

#endif
