/*
 * allocation_cost: what counting allocations costs, compared with the C library's own functions in the same process.
 *
 *     allocation_cost FOLDER [ROUNDS]   prints medians over the rounds in ns for a block, allocated and freed, as lines
 *                                       of `name value`; nothing is written to FOLDER
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern void * __libc_malloc(size_t size);
extern void   __libc_free(void * block);

enum { MOST = 1001, SMALL = 100000, LARGE = 2000 };

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e9 + (double) now.tv_nsec;
}

static double ns_of(void * (*take)(size_t), void (*give)(void *), size_t size, int n) {
    const double begin = now_ns();
    for (int i = 0; i < n; i++) {
        void * volatile block = take(size + (size_t) (i % 64));
        give(block);
    }
    return (now_ns() - begin) / n;
}

static int by_value(const void * a, const void * b) {
    const double left = *(const double *) a, right = *(const double *) b;
    return (left > right) - (left < right);
}

static void print_median(const char * name, double * values, int n) {
    qsort(values, (size_t) n, sizeof *values, by_value);
    printf("%s %.3f\n", name, values[n / 2]);
}

int main(int argc, char ** argv) {
    static double small[2][MOST], large[2][MOST];
    int           rounds = argc > 2 ? atoi(argv[2]) : 51;
    rounds               = rounds < 1 ? 1 : rounds > MOST ? MOST : rounds;
    free(malloc(LARGE * 100)); /* the first look at a stack takes long */
    for (int i = 0; i < rounds; i++) {
        small[0][i] = ns_of(__libc_malloc, __libc_free, 40, SMALL);
        small[1][i] = ns_of(malloc, free, 40, SMALL);
        large[0][i] = ns_of(__libc_malloc, __libc_free, 100000, LARGE);
        large[1][i] = ns_of(malloc, free, 100000, LARGE);
    }
    print_median("small_plain_ns", small[0], rounds);
    print_median("small_counted_ns", small[1], rounds);
    print_median("large_plain_ns", large[0], rounds);
    print_median("large_counted_ns", large[1], rounds);
    return 0;
}
