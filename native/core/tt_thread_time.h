/* The kernel's counters of a thread: its processor time, and how long it was runnable but did not run. */
#ifndef TT_THREAD_TIME_H
#define TT_THREAD_TIME_H

#include <stdint.h>

struct tt_thread_time {
    uint64_t cpu_ns, delay_ns;
    uint32_t os_thread;
};

int tt_thread_time_open(uint32_t os_thread); /* the descriptor of its schedstat; -1: it cannot be opened */
struct tt_thread_time tt_thread_time(uint32_t os_thread, int schedstat);

#endif
