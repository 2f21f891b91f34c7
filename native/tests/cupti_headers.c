/* Compared with CUPTI's own headers when it is compiled: `make cupti`, where CUDA's toolkit is installed. */
#include "cupti_layout.h"

#include <assert.h>
#include <cupti.h>
#include <stdlib.h>
#include <string.h>

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 their_kernel;
#else
typedef CUpti_ActivityKernel9 their_kernel;
#endif

#define SIZE(type, member) sizeof(((type *) 0)->member)
#define SAME(ours, member, theirs, same) \
    static_assert(offsetof(ours, member) == offsetof(theirs, same) && SIZE(ours, member) == SIZE(theirs, same), \
                  #member);

SAME(struct cupti_kernel, kind, their_kernel, kind)
SAME(struct cupti_kernel, registers, their_kernel, registersPerThread)
SAME(struct cupti_kernel, begin_ns, their_kernel, start)
SAME(struct cupti_kernel, end_ns, their_kernel, end)
SAME(struct cupti_kernel, completed_ns, their_kernel, completed)
SAME(struct cupti_kernel, device, their_kernel, deviceId)
SAME(struct cupti_kernel, stream, their_kernel, streamId)
SAME(struct cupti_kernel, dynamic_memory, their_kernel, dynamicSharedMemory)
SAME(struct cupti_kernel, correlation, their_kernel, correlationId)
SAME(struct cupti_kernel, grid_id, their_kernel, gridId)
SAME(struct cupti_kernel, name, their_kernel, name)
SAME(struct cupti_call, site, CUpti_CallbackData, callbackSite)
SAME(struct cupti_call, context, CUpti_CallbackData, context)
SAME(struct cupti_call, of_subscriber, CUpti_CallbackData, correlationData)
SAME(struct cupti_call, correlation, CUpti_CallbackData, correlationId)
static_assert((int) CUPTI_OK == CUPTI_SUCCESS && (int) CUPTI_NO_MORE == CUPTI_ERROR_MAX_LIMIT_REACHED, "results");
static_assert((int) CUPTI_KERNEL == CUPTI_ACTIVITY_KIND_KERNEL, "kinds");
static_assert((int) CUPTI_CONCURRENT_KERNEL == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kinds");
static_assert((int) CUPTI_DRIVER_API == CUPTI_CB_DOMAIN_DRIVER_API, "domains");
static_assert((int) CUPTI_RUNTIME_API == CUPTI_CB_DOMAIN_RUNTIME_API, "domains");
static_assert((int) CUPTI_ENTERS == CUPTI_API_ENTER, "sites");

#define CBID_RUNTIME(name) CUPTI_RUNTIME_TRACE_CBID_##name
#define CBID_DRIVER(name)  CUPTI_DRIVER_TRACE_CBID_##name
#if CUPTI_API_VERSION < 130000
enum {
    CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000 = 505,
    CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000
};
#endif
#define NUMBER(domain, name, number) static_assert((int) CBID_##domain(name) == number, #name);
CUPTI_LAUNCHES(NUMBER)
static_assert((int) CUPTI_FORCED == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, "flags");

/* Its functions are there; what they take is by its manual. */
#define FUNCTION(name, parameters) static_assert(sizeof(&cupti##name) == sizeof(void *), #name);
CUPTI_FUNCTIONS(FUNCTION)

int main(void) {
    /* the library itself goes through records that are made by hand */
    their_kernel * made = calloc(3, sizeof *made);
    void *         at   = NULL;
    unsigned       n    = 0;
    for (unsigned i = 0; made && i < 3; i++) {
        made[i].kind          = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        made[i].start         = 10 * i;
        made[i].end           = 10 * i + 5;
        made[i].correlationId = 100 + i;
        made[i].name          = "kernel";
    }
    while (made
           && cuptiActivityGetNextRecord((uint8_t *) made, 3 * sizeof *made, (CUpti_Activity **) &at)
               == CUPTI_SUCCESS) {
        const struct cupti_kernel * kernel = at;
        if (kernel->kind != CUPTI_CONCURRENT_KERNEL || kernel->begin_ns != 10 * n || kernel->end_ns != 10 * n + 5
            || kernel->correlation != 100 + n || strcmp(kernel->name, "kernel") != 0) {
            return 1;
        }
        n++;
    }
    free(made);
    return n == 3 ? 0 : 2;
}
