/*
 * Attached tracing: a library to preload into a program whose ggml and llama.cpp nobody changed.
 *
 * It takes the place of exported functions that one library of theirs calls in another, or in another of its
 * files; what the compiler bound inside a file is not seen, and not recorded. Each function here is a function
 * of theirs with the same name: it notes, and calls theirs.
 */
#ifndef TT_ATTACH_H
#define TT_ATTACH_H

#include "tt_ggml.h"

#define SEEN __attribute__((visibility("default"), noinline)) /* a function that takes the place of theirs */

/* A structure passed by value whose size differs between releases: more of the caller's stack than it has. */
struct by_value {
    uint64_t words[128];
};

/* find.c */
TT_HIDDEN void * tt_theirs(const char * name, void * caller); /* their function; ends the program when there is none */
#define THEIRS(result, name, parameters) \
    static result(*theirs) parameters; \
    if (TT_UNLIKELY(!theirs)) { \
        theirs = tt_theirs(#name, __builtin_return_address(0)); \
    }
TT_HIDDEN bool
tt_ready(void * theirs); /* whether this process is traced; `theirs` is a function of ggml or llama.cpp */

/* opened.c: libc's dlsym; and what a program that opened their library itself was given ours for, or NULL */
TT_HIDDEN void * tt_find(void * library, const char * name);
TT_HIDDEN void * tt_opened(const char * name);

/* layout.c: NULL, or which structure of the process is not as in the headers we were compiled with */
TT_HIDDEN const char * tt_other_layout(void);

/* calls.c: the call that this thread is in; context NULL: none */
struct tt_call {
    const void * context;
    bool         encoding;
    uint32_t     n_sequences; /* of the whole call; 0: not known */
    int32_t      sequence; /* the only one */
    int32_t      position; /* of its next row; -1: not known */
    int          n_splits; /* of its pass, so far */
};
extern __thread struct tt_call tt_call TT_HIDDEN;

/* memory.c */
TT_HIDDEN void tt_loading(bool begins); /* this thread loads a model from here to there */
TT_HIDDEN bool tt_is_loading(void);

/* ops.c */
TT_HIDDEN void tt_ops_begin(struct ggml_cgraph * graph); /* a compute begins on this thread */
TT_HIDDEN void tt_ops_end(void);
TT_HIDDEN void
tt_ops_written(void); /* a pass has ended: its threads' last ops are written, as far as they have ended */

#endif
