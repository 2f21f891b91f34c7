/* Records the states of sequences that are copied out of a context, as servers keep them of finished requests. */
#include "ggml_passes.h"
#include "ggml_process.h"
#include "tt_footprint.h"
#include "tt_record.h"

#include "tensor_trace.h"

enum { ON_DEVICE = 2 }; /* LLAMA_STATE_SEQ_FLAGS_ON_DEVICE: the bytes are no memory of this process */

static atomic_uint       n_saved;
static __thread uint64_t begin_ns;

void tensor_trace_state_begin(void) { begin_ns = tt_now(); }

void tensor_trace_state_end(const struct tensor_trace_state * state) {
    if (!tt_enter()) {
        return;
    }
    const struct tt_saved record = {
        .begin_ns   = begin_ns,
        .address    = (uintptr_t) state->address,
        .size_bytes = state->size_bytes,
        .context    = tt_context_number(state->context),
        .saved      = atomic_fetch_add(&n_saved, 1),
        .sequence   = state->sequence,
        .flags      = state->flags,
        .restored   = state->restored,
    };
    tt_record(tt_process, TT_SAVED, &record, sizeof record, tt_now());
    if (!state->restored && !(state->flags & ON_DEVICE)) {
        tt_footprint_add(TT_PART_SAVED, record.saved, state->address, state->size_bytes);
    }
    tt_footprint_write(tt_process, TT_OCCASION_SAVED, TT_NONE, TT_NONE);
    tt_leave();
}
