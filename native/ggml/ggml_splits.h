/* The split that a thread evaluates. */
#ifndef GGML_SPLITS_H
#define GGML_SPLITS_H

#include "tt_ggml.h"

#include <stdbool.h>

/* The split that this thread evaluates, and its pass; false: none that is recorded. */
TT_HIDDEN bool tt_split_now(uint32_t * pass, uint32_t * split);
/* Set by a layer that has devices stamp their operations: records what they have stamped, when a split of a pass is known
   to be done. NULL: there is none. */
extern void (*tt_read_stamps)(uint32_t pass, uint32_t split) TT_HIDDEN;

#endif
