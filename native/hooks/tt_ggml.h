/* What the files that know ggml share: its structures in, plain records out. */
#ifndef TT_GGML_H
#define TT_GGML_H

#include "tt.h"

#include "tensor_trace.h"

#include "ggml.h"
#include "ggml-backend.h"
#include "ggml-backend-impl.h"
#include "ggml-impl.h"

#define TT_HIDDEN __attribute__((visibility("hidden")))

/* ggml_process.c: the trace of this process, or NULL */
extern struct tt_trace * tt_process TT_HIDDEN;
extern bool              tt_verify TT_HIDDEN; /* TENSOR_TRACE_VERIFY=1 */
extern bool              tt_watch_pages TT_HIDDEN; /* TENSOR_TRACE_RESIDENCY=1 */
TT_HIDDEN struct tt_usage tt_usage_now(void);
TT_HIDDEN void            tt_release_at_exit(struct tt_writer * writer); /* when this thread ends */
TT_HIDDEN bool            tt_wanted(void); /* whether passes that begin now are recorded */
TT_HIDDEN bool            tt_enter(void);  /* a recorded pass begins; false: the trace is about to end */
TT_HIDDEN void            tt_leave(void);

/* ggml_memory.c: loads, mappings, weights, buffers */
TT_HIDDEN uint32_t tt_last_load(void);
TT_HIDDEN uint32_t tt_buffer_of(struct ggml_backend_buffer * buffer); /* described from now on; TT_NONE: not seen */

/* ggml_graphs.c: each distinct graph once, and what to copy when it runs */
struct tt_graph_plan {
    uint8_t * copies;              /* per node 1 when its index data must be copied, or NULL; never freed */
    size_t    index_bytes;
};
struct tt_known_graph {
    const struct ggml_cgraph * graph;
    uint32_t number, placement;    /* TT_NONE: not recorded */
};
TT_HIDDEN struct tt_known_graph tt_register(const struct ggml_cgraph * graph);
TT_HIDDEN struct tt_graph_plan  tt_plan_of(uint32_t graph);
TT_HIDDEN size_t tt_copy_index(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens);

#endif
