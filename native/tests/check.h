/* A small test runner. Each test is a function that returns at its first failed CHECK. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdio.h>

struct check {
    const char * name;
    void (*run)(void);
};

#define TEST(run) { #run, run }

static bool check_failed;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            check_failed = true; \
            return; \
        } \
    } while (0)

static inline int run_checks(const struct check * checks, size_t n) {
    int failed = 0;
    for (size_t i = 0; i < n; i++) {
        check_failed = false;
        checks[i].run();
        if (check_failed) {
            fprintf(stderr, "FAILED %s\n", checks[i].name);
            failed++;
        }
    }
    printf("%d passed, %d failed\n", (int) n - failed, failed);
    return failed > 0;
}

#define RUN_CHECKS(checks) run_checks(checks, sizeof checks / sizeof *checks)

#endif
