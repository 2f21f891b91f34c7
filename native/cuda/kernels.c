/*
 * CUPTI writes a record for each kernel that a device ran, also for those of a CUDA graph, with the number of the call
 * that launched it; and tells of each such call before it is made, on the thread that makes it. So a kernel belongs to
 * the split that this thread evaluated then. Nothing waits for the device. CUPTI hands full buffers over on a thread of
 * its own; what is left is fetched now and then when a split is done, and at the end.
 */
#include "kernels.h"
#include "cupti_layout.h"
#include "ggml_passes.h"
#include "ggml_process.h"
#include "ggml_splits.h"
#include "ggml_waits.h"
#include "tt_record.h"

#include "tensor_trace.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFER = 1 << 20, CALLS = 1 << 16, MAX_NAME = 512, NAMES = 1 << 10, EVERY_NS = 250000000 };

static struct {
#define FUNCTION(name, parameters) int(*name) parameters;
    CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
} cupti;

/* A call, and the split that its thread evaluated then; in_split false: none that is recorded. */
struct call {
    uint32_t number, pass, split;
    bool     known, in_split;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static struct call     calls[CALLS];                     /* the latest of each remainder of its number */
static uint32_t        next_order;
static uint64_t        n_lost, n_said; /* kernels without times, or of calls that are forgotten; said: in the trace */
static uint64_t        fetched_ns;
static struct {
    const char * name; /* CUPTI has each name once */
    uint32_t     label;
} labels[NAMES]; /* the latest of each place */

static void (*others)(uint32_t pass, uint32_t split); /* of devices of another kind: called after ours */

/* ---- which split a call belongs to ---- */

static void on_call(void * ours, int domain, uint32_t function, const void * data) {
    const struct cupti_call * call = data;
    (void) ours, (void) domain, (void) function;
    if (call->site != CUPTI_ENTERS || !tensor_trace_on) {
        return;
    }
    TT_TIMED_HOOK;
    struct call now = { .number = call->correlation, .known = true };
    now.in_split    = tt_split_now(&now.pass, &now.split);
    pthread_mutex_lock(&lock);
    calls[now.number % CALLS] = now;
    pthread_mutex_unlock(&lock);
}

/* ---- records ---- */

/* The string of a kernel's label. Call it under the lock. */
static uint32_t label_of(const char * name) {
    const size_t at = ((uintptr_t) name >> 4) % NAMES;
    if (labels[at].name != name || !name) {
        char text[MAX_NAME];
        snprintf(text, sizeof text, "kernel %s", name ? name : "");
        labels[at].name  = name;
        labels[at].label = tt_string(tt_process, text);
    }
    return labels[at].label;
}

static void record(const struct cupti_kernel * kernel) {
    pthread_mutex_lock(&lock);
    const struct call   call  = calls[kernel->correlation % CALLS];
    const bool          known = call.known && call.number == kernel->correlation; /* else others came since */
    const bool          timed = kernel->begin_ns && kernel->end_ns >= kernel->begin_ns;
    struct tt_device_op op    = { .begin_ns = kernel->begin_ns, .end_ns = kernel->end_ns };
    op.pass                   = call.pass;
    op.split                  = call.split;
    op.order                  = next_order++;
    n_lost += !known || (call.in_split && !timed);
    const bool wanted = known && call.in_split && timed && tensor_trace_on; /* else of a load, or of no recorded pass */
    op.label          = wanted ? label_of(kernel->name) : 0;
    pthread_mutex_unlock(&lock);
    if (wanted) {
        tt_record(tt_process, TT_DEVICE_OP, &op, sizeof op, tt_now());
    }
}

static void requested(uint8_t ** buffer, size_t * size, size_t * most_records) {
    *buffer       = aligned_alloc(8, BUFFER); /* NULL: CUPTI counts what it drops */
    *size         = *buffer ? BUFFER : 0;
    *most_records = 0;
}

static void completed(void * context, uint32_t stream, uint8_t * buffer, size_t size, size_t valid) {
    void * at      = NULL;
    size_t dropped = 0;
    (void) size;
    while (valid && cupti.ActivityGetNextRecord(buffer, valid, &at) == CUPTI_OK) {
        uint32_t kind;
        memcpy(&kind, at, sizeof kind);
        if (kind == CUPTI_KERNEL || kind == CUPTI_CONCURRENT_KERNEL) {
            record(at);
        }
    }
    free(buffer);
    if (cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_OK && dropped) {
        pthread_mutex_lock(&lock);
        n_lost += dropped;
        pthread_mutex_unlock(&lock);
    }
}

static void tell_lost(void) {
    char text[24];
    pthread_mutex_lock(&lock);
    const bool more = n_lost != n_said;
    n_said          = n_lost;
    snprintf(text, sizeof text, "%" PRIu64, n_said);
    pthread_mutex_unlock(&lock);
    if (more && tensor_trace_on) {
        tt_info(tt_process, "cuda.lost", text);
    }
}

static bool is_due(uint64_t now) {
    pthread_mutex_lock(&lock);
    const bool due = now - fetched_ns >= EVERY_NS;
    fetched_ns     = due ? now : fetched_ns;
    pthread_mutex_unlock(&lock);
    return due;
}

static void fetch(uint32_t pass, uint32_t split) {
    if (is_due(tt_now())) {
        TT_TIMED_HOOK;
        cupti.ActivityFlushAll(0);
        tell_lost();
    }
    if (others) {
        others(pass, split);
    }
}

/* CUPTI takes no calls once the program has ended it. */
static void fetch_last(void) {
    static atomic_bool fetched;
    if (!atomic_exchange(&fetched, true)) {
        cupti.ActivityFlushAll(CUPTI_FORCED);
        tell_lost();
    }
}

/* ---- start ---- */

static uint64_t clock_of_the_trace(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static bool find(const char * path, char why[256]) {
    void * library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    snprintf(why, 256, "%s", library ? "" : dlerror());
#define FIND(name, parameters) \
    if (library && !(cupti.name = (int(*) parameters) dlsym(library, "cupti" #name))) { \
        snprintf(why, 256, "this CUPTI has no function cupti" #name); \
        return false; \
    }
    CUPTI_FUNCTIONS(FIND)
#undef FIND
    return library;
}

/* The result of the last that is refused, if all are: an older CUPTI does not know all of them. */
static int enable_launches(void * subscriber) {
    int  result = CUPTI_OK, refused;
    bool some   = false;
#define ENABLE(domain, name, number) \
    refused = cupti.EnableCallback(1, subscriber, CUPTI_##domain##_API, number); \
    result  = refused ? refused : result; \
    some |= !refused;
    CUPTI_LAUNCHES(ENABLE)
#undef ENABLE
    return some ? CUPTI_OK : result;
}

/* The result of the first step that is refused; then nothing is left on. The clock comes first: it counts for what is
   recorded after. */
static int begin(void) {
    void * subscriber = NULL;
    int    result     = cupti.ActivityRegisterTimestampCallback(clock_of_the_trace);
    result            = result ? result : cupti.ActivityRegisterCallbacks(requested, completed);
    result            = result ? result : cupti.Subscribe(&subscriber, on_call, NULL);
    result            = result ? result : enable_launches(subscriber);
    result            = result ? result : cupti.ActivityEnable(CUPTI_CONCURRENT_KERNEL);
    if (result && subscriber) {
        cupti.Unsubscribe(subscriber);
    }
    return result;
}

static void start(void) {
    const char *path = getenv("TENSOR_TRACE_CUPTI"), *text = NULL;
    char        why[256];
    if (!path || !*path) {
        return;
    }
    const bool found  = find(path, why);
    const int  result = found ? begin() : CUPTI_OK;
    if (result != CUPTI_OK) {
        cupti.GetResultString(result, &text);
        snprintf(why, sizeof why, "CUPTI refuses to record: %.200s", text ? text : "no reason is given");
    }
    if (*why) {
        tt_info(tt_process, "cuda.refused", why);
    } else {
        fetched_ns = tt_now();
        others     = __atomic_load_n(&tt_read_stamps, __ATOMIC_ACQUIRE);
        __atomic_store_n(&tt_read_stamps, fetch, __ATOMIC_RELEASE);
        __atomic_store_n(&tt_at_end, fetch_last, __ATOMIC_RELEASE);
        atexit(fetch_last); /* before what CUPTI does at exit, which it has asked for by now */
    }
}

void cuda_kernels_start(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
}
