/*
 * fault_cost: measures what recording a page fault costs, compared with the same faults of a thread that is not watched.
 *
 *     fault_cost FOLDER [ROUNDS]      prints lower quartiles of the rounds in ns per fault, as lines of `name value`
 *
 * The faults are minor: the file is in memory, and each touch maps a stretch of it anew. Two threads take turns on one
 * processor. The time of the watched one includes emptying the kernel's ring into a segment in FOLDER. Other programs
 * only make rounds longer; so the quickest quarter of them tells more than all.
 */
#include "tt_clock.h"
#include "tt_mapped.h"
#include "tt_trace.h"
#include "tt_writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STRETCH = 64 << 10, N = 2048, MOST = 1000 }; /* the kernel maps up to 64 KiB around a fault */

static struct tt_trace * trace;
static uint8_t *         map;
static double            plain_ns[MOST], watched_ns[MOST];
static int               rounds;
static pthread_barrier_t turn;

static double touch_all(struct tt_writer * writer) {
    static const struct tt_compute_work work = { .n_nodes = 1 };
    madvise(map, (size_t) N * STRETCH, MADV_DONTNEED);
    const uint64_t begin = tt_now();
    if (writer) {
        tt_thread_begin(writer, &work, 0, 1);
    }
    for (size_t i = 0; i < N; i++) {
        (void) *(volatile uint8_t *) (map + i * STRETCH);
    }
    if (writer) {
        tt_thread_end(writer);
    }
    return (double) (tt_now() - begin) / N;
}

static void * watched(void * nothing) {
    struct tt_writer * writer = tt_writer_acquire(trace);
    for (int i = 0; i < rounds; i++) {
        pthread_barrier_wait(&turn);
        watched_ns[i] = writer ? touch_all(writer) : 0;
        pthread_barrier_wait(&turn);
    }
    return nothing;
}

static int ascending(const void * a, const void * b) {
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double quartile(double * values) {
    qsort(values, (size_t) rounds, sizeof *values, ascending);
    return values[rounds / 4];
}

static bool map_file(const char * folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/touched", folder);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    char      bytes[STRETCH];
    memset(bytes, 1, sizeof bytes);
    for (size_t i = 0; fd >= 0 && i < N; i++) {
        if (write(fd, bytes, sizeof bytes) != (ssize_t) sizeof bytes) {
            return false;
        }
    }
    map = fd < 0 ? MAP_FAILED : mmap(NULL, (size_t) N * STRETCH, PROT_READ, MAP_SHARED, fd, 0);
    return map != MAP_FAILED && tt_mapped_add(map, (size_t) N * STRETCH, false, 0);
}

int main(int argc, char ** argv) {
    char      error[256] = "usage: fault_cost FOLDER [ROUNDS]";
    const int wanted     = argc > 2 ? atoi(argv[2]) : 25;
    pthread_t thread;
    cpu_set_t one;

    rounds = wanted < 1 ? 1 : wanted > MOST ? MOST : wanted;
    setenv("TENSOR_TRACE_FAULTS", "1", 1);
    trace = argc > 1 ? tt_open(argv[1], UINT64_MAX, error) : NULL;
    if (!trace || !map_file(argv[1])) {
        fprintf(stderr, "fault_cost: %s\n", error);
        return 2;
    }
    tt_faults_start(trace);
    if (!trace->faults) {
        fprintf(stderr, "fault_cost: the kernel refuses to record page faults\n");
        return 3;
    }
    CPU_ZERO(&one);
    CPU_SET((size_t) sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&thread, NULL, watched, NULL);
    for (int i = 0; i < rounds; i++) {
        plain_ns[i] = touch_all(NULL);
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
    }
    pthread_join(thread, NULL);
    printf("rounds %d\nfaults_per_round %d\n", rounds, N);
    printf("plain_ns %.1f\nwatched_ns %.1f\n", quartile(plain_ns), quartile(watched_ns));
    tt_close(trace);
    return 0;
}
