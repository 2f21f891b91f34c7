/* What of ggml the files that know it read: its structures and functions. */
#ifndef TT_GGML_H
#define TT_GGML_H

#include "ggml.h"
#include "ggml-backend.h"
#include "ggml-impl.h"

#ifdef TT_ATTACH
#include "tt_api.h" /* ggml's functions are called through pointers, found at run time */
#else
#include "ggml-backend-impl.h" /* the ggml that is traced has the same */
#endif

#define TT_HIDDEN __attribute__((visibility("hidden")))

#endif
