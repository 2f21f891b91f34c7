/* The trace of this process: the first hook begins it, exit or a signal ends it; a forked child is not recorded. */
#include "ggml_process.h"
#include "tt_footprint.h"
#include "tt_facts.h"
#include "tt_faults.h"
#include "tt_nodes.h"
#include "tt_record.h"
#include "tt_system.h"
#include "tt_trace.h"
#include "tt_window.h"

#include "tensor_trace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

bool                        tensor_trace_on                                              = false;
__thread struct tt_writer * tensor_trace_self __attribute__((tls_model("initial-exec"))) = NULL;

struct tt_trace * tt_process;
bool              tt_verify, tt_watch_pages, tt_passive;
void (*tt_write_late)(struct tt_writer * writer);
void (*tt_at_end)(void);
static pthread_once_t              start_once = PTHREAD_ONCE_INIT;
static pthread_key_t               writer_key; /* releases a thread's writer when the thread ends */
static struct tt_window            window;
static atomic_bool                 ending;
static atomic_uint                 in_flight; /* number of recorded passes that have begun and not ended */
static __thread struct tt_writer * my_writer;

static void switch_to(bool on) { __atomic_store_n(&tensor_trace_on, on, __ATOMIC_RELAXED); }

/* Of what the trace takes of the memory that the program may have. */
static void note_own_bytes(void) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long) tt_own_bytes(tt_process));
    tt_info(tt_process, "pages.own_bytes", text);
}

void tt_note_io_uring(void) {
    static atomic_bool noted;
    if (!atomic_load(&noted) && tt_has_io_uring() && !atomic_exchange(&noted, true)) {
        tt_info(tt_process, "reads.io_uring", "yes");
    }
}

/* Ends the trace. Nothing is freed: other threads may be in a hook. */
static void finish(void) {
    if (tt_process) {
        atomic_store(&ending, true);
        if (tt_write_late) {
            tt_write_late(NULL);
        }
        void (*at_end)(void) = __atomic_load_n(&tt_at_end, __ATOMIC_ACQUIRE);
        if (at_end) {
            at_end();
        }
        note_own_bytes();
        tt_note_io_uring();
        tt_footprint_write(tt_process, TT_OCCASION_END, TT_NONE, TT_NONE);
        tt_seal(tt_process);
        switch_to(false);
    }
}

static void stop_in_child(void) {
    switch_to(false);
    tensor_trace_self = NULL;
    tt_process        = NULL;
}

bool tt_wanted(void) {
    return !atomic_load(&ending)
        && tt_window_holds(&window, tt_now(), tt_process->n_passes, tt_process->n_passes - tt_process->n_skipped);
}

bool tt_enter(void) {
    atomic_fetch_add(&in_flight, 1);
    if (atomic_load(&ending)) {
        tt_leave();
        return false;
    }
    return true;
}

void tt_leave(void) { atomic_fetch_sub(&in_flight, 1); }

static void request_end(int number) {
    const int error = errno;
    (void) number;
    tt_semaphore_post();
    errno = error;
}

/* Waits for the signal, then for the passes that have begun, and ends the trace; the program goes on. */
static void * end_on_request(void * nothing) {
    const struct timespec pause = { .tv_nsec = 1000000 };
    tt_semaphore_wait();
    atomic_store(&ending, true);
    while (atomic_load(&in_flight) > 0) {
        nanosleep(&pause, NULL);
    }
    finish();
    return nothing;
}

/* Called only if TENSOR_TRACE_SIGNAL is set: a program may notice a signal handler and a sleeping thread. */
static bool end_on_signal(const char * name, char error[256]) {
    const char *     short_name = strncmp(name, "SIG", 3) == 0 ? name + 3 : name;
    const int        number = strcmp(short_name, "USR1") == 0 ? SIGUSR1 : strcmp(short_name, "USR2") == 0 ? SIGUSR2 : 0;
    struct sigaction action = { .sa_handler = request_end, .sa_flags = SA_RESTART };
    sigset_t         all, before;
    pthread_t        thread;
    if (number == 0) {
        snprintf(error, 256, "TENSOR_TRACE_SIGNAL is %.64s; give USR1 or USR2", name);
        return false;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = tt_semaphore_open() && pthread_create(&thread, NULL, end_on_request, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started || pthread_detach(thread) != 0 || sigaction(number, &action, NULL) != 0) {
        snprintf(error, 256, "cannot listen to TENSOR_TRACE_SIGNAL");
        return false;
    }
    return true;
}

static void release_writer(void * writer) {
    if (tt_process) {
        if (tt_write_late) {
            tt_write_late(writer);
        }
        tt_writer_release(writer);
    }
}

static void start(void) {
    const char * folder = getenv("TENSOR_TRACE_DIR");
    if (!folder || !*folder) {
        return;
    }
    const uint64_t began = tt_now();
    const char *   limit = getenv("TENSOR_TRACE_MAX_BYTES");
    const char *   check = getenv("TENSOR_TRACE_VERIFY");
    char           error[256], took[32];
    const char *   number = getenv("TENSOR_TRACE_SIGNAL");
    const char *   watch  = getenv("TENSOR_TRACE_RESIDENCY");
    const char *   device = getenv("TENSOR_TRACE_DEVICES");

    tt_verify      = check && strcmp(check, "1") == 0;
    tt_watch_pages = watch && strcmp(watch, "1") == 0;
    tt_passive     = device && strcmp(device, "passive") == 0;
    /* also if nothing is recorded below: without a handler the signal would end the program */
    if (number && *number && !end_on_signal(number, error)) {
        fprintf(stderr, "tensor_trace: %s\n", error);
    }
    if (tt_window_read(&window, tt_now(), error)) {
        tt_process = tt_open(folder, limit && *limit ? strtoull(limit, NULL, 10) : UINT64_MAX, error);
    }
    if (!tt_process) {
        fprintf(stderr, "tensor_trace: nothing is recorded: %s\n", error);
        return;
    }
    pthread_key_create(&writer_key, release_writer);
    tt_info(tt_process, "ggml.version", ggml_version());
    tt_info(tt_process, "ggml.commit", ggml_commit());
    tt_facts(tt_process);
    tt_nodes_open(tt_process);
    tt_faults_start(tt_process);
    snprintf(took, sizeof took, "%.2f", (double) (tt_now() - began));
    tt_info(tt_process, "cost.begin_ns", took);
    switch_to(true);
    pthread_atfork(NULL, NULL, stop_in_child);
    atexit(finish);
}

void tensor_trace_start(void) { pthread_once(&start_once, start); }

struct tt_writer * tt_my_writer(void) {
    if (!my_writer && (my_writer = tt_writer_acquire(tt_process)) != NULL) {
        pthread_setspecific(writer_key, my_writer);
    }
    return my_writer;
}

void tt_collect_faults(void) {
    struct tt_writer * writer = tt_process->faults ? tt_my_writer() : NULL;
    if (writer) {
        tt_faults_collect(writer->faults);
    }
}

struct tt_usage tt_usage_now(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct tt_usage) {
        .minor_faults         = (uint64_t) usage.ru_minflt,
        .major_faults         = (uint64_t) usage.ru_majflt,
        .voluntary_switches   = (uint64_t) usage.ru_nvcsw,
        .involuntary_switches = (uint64_t) usage.ru_nivcsw,
        .read_bytes           = (uint64_t) usage.ru_inblock * 512,
    };
}
