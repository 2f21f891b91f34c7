/* What the files that know ggml share: its structures in, plain records out. */
#ifndef TT_GGML_H
#define TT_GGML_H

#include "tt.h"

#include "tensor_trace.h"

#include "ggml.h"
#include "ggml-backend.h"
#include "ggml-impl.h"

#ifdef TT_ATTACH
#include "tt_api.h" /* ggml's functions are looked for when the process has loaded them */
#endif

#define TT_HIDDEN __attribute__((visibility("hidden")))

/* ggml_process.c: the trace of this process, or NULL */
extern struct tt_trace * tt_process TT_HIDDEN;
extern bool tt_verify               TT_HIDDEN; /* TENSOR_TRACE_VERIFY=1 */
extern bool tt_watch_pages          TT_HIDDEN; /* TENSOR_TRACE_RESIDENCY=1 */
TT_HIDDEN struct tt_usage           tt_usage_now(void);
TT_HIDDEN void                      tt_release_at_exit(struct tt_writer * writer); /* when this thread ends */
TT_HIDDEN bool                      tt_wanted(void); /* whether passes that begin now are recorded */
TT_HIDDEN bool                      tt_enter(void);  /* a recorded pass begins; false: the trace is about to end */
TT_HIDDEN void                      tt_leave(void);
/* Attached tracing writes an op when it learns that it has ended: NULL: of all threads, before the trace is sealed. */
extern void (*tt_write_late)(struct tt_writer * writer) TT_HIDDEN;

/* ggml_memory.c: loads, mappings, weights, buffers */
TT_HIDDEN uint32_t tt_last_load(void);
TT_HIDDEN uint32_t tt_buffer_of(struct ggml_backend_buffer * buffer); /* described from now on; TT_NONE: not seen */

/* ggml_passes.c: computes that run, who writes for this thread, and the pass that it evaluates */
struct tt_current {
    const struct ggml_cgraph * graph; /* NULL: no pass is recorded */
    uint32_t                   pass, n_computes;        /* of the CPU backend, so far */
};
TT_HIDDEN struct tt_current tt_current(void);
TT_HIDDEN void              tt_in_split(uint32_t split); /* the computes that come belong to it */
/* Where the nodes of a part stand in the whole graph: from which node on, or TT_NONE and one by one. */
TT_HIDDEN uint32_t tt_first_node(const struct ggml_cgraph * part, const struct ggml_cgraph * whole);
TT_HIDDEN void     tt_map_nodes(const struct ggml_cgraph * part, const struct ggml_cgraph * whole, uint32_t * map);
TT_HIDDEN bool     tt_compute_of(const struct ggml_cgraph * graph, struct tt_compute_work * work);
TT_HIDDEN void     tt_was_warmup(const void * context); /* what it computed so far; for who learns it only then */
TT_HIDDEN struct tt_writer * tt_my_writer(void); /* NULL: there is none to be had */

/* Ticks that this thread spent in our hooks during its pass, those of the ops left out. First in a hook. */
extern __thread uint64_t tt_hook_ticks TT_HIDDEN;
static inline void tt_hook_left(const uint64_t * entered) { tt_hook_ticks += tt_ticks() - *entered; }
#define TT_TIMED_HOOK const uint64_t entered __attribute__((cleanup(tt_hook_left))) = tt_ticks()

/* ggml_graphs.c: each distinct graph once, and what to copy when it runs */
struct tt_graph_plan {
    uint8_t * copies;              /* per node 1 when its index data must be copied, or NULL; never freed */
    size_t    index_bytes;
};
struct tt_known_graph {
    const struct ggml_cgraph * graph;
    uint32_t                   number, placement;    /* TT_NONE: not recorded */
};
TT_HIDDEN struct tt_known_graph tt_register(const struct ggml_cgraph * graph);
TT_HIDDEN struct tt_graph_plan  tt_plan_of(uint32_t graph);
TT_HIDDEN size_t tt_copy_index(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens);

#endif
