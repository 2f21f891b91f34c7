/* The clock of the events: ticks of the time stamp counter where it can serve as a clock (tt_tsc), else ns of
   CLOCK_MONOTONIC. */
#ifndef TT_CLOCK_H
#define TT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#ifdef __APPLE__
#define TT_MONOTONIC CLOCK_UPTIME_RAW /* mach_absolute_time; CLOCK_MONOTONIC has microseconds there */
#else
#define TT_MONOTONIC CLOCK_MONOTONIC
#endif

static inline uint64_t tt_now(void) {
    struct timespec t;
    clock_gettime(TT_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

extern bool tt_tsc __attribute__((visibility("hidden")));
struct tt_moment { /* one moment on both clocks */
    uint64_t ns, ticks;
};
const char *     tt_clock_choose(void); /* reads TENSOR_TRACE_CLOCK, sets tt_tsc; returns the reason for the choice */
struct tt_moment tt_moment(void);

static inline uint64_t tt_ticks(void) {
#if defined(__x86_64__)
    if (tt_tsc) {
        return __builtin_ia32_rdtsc();
    }
#endif
    return tt_now();
}

#endif
