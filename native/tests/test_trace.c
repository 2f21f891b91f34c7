/* Tests of segments, records, strings and graphs by the files they leave; also with full disks and killed processes. */
#include "check.h"
#include "folder.h"
#include "tt_cost.h"
#include "tt_facts.h"
#include "tt_graphs.h"
#include "tt_mapped.h"
#include "tt_record.h"
#include "tt_residency.h"
#include "tt_trace.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const uint8_t run_id[16] = { 1, 2, 3 };

static bool open_segment(struct tt_segment * segment, const char * folder, size_t chunk_bytes,
                         struct tt_budget * budget) {
    const int  fd     = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool opened = tt_segment_open(segment, fd, "s.tt", run_id, TT_SEGMENT_THREAD, 3, chunk_bytes, budget);
    close(fd);
    return opened;
}

static bool put_bytes(struct tt_segment * segment, uint8_t value, size_t size) {
    if (!tt_segment_reserve(segment, size)) {
        tt_segment_drop(segment, 1, size);
        return false;
    }
    memset(segment->payload + segment->used, value, size);
    tt_segment_commit(segment, size);
    return true;
}

/* ---- segments ---- */

static void segment_header_names_run_and_thread(void) {
    char              folder[512];
    struct tt_budget  budget = { .left = 1 << 20 };
    struct tt_segment segment;
    folder_make(folder);
    CHECK(open_segment(&segment, folder, TT_PAGE, &budget));
    CHECK(!open_segment(&(struct tt_segment) { 0 }, folder, TT_PAGE, &budget) && errno == EEXIST);
    tt_segment_close(&segment, false);
    struct file                 file   = file_of(folder, 0);
    const struct tt_file_header header = header_of(&file);
    CHECK(file.size == TT_PAGE);
    CHECK(memcmp(header.magic, "TTRACE\r\n", 8) == 0 && header.version == 2 && header.kind == TT_SEGMENT_THREAD);
    CHECK(memcmp(header.run_id, run_id, 16) == 0 && header.number == 3 && header.os_thread == (uint32_t) gettid());
    CHECK(header.open_ns > 0 && header.open_ns <= tt_now());
    CHECK(header.crc == tt_crc32(0, file.data, 60));
    free(file.data);
    folder_remove(folder);
}

/* How many mappings of this process are of files in a folder. */
static int n_mappings(const char * folder) {
    FILE * maps = fopen("/proc/self/maps", "r");
    char   line[1024];
    int    n = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        n += strstr(line, folder) != NULL;
    }
    if (maps) {
        fclose(maps);
    }
    return n;
}

static void chunks_roll_over_and_are_sealed(void) {
    enum { RECORD = 1000, N = 50 }; /* four to a page */
    char              folder[512];
    struct tt_budget  budget = { .left = 1 << 20 };
    struct tt_segment segment;
    folder_make(folder);
    CHECK(open_segment(&segment, folder, TT_PAGE, &budget));
    for (int i = 0; i < N; i++) {
        CHECK(put_bytes(&segment, (uint8_t) i, RECORD));
        CHECK(n_mappings(folder) <= 2); /* the header, and one chunk */
    }
    CHECK(n_mappings(folder) > 0);
    tt_segment_close(&segment, false);
    struct file         file   = file_of(folder, 0);
    const struct chunks chunks = chunks_of(&file, NULL, NULL);
    CHECK(chunks.valid && chunks.n == 13 && chunks.n_sealed == 13 && chunks.committed == N * RECORD);
    CHECK(file.size == TT_PAGE + 13 * TT_PAGE);
    free(file.data);
    folder_remove(folder);
}

