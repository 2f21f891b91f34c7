/* Records splits (the parts of a pass that the scheduler gives to its backends) and the copies between backends. */
#include "ggml_splits.h"
#include "ggml_passes.h"
#include "ggml_process.h"
#include "ggml_waits.h"
#include "tt_record.h"

#include "tensor_trace.h"

#include <string.h>

static __thread struct { /* the split that this thread evaluates */
    struct ggml_cgraph * graph; /* NULL: no split is recorded */
    uint64_t             begin_ns;
    uint32_t             split, n_splits, n_computes; /* n_computes: of the pass, when the split began */
} current;
static __thread struct {
    struct tt_copy record;   /* begin_ns 0: no copy has begun */
    ggml_backend_t to;       /* its target */
    bool           in_parts; /* size_bytes is the sum of the parts so far */
} copy;

static uint32_t name_of(ggml_backend_t backend) {
    return tt_string(tt_process, backend ? ggml_backend_name(backend) : "");
}

/* Whether a backend has nothing to synchronise, because it computes before it returns. Where its interface says so
   differs between releases: attached tracing goes by the name of its library. */
static bool is_blocking(ggml_backend_t backend) {
#ifdef TT_ATTACH
    const ggml_backend_dev_t device   = ggml_backend_get_device(backend);
    const ggml_backend_reg_t registry = device ? ggml_backend_dev_backend_reg(device) : NULL;
    return registry && strcmp(ggml_backend_reg_name(registry), "BLAS") == 0;
#else
    return !backend->iface.synchronize;
#endif
}

/* What proves that a backend has done the split that it took. Waits until it has, but for a passive tracer. */
static enum tt_proof proof_of_split(ggml_backend_t backend) {
    if (is_blocking(backend) && tt_waits_for_work(ggml_backend_get_device(backend))) {
        return TT_PROOF_BLOCKING;
    }
    return tt_passive ? TT_PROOF_NONE : tt_wait_for(backend);
}

static void end_copy(void) {
    if (copy.record.begin_ns) {
        tt_record(tt_process, TT_COPY, &copy.record, sizeof copy.record, tt_now());
        copy.record.begin_ns = 0;
    }
}

void tensor_trace_copy_begin(const struct ggml_tensor * tensor, struct ggml_backend * from, struct ggml_backend * to,
                             int split) {
    TT_TIMED_HOOK;
    const struct tt_current pass = tt_current();
    end_copy();
    if (pass.graph) {
        copy.to       = to;
        copy.in_parts = false;
        copy.record   = (struct tt_copy) {
            .size_bytes = ggml_nbytes(tensor),
            .pass       = pass.pass,
            .split      = (uint32_t) split,
            .tensor     = tt_string(tt_process, tensor->name),
            .from       = name_of(from),
            .to         = name_of(to),
            .proof      = TT_PROOF_NONE,
            .begin_ns   = tt_now(),
        };
    }
}

void tensor_trace_copy_blocking(void) {
    TT_TIMED_HOOK;
    if (copy.record.begin_ns && tt_waits_for_work(ggml_backend_get_device(copy.to))) {
        copy.record.proof = TT_PROOF_BLOCKING;
    }
}

void tensor_trace_copy_part(size_t size) { /* of a copy that has begun; else it is none that a split needs */
    copy.record.size_bytes = (copy.in_parts ? copy.record.size_bytes : 0) + size;
    copy.in_parts          = true;
}

void tensor_trace_split_begin(struct ggml_cgraph * graph, int split, int n_splits) {
    TT_TIMED_HOOK;
    const struct tt_current pass = tt_current();
    end_copy();
    current.graph = pass.graph ? graph : NULL;
    if (pass.graph) {
        current.split      = (uint32_t) split;
        current.n_splits   = (uint32_t) n_splits;
        current.n_computes = pass.n_computes;
        current.begin_ns   = tt_now();
        tt_in_split(current.split);
    }
}

bool tt_split_now(uint32_t * pass, uint32_t * split) {
    *pass  = tt_current().pass;
    *split = current.split;
    return current.graph;
}

/* A pass of one split on the CPU backend gets no TT_SPLIT record: its ops say everything. */
void tensor_trace_split_end(struct ggml_backend * backend) {
    const struct tt_current    pass  = tt_current();
    const struct ggml_cgraph * part  = current.graph;
    const bool                 by_op = pass.n_computes != current.n_computes;

    current.graph = NULL;
    if (!part || !pass.graph || (by_op && current.n_splits == 1)) {
        return;
    }
    const uint64_t      submitted = tt_now();
    const enum tt_proof proof     = by_op ? TT_PROOF_BLOCKING : proof_of_split(backend);
    const uint64_t      end       = tt_passive && proof == TT_PROOF_NONE ? submitted : tt_now();
    TT_TIMED_HOOK;
    if (tt_passive && proof == TT_PROOF_NONE) {
        tt_split_is_open(backend, pass.pass, current.split);
    } else {
        tt_split_is_done(pass.pass, current.split);
    }
    const uint32_t  first  = tt_first_node(part, pass.graph);
    struct tt_split record = {
        .begin_ns     = current.begin_ns,
        .pass         = pass.pass,
        .split        = current.split,
        .backend      = name_of(backend),
        .n_nodes      = (uint32_t) part->n_nodes,
        .first_node   = first,
        .n_map        = first == TT_NONE ? (uint32_t) part->n_nodes : 0,
        .by_op        = by_op,
        .proof        = proof,
        .submitted_ns = submitted,
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
