/* Kernels of a CUDA device, with a CUPTI that is made up: to which split each belongs, what is lost, what is refused. */
#include "check.h"
#include "cupti_stand_in.h"
#include "folder.h"
#include "found.h"
#include "ggml_process.h"
#include "ggml_splits.h"
#include "ggml_waits.h"
#include "kernels.h"
#include "tt_record.h"
#include "tt_trace.h"

#include "tensor_trace.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <time.h>

/* ---- the split that is evaluated, and the trace ---- */

struct tt_trace * tt_process;
__thread uint64_t tt_hook_ticks;
bool              tensor_trace_on = true;
static bool       in_split        = true;
static uint32_t   now_in = 2, now_pass = 7;
bool              tt_split_now(uint32_t * pass, uint32_t * split) {
    *pass  = now_pass;
    *split = now_in;
    return in_split;
}
void (*tt_read_stamps)(uint32_t pass, uint32_t split);
void (*tt_at_end)(void);

/* ---- the library ---- */

static void (*launch)(uint32_t correlation, const char * kernel, uint64_t begin_ns, uint64_t end_ns);
static void (*refuse)(const char * function);
static void (*drop)(unsigned n);

static void open_stand_in(void) {
    char          path[1024];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    CHECK(n > 0);
    path[n > 0 ? n : 0] = '\0';
    strcpy(strrchr(path, '/'), "/cupti_stand_in.so");
    setenv("TENSOR_TRACE_CUPTI", path, 1);
    void * library = dlopen(path, RTLD_NOW);
    CHECK(library);
    launch = (void (*)(uint32_t, const char *, uint64_t, uint64_t)) dlsym(library, "stand_in_launch");
    refuse = (void (*)(const char *)) dlsym(library, "stand_in_refuse");
    drop   = (void (*)(unsigned)) dlsym(library, "stand_in_drop");
}

/* ---- what was written ---- */

/* Runs in a process of its own, as recording begins once. */
static struct found found_after(void (*run)(void)) {
    char         folder[512], error[256];
    struct found found  = { 0 };
    int          status = 1;
    folder_make(folder);
    const pid_t child = fork();
    if (child == 0) {
        tt_process = tt_open(folder, UINT64_MAX, error);
        if (tt_process) {
            run();
            tt_close(tt_process);
        }
        _exit(tt_process ? 0 : 1);
    }
    const bool  ended = waitpid(child, &status, 0) == child && status == 0;
    struct file main  = file_of(folder, 0);
    if (ended) { /* else nothing is found */
        chunks_of(&main, take_records, &found);
    }
    free(main.data);
    folder_remove(folder);
    return found;
}

/* ---- tests ---- */

static void two_splits_and_a_load(void) {
    in_split = false;
    cuda_kernels_start();
    launch(3, "load", 100, 200);
    in_split = true;
    launch(10, "_Z3mulv", 1000, 2000);
    launch(12, "_Z3addv", 2000, 2500);
    now_in = 4;
    launch(15, "_Z3mulv", 2500, 4000);
    in_split = false;
    launch(16, "outside", 5000, 6000);
    tt_read_stamps(7, 4); /* it was fetched just now: not again */
    tt_at_end();
    tt_at_end(); /* there is nothing more */
}

static void a_kernel_belongs_to_the_split_that_launched_it(void) {
    const struct found found = found_after(two_splits_and_a_load);
    CHECK(found.n_ops == 3);
    CHECK(found.ops[0].split == 2 && found.ops[1].split == 2 && found.ops[2].split == 4 && found.ops[2].pass == 7);
    CHECK(found.ops[0].begin_ns == 1000 && found.ops[0].end_ns == 2000 && found.ops[2].end_ns == 4000);
    CHECK(found.ops[0].order < found.ops[1].order && found.ops[1].order < found.ops[2].order && !found.ops[0].exact);
    CHECK(strstr(found.strings, "kernel _Z3mulv|") && !strstr(found.strings, "load|")
          && !strstr(found.strings, "outside"));
}

/* A graph's kernels all have the number of the call that launched the graph, and come after later calls. */
static void a_graph_of_an_earlier_pass(void) {
    cuda_kernels_start();
    launch(20, "a", 10, 20);
    launch(20, "b", 20, 30);
    now_pass = 8;
    launch(21, "c", 30, 40);
    tt_at_end();
}

static void kernels_of_a_graph_are_those_of_its_launch(void) {
    const struct found found = found_after(a_graph_of_an_earlier_pass);
    CHECK(found.n_ops == 3 && found.ops[0].pass == 7 && found.ops[1].pass == 7 && found.ops[2].pass == 8);
}

/* Another thread makes a call meanwhile, with a greater number, and is told of first; then as many as are remembered. */
static void two_threads(void) {
    cuda_kernels_start();
    in_split = false;
    launch(101, "of another thread", 10, 20);
    in_split = true;
    launch(100, "a", 10, 20);
    launch(200, "forgotten", 20, 30);
    launch(200 + (1 << 16), "b", 30, 40);
    tt_at_end();
}

