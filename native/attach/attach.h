/*
 * Attached tracing: a library to preload into a program with an unchanged ggml and llama.cpp.
 *
 * It defines functions with the names of exported functions of ggml and llama.cpp. Calls between their libraries, or
 * between files of one of them, then reach our function, which records the call and calls the original. Calls that the
 * compiler bound within one file do not reach us and are not recorded.
 *
 * In these files `theirs` is the original function.
 */
#ifndef TT_ATTACH_H
#define TT_ATTACH_H

#include "tt_ggml.h"

/* Marks a function that replaces the original of its name. */
#define REPLACES __attribute__((visibility("default"), noinline))

/* Stands for a structure that is passed by value and whose size differs between releases. It is larger than each of
   them: what we pass on is the structure and some of the caller's stack behind it. */
struct by_value {
    uint64_t words[128];
};

/* find.c */
/* The original function of that name; if there is none, aborts. `caller`: an address in the calling library. */
TT_HIDDEN void * tt_theirs(const char * name, void * caller);
/* Declares `theirs` and finds it at the first call. */
#define THEIRS(result, name, parameters) \
    static result(*theirs) parameters; \
    if (TT_UNLIKELY(!theirs)) { \
        theirs = tt_theirs(#name, __builtin_return_address(0)); \
    }
/* Whether this process is traced; the first call begins the trace. `theirs`: a function of ggml or llama.cpp. */
TT_HIDDEN bool tt_ready(void * theirs);

/* opened.c: libc's dlsym; and the original of a function, if a program asked dlsym for it and got ours, else NULL */
TT_HIDDEN void * tt_find(void * library, const char * name);
TT_HIDDEN void * tt_opened(const char * name);

/* layout.c: why we cannot read the structures of this process's ggml, or NULL: they are as in the headers we have */
TT_HIDDEN const char * tt_other_layout(void);

/* calls.c: the current call of this thread; context NULL: there is none */
struct tt_call {
    const void * context;
    bool         encoding;
    uint32_t     n_sequences; /* in the whole call: 1, 2 for several, 0 for unknown */
    int32_t      sequence; /* its sequence, where n_sequences is 1 */
    int32_t      position; /* of the next row; -1: unknown */
    int          n_splits; /* of the current pass, so far */
};
extern __thread struct tt_call tt_call TT_HIDDEN;

/* memory.c */
TT_HIDDEN void tt_loading(bool begins); /* this thread begins or ends to load a model */
TT_HIDDEN bool tt_is_loading(void);

/* ops.c */
TT_HIDDEN void tt_ops_begin(struct ggml_cgraph * graph); /* a compute begins on this thread */
TT_HIDDEN void tt_ops_end(void);
TT_HIDDEN void tt_ops_written(void); /* a pass has ended: writes the last ops of its threads */

#endif
