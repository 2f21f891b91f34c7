/* Devices and the kernel's cache: a program that knows what it reads, and what the trace says of it. */
#include "check.h"
#include "model.h"
#include "refuse.h"
#include "tt_record.h"
#include "tt_storage.h"
#include "tt_trace.h"

#include <errno.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>

enum { MOST = 4096, CACHESTAT = 451, TMPFS = 0x01021994 };

static bool has_device(const struct model * model) { return major(model->status.st_dev) != 0; }

static bool map_part(struct tt_trace * trace, const struct model * model, size_t from, size_t size) {
    const struct tt_model_file file = {
        .address = model->map + from,
        .size    = size,
        .fd      = model->fd,
        .status  = &model->status,
        .path    = tt_string(trace, model->path),
        .cache   = true,
    };
    return tt_storage_map(trace, &file);
}

__attribute__((no_sanitize_thread)) static void read_pages(const struct model * model, size_t n) {
    const size_t       page = model->size / N_PAGES;
    volatile uint8_t * at   = model->map;
    for (size_t i = 0; i < n; i++) {
        (void) at[i * page];
    }
}

/* Sectors that the device has read, from /proc/diskstats: not the file that the tracer reads. */
static uint64_t sectors_read(dev_t device) {
    unsigned           of_major, of_minor;
    unsigned long long sectors;
    uint64_t           found = 0;
    char               line[512];
    FILE *             stream = fopen("/proc/diskstats", "r");
    while (stream && fgets(line, sizeof line, stream)) {
        if (sscanf(line, "%u %u %*s %*u %*u %llu", &of_major, &of_minor, &sectors) == 3 && of_major == major(device)
            && of_minor == minor(device)) {
            found = sectors;
        }
    }
    if (stream) {
        fclose(stream);
    }
    return found;
}

static int n_open_files(void) {
    DIR * folder = opendir("/proc/self/fd");
    int   n      = 0;
    while (folder && readdir(folder)) {
        n++;
    }
    closedir(folder);
    return n;
}

/* What the trace says. */
struct recorded {
    struct tt_device devices[MOST];
    struct tt_cache  caches[MOST];
    uint64_t         ended_ns[MOST]; /* of each device */
    size_t           n_devices, n_caches, device_refused, cache_refused;
    size_t           n_text;
    char             text[1 << 16]; /* the strings, one after the other */
};

static void see(const uint8_t * payload, size_t size, void * state) {
    struct recorded * recorded = state;
    struct tt_record  record;
    for (size_t at = 0; at + sizeof record <= size; at += record.length) {
        memcpy(&record, payload + at, sizeof record);
        const uint8_t * inside = payload + at + sizeof record;
        if (record.type == TT_DEVICE && recorded->n_devices < MOST) {
            recorded->ended_ns[recorded->n_devices] = record.time_ns;
            memcpy(&recorded->devices[recorded->n_devices++], inside, sizeof(struct tt_device));
        } else if (record.type == TT_CACHE && recorded->n_caches < MOST) {
            memcpy(&recorded->caches[recorded->n_caches++], inside, sizeof(struct tt_cache));
        } else if (record.type == TT_STRING) {
            recorded->device_refused += memmem(inside, record.length, "device.refused", 14) != NULL;
            recorded->cache_refused += memmem(inside, record.length, "cache.refused", 13) != NULL;
            recorded->n_text +=
                (size_t) snprintf(recorded->text + recorded->n_text, sizeof recorded->text - recorded->n_text, "%.*s\n",
                                  (int) record.length - 24, (const char *) inside + 8);
        }
    }
}

static struct recorded recorded;

static bool read_trace(const char * folder) {
    struct file file = file_of(folder, 0);
    memset(&recorded, 0, sizeof recorded);
    const struct chunks chunks = chunks_of(&file, see, &recorded);
    free(file.data);
    return chunks.valid && chunks.n > 0;
}

static struct tt_trace * open_trace(char folder[512]) {
    char error[256];
    folder_make(folder);
    return tt_open(folder, UINT64_MAX, error);
}

/* ---- tests ---- */

