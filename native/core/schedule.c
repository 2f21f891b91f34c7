/* How long the threads of a pass ran, and how long they were runnable but had no processor. */
#include "tt_schedule.h"
#include "tt_clock.h"
#include "tt_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct tt_thread_time time_of(const struct tt_writer * writer) {
    return tt_thread_time(writer->os_thread, writer->schedstat);
}

bool tt_schedule_begin(struct tt_trace * trace, struct tt_schedule_begin * begin) {
    pthread_mutex_lock(&trace->lock);
    begin->ns        = tt_now();
    const uint32_t n = trace->n_writers;
    if (n > begin->size) {
        struct tt_thread_time * larger = realloc(begin->times, 2 * n * sizeof *larger);

        begin->times = larger ? larger : begin->times;
        begin->size  = larger ? 2 * n : begin->size;
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

/* after - before, at least 0; TT_UNKNOWN where one of them is unknown. */
static uint64_t difference(uint64_t before, uint64_t after) {
    return before == TT_UNKNOWN || after == TT_UNKNOWN ? TT_UNKNOWN : after > before ? after - before : 0;
}

static void add_known(uint64_t * sum, uint64_t value) {
    *sum = *sum == TT_UNKNOWN || value == TT_UNKNOWN ? TT_UNKNOWN : *sum + value;
}

struct interval { /* of one thread, within a pass */
    struct tt_thread_time before, after;
    bool                  from_begin; /* it begins when the pass does */
};

static void add_thread(struct tt_schedule * sums, const struct interval * thread) {
    const uint64_t ran    = difference(thread->before.cpu_ns, thread->after.cpu_ns),
                   waited = difference(thread->before.delay_ns, thread->after.delay_ns);
    add_known(&sums->cpu_ns, ran);
    add_known(&sums->run_delay_ns, waited);
    sums->n_threads++;
    if (thread->from_begin && ran != TT_UNKNOWN && waited != TT_UNKNOWN) {
        const uint64_t blocked = difference(ran + waited, sums->counted_ns);
        sums->blocked_ns       = blocked < sums->blocked_ns ? blocked : sums->blocked_ns;
    }
}

/* A thread that got its writer during the pass counts from then on; only threads that had one from the begin count for
   blocked_ns. The clock is read after all threads were asked, so no thread can have run or waited longer than
   counted_ns. */
struct tt_schedule tt_schedule_end(struct tt_trace * trace, const struct tt_schedule_begin * begin) {
    enum { MOST = 512 };
    struct tt_schedule sums = { .blocked_ns = TT_UNKNOWN };
    struct interval    threads[MOST];
    uint32_t           n = 0;
    pthread_mutex_lock(&trace->lock);
    for (const struct tt_writer * writer = trace->writers; writer && n < MOST; writer = writer->next) {
        if (atomic_load(&writer->owned)) {
            const bool from_begin =
                writer->place < begin->n && begin->times[writer->place].os_thread == writer->os_thread;
            const struct tt_thread_time before = from_begin ? begin->times[writer->place] : writer->since;
            threads[n++] = (struct interval) { .before = before, .after = time_of(writer), .from_begin = from_begin };
        }
    }
    pthread_mutex_unlock(&trace->lock);
    sums.counted_ns = tt_now() - begin->ns;
    for (uint32_t i = 0; i < n; i++) {
        add_thread(&sums, &threads[i]);
    }
    return sums;
}
