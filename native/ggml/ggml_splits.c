/* The parts of a pass that the scheduler gives to its backends, and what is copied between them. */
#include "tt_ggml.h"

#include <string.h>

static __thread struct { /* the split that this thread is evaluating */
    struct ggml_cgraph * graph; /* NULL: none that is recorded */
    uint64_t             begin_ns;
    uint32_t             split, n_splits, n_computes;
} split_now;
static __thread struct {
    struct tt_copy record; /* begin_ns 0: none has begun */
    bool           in_parts;
} copy_now;

static uint32_t name_of(ggml_backend_t backend) {
    return tt_string(tt_process, backend ? ggml_backend_name(backend) : "");
}

static void end_copy(void) {
    if (copy_now.record.begin_ns) {
        tt_record(tt_process, TT_COPY, &copy_now.record, sizeof copy_now.record, tt_now());
        copy_now.record.begin_ns = 0;
    }
}

void tensor_trace_copy_begin(const struct ggml_tensor * tensor, struct ggml_backend * from, struct ggml_backend * to,
                             int split) {
    TT_TIMED_HOOK;
    const struct tt_current pass = tt_current();
    end_copy();
    if (pass.graph) {
        copy_now.in_parts = false;
        copy_now.record   = (struct tt_copy) {
            .size_bytes = ggml_nbytes(tensor),
            .pass       = pass.pass,
            .split      = (uint32_t) split,
            .tensor     = tt_string(tt_process, tensor->name),
            .from       = name_of(from),
            .to         = name_of(to),
            .begin_ns   = tt_now(),
        };
    }
}

void tensor_trace_copy_part(size_t size) {
    copy_now.record.size_bytes = (copy_now.in_parts ? copy_now.record.size_bytes : 0) + size;
    copy_now.in_parts          = true;
}

void tensor_trace_split_begin(struct ggml_cgraph * graph, int split, int n_splits) {
    TT_TIMED_HOOK;
    const struct tt_current pass = tt_current();
    end_copy();
    split_now.graph = pass.graph ? graph : NULL;
    if (pass.graph) {
        split_now.split      = (uint32_t) split;
        split_now.n_splits   = (uint32_t) n_splits;
        split_now.n_computes = pass.n_computes;
        split_now.begin_ns   = tt_now();
        tt_in_split(split_now.split);
    }
}

/* One split that the CPU runs is the pass itself: its ops tell all. */
void tensor_trace_split_end(struct ggml_backend * backend) {
    const struct tt_current    pass  = tt_current();
    const struct ggml_cgraph * part  = split_now.graph;
    const bool                 by_op = pass.n_computes != split_now.n_computes;

    split_now.graph = NULL;
    if (!part || !pass.graph || (by_op && split_now.n_splits == 1)) {
        return;
    }
    ggml_backend_synchronize(backend); /* else its end would be the end of handing it over */
    TT_TIMED_HOOK;
    const uint64_t  end    = tt_now();
    const uint32_t  first  = tt_first_node(part, pass.graph);
    struct tt_split record = {
        .begin_ns   = split_now.begin_ns,
        .pass       = pass.pass,
        .split      = split_now.split,
        .backend    = name_of(backend),
        .n_nodes    = (uint32_t) part->n_nodes,
        .first_node = first,
        .n_map      = first == TT_NONE ? (uint32_t) part->n_nodes : 0,
        .by_op      = by_op,
    };
    uint8_t * at = tt_record_begin(tt_process, TT_SPLIT, sizeof record + record.n_map * sizeof(uint32_t), end);
    if (at) {
        memcpy(at, &record, sizeof record);
        if (record.n_map) {
            tt_map_nodes(part, pass.graph, (uint32_t *) (at + sizeof record));
        }
        tt_record_end(tt_process);
    }
}
