/* Shared by the files that know ggml: they take its structures and write plain records. */
#ifndef TT_GGML_H
#define TT_GGML_H

#include "tt.h"

#include "tensor_trace.h"

#include "ggml.h"
#include "ggml-backend.h"
#include "ggml-impl.h"

#ifdef TT_ATTACH
#include "tt_api.h" /* ggml's functions are called through pointers, found at run time */
#endif

#define TT_HIDDEN __attribute__((visibility("hidden")))

/* ggml_process.c: the trace of this process, or NULL where it is not traced */
extern struct tt_trace * tt_process TT_HIDDEN;
extern bool tt_verify               TT_HIDDEN; /* TENSOR_TRACE_VERIFY=1 */
extern bool tt_watch_pages          TT_HIDDEN; /* TENSOR_TRACE_RESIDENCY=1 */
TT_HIDDEN struct tt_usage           tt_usage_now(void);
TT_HIDDEN void tt_release_at_exit(struct tt_writer * writer); /* releases it when this thread ends */
TT_HIDDEN bool tt_wanted(void); /* whether a pass that begins now is recorded */
TT_HIDDEN bool tt_enter(void);  /* a recorded pass begins; false: the trace is ending */
TT_HIDDEN void tt_leave(void);
/* Set by attached tracing, which writes an op only when it learns that the op has ended. Writes the ended ops that this
   writer still holds; with NULL those of all writers. */
extern void (*tt_write_late)(struct tt_writer * writer) TT_HIDDEN;

/* ggml_memory.c: loads, mappings, weights, buffers */
TT_HIDDEN uint32_t tt_last_load(void);
/* The number of a buffer; the first call writes TT_BUFFER_IS. TT_NONE: unknown. */
TT_HIDDEN uint32_t tt_buffer_of(struct ggml_backend_buffer * buffer);

/* ggml_passes.c: the running computes, this thread's writer, and the pass that this thread evaluates */
struct tt_current {
    const struct ggml_cgraph * graph; /* NULL: no pass is recorded */
    uint32_t                   pass, n_computes; /* computes of the CPU backend so far */
};
TT_HIDDEN struct tt_current tt_current(void);
TT_HIDDEN void              tt_in_split(uint32_t split); /* this thread's next compute belongs to it */
/* Where the nodes of a part are in the whole graph: the number of the first where all follow each other, else TT_NONE;
   tt_map_nodes then gives the number of each. */
TT_HIDDEN uint32_t tt_first_node(const struct ggml_cgraph * part, const struct ggml_cgraph * whole);
TT_HIDDEN void     tt_map_nodes(const struct ggml_cgraph * part, const struct ggml_cgraph * whole, uint32_t * map);
/* The running compute of a graph; false: there is none. */
TT_HIDDEN bool tt_compute_of(const struct ggml_cgraph * graph, struct tt_compute_work * work);
TT_HIDDEN void tt_was_warmup(const void * context); /* its passes so far were a warm-up (attached tracing) */
TT_HIDDEN struct tt_writer * tt_my_writer(void); /* acquired at the first call; NULL: none is available */

/* Ticks that this thread spent in hooks during its pass, without the hooks of ops. TT_TIMED_HOOK must be the first
   statement of a hook. */
extern __thread uint64_t tt_hook_ticks TT_HIDDEN;
static inline void tt_hook_left(const uint64_t * entered) { tt_hook_ticks += tt_ticks() - *entered; }
#define TT_TIMED_HOOK const uint64_t entered __attribute__((cleanup(tt_hook_left))) = tt_ticks()

/* ggml_graphs.c: writes each distinct graph once, and plans which index data to copy when it runs */
struct tt_graph_plan {
    uint8_t * copies;      /* per node: its enum tt_index_kind, or 0 where nothing is copied; or NULL; never freed */
    size_t    index_bytes; /* most bytes that the copies can take */
};
struct tt_known_graph {
    const struct ggml_cgraph * graph;
    uint32_t                   number, placement; /* TT_NONE: not recorded */
};
TT_HIDDEN struct tt_known_graph tt_register(const struct ggml_cgraph * graph);
TT_HIDDEN struct tt_graph_plan  tt_plan_of(uint32_t graph);
TT_HIDDEN size_t tt_copy_index(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens);

#endif