static void what_is_read_cold_the_device_has_read_and_the_cache_holds(void) {
    struct model      model;
    struct tt_devices begin = { 0 };
    char              folder[512];
    CHECK(model_make(&model, folder_of_tests()) && evict(&model));
    struct tt_trace * trace = open_trace(folder);
    CHECK(trace && map_part(trace, &model, 0, model.size));

    const uint64_t sectors = sectors_read(model.status.st_dev), before = tt_now();
    tt_devices_begin(trace, &begin);
    const uint64_t begun = tt_now();
    read_pages(&model, N_PAGES / 2);
    const uint64_t done = tt_now();
    tt_devices_end(trace, &begin, 3, TT_NONE);
    tt_cache_write(trace, 3, TT_NONE);
    const size_t   half = pages_in_memory(&model);
    const uint64_t most = sectors_read(model.status.st_dev) - sectors, after = tt_now();

    tt_devices_begin(trace, &begin);
    read_pages(&model, N_PAGES);
    tt_devices_end(trace, &begin, 4, TT_NONE);
    tt_cache_write(trace, 4, TT_NONE);
    tt_storage_unmap(model.map, model.size);
    tt_close(trace);

    CHECK(read_trace(folder) && recorded.n_caches == 2 && recorded.cache_refused == 0);
    CHECK(recorded.caches[0].pass == 3 && recorded.caches[0].load == TT_NONE && recorded.caches[1].pass == 4);
    CHECK(recorded.caches[0].page_bytes == (uint32_t) sysconf(_SC_PAGESIZE));
    CHECK(half == N_PAGES / 2 && recorded.caches[0].cached == half);
    CHECK(recorded.caches[1].cached == N_PAGES && pages_in_memory(&model) == N_PAGES);
    CHECK(recorded.caches[1].dirty == 0 && recorded.caches[1].writeback == 0);
    if (has_device(&model)) {
        const struct tt_device * device = &recorded.devices[0];
        const uint64_t           read   = device->end.read_sectors - device->begin.read_sectors;
        CHECK(recorded.n_devices == 2 && recorded.device_refused == 0);
        CHECK(device->pass == 3 && device->load == TT_NONE);
        CHECK(read * 512 >= model.size / 2 && read <= most);
        CHECK(device->end.n_reads > device->begin.n_reads && device->end.read_ms >= device->begin.read_ms);
        CHECK(device->begin_ns >= before && device->begin_ns <= begun);
        CHECK(recorded.ended_ns[0] >= done && recorded.ended_ns[0] <= after);
        CHECK(device->end.busy_ms - device->begin.busy_ms
              <= (after - before) / 1000000 + 20); /* a tick of the kernel */
        CHECK(recorded.devices[1].begin.read_sectors >= device->end.read_sectors);
    } else {
        CHECK(recorded.n_devices == 0 && recorded.device_refused == 1);
    }
    model_remove(&model);
    folder_remove(folder);
    free(begin.of);
}

/* Before its load a file is not mapped: its path names the device. */
static void a_load_is_counted_from_before_its_file_is_mapped(void) {
    struct model      model;
    struct tt_devices begin = { 0 };
    char              folder[512];
    CHECK(model_make(&model, folder_of_tests()) && evict(&model));
    struct tt_trace * trace = open_trace(folder);
    tt_devices_begin(trace, &begin);
    tt_devices_end(trace, &begin, 0, TT_NONE); /* nothing is mapped: nothing is asked */
    tt_devices_begin_load(trace, model.path, &begin);
    read_pages(&model, N_PAGES);
    tt_devices_end(trace, &begin, TT_NONE, 7);
    tt_devices_begin_load(trace, "/nowhere/at/all", &begin);
    tt_devices_end(trace, &begin, TT_NONE, 8);
    tt_devices_begin_load(trace, NULL, &begin);
    tt_devices_end(trace, &begin, TT_NONE, 9);
    tt_cache_write(trace, TT_NONE, 9);
    tt_close(trace);
    CHECK(read_trace(folder) && recorded.n_caches == 0);
    if (has_device(&model)) {
        CHECK(recorded.n_devices == 1 && recorded.devices[0].pass == TT_NONE && recorded.devices[0].load == 7);
        CHECK((recorded.devices[0].end.read_sectors - recorded.devices[0].begin.read_sectors) * 512 >= model.size);
    }
    model_remove(&model);
    folder_remove(folder);
    free(begin.of);
}