static void a_call_belongs_to_its_own_thread(void) {
    const struct found found = found_after(two_threads);
    CHECK(found.n_ops == 2 && strstr(found.strings, "kernel a|") && strstr(found.strings, "kernel b|"));
    CHECK(strstr(found.strings, "cuda.lost|1|") && !strstr(found.strings, "forgotten"));
}

static void without_times_and_room(void) {
    cuda_kernels_start();
    launch(5, "a", 0, 0);
    launch(6, "b", 50, 40);
    drop(3);
    tt_at_end();
}

static void what_has_no_time_is_counted(void) {
    const struct found found = found_after(without_times_and_room);
    CHECK(found.n_ops == 0 && strstr(found.strings, "cuda.lost|5|"));
}

/* What CUPTI has is fetched every quarter of a second, when a split is done. */
static void for_a_while(void) {
    const struct timespec pause = { .tv_nsec = 260000000 };
    cuda_kernels_start();
    launch(5, "a", 1, 2);
    tt_read_stamps(7, 2);
    launch(6, "b", 2, 3);
    nanosleep(&pause, NULL);
    tt_read_stamps(7, 2);
    launch(7, "never fetched", 3, 4);
    tt_read_stamps(7, 2);
}

static void kernels_are_fetched_now_and_then(void) {
    const struct found found = found_after(for_a_while);
    CHECK(found.n_ops == 2 && strstr(found.strings, "kernel b|") && !strstr(found.strings, "never fetched"));
}

/* CUPTI has each name once: by its address a label is found again, unless another name has taken its place. */
static void two_names_of_one_place(void) {
    static char names[2][1 << 14] = { "a", "b" };
    cuda_kernels_start();
    for (uint32_t i = 0; i < 6; i++) {
        launch(1 + i, names[i % 2], 10 + 10 * i, 15 + 10 * i);
    }
    tt_at_end();
}

static void each_kernel_has_its_name(void) {
    const struct found found = found_after(two_names_of_one_place);
    CHECK(found.n_ops == 6 && found.ops[0].label != found.ops[1].label);
    for (unsigned i = 2; i < 6; i++) {
        CHECK(found.ops[i].label == found.ops[i - 2].label);
    }
}

static unsigned n_others;
static void     of_others(uint32_t pass, uint32_t split) { n_others += pass == 7 && split == 2; }
static void     beside_another_kind(void) {
    tt_read_stamps = of_others;
    cuda_kernels_start();
    launch(5, "a", 1, 2);
    tt_read_stamps(7, 2);
    tt_at_end();
    tt_info(tt_process, "others", n_others == 1 ? "called" : "not called");
}

static void devices_of_another_kind_are_read_too(void) {
    const struct found found = found_after(beside_another_kind);
    CHECK(found.n_ops == 1 && strstr(found.strings, "others|called|"));
}

static void refused(void) {
    refuse("ActivityEnable");
    cuda_kernels_start();
    CHECK(!tt_read_stamps && !tt_at_end);
    launch(5, "a", 1, 2); /* nobody is told of it */
}
static void no_library(void) {
    setenv("TENSOR_TRACE_CUPTI", "/nowhere/libcupti.so", 1);
    cuda_kernels_start();
}
static void another_library(void) {
    setenv("TENSOR_TRACE_CUPTI", "libm.so.6", 1);
    cuda_kernels_start();
}
static void not_asked(void) {
    unsetenv("TENSOR_TRACE_CUPTI");
    cuda_kernels_start();
}

/* CUPTI itself, where REAL_CUPTI names it: with a GPU it records, without one it says why not. */
static void real(void) {
    setenv("TENSOR_TRACE_CUPTI", getenv("REAL_CUPTI"), 1);
    cuda_kernels_start();
    if (tt_read_stamps) {
        tt_read_stamps(7, 2);
        tt_info(tt_process, "cuda", "records");
    }
}

static void the_library_itself(void) {
    if (getenv("REAL_CUPTI")) {
        const struct found found = found_after(real);
        fprintf(stderr, "%s\n", found.strings);
        CHECK(strstr(found.strings, "cuda|records|") || strstr(found.strings, "CUPTI refuses to record: "));
    }
}

static void why_nothing_is_recorded(void) {
    CHECK(strstr(found_after(refused).strings, "refuses to record: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES|"));
    CHECK(strstr(found_after(no_library).strings, "cuda.refused|/nowhere/libcupti.so"));
    CHECK(strstr(found_after(another_library).strings, "has no function cuptiActivityRegisterTimestampCallback|"));
    CHECK(!strstr(found_after(not_asked).strings, "cuda"));
}

int main(void) {
    const struct check checks[] = {
        TEST(a_kernel_belongs_to_the_split_that_launched_it),
        TEST(kernels_of_a_graph_are_those_of_its_launch),
        TEST(a_call_belongs_to_its_own_thread),
        TEST(what_has_no_time_is_counted),
        TEST(kernels_are_fetched_now_and_then),
        TEST(each_kernel_has_its_name),
        TEST(devices_of_another_kind_are_read_too),
        TEST(why_nothing_is_recorded),
        TEST(the_library_itself),
    };
    open_stand_in();
    return RUN_CHECKS(checks);
}
