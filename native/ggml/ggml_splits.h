/* The split that is evaluated, and what is known of the end of a split or a copy. */
#ifndef GGML_SPLITS_H
#define GGML_SPLITS_H

#include "tt_ggml.h"

#include <stdbool.h>

/* Whether a device has done what it was given when a call that synchronises it, or writes to it, returns. Over RPC the
   request has been sent by then, and no answer is awaited. A backend without a registry is made of others. */
TT_HIDDEN bool tt_waits_for_work(ggml_backend_dev_t device);
/* The split that this thread evaluates, and its pass; false: none that is recorded. */
TT_HIDDEN bool tt_split_now(uint32_t * pass, uint32_t * split);
/* Set by a layer that has devices stamp their operations: records what they have stamped, when a split of a pass is known
   to be done. NULL: there is none. */
extern void (*tt_read_stamps)(uint32_t pass, uint32_t split) TT_HIDDEN;

#endif