static void a_file_is_asked_as_long_as_a_part_of_it_is_mapped(void) {
    struct model      model;
    struct tt_devices begin = { 0 };
    char              folder[512];
    CHECK(model_make(&model, folder_of_tests()));
    struct tt_trace * trace = open_trace(folder);
    CHECK(map_part(trace, &model, 0, model.size)); /* the device's counters are open from now on */
    CHECK(tt_storage_unmap(model.map, model.size));
    const int n_before = n_open_files();
    CHECK(map_part(trace, &model, 0, model.size) && map_part(trace, &model, 0, model.size)); /* one file, twice */
    CHECK(n_open_files() == n_before + 1);
    tt_cache_write(trace, 0, TT_NONE);
    CHECK(tt_storage_unmap(model.map, model.size / 4) && tt_storage_unmap(model.map + model.size / 2, model.size / 4));
    tt_cache_write(trace, 1, TT_NONE);
    CHECK(tt_storage_unmap(model.map, model.size) && n_open_files() == n_before);
    tt_cache_write(trace, 2, TT_NONE);
    tt_devices_begin(trace, &begin);
    CHECK(begin.known == 0);
    tt_devices_end(trace, &begin, 2, TT_NONE);
    tt_close(trace);
    CHECK(read_trace(folder) && recorded.n_devices == 0 && recorded.n_caches == 2);
    CHECK(recorded.caches[0].pass == 0 && recorded.caches[1].pass == 1 && recorded.caches[1].cached == N_PAGES);
    model_remove(&model);
    folder_remove(folder);
    free(begin.of);
}

/* As a program does that closes what it did not open, and opens files of its own. */
static void replace_descriptor(bool asks) {
    struct model model, replacement;
    char         folder[512];
    CHECK(model_make(&model, folder_of_tests()) && model_make(&replacement, folder_of_tests()));
    struct tt_trace * trace = open_trace(folder);
    CHECK(map_part(trace, &model, 0, model.size));
    int n_duplicates = 0;
    for (int fd = 3; fd < 64; fd++) {
        struct stat status;
        if (fd != model.fd && fstat(fd, &status) == 0 && status.st_ino == model.status.st_ino) {
            CHECK(dup2(replacement.fd, fd) == fd);
            n_duplicates++;
        }
    }
    CHECK(n_duplicates == 1);
    const int n_before = n_open_files();
    if (asks) {
        tt_cache_write(trace, 0, TT_NONE);
        tt_cache_write(trace, 1, TT_NONE);
    }
    tt_storage_unmap(model.map, model.size);
    CHECK(n_open_files() == n_before); /* what is not ours stays open */
    tt_close(trace);
    CHECK(read_trace(folder) && recorded.n_caches == 0 && recorded.cache_refused == asks);
    CHECK(!asks || strstr(recorded.text, strerror(EBADF)) != NULL);
    model_remove(&model);
    model_remove(&replacement);
    folder_remove(folder);
}

static void a_descriptor_that_is_another_file_by_now_is_neither_asked_nor_closed(void) {
    replace_descriptor(true);
    replace_descriptor(false);
}

static void a_file_on_no_device_is_refused_with_the_reason(void) {
    struct model      model;
    struct tt_devices begin = { 0 };
    struct statfs     status;
    char              folder[512];
    if (statfs("/dev/shm", &status) != 0 || status.f_type != TMPFS || access("/dev/shm", W_OK) != 0) {
        printf("/dev/shm is no tmpfs here that could be written to\n");
        return;
    }
    CHECK(model_make(&model, "/dev/shm"));
    struct tt_trace * trace = open_trace(folder);
    for (uint32_t pass = 0; pass < 2; pass++) {
        CHECK(map_part(trace, &model, 0, model.size));
        tt_devices_begin_load(trace, model.path, &begin);
        CHECK(begin.known == 0);
        tt_devices_end(trace, &begin, pass, TT_NONE);
        tt_storage_unmap(model.map, model.size);
    }
    tt_close(trace);
    CHECK(read_trace(folder) && recorded.n_devices == 0 && recorded.device_refused == 1);
    CHECK(strstr(recorded.text, "no block device") != NULL);
    model_remove(&model);
    folder_remove(folder);
    free(begin.of);
}