static void a_record_larger_than_a_chunk_gets_its_own(void) {
    const size_t      head = sizeof(struct tt_chunk_header);
    char              folder[512];
    struct tt_budget  budget = { .left = 1 << 20 };
    struct tt_segment segment;
    folder_make(folder);
    CHECK(open_segment(&segment, folder, TT_PAGE, &budget));
    CHECK(put_bytes(&segment, 1, 8));
    CHECK(put_bytes(&segment, 2, 4 * TT_PAGE - head) && segment.room == segment.used);
    CHECK(put_bytes(&segment, 3, TT_PAGE - head)); /* exactly a chunk */
    tt_segment_close(&segment, false);
    struct file         file   = file_of(folder, 0);
    const struct chunks chunks = chunks_of(&file, NULL, NULL);
    CHECK(chunks.valid && chunks.n == 3 && chunks.n_sealed == 3);
    CHECK(chunks.committed == 8 + 5 * TT_PAGE - 2 * head);
    free(file.data);
    folder_remove(folder);
}

static void a_spent_budget_drops_and_counts(void) {
    char              folder[512];
    struct tt_budget  budget = { .left = 3 * TT_PAGE }; /* header and two chunks */
    struct tt_segment segment;
    folder_make(folder);
    CHECK(open_segment(&segment, folder, TT_PAGE, &budget));
    int n_written = 0;
    for (int i = 0; i < 12; i++) {
        n_written += put_bytes(&segment, (uint8_t) i, 1000);
    }
    CHECK(n_written == 8 && budget.left == 0);
    CHECK(put_bytes(&segment, 99, 8)); /* what still fits is written */
    tt_segment_close(&segment, false);
    struct file                 file   = file_of(folder, 0);
    const struct chunks         chunks = chunks_of(&file, NULL, NULL);
    const struct tt_file_header header = header_of(&file);
    CHECK(chunks.valid && chunks.n == 2 && chunks.committed == 8008);
    CHECK(header.dropped_records == 4 && header.dropped_bytes == 4000 && header.dropped_why == TT_DROPPED_LIMIT);
    free(file.data);
    folder_remove(folder);
}

static void a_full_disk_drops_and_counts(void) {
    char              folder[512];
    struct tt_budget  budget = { .left = UINT64_MAX };
    struct tt_segment segment;
    struct rlimit     old, limit;
    folder_make(folder);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(open_segment(&segment, folder, TT_PAGE, &budget));
    getrlimit(RLIMIT_FSIZE, &old);
    limit = (struct rlimit) { .rlim_cur = 3 * TT_PAGE, .rlim_max = old.rlim_max };
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    int n_written = 0;
    for (int i = 0; i < 12; i++) {
        n_written += put_bytes(&segment, (uint8_t) i, 1000);
    }
    CHECK(!tt_segment_reserve(&segment, 2000) && errno == EFBIG);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK(n_written == 8);
    CHECK(budget.left == UINT64_MAX - 3 * TT_PAGE); /* what could not be allocated is given back */
    tt_segment_close(&segment, false);
    struct file                 file   = file_of(folder, 0);
    const struct chunks         chunks = chunks_of(&file, NULL, NULL);
    const struct tt_file_header header = header_of(&file);
    CHECK(chunks.valid && chunks.n == 2 && chunks.n_sealed == 2 && chunks.committed == 8000);
    CHECK(header.dropped_records == 4 && header.dropped_bytes == 4000 && header.dropped_why == TT_DROPPED_NO_SPACE);
    free(file.data);
    folder_remove(folder);
}

