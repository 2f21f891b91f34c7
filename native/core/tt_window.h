/* Which passes are recorded. */
#ifndef TT_WINDOW_H
#define TT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct tt_window {
    uint64_t begin_ns, end_ns; /* of CLOCK_MONOTONIC */
    uint64_t first, last; /* numbers of passes, both recorded */
    uint64_t max_recorded; /* how many passes at most */
};
/* Read TENSOR_TRACE_AFTER, _FOR and _PASSES; false: `error` says what is wrong. */
bool tt_window_read(struct tt_window * window, uint64_t now_ns, char error[256]);
/* Whether the pass with this number, which begins now, is recorded when `n_recorded` passes were recorded before it. */
bool tt_window_holds(const struct tt_window * window, uint64_t now_ns, uint64_t number, uint64_t n_recorded);

#endif
