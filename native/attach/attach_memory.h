/* Whether this thread loads a model. */
#ifndef ATTACH_MEMORY_H
#define ATTACH_MEMORY_H

#include "tt_ggml.h"

#include <stdbool.h>

TT_HIDDEN void tt_loading(bool begins); /* this thread begins or ends to load a model */
TT_HIDDEN bool tt_is_loading(void);
TT_HIDDEN void tt_willneed(uint32_t path, size_t offset, size_t size); /* a part of a mapped model was asked for */
TT_HIDDEN void tt_reads_written(void); /* writes what this thread has read last, before its load ends */

#endif
