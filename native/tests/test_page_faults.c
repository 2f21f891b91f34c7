/* Page faults: a program that knows which pages it touches, and when, and what the trace says of them. */
#include "check.h"
#include "model.h"
#include "refuse.h"
#include "tt_clock.h"
#include "tt_mapped.h"
#include "tt_ring.h"
#include "tt_thread_time.h"
#include "tt_trace.h"
#include "tt_writer.h"

#include "tensor_trace.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { MOST = 1 << 16 };

static uint64_t begin_ns[N_PAGES], end_ns[N_PAGES]; /* of the reading of each page, by the test's own clock */

/* Unchecked: the sanitizer's own memory would fault beside it. */
__attribute__((noinline, no_sanitize_address, no_sanitize_thread)) static void touch(uint8_t * at, bool write) {
    volatile uint8_t * byte = at;
    if (write) {
        *byte = 1;
    } else {
        (void) *byte;
    }
}

static void read_page(const struct model * model, size_t i) {
    begin_ns[i] = tt_now();
    touch(model->map + i * model->page, false);
    end_ns[i] = tt_now();
}

/* What the trace says. */
union record {
    struct tt_fault            fault; /* its kind is that of each */
    struct tt_faults_elsewhere elsewhere;
    struct tt_faults_lost      lost;
    struct tt_fault_part       part;
    struct tt_barrier_wait     wait;
    struct tt_off_cpu          off;
};
struct faults {
    union record at[MOST];
    size_t       n;
};

static void see(const uint8_t * payload, size_t size, void * state) {
    struct faults * seen = state;
    for (size_t at = 0; at + TT_FAULT_BYTES <= size && seen->n < MOST; at += TT_FAULT_BYTES) {
        memcpy(&seen->at[seen->n++], payload + at, TT_FAULT_BYTES);
    }
}

static bool read_faults(const char * in, struct faults * told) {
    bool valid = true;
    told->n    = 0;
    char path[1024];
    for (int i = 0; folder_entry(in, i, path); i++) {
        struct file file = file_read(path);
        if (header_of(&file).kind == TT_SEGMENT_FAULTS) {
            const struct chunks chunks = chunks_of(&file, see, told);
            valid                      = valid && chunks.valid && chunks.n == chunks.n_sealed;
        }
        free(file.data);
    }
    return valid;
}

static size_t count(const struct faults * seen, uint32_t kind) {
    size_t n = 0;
    for (size_t i = 0; i < seen->n; i++) {
        n += seen->at[i].fault.kind == kind;
    }
    return n;
}

static struct tt_trace * open_trace(char folder[512]) {
    char error[256];
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    setenv("TENSOR_TRACE_FAULTS", "1", 1);
    if (trace) {
        tt_faults_start(trace);
    }
    unsetenv("TENSOR_TRACE_FAULTS");
    return trace;
}

static const struct tt_compute_work work = { .compute = 41, .n_nodes = 2 };

/* What most tests have: a model whose pages are on disk alone, and a trace in which this thread records. */
static struct model       model;
static struct faults      seen;
static char               folder[512];
static struct tt_trace *  trace;
static struct tt_writer * writer;

static bool watch_model(void) { return tt_mapped_add(model.map, model.size, false, 0); }

/* `ring_pages`: how large the ring may be; NULL: as large as the kernel allows. */
static bool begin(const char * ring_pages) {
    const bool is_cold = model_make(&model, folder_of_tests()) && watch_model() && evict(&model);
    if (ring_pages) {
        setenv("TENSOR_TRACE_FAULT_PAGES", ring_pages, 1);
    }
    trace  = open_trace(folder);
    writer = tt_writer_acquire(trace);
    unsetenv("TENSOR_TRACE_FAULT_PAGES");
    return is_cold && writer;
}

static void clear(void) {
    tt_mapped_cut(model.map, model.size);
    model_remove(&model);
    folder_remove(folder);
}

/* ---- tests ---- */

