/* The ops of the compute that runs on this thread. */
#ifndef ATTACH_OPS_H
#define ATTACH_OPS_H

#include "tt_ggml.h"

TT_HIDDEN void tt_ops_begin(struct ggml_cgraph * graph); /* a compute begins on this thread */
TT_HIDDEN void tt_ops_end(void);
TT_HIDDEN void tt_ops_written(void); /* a pass has ended: writes the last ops of its threads */

#endif
