/* Explicit reads of model files, and requests to read them ahead. */
#ifndef ATTACH_READS_H
#define ATTACH_READS_H

#include "tt_ggml.h"

#include <stddef.h>
#include <stdint.h>

TT_HIDDEN void tt_willneed(uint32_t path, size_t offset, size_t size); /* a part of a mapped model was asked for */
TT_HIDDEN void tt_reads_written(void); /* writes what this thread has read last, before its load ends */

#endif