static void each_read_is_one_fault_where_and_when_it_was(void) {
    enum { STEP = 64 };
    CHECK(begin(NULL));
    tt_thread_begin(writer, &work, 3, 4);
    for (size_t i = 0; i < N_PAGES; i += STEP) {
        read_page(&model, i);
    }
    tt_thread_end(writer);
    tt_close(trace);
    CHECK(read_faults(folder, &seen) && count(&seen, TT_FAULT_MAJOR) == N_PAGES / STEP);
    CHECK(count(&seen, TT_FAULT_MINOR) == 0 && count(&seen, TT_FAULT_OPEN) == 0 && count(&seen, TT_FAULT_LOST) == 0);
    size_t page = 0, part = 0;
    for (size_t i = 0; i < seen.n; i++) {
        const struct tt_fault * fault = &seen.at[i].fault;
        if (fault->kind == TT_FAULT_PART) {
            part += seen.at[i].part.compute == 41 && seen.at[i].part.thread == 3;
        } else if (fault->kind == TT_FAULT_MAJOR) {
            CHECK(part == 1 && fault->os_thread == (uint32_t) gettid());
            CHECK(fault->address == (uintptr_t) (model.map + page * model.page));
            CHECK(fault->begin_ns >= begin_ns[page] && fault->begin_ns + fault->took_ns <= end_ns[page]);
            CHECK(fault->took_ns > 0);
            page += STEP;
        }
    }
    clear();
}

static void a_page_in_memory_is_a_minor_fault_and_an_evicted_one_a_major(void) {
    CHECK(begin(NULL));
    tt_thread_begin(writer, &work, 0, 1);
    read_page(&model, 100);                                      /* read from storage */
    read_page(&model, 100);                                      /* mapped already: no fault */
    madvise(model.map, model.size, MADV_DONTNEED);
    read_page(&model, 100);                                      /* in memory, and no longer mapped */
    CHECK(evict(&model));
    read_page(&model, 100);                                      /* read again */
    tt_thread_end(writer);
    tt_close(trace);
    CHECK(read_faults(folder, &seen));
    uint32_t kinds[3] = { 0 };
    size_t   n        = 0;
    for (size_t i = 0; i < seen.n; i++) {
        if (seen.at[i].fault.kind == TT_FAULT_MAJOR || seen.at[i].fault.kind == TT_FAULT_MINOR) {
            CHECK(n < 3 && seen.at[i].fault.address == (uintptr_t) (model.map + 100 * model.page));
            kinds[n++] = seen.at[i].fault.kind;
        }
    }
    CHECK(n == 3 && kinds[0] == TT_FAULT_MAJOR && kinds[1] == TT_FAULT_MINOR && kinds[2] == TT_FAULT_MAJOR);
    clear();
}

static void faults_of_other_memory_are_counted_together(void) {
    enum { N = 300 };
    CHECK(begin(NULL));
    uint8_t * memory =
        mmap(NULL, N * model.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED && madvise(memory, N * model.page, MADV_NOHUGEPAGE) == 0);
    tt_thread_begin(writer, &work, 0, 1);
    const uint64_t before = tt_now();
    for (size_t i = 0; i < N; i++) {
        touch(memory + i * model.page, true);
    }
    read_page(&model, 5);
    const uint64_t after = tt_now();
    tt_thread_end(writer);
    tt_close(trace);
    munmap(memory, N * model.page);
    CHECK(read_faults(folder, &seen) && count(&seen, TT_FAULT_MAJOR) == 1 && count(&seen, TT_FAULT_MINOR) == 0);
    uint64_t n      = 0;
    bool     inside = false;
    for (size_t i = 0; i < seen.n; i++) {
        inside = seen.at[i].fault.kind == TT_FAULT_PART ? seen.at[i].part.compute == 41 : inside;
        if (seen.at[i].fault.kind == TT_FAULT_ELSEWHERE && inside) {
            n += seen.at[i].elsewhere.n_faults;
            CHECK(seen.at[i].elsewhere.took_ns <= after - before);
        }
    }
    CHECK(n >= N);
#ifndef __SANITIZE_THREAD__ /* whose own memory faults too */
    CHECK(n <= N + 20); /* and some of the stack */
#endif
    clear();
}

