/* ns that an op event takes beside other work, and ns that a read of its clock takes, in this folder, now. */
#ifndef TT_COST_H
#define TT_COST_H

#include "tt_state.h"

struct tt_cost {
    double event_ns, clock_ns;
};
bool tt_measure_cost(struct tt_trace * trace, struct tt_cost * cost); /* false: it could not be measured */

#endif
