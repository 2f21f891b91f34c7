/* What is allocated: counted by hand, and by the C library's own mallinfo2. This program's malloc is that of the library;
   sanitizers, which have one of their own, are left out. */
#include "check.h"
#include "tt_allocations.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, MOST = 64, THREADS = 4, EACH = 1000 };

size_t tensor_trace_allocation_counts(struct allocation_class  classes[ALLOCATION_CLASSES],
                                      struct allocation_site * sites, size_t most, uint64_t * lost);

static struct allocation_class classes[ALLOCATION_CLASSES];
static struct allocation_site  sites[MOST];
static size_t                  n_sites;
static uint64_t                n_lost;

static void look(void) { n_sites = tensor_trace_allocation_counts(classes, sites, MOST, &n_lost); }

static uint64_t live_bytes(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < ALLOCATION_CLASSES; i++) {
        sum += classes[i].live_bytes;
    }
    return sum;
}

static uint64_t blocks(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < ALLOCATION_CLASSES; i++) {
        sum += classes[i].n_live;
    }
    return sum;
}

static void blocks_are_counted_by_size(void) {
    void * held[300];
    look();
    const uint64_t small = classes[5].n_live, large = classes[17].n_live, bytes = classes[17].live_bytes;
    for (int i = 0; i < 300; i++) {
        held[i] = malloc(i % 3 ? 40 : 200000); /* 40 bytes: class 5; 200,000: class 17 */
        CHECK(held[i]);
    }
    look();
    CHECK(classes[5].n_live == small + 200 && classes[17].n_live == large + 100);
    CHECK(classes[17].live_bytes >= bytes + 100 * 200000 && classes[17].live_bytes < bytes + 100 * 204800);
    for (int i = 0; i < 300; i++) {
        free(held[i]);
    }
    look();
    CHECK(classes[5].n_live == small && classes[17].n_live == large && classes[17].live_bytes == bytes);
}

/* mallinfo2 counts what malloc keeps beside each block, 8 bytes here, and blocks that it maps by pages. */
static void the_sum_is_that_of_the_c_library(void) {
    void * held[1000];
    look();
    const struct mallinfo2 before = mallinfo2();
    const uint64_t         bytes = live_bytes(), n = blocks();
    for (size_t i = 0; i < 1000; i++) {
        held[i] = i % 10 ? malloc(17 * i + 1) : calloc(3, 50 * i + 1);
    }
    look();
    const struct mallinfo2 after  = mallinfo2();
    const uint64_t         own    = live_bytes() - bytes + 8 * (blocks() - n);
    const uint64_t         theirs = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
    CHECK(blocks() == n + 1000);
    CHECK(own + 100 * 16 >= theirs && own <= theirs + 100 * 16); /* mapped ones keep 16 bytes each */
    for (size_t i = 0; i < 1000; i++) {
        free(held[i]);
    }
    look();
    CHECK(live_bytes() == bytes && blocks() == n);
}

static void every_way_to_allocate_is_seen(void) {
    look();
    const uint64_t bytes = live_bytes(), n = blocks();
    void *         block = NULL;
    CHECK(posix_memalign(&block, 24, 100) == EINVAL && posix_memalign(&block, 4096, 2 * MIB) == 0);
    void * aligned = aligned_alloc(64, 640);
    void * memory  = memalign(256, 1000);
    void * grown   = realloc(NULL, 10);
    for (size_t size = 20; size < 4 * MIB; size *= 2) {
        grown = realloc(grown, size);
        CHECK(grown);
    }
    look();
    CHECK(blocks() == n + 4 && (uintptr_t) block % 4096 == 0 && (uintptr_t) aligned % 64 == 0);
    CHECK(live_bytes() >= bytes + 4 * MIB);
    CHECK(realloc(grown, (size_t) -1 / 2) == NULL); /* refused: the old one stays */
    look();
    CHECK(blocks() == n + 4);
    free(realloc(grown, 16));
    free(block);
    free(aligned);
    free(memory);
    free(NULL);
    look();
    CHECK(blocks() == n && live_bytes() == bytes);
}