/* A program frees memory, and then maps the model where it was. */
static void a_fault_from_before_the_model_was_mapped_is_none_of_the_model(void) {
    CHECK(begin(NULL));
    CHECK(tt_mapped_cut(model.map, model.size) && munmap(model.map, model.size) == 0);
    void * memory = mmap(model.map, model.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory == model.map);
    touch(memory, true);
    CHECK(munmap(memory, model.size) == 0 && model_map(&model) && model.map == memory && watch_model());
    tt_thread_begin(writer, &work, 0, 1);
    read_page(&model, 7);
    tt_thread_end(writer);
    tt_close(trace);
    CHECK(read_faults(folder, &seen) && count(&seen, TT_FAULT_MAJOR) == 1 && count(&seen, TT_FAULT_MINOR) == 0);
    CHECK(count(&seen, TT_FAULT_ELSEWHERE) > 0);
    clear();
}

/* From now on the kernel cannot wake this thread in the middle of an op; or it can again. */
static void let_wake(bool may) {
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    pthread_sigmask(may ? SIG_UNBLOCK : SIG_BLOCK, &urgent, NULL);
}

/* The kernel has room for 46 faults that sleep, or for 102 that do not, and may not wake the thread; all that were not
   recorded must be counted. */
static void what_the_kernel_has_no_room_for_is_counted(void) {
    struct rusage before, after;
    CHECK(begin("1"));
    let_wake(false);
    tt_thread_begin(writer, &work, 0, 1);
    getrusage(RUSAGE_THREAD, &before);
    for (size_t i = 0; i < N_PAGES; i += 4) {
        read_page(&model, i);
    }
    getrusage(RUSAGE_THREAD, &after);
    tt_thread_end(writer);
    tt_close(trace);
    let_wake(true);
    CHECK(read_faults(folder, &seen));
    uint64_t lost = 0, elsewhere = 0;
    for (size_t i = 0; i < seen.n; i++) {
        lost += seen.at[i].fault.kind == TT_FAULT_LOST ? seen.at[i].lost.n_events : 0;
        elsewhere += seen.at[i].fault.kind == TT_FAULT_ELSEWHERE ? seen.at[i].elsewhere.n_faults : 0;
    }
    const uint64_t recorded = count(&seen, TT_FAULT_MAJOR) + count(&seen, TT_FAULT_MINOR) + elsewhere;
    const uint64_t happened = (uint64_t) (after.ru_majflt - before.ru_majflt + after.ru_minflt - before.ru_minflt);
#ifndef __SANITIZE_THREAD__ /* whose own memory faults beside each access: the ring holds little else */
    CHECK(recorded < 160 && count(&seen, TT_FAULT_MAJOR) > 30);
#endif
    CHECK(happened >= N_PAGES / 4 && lost > 0);
    CHECK(2 * recorded + lost >= 2 * happened && 2 * recorded + lost <= 2 * happened + 200); /* two events a fault */
    clear();
}

/* A whole compute does not fit into the ring: it is emptied after ops. */
static void a_ring_that_is_half_full_is_emptied_after_an_op(void) {
    static const struct tt_compute_work many = { .compute = 1, .n_nodes = 256 };
    CHECK(begin("1"));
    let_wake(false);
    tt_thread_begin(writer, &many, 0, 1);
    for (int node = 0; node < 256; node++) {
        tensor_trace_op_begin(writer, node);
        for (size_t i = 0; i < 16; i++) {
            read_page(&model, (size_t) node * 16 + i);
        }
        tensor_trace_op_end(writer, node);
    }
    tt_thread_end(writer);
    tt_close(trace);
    let_wake(true);
    CHECK(read_faults(folder, &seen) && count(&seen, TT_FAULT_LOST) == 0);
    CHECK(count(&seen, TT_FAULT_MAJOR) + count(&seen, TT_FAULT_MINOR) == N_PAGES);
    clear();
}

struct other {
    const struct model * model;
    struct tt_trace *    trace;
    size_t               first;
    uint32_t             os_thread;
};

