/* The split that a thread evaluates. */
#ifndef GGML_SPLITS_H
#define GGML_SPLITS_H

#include "tt_ggml.h"

#include <stdbool.h>

/* The split that this thread evaluates, and its pass; false: none that is recorded. */
TT_HIDDEN bool tt_split_now(uint32_t * pass, uint32_t * split);

#endif