/* A real file system without room; only root may mount one, so this passes without a test for others. */
static void a_full_file_system_drops_and_counts(void) {
    char              folder[512];
    struct tt_budget  budget = { .left = UINT64_MAX };
    struct tt_segment segment;
    folder_make(folder);
    if (mount("none", folder, "tmpfs", 0, "size=16k") != 0) {
        rmdir(folder);
        return;
    }
    const bool opened    = open_segment(&segment, folder, TT_PAGE, &budget);
    int        n_written = 0;
    for (int i = 0; opened && i < 40; i++) {
        n_written += put_bytes(&segment, (uint8_t) i, 1000);
    }
    tt_segment_close(&segment, false);
    struct tt_segment none;
    const int         fd     = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool        second = tt_segment_open(&none, fd, "t.tt", run_id, TT_SEGMENT_THREAD, 4, TT_PAGE, &budget);
    const int         why    = errno;
    close(fd);
    char                        path[1024];
    const bool                  left_behind = folder_entry(folder, 1, path);
    struct file                 file        = file_of(folder, 0);
    const struct chunks         chunks      = chunks_of(&file, NULL, NULL);
    const struct tt_file_header header      = header_of(&file);
    free(file.data);
    munmap(segment.header, TT_PAGE);
    umount(folder);
    rmdir(folder);
    CHECK(opened && n_written == 12 && chunks.valid && chunks.committed == 12000 && header.dropped_records == 28);
    CHECK(header.dropped_why == TT_DROPPED_NO_SPACE);
    CHECK(!second && why == ENOSPC && !left_behind);
}

/* ---- records ---- */

struct counts {
    int      types[32]; /* records of each type */
    uint32_t next_string;
    char     last[256]; /* the last string */
    bool     valid;
};

static void count_records(const uint8_t * payload, size_t size, void * state) {
    struct counts * counts = state;
    for (size_t at = 0; at < size;) {
        struct tt_record record;
        uint32_t         pair[2];
        memcpy(&record, payload + at, sizeof record);
        counts->valid = counts->valid && record.length >= sizeof record && record.length % 8 == 0
            && record.length <= size - at && record.type >= 1 && record.type <= TT_COPY && record.time_ns > 0;
        if (!counts->valid) {
            return;
        }
        counts->types[record.type]++;
        if (record.type == TT_STRING) {
            memcpy(pair, payload + at + sizeof record, sizeof pair);
            counts->valid  = pair[0] == counts->next_string++ && pair[1] <= record.length - sizeof record - sizeof pair;
            const size_t n = pair[1] < sizeof counts->last - 1 ? pair[1] : sizeof counts->last - 1;
            memcpy(counts->last, payload + at + sizeof record + sizeof pair, n);
            counts->last[n] = 0;
        }
        at += record.length;
    }
}

static struct counts records_of(const char * folder) {
    struct counts       counts = { .valid = true };
    struct file         file   = file_of(folder, 0);
    const struct chunks chunks = chunks_of(&file, count_records, &counts);

    counts.valid = counts.valid && chunks.valid;
    free(file.data);
    return counts;
}

static void a_missing_folder_is_an_error(void) {
    char error[256];
    CHECK(tt_open("/nonexistent/folder", UINT64_MAX, error) == NULL);
    CHECK(strstr(error, "/nonexistent/folder") && strstr(error, "No such file"));
}

static void a_budget_too_small_for_a_header_is_an_error(void) {
    char folder[512], path[1024], error[256];
    folder_make(folder);
    CHECK(tt_open(folder, 100, error) == NULL);
    CHECK(strstr(error, "the limit of the trace") && !folder_entry(folder, 0, path));
    folder_remove(folder);
}

static void a_string_is_written_once(void) {
    char folder[512], error[256];
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    CHECK(trace);
    CHECK(tt_string(trace, "") == 0);
    for (uint32_t i = 1; i <= 1000; i++) {
        char text[32];
        snprintf(text, sizeof text, "name %u", (unsigned) i);
        CHECK(tt_string(trace, text) == i);
    }
    CHECK(tt_string(trace, "name 7") == 7 && tt_string(trace, "name 1000") == 1000);
    tt_info(trace, "name 1", "a value");
    tt_facts(trace);
    tt_close(trace);
    const struct counts counts = records_of(folder);
    CHECK(counts.valid && counts.next_string > 1001 && counts.types[TT_INFO] > 8 && counts.types[TT_END] == 1);
    folder_remove(folder);
}

