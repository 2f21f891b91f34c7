/* Preload this: it replaces functions of libm that ROPE calls, and aborts after ABORT_AFTER calls, within a kernel. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

static void count(void) {
    static atomic_long n_calls;
    const char *       limit = getenv("ABORT_AFTER");
    if (limit && atomic_fetch_add(&n_calls, 1) >= atol(limit)) {
        abort();
    }
}

float cosf(float angle) {
    count();
    return (float) cos((double) angle);
}

/* A compiler may replace the calls for the cosine and the sine of an angle by one call of this. */
void sincosf(float angle, float * sine, float * cosine) {
    count();
    *sine   = (float) sin((double) angle);
    *cosine = (float) cos((double) angle);
}
