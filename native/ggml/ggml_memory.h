/* Loads, mappings, weights, buffers. */
#ifndef GGML_MEMORY_H
#define GGML_MEMORY_H

#include "tt_ggml.h"

#include <stdbool.h>
#include <stdint.h>

TT_HIDDEN uint32_t tt_last_load(void);
TT_HIDDEN bool     tt_in_load(void); /* whether this thread loads a model */
/* The number of a buffer; the first call writes TT_BUFFER_IS. TT_NONE: unknown. */
TT_HIDDEN uint32_t tt_buffer_of(struct ggml_backend_buffer * buffer);

#endif
