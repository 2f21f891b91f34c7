/* Chooses the clock that times the events, and reads the moments that convert its ticks to CLOCK_MONOTONIC. */
#include "tt_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tt_tsc = false;

#if defined(__x86_64__) && defined(__linux__)
/* Whether the first line of a file that begins with `prefix` contains `word`. */
static bool line_has(const char * path, const char * prefix, const char * word) {
    FILE * file     = fopen(path, "r");
    char * line     = NULL;
    size_t size     = 0;
    bool   has_word = false;
    while (file && getline(&line, &size, file) > 0) {
        if (strncmp(line, prefix, strlen(prefix)) != 0) {
            continue;
        }
        char * rest = NULL;
        for (char * at = strtok_r(line, " \t\n", &rest); at && !has_word; at = strtok_r(NULL, " \t\n", &rest)) {
            has_word = strcmp(at, word) == 0;
        }
        break;
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return has_word;
}

/* Why the time stamp counter cannot serve as a clock, or NULL: it must tick evenly, also in sleep, and alike on all
   cores. */
static const char * fault_of_tsc(void) {
    if (!line_has("/proc/cpuinfo", "flags", "constant_tsc")) {
        return "/proc/cpuinfo does not list constant_tsc";
    }
    if (!line_has("/proc/cpuinfo", "flags", "nonstop_tsc")) {
        return "/proc/cpuinfo does not list nonstop_tsc";
    }
    if (!line_has("/sys/devices/system/clocksource/clocksource0/current_clocksource", "", "tsc")) {
        return "the kernel does not use it as its own clock";
    }
    return NULL;
}
#else
static const char * fault_of_tsc(void) { return "the time stamp counter is used on Linux, on x86-64"; }
#endif

const char * tt_clock_choose(void) {
    const char * choice = getenv("TENSOR_TRACE_CLOCK");
    if (choice && strcmp(choice, "monotonic") == 0) {
        tt_tsc = false;
        return "TENSOR_TRACE_CLOCK asks for it";
    }
    const char * fault = fault_of_tsc();

    tt_tsc = !fault;
    if (choice && *choice && strcmp(choice, "tsc") != 0) {
        fprintf(stderr, "tensor_trace: TENSOR_TRACE_CLOCK is %.64s; give tsc or monotonic\n", choice);
        return tt_tsc ? "TENSOR_TRACE_CLOCK is neither tsc nor monotonic; the time stamp counter is reliable here"
                      : "TENSOR_TRACE_CLOCK is neither tsc nor monotonic; the time stamp counter is not reliable here";
    }
    if (choice && *choice && fault) {
        fprintf(stderr, "tensor_trace: TENSOR_TRACE_CLOCK=tsc is not possible: %s; CLOCK_MONOTONIC is used\n", fault);
    }
    return fault ? fault : "/proc/cpuinfo lists constant_tsc and nonstop_tsc, and the kernel uses it as its own clock";
}

/* Reads CLOCK_MONOTONIC between two reads of the counter, and takes the middle of the two. Reads again while the two
   are far apart, because the thread was interrupted. */
struct tt_moment tt_moment(void) {
    enum { TRIES = 4, CLOSE = 1000 };
    struct tt_moment moment  = { 0 };
    uint64_t         closest = UINT64_MAX;
    if (!tt_tsc) {
        moment.ns = moment.ticks = tt_now();
        return moment;
    }
    for (int i = 0; i < TRIES && closest > CLOSE; i++) {
        const uint64_t before = tt_ticks(), ns = tt_now(), apart = tt_ticks() - before;
        if (apart < closest) {
            moment  = (struct tt_moment) { .ns = ns, .ticks = before + apart / 2 };
            closest = apart;
        }
    }
    return moment;
}
