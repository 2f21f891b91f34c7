/* What the parts of a trace share: the names and numbers of its files, its numbers of passes and computes. */
#include "tt_state.h"

#include <errno.h>
#include <stdio.h>

void tt_segment_name(const struct tt_trace * trace, const char * suffix, char out[TT_NAME_BYTES]) {
    char * at = out;
    for (size_t i = 0; i < sizeof trace->run_id; i++) {
        at += snprintf(at, 3, "%02x", trace->run_id[i]);
    }
    snprintf(at, TT_NAME_BYTES - 2 * sizeof trace->run_id, ".%s.tt", suffix);
}

void tt_segment_of_thread(struct tt_segment * segment, struct tt_trace * trace, enum tt_segment_kind kind,
                          uint32_t place, size_t chunk_bytes) {
    char suffix[8], name[TT_NAME_BYTES];
    snprintf(suffix, sizeof suffix, "%c%03u", kind == TT_SEGMENT_FAULTS ? 'f' : 't', place);
    tt_segment_name(trace, suffix, name);
    if (tt_segment_open(segment, trace->folder, name, trace->run_id, kind, trace->n_segments, chunk_bytes,
                        &trace->budget)) {
        trace->n_segments++;
    } else {
        const int error = errno;
        segment->header = trace->main.header;
        tt_segment_explain(segment, error);
    }
}

uint32_t tt_next_pass(struct tt_trace * trace) { return atomic_fetch_add(&trace->n_passes, 1); }

void tt_skip_pass(struct tt_trace * trace) {
    atomic_fetch_add(&trace->n_passes, 1);
    atomic_fetch_add(&trace->n_skipped, 1);
}

uint64_t tt_next_compute(struct tt_trace * trace) { return atomic_fetch_add(&trace->n_computes, 1); }
