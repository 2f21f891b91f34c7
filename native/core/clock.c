/* Which clock the events are timed by, and what leads from it to CLOCK_MONOTONIC. */
#include "tt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tt_tsc = false;

#if defined(__x86_64__)
/* Whether the first line of a file that begins with `begins` holds `word` among words. */
static bool line_has(const char * path, const char * begins, const char * word) {
    FILE * file  = fopen(path, "r");
    char * line  = NULL;
    size_t size  = 0;
    bool   found = false;
    while (file && getline(&line, &size, file) > 0) {
        if (strncmp(line, begins, strlen(begins)) != 0) {
            continue;
        }
        char * rest = NULL;
        for (char * at = strtok_r(line, " \t\n", &rest); at && !found; at = strtok_r(NULL, " \t\n", &rest)) {
            found = strcmp(at, word) == 0;
        }
        break;
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return found;
}

/* NULL, or why the time stamp counter is no clock here: it must tick evenly, in sleep too, and alike on all cores. */
static const char * fault_of_tsc(void) {
    if (!line_has("/proc/cpuinfo", "flags", "constant_tsc")) {
        return "the processor does not say constant_tsc";
    }
    if (!line_has("/proc/cpuinfo", "flags", "nonstop_tsc")) {
        return "the processor does not say nonstop_tsc";
    }
    if (!line_has("/sys/devices/system/clocksource/clocksource0/current_clocksource", "", "tsc")) {
        return "the kernel keeps its time by another clock";
    }
    return NULL;
}
#else
static const char * fault_of_tsc(void) { return "this is no x86-64 processor"; }
#endif

const char * tt_clock_choose(void) {
    const char * asked = getenv("TENSOR_TRACE_CLOCK");
    if (asked && strcmp(asked, "monotonic") == 0) {
        tt_tsc = false;
        return "TENSOR_TRACE_CLOCK asks for it";
    }
    const char * fault = fault_of_tsc();

    tt_tsc = !fault;
    if (asked && *asked && strcmp(asked, "tsc") != 0) {
        fprintf(stderr, "tensor_trace: TENSOR_TRACE_CLOCK is %.64s; it may be tsc or monotonic\n", asked);
        return tt_tsc ? "TENSOR_TRACE_CLOCK is neither tsc nor monotonic; the processor's clock can be relied on"
                      : "TENSOR_TRACE_CLOCK is neither tsc nor monotonic; the processor's clock cannot be relied on";
    }
    if (asked && *asked && fault) {
        fprintf(stderr, "tensor_trace: no TENSOR_TRACE_CLOCK=tsc here: %s; monotonic it is\n", fault);
    }
    return fault ? fault : "constant_tsc, nonstop_tsc, and the kernel keeps its time by it";
}

/* One clock read between two of the other; once more when something came in between. */
struct tt_moment tt_moment(void) {
    enum { TRIES = 4, CLOSE = 1000 };
    struct tt_moment made = { 0 };
    uint64_t         best = UINT64_MAX;
    if (!tt_tsc) {
        made.ns = made.ticks = tt_now();
        return made;
    }
    for (int i = 0; i < TRIES && best > CLOSE; i++) {
        const uint64_t before = tt_ticks(), ns = tt_now(), apart = tt_ticks() - before;
        if (apart < best) {
            made = (struct tt_moment) { .ns = ns, .ticks = before + apart / 2 };
            best = apart;
        }
    }
    return made;
}

void tt_clock(struct tt_trace * trace, const struct tt_moment * moment) {
    if (tt_tsc) {
        tt_record(trace, TT_CLOCK, &moment->ticks, sizeof moment->ticks, moment->ns);
    }
}
