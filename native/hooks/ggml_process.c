/* The trace of this process: started by the first hook, closed at exit, not taken along by fork. */
#include "tt_ggml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

bool tensor_trace_on = false;
__thread struct tt_writer * tensor_trace_self __attribute__((tls_model("initial-exec"))) = NULL;

struct tt_trace *     tt_process;
bool                  tt_verify;
static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static pthread_key_t  writer_key;

static void finish(void) {
    if (tt_process && tensor_trace_on) {
        tensor_trace_on = false;
        tt_close(tt_process);
        tt_process = NULL;
    }
}

static void leave_child(void) { tensor_trace_on = false; tensor_trace_self = NULL; tt_process = NULL; }

static void release_writer(void * writer) {
    if (tt_process) {
        tt_writer_release(writer);
    }
}

static void start(void) {
    const char * folder = getenv("TENSOR_TRACE_DIR");
    if (!folder || !*folder) {
        return;
    }
    const char * limit = getenv("TENSOR_TRACE_MAX_BYTES");
    const char * check = getenv("TENSOR_TRACE_VERIFY");
    char         error[256];
    tt_verify  = check && strcmp(check, "1") == 0;
    tt_process = tt_open(folder, limit && *limit ? strtoull(limit, NULL, 10) : UINT64_MAX, error);
    if (!tt_process) {
        fprintf(stderr, "tensor_trace: nothing is recorded: %s\n", error);
        return;
    }
    pthread_key_create(&writer_key, release_writer);
    tt_info(tt_process, "ggml.version", ggml_version());
    tt_info(tt_process, "ggml.commit", ggml_commit());
    tt_facts(tt_process);
    tensor_trace_on = true;
    pthread_atfork(NULL, NULL, leave_child);
    atexit(finish);
}

void tensor_trace_start(void) { pthread_once(&start_once, start); }

void tt_release_at_exit(struct tt_writer * writer) { pthread_setspecific(writer_key, writer); }

struct tt_usage tt_usage_now(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct tt_usage) {
        .minor_faults       = (uint64_t) usage.ru_minflt,
        .major_faults       = (uint64_t) usage.ru_majflt,
        .voluntary_switches = (uint64_t) usage.ru_nvcsw, .involuntary_switches = (uint64_t) usage.ru_nivcsw,
    };
}
