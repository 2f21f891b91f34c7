/* When a backend that computes later has done its splits: the tracer waits for it, or notes that llama.cpp did. */
#ifndef GGML_WAITS_H
#define GGML_WAITS_H

#include "tensor_trace_format.h"
#include "tt_ggml.h"

#include <stdbool.h>

/* Whether a device has done what it was given when a call that synchronises it, or writes to it, returns. Over RPC the
   request has been sent by then, and no answer is awaited. A backend without a registry is made of others. */
TT_HIDDEN bool tt_waits_for_work(ggml_backend_dev_t device);
/* Waits until a backend has done what it was given; the result is what proves it. */
TT_HIDDEN enum tt_proof tt_wait_for(ggml_backend_t backend);
/* This thread handed a split of a pass to a backend, and nobody has waited for it yet. */
TT_HIDDEN void tt_split_is_open(ggml_backend_t backend, uint32_t pass, uint32_t split);

/* Set by a layer that has devices stamp their operations: records what they have stamped, when a split of a pass is known
   to be done. NULL: there is none. */
extern void (*tt_read_stamps)(uint32_t pass, uint32_t split) TT_HIDDEN;
TT_HIDDEN void tt_split_is_done(uint32_t pass, uint32_t split); /* reads the stamps */

#endif
