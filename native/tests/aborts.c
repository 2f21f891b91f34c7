/* Loaded before libm: after ABORT_AFTER angles of ROPE the process aborts, in the middle of a kernel. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

static void count(void) {
    static atomic_long asked;
    const char *       most = getenv("ABORT_AFTER");
    if (most && atomic_fetch_add(&asked, 1) >= atol(most)) {
        abort();
    }
}

/* A compiler may make one call of the cosine and the sine of an angle. */
float cosf(float angle) {
    count();
    return (float) cos((double) angle);
}

void sincosf(float angle, float * sine, float * cosine) {
    count();
    *sine   = (float) sin((double) angle);
    *cosine = (float) cos((double) angle);
}