/* Whether a file of the folder holds the text. */
static bool folder_holds(const char * folder, const char * text) {
    char            path[1024];
    bool            found = false;
    DIR *           list  = opendir(folder);
    struct dirent * entry;
    while (list && (entry = readdir(list))) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE * file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!file) {
            continue;
        }
        static char  content[1 << 20];
        const size_t size = fread(content, 1, sizeof content, file);
        found             = found || memmem(content, size, text, strlen(text));
        fclose(file);
    }
    return list && closedir(list) == 0 && found;
}

static void a_trace_holds_no_secret_of_the_environment(void) {
    static const struct {
        const char *name, *value;
        bool        named, valued;
    } cases[] = {
        { "OMP_NUM_THREADS", "canary03", true, true },
        { "LLAMA_ARG_THREADS", "7canary", true, true },
        { "TENSOR_TRACE_PASSES", "8canary", true, true },
        { "GGML_SCHED_DEBUG", "http://canary05:canary05@host", true, false },
        { "GGML_VK_VISIBLE_DEVICES", "hf_canary06canary06", true, false },
        { "LLAMA_ARG_MODEL_URL", "canary07", true, false },
        { "GGML_CANARY", "canary08", true, false },
        { "LLAMA_API_KEY", "canary09", false, false },
        { "LLAMA_ARG_HF_TOKEN", "canary10", false, false },
        { "llama_PaSsWoRd", "canary11", false, false },
        { "KMP_MY_SECRET", "canary12", false, false },
        { "GGML_DB_CREDENTIALS", "canary13", false, false },
        { "OMP_hf_canary14", "canary14", false, false },
        { "GGML_a/b", "canary15", false, false },
        { "HF_TOKEN", "canary16", false, false },
        { "HARMLESS", "canary17", false, false },
    };
    const size_t n = sizeof cases / sizeof *cases;
    char         folder[512], error[256];
    folder_make(folder);
    for (size_t i = 0; i < n; i++) {
        setenv(cases[i].name, cases[i].value, 1);
    }
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    CHECK(trace);
    tt_facts(trace);
    tt_close(trace);
    for (size_t i = 0; i < n; i++) {
        CHECK(folder_holds(folder, cases[i].name) == cases[i].named);
        CHECK(folder_holds(folder, cases[i].value) == cases[i].valued);
        unsetenv(cases[i].name);
    }
    CHECK(folder_holds(folder, "environment.unnamed") && folder_holds(folder, "(withheld)"));
    folder_remove(folder);
}

static void a_graph_and_a_placement_are_written_once(void) {
    char folder[512], error[256];
    folder_make(folder);
    struct tt_trace * trace     = tt_open(folder, UINT64_MAX, error);
    struct tt_node    nodes[3]  = { { .computes = 1 }, { .computes = 0 }, { .computes = 1 } };
    struct tt_place   places[3] = { { .address = 4096 } };
    CHECK(trace);
    const struct tt_known first = tt_graph(trace, nodes, 2, 1), again = tt_graph(trace, nodes, 2, 1);
    CHECK(first.number == 0 && first.is_new && again.number == 0 && !again.is_new);
    CHECK(tt_graph(trace, nodes, 3, 0).number == 1); /* the same rows, but the last is no leaf */
    nodes[1].ne[0] = 9;
    CHECK(tt_graph(trace, nodes, 2, 1).number == 2);
    CHECK(tt_placement(trace, 0, places, 3).number == 0);
    CHECK(!tt_placement(trace, 0, places, 3).is_new);
    CHECK(tt_placement(trace, 2, places, 3).number == 1);
    places[2].buffer = 5;
    CHECK(tt_placement(trace, 0, places, 3).number == 2);
    tt_close(trace);
    const struct counts counts = records_of(folder);
    CHECK(counts.valid && counts.types[TT_GRAPH] == 3 && counts.types[TT_PLACEMENT] == 3);
    folder_remove(folder);
}

