/*
 * What is called of CUPTI, NVIDIA's library for profilers, and the beginnings of its structures. It is found when a
 * program has a CUDA device, so that none of its headers is needed; `make cupti` compares this with them.
 */
#ifndef CUPTI_LAYOUT_H
#define CUPTI_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

enum cupti_result { CUPTI_OK = 0, CUPTI_NO_MORE = 12 };
enum cupti_kind { CUPTI_KERNEL = 3, CUPTI_CONCURRENT_KERNEL = 10 };
enum cupti_domain { CUPTI_DRIVER_API = 1, CUPTI_RUNTIME_API = 2 };
enum cupti_site { CUPTI_ENTERS = 0 };
enum { CUPTI_FORCED = 1 }; /* a flush that delivers also what has not ended */

/* domain, name, number: the calls that launch a kernel, or a graph of kernels */
#define CUPTI_LAUNCHES(X) \
    X(RUNTIME, cudaLaunch_v3020, 13) \
    X(RUNTIME, cudaLaunchKernel_v7000, 211) \
    X(RUNTIME, cudaLaunch_ptsz_v7000, 213) \
    X(RUNTIME, cudaLaunchKernel_ptsz_v7000, 214) \
    X(RUNTIME, cudaLaunchCooperativeKernel_v9000, 269) \
    X(RUNTIME, cudaLaunchCooperativeKernel_ptsz_v9000, 270) \
    X(RUNTIME, cudaGraphLaunch_v10000, 311) \
    X(RUNTIME, cudaGraphLaunch_ptsz_v10000, 312) \
    X(RUNTIME, cudaLaunchKernelExC_v11060, 430) \
    X(RUNTIME, cudaLaunchKernelExC_ptsz_v11060, 431) \
    X(RUNTIME, __cudaLaunchKernel_v13000, 505) \
    X(RUNTIME, __cudaLaunchKernel_ptsz_v13000, 506) \
    X(DRIVER, cuLaunch, 115) \
    X(DRIVER, cuLaunchGrid, 116) \
    X(DRIVER, cuLaunchGridAsync, 117) \
    X(DRIVER, cuLaunchKernel, 307) \
    X(DRIVER, cuLaunchKernel_ptsz, 442) \
    X(DRIVER, cuLaunchCooperativeKernel, 477) \
    X(DRIVER, cuLaunchCooperativeKernel_ptsz, 478) \
    X(DRIVER, cuGraphLaunch, 514) \
    X(DRIVER, cuGraphLaunch_ptsz, 515) \
    X(DRIVER, cuLaunchKernelEx, 652) \
    X(DRIVER, cuLaunchKernelEx_ptsz, 653)

struct cupti_kernel {
    uint32_t     kind;
    uint8_t      cache, shared_memory;
    uint16_t     registers;
    uint32_t     partitioned_requested, partitioned_executed;
    uint64_t     begin_ns, end_ns, completed_ns; /* 0: not known */
    uint32_t     device, context, stream;
    int32_t      grid[3], block[3], static_memory, dynamic_memory;
    uint32_t     local_memory, local_memory_total;
    uint32_t     correlation; /* that of the call which launched it, or its graph */
    int64_t      grid_id;
    const char * name; /* as the linker has it */
};

struct cupti_call {
    uint32_t     site;
    const char * function;
    const void * parameters;
    void *       result;
    const char * symbol;
    void *       context;
    uint32_t     context_id;
    uint64_t *   of_subscriber;
    uint32_t     correlation;
};

typedef uint64_t (*cupti_clock)(void);
typedef void (*cupti_requested)(uint8_t ** buffer, size_t * size, size_t * most_records);
typedef void (*cupti_completed)(void * context, uint32_t stream, uint8_t * buffer, size_t size, size_t valid);
typedef void (*cupti_callback)(void * of_ours, int domain, uint32_t call, const void * data);

/* name, parameters: all return an enum cupti_result */
#define CUPTI_FUNCTIONS(X) \
    X(ActivityRegisterTimestampCallback, (cupti_clock)) \
    X(ActivityRegisterCallbacks, (cupti_requested, cupti_completed)) \
    X(ActivityEnable, (int kind)) \
    X(ActivityFlushAll, (uint32_t flags)) \
    X(ActivityGetNextRecord, (uint8_t * buffer, size_t valid, void ** record)) \
    X(ActivityGetNumDroppedRecords, (void * context, uint32_t stream, size_t * n)) \
    X(Subscribe, (void ** subscriber, cupti_callback, void * of_ours)) \
    X(Unsubscribe, (void * subscriber)) \
    X(EnableCallback, (uint32_t enable, void * subscriber, int domain, uint32_t call)) \
    X(GetResultString, (int result, const char ** text))

#endif
