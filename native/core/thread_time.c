/* Asks the kernel how long a thread ran, and how long it was runnable but had no processor. */
#include "tt_thread_time.h"

#include "tensor_trace_format.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* The clock of a thread's processor time, from the thread's number; pthread_getcpuclockid would need a pthread_t. */
static clockid_t processor_clock(uint32_t os_thread) {
    enum { SCHEDULER = 2, OF_ONE_THREAD = 4 };
    return (clockid_t) (~os_thread << 3 | OF_ONE_THREAD | SCHEDULER);
}

/* Nanoseconds for which the thread was runnable but did not run: the second number of schedstat. */
static uint64_t run_delay(int file) {
    char               text[96];
    unsigned long long ran, waited;
    const ssize_t      size   = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = 0;
    return size > 0 && sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : TT_UNKNOWN;
}

int tt_thread_time_open(uint32_t os_thread) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/schedstat", os_thread);
    return open(path, O_RDONLY | O_CLOEXEC);
}

struct tt_thread_time tt_thread_time(uint32_t os_thread, int schedstat) {
    struct timespec ran;
    const bool      known = clock_gettime(processor_clock(os_thread), &ran) == 0;
    return (struct tt_thread_time) {
        .os_thread = os_thread,
        .cpu_ns    = known ? (uint64_t) ran.tv_sec * 1000000000u + (uint64_t) ran.tv_nsec : TT_UNKNOWN,
        .delay_ns  = run_delay(schedstat),
    };
}