static void * read_beside(void * state) {
    struct other *     other = state;
    struct tt_writer * mine  = tt_writer_acquire(other->trace);
    other->os_thread         = (uint32_t) gettid();
    tt_thread_begin(mine, &work, (int) other->first, 2);
    for (size_t i = other->first; i < N_PAGES; i += 2) {
        touch(other->model->map + i * other->model->page, false);
#ifdef __SANITIZE_THREAD__ /* it holds signals back until the next call of libc */
        (void) tt_now();
#endif
    }
    tt_thread_end(mine);
    tt_writer_release(mine);
    return NULL;
}

static void faults_belong_to_the_thread_that_had_them(void) {
    pthread_t threads[2];
    CHECK(begin(NULL));
    struct other others[2] = { { &model, trace, 0, 0 }, { &model, trace, 1, 0 } };
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, read_beside, &others[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    tt_close(trace);
    CHECK(read_faults(folder, &seen) && count(&seen, TT_FAULT_LOST) == 0);
    CHECK(count(&seen, TT_FAULT_MAJOR) + count(&seen, TT_FAULT_MINOR) == N_PAGES);
    for (size_t i = 0; i < seen.n; i++) {
        if (seen.at[i].fault.kind == TT_FAULT_MAJOR || seen.at[i].fault.kind == TT_FAULT_MINOR) {
            const size_t page = (seen.at[i].fault.address - (uintptr_t) model.map) / model.page;
            CHECK(seen.at[i].fault.os_thread == others[page % 2].os_thread);
        }
    }
    clear();
}

static void find_refusal(const uint8_t * payload, size_t size, void * state) {
    *(bool *) state |= memmem(payload, size, "faults.refused", 14) != NULL;
}

static void without_the_right_the_trace_says_so_and_goes_on(void) {
    static const int answers[] = { EPERM, EACCES, ENOSYS, EINVAL };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const pid_t child = fork();
        if (child == 0) {
            bool       told    = false;
            const bool refused = refuse_call(SYS_perf_event_open, answers[i]);
            trace              = open_trace(folder);
            writer             = tt_writer_acquire(trace);
            tt_thread_begin(writer, &work, 0, 1);
            tt_thread_end(writer);
            tt_close(trace);
            struct file         file   = file_of(folder, 0);
            const struct chunks chunks = chunks_of(&file, find_refusal, &told);
            char                path[1024];
            const bool          third = folder_entry(folder, 2, path); /* main, one thread, and nothing else */
            free(file.data);
            folder_remove(folder);
            _exit(refused && told && chunks.valid && !third ? 0 : 1);
        }
        int status = 0;
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* Two ops: the first waits twice, longer the second time; the second does not wait. */
static void waits_inside_an_op_are_written_with_its_node(void) {
    enum { PAUSE_NS = 2000000 };
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    CHECK(begin(NULL));
    tt_thread_begin(writer, &work, 3, 4);
    tensor_trace_op_begin(writer, 1);
    const uint64_t begin = tt_ticks();
    tensor_trace_barrier_begin(writer);
    tensor_trace_barrier_end(writer);
    read_page(&model, 9);
    tensor_trace_barrier_begin(writer);
    nanosleep(&pause, NULL);
    tensor_trace_barrier_end(writer);
    const uint64_t end = tt_ticks();
    tensor_trace_op_end(writer, 1);
    tensor_trace_barrier_begin(writer); /* after the op: no wait inside it */
    tensor_trace_barrier_end(writer);
    tensor_trace_op_begin(writer, 0);
    tensor_trace_op_end(writer, 0);
    tt_thread_end(writer);
    tt_close(trace);
    CHECK(read_faults(folder, &seen) && count(&seen, TT_FAULT_BARRIER) == 2 && count(&seen, TT_FAULT_MAJOR) == 1);
    const struct tt_barrier_wait * waits[2] = { 0 };
    size_t                         n        = 0;
    bool                           inside   = false;
    for (size_t i = 0; i < seen.n; i++) {
        inside = seen.at[i].fault.kind == TT_FAULT_PART ? seen.at[i].part.compute == 41 && seen.at[i].part.thread == 3
                                                        : inside;
        CHECK(inside || seen.at[i].fault.kind == TT_FAULT_PART || seen.at[i].fault.kind == TT_FAULT_ELSEWHERE);
        if (seen.at[i].fault.kind == TT_FAULT_BARRIER && n < 2) {
            waits[n++] = &seen.at[i].wait;
        }
    }
    CHECK(n == 2 && waits[0]->node == 1 && waits[1]->node == 1);
    CHECK(begin <= waits[0]->begin && waits[0]->begin + waits[0]->took <= waits[1]->begin);
    CHECK(waits[1]->begin + waits[1]->took <= end && waits[1]->took >= PAUSE_NS);
    clear();
}

/* ---- time without a processor ---- */

static bool sees_switches(void) {
    struct tt_ring ring;
    const bool     sees = tt_ring_open(&ring) == 0 && ring.has_switches;
    tt_ring_close(&ring);
    if (!sees) {
        printf("this kernel does not tell when a thread could have run on (Linux 4.17 does)\n");
    }
    return sees;
}

/* The thread that calls shares the first of its processors with another one that computes. */
static atomic_bool is_busy;
static cpu_set_t   processors;

static void * be_busy(void * nothing) {
    while (atomic_load(&is_busy)) {
    }
    return nothing;
}

static bool share_a_processor(pthread_t * other) {
    cpu_set_t one;
    size_t    first = 0;
    if (sched_getaffinity(0, sizeof processors, &processors) != 0) {
        return false;
    }
    while (!CPU_ISSET(first, &processors)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    atomic_store(&is_busy, true);
    return sched_setaffinity(0, sizeof one, &one) == 0 && pthread_create(other, NULL, be_busy, NULL) == 0;
}

static bool share_no_more(pthread_t other) {
    atomic_store(&is_busy, false);
    return pthread_join(other, NULL) == 0 && sched_setaffinity(0, sizeof processors, &processors) == 0;
}

static void spin(uint64_t ns) {
    for (const uint64_t until = tt_now() + ns; tt_now() < until;) {
    }
}

static void time_without_a_processor_is_what_the_kernel_counts_and_no_sleep_is(void) {
    enum { MS = 1000000, SPUN = 400 * MS, OUTSIDE = 40 * MS, SLACK = 4 * MS };
    const struct timespec pause = { .tv_nsec = 30 * MS };
    pthread_t             other;
    if (!sees_switches()) {
        return;
    }
    trace  = open_trace(folder);
    writer = tt_writer_acquire(trace);
    CHECK(writer && share_a_processor(&other));
    const uint32_t self = (uint32_t) gettid();
    const int      file = tt_thread_time_open(self);
    spin(OUTSIDE); /* in no compute: not written */
    const uint64_t begin = tt_now();
    tt_thread_begin(writer, &work, 3, 4);
    const uint64_t before = tt_thread_time(self, file).delay_ns;
    spin(SPUN);
    const uint64_t waited = tt_thread_time(self, file).delay_ns - before, spun = tt_now();
    nanosleep(&pause, NULL);
    const uint64_t woken = tt_now();
    tt_thread_end(writer);
    const bool shared = share_no_more(other);
    close(file);
    tt_close(trace);
    CHECK(shared && before != TT_UNKNOWN && read_faults(folder, &seen) && count(&seen, TT_FAULT_LOST) == 0);
    uint64_t sum = 0, slept = 0, ended = 0;
    bool     inside = false;
    for (size_t i = 0; i < seen.n; i++) {
        const struct tt_off_cpu * off = &seen.at[i].off;
        if (off->kind == TT_FAULT_PART) {
            inside = seen.at[i].part.compute == 41 && seen.at[i].part.thread == 3;
        } else if (off->kind == TT_FAULT_OFF_CPU) {
            const uint64_t end = off->begin_ns + off->took_ns;
            CHECK(inside && off->os_thread == self && off->slept <= 1);
            CHECK(off->begin_ns >= ended && end >= begin && end <= woken);
            CHECK(!(off->begin_ns < spun + 15 * MS && end > spun + 15 * MS) || off->slept); /* when it slept */
            sum += off->begin_ns < spun && !off->slept ? off->took_ns : 0;
            slept += off->slept ? off->took_ns : 0;
            ended = end;
        }
    }
    CHECK(slept >= 30 * MS && slept <= woken - spun);
    CHECK(waited > SPUN / 10); /* it had half of the processor, or less */
    CHECK(sum + SLACK >= waited - waited / 10 && sum <= waited + waited / 10 + SLACK);
    folder_remove(folder);
}

/* More sleeps than the ring holds, in an op with few page faults, if any. */
static void switches_without_room_are_no_lost_page_faults(void) {
    enum { SLEEPS = 1000 };
    const struct timespec pause = { .tv_nsec = 1000 };
    setenv("TENSOR_TRACE_FAULT_PAGES", "1", 1);
    trace  = open_trace(folder);
    writer = tt_writer_acquire(trace);
    unsetenv("TENSOR_TRACE_FAULT_PAGES");
    CHECK(writer);
    for (int node = 0; node < 2; node++) {
        tt_thread_begin(writer, &work, 0, 1);
        tensor_trace_op_begin(writer, node);
        for (int i = 0; i < SLEEPS; i++) {
            nanosleep(&pause, NULL);
        }
        tensor_trace_op_end(writer, node);
        tt_thread_end(writer);
    }
    tt_close(trace);
    CHECK(read_faults(folder, &seen));
    for (size_t i = 0; i < seen.n; i++) { /* a page fault of the sanitizer's memory may be lost too */
        CHECK(seen.at[i].fault.kind != TT_FAULT_LOST || seen.at[i].lost.n_events < SLEEPS / 10);
    }
    folder_remove(folder);
}

/* ---- more faults in one op than the ring has room for ---- */

struct large { /* memory that stands for a model, each page of which faults once: the kernel's page of zeros */
    struct tt_trace * trace;
    uint8_t *         memory;
    size_t            n, page;
    uint32_t          os_thread;
    bool              blocks_signals, well;
};

static bool large_map(struct large * large) {
    large->page   = (size_t) sysconf(_SC_PAGESIZE);
    large->memory = mmap(NULL, large->n * large->page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return large->memory != MAP_FAILED && madvise(large->memory, large->n * large->page, MADV_NOHUGEPAGE) == 0
        && tt_mapped_add(large->memory, large->n * large->page, false, 0);
}

static void large_unmap(struct large * large) {
    tt_mapped_cut(large->memory, large->n * large->page);
    munmap(large->memory, large->n * large->page);
}

static void * one_op(void * state) {
    struct large * large = state;
    sigset_t       all;
    sigfillset(&all);
    if (large->blocks_signals) {
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    }
    struct tt_writer * mine = tt_writer_acquire(large->trace);
    large->os_thread        = (uint32_t) gettid();
    large->well             = mine;
    if (!mine) {
        return NULL;
    }
    tt_thread_begin(mine, &work, 0, 1);
    tensor_trace_op_begin(mine, 0);
    errno = EXDEV; /* nobody else says that */
    for (size_t i = 0; i < large->n; i++) {
        touch(large->memory + i * large->page, false);
#ifdef __SANITIZE_THREAD__ /* it holds signals back until the next call of libc */
        (void) tt_now();
#endif
    }
    large->well = errno == EXDEV;
    tensor_trace_op_end(mine, 0);
    tt_thread_end(mine);
    tt_writer_release(mine);
    return NULL;
}

struct pages { /* whether each page of the memory is told of once, in order, by its thread */
    const struct large * large;
    size_t               next, n_wrong, n_lost;
    uint64_t             ended_ns;
};

static void see_pages(const uint8_t * payload, size_t size, void * state) {
    struct pages * pages = state;
    for (size_t at = 0; at + TT_FAULT_BYTES <= size; at += TT_FAULT_BYTES) {
        struct tt_fault fault;
        memcpy(&fault, payload + at, sizeof fault);
        if (fault.kind == TT_FAULT_LOST || fault.kind == TT_FAULT_UNSEEN) {
            pages->n_lost++;
        } else if (fault.kind <= TT_FAULT_OPEN) {
            const struct large * large = pages->large;
            const uintptr_t      next  = (uintptr_t) (large->memory + pages->next * large->page);
            pages->n_wrong += fault.kind != TT_FAULT_MINOR || fault.address != next
                || fault.os_thread != large->os_thread || fault.begin_ns < pages->ended_ns;
            pages->ended_ns = fault.begin_ns + fault.took_ns;
            pages->next++;
        }
    }
}

static bool all_is_told(const char * in, const struct large * larges, int n) {
    bool well = true;
    char path[1024];
    int  n_told = 0;
    for (int i = 0; folder_entry(in, i, path); i++) {
        struct file                 file   = file_read(path);
        const struct tt_file_header header = header_of(&file);
        for (int j = 0; header.kind == TT_SEGMENT_FAULTS && j < n; j++) {
            if (header.os_thread == larges[j].os_thread) {
                struct pages        pages  = { .large = &larges[j] };
                const struct chunks chunks = chunks_of(&file, see_pages, &pages);
                well                       = well && chunks.valid && chunks.n == chunks.n_sealed && larges[j].well
                    && pages.next == larges[j].n && pages.n_wrong == 0 && pages.n_lost == 0;
                n_told++;
            }
        }
        free(file.data);
    }
    return well && n_told == n;
}

enum { N_LARGE = 4, FAULTS_OF_EACH = 200000 };

static bool run_large(struct large larges[N_LARGE]) {
    pthread_t threads[N_LARGE];
    for (int i = 0; i < N_LARGE; i++) {
        larges[i] = (struct large) { .trace = trace, .n = FAULTS_OF_EACH, .blocks_signals = i == 0 };
        if (!large_map(&larges[i]) || pthread_create(&threads[i], NULL, one_op, &larges[i]) != 0) {
            return false;
        }
    }
    for (int i = 0; i < N_LARGE; i++) {
        if (pthread_join(threads[i], NULL) != 0) {
            return false;
        }
        large_unmap(&larges[i]);
    }
    return true;
}

static void one_op_of_200000_faults_on_each_of_four_threads_loses_none(void) {
    struct large larges[N_LARGE];
    trace = open_trace(folder);
    CHECK(run_large(larges));
    tt_close(trace);
    CHECK(all_is_told(folder, larges, N_LARGE));
    folder_remove(folder);
}

/* Less memory than a user has anywhere for rings, and no other right. */
static void nor_does_it_where_the_user_has_no_rights(void) {
    enum { NOBODY = 65534, REFUSED = 77 };
    const struct rlimit none = { 0, 0 };
    char                error[256];
    int                 ends[2];
    struct large        larges[N_LARGE];
    if (geteuid() != 0) {
        printf("as another user than root, all of these tests are without rights\n");
        return;
    }
    folder_make(folder);
    CHECK(chown(folder, NOBODY, NOBODY) == 0 && pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        if (chdir(folder) != 0 || setrlimit(RLIMIT_MEMLOCK, &none) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0
            || setresuid(NOBODY, NOBODY, NOBODY) != 0) {
            _exit(2);
        }
        trace = tt_open(".", UINT64_MAX, error);
        setenv("TENSOR_TRACE_FAULTS", "1", 1);
        tt_faults_start(trace);
        if (!trace->faults) {
            _exit(REFUSED);
        }
        const bool ran = run_large(larges);
        tt_close(trace);
        _exit(ran && write(ends[1], larges, sizeof larges) == (ssize_t) sizeof larges ? 0 : 1);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == REFUSED) {
        printf("a user without rights may not record page faults here (kernel.perf_event_paranoid)\n");
    } else {
        CHECK(WEXITSTATUS(status) == 0 && read(ends[0], larges, sizeof larges) == (ssize_t) sizeof larges);
        CHECK(all_is_told(folder, larges, N_LARGE));
    }
    close(ends[0]);
    close(ends[1]);
    folder_remove(folder);
}

/* A program's own handler of the same signal hears its own, and none of ours; afterwards all is as it was. */
static volatile sig_atomic_t n_heard;

static void hear(int number) { n_heard += number == SIGURG; }

static void a_program_keeps_its_handler_and_the_smallest_ring_is_enough(void) {
    const struct sigaction own = { .sa_handler = hear };
    struct sigaction       after;
    struct large           large = { .n = 20000 };
    CHECK(sigaction(SIGURG, &own, NULL) == 0 && large_map(&large));
    n_heard = 0;
    setenv("TENSOR_TRACE_FAULT_PAGES", "1", 1);
    large.trace = open_trace(folder);
    raise(SIGURG);
    (void) one_op(&large);
    unsetenv("TENSOR_TRACE_FAULT_PAGES");
    CHECK(n_heard == 1);
    tt_close(large.trace);
    CHECK(sigaction(SIGURG, NULL, &after) == 0 && after.sa_handler == hear);
    CHECK(all_is_told(folder, &large, 1));
    signal(SIGURG, SIG_DFL);
    large_unmap(&large);
    folder_remove(folder);
}

/* The child has no ring: neither its page faults nor a signal of its own may reach for it. */
static void a_forked_child_has_none_of_it(void) {
    struct large large = { .n = 20000 }, other = { .n = 20000 };
    int          status = 1;
    CHECK(large_map(&large) && large_map(&other));
    trace  = open_trace(folder);
    writer = tt_writer_acquire(trace);
    tt_thread_begin(writer, &work, 0, 1);
    tensor_trace_op_begin(writer, 0);
    for (size_t i = 0; i < large.n; i++) {
        touch(large.memory + i * large.page, false);
        if (i == large.n / 2) {
            const pid_t child = fork();
            for (size_t j = 0; child == 0 && j < other.n; j++) {
                touch(other.memory + j * other.page, false);
            }
            if (child == 0) {
                raise(SIGURG);
                _exit(0);
            }
            CHECK(child > 0 && waitpid(child, &status, 0) == child);
        }
#ifdef __SANITIZE_THREAD__
        (void) tt_now();
#endif
    }
    tensor_trace_op_end(writer, 0);
    tt_thread_end(writer);
    large.os_thread = (uint32_t) gettid();
    large.well      = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    tt_close(trace);
    CHECK(all_is_told(folder, &large, 1));
    large_unmap(&large);
    large_unmap(&other);
    folder_remove(folder);
}

static bool is_allowed(void) {
    trace              = open_trace(folder);
    const bool allowed = trace && trace->faults;
    tt_close(trace);
    folder_remove(folder);
    return allowed;
}

int main(void) {
    static const struct check checks[] = {
        TEST(without_the_right_the_trace_says_so_and_goes_on),
        TEST(each_read_is_one_fault_where_and_when_it_was),
        TEST(a_page_in_memory_is_a_minor_fault_and_an_evicted_one_a_major),
        TEST(faults_of_other_memory_are_counted_together),
        TEST(a_fault_from_before_the_model_was_mapped_is_none_of_the_model),
        TEST(what_the_kernel_has_no_room_for_is_counted),
        TEST(a_ring_that_is_half_full_is_emptied_after_an_op),
        TEST(one_op_of_200000_faults_on_each_of_four_threads_loses_none),
        TEST(nor_does_it_where_the_user_has_no_rights),
        TEST(a_program_keeps_its_handler_and_the_smallest_ring_is_enough),
        TEST(a_forked_child_has_none_of_it),
        TEST(waits_inside_an_op_are_written_with_its_node),
        TEST(faults_belong_to_the_thread_that_had_them),
        TEST(time_without_a_processor_is_what_the_kernel_counts_and_no_sleep_is),
        TEST(switches_without_room_are_no_lost_page_faults),
    };
    if (!is_allowed()) {
        printf(
            "page faults cannot be recorded here (kernel.perf_event_paranoid above 2, or a filter of system calls)\n");
        return run_checks(checks, can_refuse_calls() ? 1 : 0);
    }
    return RUN_CHECKS(checks);
}
