/* The running computes, and the pass that this thread evaluates. */
#ifndef GGML_PASSES_H
#define GGML_PASSES_H

#include "tt_clock.h"
#include "tt_ggml.h"
#include "tt_writer.h"

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
/* Whether devices have something to do for this thread's pass that nobody has waited for. The pass ends when it is false;
   if something else begins before, it ended when llama.cpp had handed over its last split. */
TT_HIDDEN void     tt_devices_work(bool work);
TT_HIDDEN uint32_t tt_context_number(const void * context); /* TT_NONE: it was not recorded */
TT_HIDDEN void     tt_was_warmup(const void * context); /* its passes so far were a warm-up (attached tracing) */

/* Ticks that this thread spent in hooks during its pass, without the hooks of ops. TT_TIMED_HOOK must be the first
   statement of a hook. */
extern __thread uint64_t tt_hook_ticks TT_HIDDEN;
static inline void tt_hook_left(const uint64_t * entered) { tt_hook_ticks += tt_ticks() - *entered; }
#define TT_TIMED_HOOK const uint64_t entered __attribute__((cleanup(tt_hook_left))) = tt_ticks()

#endif
