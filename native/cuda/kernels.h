/* What CUDA devices compute: kernels with begin and end, as CUPTI records them. */
#ifndef CUDA_KERNELS_H
#define CUDA_KERNELS_H

#include "tt_ggml.h"

/* Begins to record kernels, where TENSOR_TRACE_CUPTI names the library; why that is not possible is in the trace. */
TT_HIDDEN void cuda_kernels_start(void);

#endif
