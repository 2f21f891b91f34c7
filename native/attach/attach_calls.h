/* The current call of this thread; context NULL: there is none. */
#ifndef ATTACH_CALLS_H
#define ATTACH_CALLS_H

#include "tt_ggml.h"

#include <stdbool.h>
#include <stdint.h>

struct tt_call {
    const void * context;
    bool         encoding;
    uint32_t     n_sequences; /* in the whole call: 1, 2 for several, 0 for unknown */
    int32_t      sequence; /* its sequence, where n_sequences is 1 */
    int32_t      position; /* of the next row; -1: unknown */
    int          n_splits; /* of the current pass, so far */
};
extern __thread struct tt_call tt_call TT_HIDDEN;

#endif
