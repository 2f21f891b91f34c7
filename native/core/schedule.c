/* How long the threads of a pass ran, and how long they could have run and had no processor: asked of the kernel. */
#include "tt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The clock of a thread's processor time, from its number: what pthread_getcpuclockid makes of a pthread_t. */
static clockid_t processor_clock(uint32_t os_thread) {
    enum { SCHEDULER = 2, OF_ONE_THREAD = 4 };
    return (clockid_t) (~os_thread << 3 | OF_ONE_THREAD | SCHEDULER);
}

/* The second number of schedstat: ns for which the thread was runnable and did not run. */
static uint64_t run_delay(int file) {
    char               text[96];
    unsigned long long ran, waited;
    const ssize_t      size   = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = 0;
    return size > 0 && sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : TT_UNKNOWN;
}

static struct tt_thread_time time_of(const struct tt_writer * writer) {
    struct timespec ran;
    const bool      known = clock_gettime(processor_clock(writer->os_thread), &ran) == 0;
    return (struct tt_thread_time) {
        .os_thread = writer->os_thread,
        .cpu_ns    = known ? (uint64_t) ran.tv_sec * 1000000000u + (uint64_t) ran.tv_nsec : TT_UNKNOWN,
        .delay_ns  = run_delay(writer->schedstat),
    };
}

void tt_schedule_of_thread(struct tt_writer * writer) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/schedstat", writer->os_thread);
    if (writer->schedstat > 0) {
        close(writer->schedstat); /* of the thread that had this writer before */
    }
    writer->schedstat = open(path, O_RDONLY | O_CLOEXEC);
    writer->since     = time_of(writer);
}

bool tt_schedule_begin(struct tt_trace * trace, struct tt_schedule_begin * begin) {
    pthread_mutex_lock(&trace->lock);
    begin->ns        = tt_now();
    const uint32_t n = trace->n_writers;
    if (n > begin->size) {
        struct tt_thread_time * made = realloc(begin->times, 2 * n * sizeof *made);

        begin->times = made ? made : begin->times;
        begin->size  = made ? 2 * n : begin->size;
    }
    begin->n = n <= begin->size ? n : 0;
    for (const struct tt_writer * writer = trace->writers; writer; writer = writer->next) {
        if (writer->place < begin->n) {
            begin->times[writer->place] = atomic_load(&writer->owned) ? time_of(writer) : (struct tt_thread_time) { 0 };
        }
    }
    pthread_mutex_unlock(&trace->lock);
    return begin->n == n;
}

static uint64_t more(uint64_t before, uint64_t after) {
    return before == TT_UNKNOWN || after == TT_UNKNOWN ? TT_UNKNOWN : after > before ? after - before : 0;
}

static void add(uint64_t * sum, uint64_t value) {
    *sum = *sum == TT_UNKNOWN || value == TT_UNKNOWN ? TT_UNKNOWN : *sum + value;
}

struct span {
    struct tt_thread_time before, after;
    bool                  whole;
};

static void count(struct tt_schedule * made, const struct span * of) {
    const uint64_t ran    = more(of->before.cpu_ns, of->after.cpu_ns),
                   waited = more(of->before.delay_ns, of->after.delay_ns);
    add(&made->cpu_ns, ran);
    add(&made->run_delay_ns, waited);
    made->n_threads++;
    if (of->whole && ran != TT_UNKNOWN && waited != TT_UNKNOWN) {
        const uint64_t stood = more(ran + waited, made->counted_ns);
        made->blocked_ns     = stood < made->blocked_ns ? stood : made->blocked_ns;
    }
}

/* A thread that came in the middle counts since then; only one that was there all the time tells for how long it stood.
   Threads are asked first and the stretch ends then: none of them can have run or waited for longer than it. */
struct tt_schedule tt_schedule_end(struct tt_trace * trace, const struct tt_schedule_begin * begin) {
    enum { MOST = 512 };
    struct tt_schedule made = { .blocked_ns = TT_UNKNOWN };
    struct span        spans[MOST];
    uint32_t           n = 0;
    pthread_mutex_lock(&trace->lock);
    for (const struct tt_writer * writer = trace->writers; writer && n < MOST; writer = writer->next) {
        if (atomic_load(&writer->owned)) {
            const bool whole = writer->place < begin->n && begin->times[writer->place].os_thread == writer->os_thread;
            const struct tt_thread_time before = whole ? begin->times[writer->place] : writer->since;
            spans[n++] = (struct span) { .before = before, .after = time_of(writer), .whole = whole };
        }
    }
    pthread_mutex_unlock(&trace->lock);
    made.counted_ns = tt_now() - begin->ns;
    for (uint32_t i = 0; i < n; i++) {
        count(&made, &spans[i]);
    }
    return made;
}
