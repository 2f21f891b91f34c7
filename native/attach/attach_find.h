/* The functions of the ggml and llama.cpp that the process has loaded. */
#ifndef ATTACH_FIND_H
#define ATTACH_FIND_H

#include "tt_ggml.h"
#include "tensor_trace.h"

#include <stdbool.h>

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

#endif
