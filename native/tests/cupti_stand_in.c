/* A CUPTI that is made up: it tells of calls at once, and hands records over when it is asked to. */
#include "cupti_stand_in.h"
#include "cupti_layout.h"

#include <stdbool.h>
#include <string.h>

enum { MOST = 64, REFUSED = 38, SITE_EXIT = 1, MEMCPY = 1 };

static struct cupti_kernel waiting[MOST];
static unsigned            n_waiting, n_dropped;
static cupti_requested     request;
static cupti_completed     complete;
static cupti_callback      call_back;
static cupti_clock         now;
static bool                enabled, tells_runtime, tells_driver;
static const char *        refused;

static int result_of(const char * function) { return refused && strcmp(refused, function) == 0 ? REFUSED : CUPTI_OK; }

void stand_in_refuse(const char * function) { refused = function; }
void stand_in_drop(unsigned n) { n_dropped = n; }

void stand_in_launch(uint32_t correlation, const char * kernel, uint64_t begin_ns, uint64_t end_ns) {
    struct cupti_call call = { .site = CUPTI_ENTERS, .correlation = correlation };
    if (tells_runtime && tells_driver) {
        call_back(NULL, CUPTI_RUNTIME_API, 211, &call);
        call.site        = SITE_EXIT;
        call.correlation = 0;
        call_back(NULL, CUPTI_RUNTIME_API, 211, &call);
    }
    if (enabled && n_waiting < MOST) {
        waiting[n_waiting++] = (struct cupti_kernel) {
            .kind        = CUPTI_CONCURRENT_KERNEL,
            .begin_ns    = begin_ns,
            .end_ns      = end_ns,
            .correlation = correlation,
            .name        = kernel,
        };
    }
}

int cuptiActivityRegisterTimestampCallback(cupti_clock clock);
int cuptiActivityRegisterTimestampCallback(cupti_clock clock) {
    now = clock;
    return result_of("ActivityRegisterTimestampCallback");
}
int cuptiActivityRegisterCallbacks(cupti_requested requested, cupti_completed completed);
int cuptiActivityRegisterCallbacks(cupti_requested requested, cupti_completed completed) {
    request  = requested;
    complete = completed;
    return CUPTI_OK;
}
int cuptiActivityEnable(int kind);
int cuptiActivityEnable(int kind) {
    enabled = now && now() && kind == CUPTI_CONCURRENT_KERNEL; /* a clock that is set later counts for nothing */
    return result_of("ActivityEnable");
}
int cuptiSubscribe(void ** subscriber, cupti_callback callback, void * of_ours);
int cuptiSubscribe(void ** subscriber, cupti_callback callback, void * of_ours) {
    (void) of_ours;
    call_back   = callback;
    *subscriber = &call_back;
    return result_of("Subscribe");
}
int cuptiUnsubscribe(void * subscriber);
int cuptiUnsubscribe(void * subscriber) {
    tells_runtime = tells_driver = tells_runtime && subscriber != &call_back;
    return CUPTI_OK;
}
int cuptiEnableCallback(uint32_t enable, void * subscriber, int domain, uint32_t call);
int cuptiEnableCallback(uint32_t enable, void * subscriber, int domain, uint32_t call) {
    const bool known = call < 500; /* as of an older one */
    tells_runtime |= known && enable && subscriber == &call_back && domain == CUPTI_RUNTIME_API && call == 211;
    tells_driver |= known && enable && subscriber == &call_back && domain == CUPTI_DRIVER_API && call == 307;
    return known ? result_of("EnableCallback") : REFUSED;
}
int cuptiGetResultString(int result, const char ** text);
int cuptiGetResultString(int result, const char ** text) {
    *text = result == REFUSED ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : NULL;
    return CUPTI_OK;
}

/* One buffer holds as many records as fit; before them one of another kind. */
int cuptiActivityFlushAll(uint32_t flags);
int cuptiActivityFlushAll(uint32_t flags) {
    const struct cupti_kernel copy = { .kind = MEMCPY };
    (void) flags;
    while (n_waiting || n_dropped) {
        uint8_t * buffer = NULL;
        size_t    size = 0, most = 0, used = 0;
        request(&buffer, &size, &most);
        memcpy(buffer, &copy, sizeof copy);
        used = sizeof copy;
        for (; n_waiting && used + sizeof *waiting <= size; used += sizeof *waiting) {
            memcpy(buffer + used, waiting, sizeof *waiting);
            memmove(waiting, waiting + 1, --n_waiting * sizeof *waiting);
        }
        complete(NULL, 0, buffer, size, used);
        n_dropped = 0;
    }
    return CUPTI_OK;
}
int cuptiActivityGetNextRecord(uint8_t * buffer, size_t valid, void ** record);
int cuptiActivityGetNextRecord(uint8_t * buffer, size_t valid, void ** record) {
    uint8_t * next = *record ? (uint8_t *) *record + sizeof(struct cupti_kernel) : buffer;
    if (next + sizeof(struct cupti_kernel) > buffer + valid) {
        return CUPTI_NO_MORE;
    }
    *record = next;
    return CUPTI_OK;
}
int cuptiActivityGetNumDroppedRecords(void * context, uint32_t stream, size_t * n);
int cuptiActivityGetNumDroppedRecords(void * context, uint32_t stream, size_t * n) {
    (void) context, (void) stream;
    *n = n_dropped;
    return CUPTI_OK;
}