static bool goes_on_without_the_cache(int answer) {
    struct model      model;
    struct tt_devices begin = { 0 };
    char              folder[512];
    bool              good  = model_make(&model, folder_of_tests()) && refuse_call(CACHESTAT, answer);
    struct tt_trace * trace = open_trace(folder);
    const int         n     = n_open_files();
    good                    = good && map_part(trace, &model, 0, model.size);
    for (uint32_t pass = 0; pass < 3; pass++) {
        tt_devices_begin(trace, &begin);
        tt_devices_end(trace, &begin, pass, TT_NONE);
        tt_cache_write(trace, pass, TT_NONE);
    }
    good = good && n_open_files() <= n + 1; /* the counters of the device at most */
    tt_close(trace);
    good = good && read_trace(folder) && recorded.n_caches == 0 && recorded.cache_refused == 1
        && strstr(recorded.text, strerror(answer)) != NULL && recorded.n_devices == (has_device(&model) ? 3 : 0);
    model_remove(&model);
    folder_remove(folder);
    free(begin.of);
    return good;
}

static void without_the_right_the_trace_says_so_and_goes_on(void) {
    static const int answers[] = { EPERM, ENOSYS };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const pid_t child = fork();
        if (child == 0) {
            _exit(goes_on_without_the_cache(answers[i]) ? 0 : 1);
        }
        int status = 0;
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

struct worker {
    struct tt_trace *    trace;
    const struct model * model;
    bool                 good;
};

static void * map_ask_and_unmap(void * state) {
    struct worker *   worker = state;
    struct tt_devices begin  = { 0 };
    worker->good             = true;
    for (uint32_t i = 0; i < 100; i++) {
        worker->good = map_part(worker->trace, worker->model, 0, worker->model->size) && worker->good;
        tt_devices_begin(worker->trace, &begin);
        tt_devices_end(worker->trace, &begin, i, TT_NONE);
        tt_cache_write(worker->trace, i, TT_NONE);
        worker->good = tt_storage_unmap(worker->model->map, worker->model->size) && worker->good;
    }
    free(begin.of);
    return NULL;
}

/* Each has a file of its own, and none closes one that another thread asks about. */
static void threads_map_and_unmap_beside_each_other(void) {
    enum { N = 4 };
    struct model      models[N];
    struct worker     workers[N];
    pthread_t         threads[N];
    char              folder[512];
    struct tt_trace * trace = open_trace(folder);
    for (int i = 0; i < N; i++) {
        CHECK(model_make(&models[i], folder_of_tests()));
        workers[i] = (struct worker) { trace, &models[i], false };
    }
    const int n = n_open_files();
    for (int i = 0; i < N; i++) {
        CHECK(pthread_create(&threads[i], NULL, map_ask_and_unmap, &workers[i]) == 0);
    }
    for (int i = 0; i < N; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0 && workers[i].good);
    }
    CHECK(n_open_files() <= n + 1);
    tt_close(trace);
    CHECK(read_trace(folder) && recorded.cache_refused == 0);
    CHECK(recorded.n_caches >= N * 100 && (!has_device(&models[0]) || recorded.n_devices == N * 100));
    for (int i = 0; i < N; i++) {
        model_remove(&models[i]);
    }
    folder_remove(folder);
}

static bool has_cachestat(void) {
    const uint64_t range[2] = { 0 };
    uint64_t       pages[5];
    struct model   model;
    const bool     has = model_make(&model, folder_of_tests()) && syscall(CACHESTAT, model.fd, range, pages, 0u) == 0;
    model_remove(&model);
    return has;
}

int main(void) {
    static const struct check checks[] = {
        TEST(a_file_on_no_device_is_refused_with_the_reason),
        TEST(a_load_is_counted_from_before_its_file_is_mapped),
        TEST(without_the_right_the_trace_says_so_and_goes_on),
        TEST(what_is_read_cold_the_device_has_read_and_the_cache_holds),
        TEST(a_file_is_asked_as_long_as_a_part_of_it_is_mapped),
        TEST(a_descriptor_that_is_another_file_by_now_is_neither_asked_nor_closed),
        TEST(threads_map_and_unmap_beside_each_other),
    };
    if (!has_cachestat()) {
        printf("this kernel has no cachestat (before Linux 6.5), or does not allow it\n");
        return run_checks(checks, can_refuse_calls() ? 3 : 2);
    }
    return RUN_CHECKS(checks);
}
