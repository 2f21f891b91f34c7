/* Which passes are recorded: those of a stretch of time, so many of them, or those with certain numbers. */
#include "tt.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Seconds of the environment as nanoseconds; `none` when it is not set. */
static bool seconds(const char * name, uint64_t none, uint64_t * made, char error[256]) {
    const char * text = getenv(name);
    if (!text || !*text) {
        *made = none;
        return true;
    }
    char *       end   = NULL;
    const double value = strtod(text, &end);
    if (*end || !isfinite(value) || value < 0 || value > 1e9) {
        snprintf(error, 256, "%s is %.64s; give seconds", name, text);
        return false;
    }
    *made = (uint64_t) (value * 1e9);
    return true;
}

/* N: so many; A-B: those with these numbers. */
static bool numbers(const char * text, struct tt_window * window) {
    char * end = NULL;
    if (!isdigit((unsigned char) *text)) {
        return false;
    }
    window->most = strtoull(text, &end, 10);
    if (!*end) {
        return true;
    }
    if (*end != '-' || !isdigit((unsigned char) end[1])) {
        return false;
    }
    window->first = window->most;
    window->most  = UINT64_MAX;
    window->last  = strtoull(end + 1, &end, 10);
    return !*end && window->first <= window->last;
}

bool tt_window_read(struct tt_window * window, uint64_t now_ns, char error[256]) {
    *window = (struct tt_window) { .last = UINT64_MAX, .most = UINT64_MAX };
    uint64_t after, length;
    if (!seconds("TENSOR_TRACE_AFTER", 0, &after, error) || !seconds("TENSOR_TRACE_FOR", UINT64_MAX, &length, error)) {
        return false;
    }
    window->begin_ns  = now_ns + after;
    window->end_ns    = length < UINT64_MAX - window->begin_ns ? window->begin_ns + length : UINT64_MAX;
    const char * text = getenv("TENSOR_TRACE_PASSES");
    if (text && *text && !numbers(text, window)) {
        snprintf(error, 256, "TENSOR_TRACE_PASSES is %.64s; give how many, or FIRST-LAST", text);
        return false;
    }
    return true;
}

bool tt_window_holds(const struct tt_window * window, uint64_t now_ns, uint64_t number, uint64_t n_recorded) {
    return now_ns >= window->begin_ns && now_ns < window->end_ns && number >= window->first && number <= window->last
        && n_recorded < window->most;
}
