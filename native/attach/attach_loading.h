/* Whether this thread loads a model, and how many files the load has mapped. */
#ifndef ATTACH_LOADING_H
#define ATTACH_LOADING_H

#include "tt_ggml.h"

#include <stdbool.h>
#include <stdint.h>

TT_HIDDEN void     tt_loading(bool begins); /* this thread begins or ends to load a model */
TT_HIDDEN bool     tt_is_loading(void);
TT_HIDDEN uint32_t tt_next_split(void); /* number of the file that this load maps next; counts it */

#endif