/* Records after a drop could refer to what is missing: only the end is written. */
static void a_full_main_segment_stays_consistent(void) {
    char folder[512], error[256];
    folder_make(folder);
    struct tt_trace *     trace = tt_open(folder, TT_PAGE + (256 << 10), error);
    static struct tt_node nodes[1300]; /* 270 kB: more than is left */
    char                  text[32];
    CHECK(trace);
    CHECK(tt_string(trace, "kept") == 1);
    CHECK(tt_graph(trace, nodes, 1300, 0).number == TT_NONE);
    CHECK(tt_string(trace, "lost") == 0 && tt_string(trace, "kept") == 1);
    CHECK(tt_graph(trace, nodes, 1, 0).number == TT_NONE);
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "also lost %d", i);
        tt_info(trace, text, text);
    }
    tt_close(trace);
    const struct counts         counts = records_of(folder);
    struct file                 file   = file_of(folder, 0);
    const struct tt_file_header header = header_of(&file);
    CHECK(counts.valid && counts.next_string == 2 && counts.types[TT_GRAPH] == 0 && counts.types[TT_END] == 1);
    CHECK(header.dropped_records == 1 + 1 + 1 + 3 * 3 + (tt_tsc ? 1 : 0)); /* the last: TT_CLOCK at the end */
    free(file.data);
    folder_remove(folder);
}

static void a_killed_process_leaves_a_prefix(void) {
    for (int with_signal = 0; with_signal < 2; with_signal++) {
        char folder[512], error[256];
        folder_make(folder);
        const pid_t child = fork();
        if (child == 0) {
            struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
            for (int i = 1; trace && i <= 20000; i++) { /* several chunks */
                char text[32];
                snprintf(text, sizeof text, "name %d", i);
                tt_string(trace, text);
            }
            if (with_signal) {
                kill(getpid(), SIGKILL);
            }
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, NULL, 0) == child);
        struct file         file   = file_of(folder, 0);
        const struct chunks chunks = chunks_of(&file, NULL, NULL);
        const struct counts counts = records_of(folder);
        CHECK(chunks.valid && chunks.n > 1 && chunks.n_sealed == chunks.n - 1);
        CHECK(counts.valid && counts.next_string == 20001 && strcmp(counts.last, "name 20000") == 0);
        CHECK(counts.types[TT_END] == 0);
        free(file.data);
        folder_remove(folder);
    }
}

static void the_clock_is_the_requested_one(void) {
    char folder[512], error[256];
    for (int monotonic = 0; monotonic < 2; monotonic++) {
        folder_make(folder);
        setenv("TENSOR_TRACE_CLOCK", monotonic ? "monotonic" : "", 1);
        struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
        CHECK(trace && trace->clock[0] && !(monotonic && tt_tsc));
        const uint64_t         before = tt_now(), ticks = tt_ticks();
        const struct tt_moment moment = tt_moment();
        CHECK(before <= moment.ns && moment.ns <= tt_now());
        CHECK(ticks <= moment.ticks && moment.ticks <= tt_ticks());
        tt_close(trace);
        struct file main = file_of(folder, 0);
        CHECK(header_of(&main).clock == (tt_tsc ? TT_CLOCK_TSC : TT_CLOCK_MONOTONIC));
        CHECK(records_of(folder).types[TT_CLOCK] == (tt_tsc ? 2 : 0)); /* of the begin and of the end */
        free(main.data);
        folder_remove(folder);
    }
    unsetenv("TENSOR_TRACE_CLOCK");
}

static void the_cost_is_measured_and_leaves_nothing_behind(void) {
    char folder[512], path[1024], error[256];
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    struct tt_cost    cost  = { 0 };
    CHECK(trace);
    CHECK(tt_measure_cost(trace, &cost));
    CHECK(cost.clock_ns > 0 && cost.event_ns > 2 * cost.clock_ns && cost.event_ns < 1e6);
    CHECK(folder_entry(folder, 0, path) && !folder_entry(folder, 1, path));
    memcpy(strrchr(path, '/') + 1 + 2 * sizeof trace->run_id, ".cost",
           sizeof ".cost"); /* there is a file of this name */
    const int  taken    = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const bool measured = tt_measure_cost(trace, &cost);
    close(taken);
    unlink(path);
    tt_close(trace);
    CHECK(taken >= 0 && !measured);
    folder_remove(folder);
}

