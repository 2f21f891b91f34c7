/* Decides which passes are recorded: those in an interval of time, the first N of them, or those with given numbers. */
#include "tt_window.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Reads an environment variable in seconds as nanoseconds; `unset` where it is not set. */
static bool read_seconds(const char * name, uint64_t unset, uint64_t * ns, char error[256]) {
    const char * text = getenv(name);
    if (!text || !*text) {
        *ns = unset;
        return true;
    }
    char *       end   = NULL;
    const double value = strtod(text, &end);
    if (*end || !isfinite(value) || value < 0 || value > 1e9) {
        snprintf(error, 256, "%s is %.64s; give seconds", name, text);
        return false;
    }
    *ns = (uint64_t) (value * 1e9);
    return true;
}

/* N: the first N passes; A-B: the passes with numbers A to B. */
static bool read_passes(const char * text, struct tt_window * window) {
    char * end = NULL;
    if (!isdigit((unsigned char) *text)) {
        return false;
    }
    window->max_recorded = strtoull(text, &end, 10);
    if (!*end) {
        return true;
    }
    if (*end != '-' || !isdigit((unsigned char) end[1])) {
        return false;
    }
    window->first        = window->max_recorded;
    window->max_recorded = UINT64_MAX;
    window->last         = strtoull(end + 1, &end, 10);
    return !*end && window->first <= window->last;
}

bool tt_window_read(struct tt_window * window, uint64_t now_ns, char error[256]) {
    *window = (struct tt_window) { .last = UINT64_MAX, .max_recorded = UINT64_MAX };
    uint64_t after, length;
    if (!read_seconds("TENSOR_TRACE_AFTER", 0, &after, error)
        || !read_seconds("TENSOR_TRACE_FOR", UINT64_MAX, &length, error)) {
        return false;
    }
    window->begin_ns  = now_ns + after;
    window->end_ns    = length < UINT64_MAX - window->begin_ns ? window->begin_ns + length : UINT64_MAX;
    const char * text = getenv("TENSOR_TRACE_PASSES");
    if (text && *text && !read_passes(text, window)) {
        snprintf(error, 256, "TENSOR_TRACE_PASSES is %.64s; give how many, or FIRST-LAST", text);
        return false;
    }
    return true;
}

bool tt_window_holds(const struct tt_window * window, uint64_t now_ns, uint64_t number, uint64_t n_recorded) {
    return now_ns >= window->begin_ns && now_ns < window->end_ns && number >= window->first && number <= window->last
        && n_recorded < window->max_recorded;
}