__attribute__((noinline)) static void * one_place(size_t size) {
    void * block = malloc(size);
    memset(block, 1, 1);
    return block;
}
__attribute__((noinline)) static void * another_place(size_t size) {
    void * block = calloc(1, size);
    memset(block, 1, 1);
    return block;
}

static const struct allocation_site * site_with(uint64_t n_live, uint64_t n_all) {
    for (size_t i = 0; i < n_sites; i++) {
        if (sites[i].n_live == n_live && sites[i].n_all == n_all) {
            return &sites[i];
        }
    }
    return NULL;
}

static void large_blocks_belong_to_the_calls_that_asked(void) {
    void *             held[9];
    volatile const int first = 7; /* else the loop may be written out, and each call have a place of its own */
    for (int i = 0; i < first; i++) {
        held[i] = one_place(100000);
    }
    for (int i = first; i < first + 2; i++) {
        held[i] = another_place(3 * MIB);
    }
    look();
    const struct allocation_site *one = site_with(7, 7), *other = site_with(2, 2);
    CHECK(one && other && n_lost == 0);
    if (one && other) {
        CHECK(one->live_bytes >= 700000 && other->live_bytes >= 6 * MIB && other < one); /* most bytes first */
        const uintptr_t at = (uintptr_t) one->frames[0], begin = (uintptr_t) one_place;
        CHECK(at > begin && at < begin + 200); /* the first frame is in the function that called malloc */
        CHECK(one->frames[0] != other->frames[0]);
    }
    for (int i = 0; i < 9; i++) {
        free(held[i]);
    }
    look();
    CHECK(site_with(0, 7) && site_with(0, 2));
    CHECK(tensor_trace_allocation_counts(classes, sites, 1, &n_lost) == 1);
}

static void * of_thread(void * held) {
    void ** own = held;
    for (int i = 0; i < EACH; i++) {
        own[i] = malloc((size_t) (i % 50 ? i : 70000));
    }
    return NULL;
}

static void a_block_may_be_freed_by_another_thread(void) {
    static void * held[THREADS][EACH];
    pthread_t     threads[THREADS];
    look();
    const uint64_t before = blocks();
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, of_thread, held[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    look();
    CHECK(blocks() >= before + THREADS * EACH && blocks() < before + THREADS * EACH + 32); /* and the threads' own */
    for (int i = 0; i < THREADS; i++) {
        for (int j = 0; j < EACH; j++) {
            free(held[i][j]);
        }
    }
    look();
    CHECK(blocks() < before + 32 && site_with(0, THREADS * EACH / 50));
}

static atomic_bool ending;
static void *      allocates(void * nothing) {
    while (!atomic_load(&ending)) {
        free(malloc(MIB)); /* the lock is taken most of the time */
    }
    return nothing;
}

static void a_forked_child_can_allocate(void) {
    pthread_t thread;
    atomic_store(&ending, false);
    CHECK(pthread_create(&thread, NULL, allocates, NULL) == 0);
    for (int i = 0; i < 50; i++) {
        int         status = 1;
        const pid_t child  = fork();
        if (child == 0) {
            alarm(20);
            free(malloc(MIB));
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    atomic_store(&ending, true);
    pthread_join(thread, NULL);
}

int main(void) {
    free(malloc(MIB)); /* what the first look at a stack allocates is never freed */
    const struct check checks[] = {
        TEST(blocks_are_counted_by_size),
        TEST(the_sum_is_that_of_the_c_library),
        TEST(every_way_to_allocate_is_seen),
        TEST(large_blocks_belong_to_the_calls_that_asked),
        TEST(a_block_may_be_freed_by_another_thread),
        TEST(a_forked_child_can_allocate),
    };
    return RUN_CHECKS(checks);
}