struct residencies {
    uint32_t n, n_runs[4], runs[4][8];
    uint64_t size[4];
};

static void collect_residency(const uint8_t * payload, size_t size, void * state) {
    struct residencies * records = state;
    struct tt_record     record;
    for (size_t at = 0; at < size; at += record.length) {
        struct tt_residency it;
        memcpy(&record, payload + at, sizeof record);
        if (record.type != TT_RESIDENCY || records->n == 4) {
            continue;
        }
        memcpy(&it, payload + at + sizeof record, sizeof it);
        records->size[records->n]   = it.size_bytes;
        records->n_runs[records->n] = it.n_runs;
        if (it.n_runs <= 4) {
            memcpy(records->runs[records->n], payload + at + sizeof record + sizeof it, 8 * it.n_runs);
        }
        records->n++;
    }
}

/* Pages of an anonymous mapping come into memory when they are written: first 2 to 4, then 9. */
static void pages_in_memory_are_written_if_they_changed(void) {
    char         folder[512], error[256];
    const size_t page = (size_t) sysconf(_SC_PAGESIZE);
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    uint8_t *         map   = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(trace && map != MAP_FAILED && tt_mapped_add(map, 16 * page, true, 0));
    memset(map + 2 * page, 1, 3 * page);
    tt_residency_write(trace, TT_NONE, 0);
    tt_residency_write(trace, 0, TT_NONE);
    map[9 * page] = 1;
    tt_residency_write(trace, 1, TT_NONE);
    CHECK(tt_mapped_cut(map, 3 * page)); /* page 2 goes, what is left begins at 3 */
    tt_residency_write(trace, 2, TT_NONE);
    CHECK(tt_mapped_cut(map + 3 * page, 13 * page));
    tt_residency_write(trace, 3, TT_NONE); /* nothing is left */
    tt_close(trace);
    munmap(map, 16 * page);
    struct residencies  records = { 0 };
    struct file         file    = file_of(folder, 0);
    const struct chunks chunks  = chunks_of(&file, collect_residency, &records);
    free(file.data);
    CHECK(chunks.valid && records.n == 4 && records.size[0] == 16 * page && records.size[3] == 13 * page);
    CHECK(records.n_runs[0] == 1 && records.runs[0][0] == 2 && records.runs[0][1] == 3 && records.n_runs[1] == TT_NONE);
    CHECK(records.n_runs[2] == 2 && records.runs[2][2] == 9 && records.runs[2][3] == 1);
    CHECK(records.n_runs[3] == 2 && records.runs[3][0] == 0 && records.runs[3][1] == 2 && records.runs[3][2] == 6);
    folder_remove(folder);
}

int main(void) {
    static const struct check checks[] = {
        TEST(segment_header_names_run_and_thread),
        TEST(chunks_roll_over_and_are_sealed),
        TEST(a_record_larger_than_a_chunk_gets_its_own),
        TEST(a_spent_budget_drops_and_counts),
        TEST(a_full_disk_drops_and_counts),
        TEST(a_full_file_system_drops_and_counts),
        TEST(a_missing_folder_is_an_error),
        TEST(a_budget_too_small_for_a_header_is_an_error),
        TEST(a_string_is_written_once),
        TEST(a_trace_holds_no_secret_of_the_environment),
        TEST(a_graph_and_a_placement_are_written_once),
        TEST(pages_in_memory_are_written_if_they_changed),
        TEST(a_full_main_segment_stays_consistent),
        TEST(a_killed_process_leaves_a_prefix),
        TEST(the_clock_is_the_requested_one),
        TEST(the_cost_is_measured_and_leaves_nothing_behind),
    };
    return RUN_CHECKS(checks);
}
