/* What memory is made of: a program that knows what it holds, and what the trace says of it. */
#include "check.h"
#include "folder.h"
#include "tt_footprint.h"
#include "tt_record.h"
#include "tt_trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, SLACK = MIB / 2, MOST = 64 };

struct sample {
    struct tt_footprint head;
    uint64_t            end_ns;
    uint64_t            kinds[9]; /* bytes, by enum tt_part */
    uint64_t            of_number[8]; /* bytes of the buffer of this number */
};

static struct sample samples[MOST];
static size_t        n_samples;

static void take(const struct tt_record * record, const uint8_t * payload) {
    if (n_samples == MOST) {
        return;
    }
    struct sample * sample = &samples[n_samples++];
    memset(sample, 0, sizeof *sample);
    sample->end_ns = record->time_ns;
    memcpy(&sample->head, payload, sizeof sample->head);
    for (uint32_t i = 0; i < sample->head.n_parts; i++) {
        struct tt_footprint_part part;
        memcpy(&part, payload + sizeof sample->head + i * sizeof part, sizeof part);
        sample->kinds[part.kind] += part.bytes;
        if (part.kind == TT_PART_BUFFER) {
            sample->of_number[part.number] = part.bytes;
        }
    }
}

static void read_samples(const char * folder) {
    n_samples = 0;
    each_record(folder, TT_FOOTPRINT, take);
}

/* What the kernel itself sums up: not the file that the tracer reads. */
static uint64_t rollup(void) {
    char               line[256];
    unsigned long long kib    = 0;
    FILE *             stream = fopen("/proc/self/smaps_rollup", "r");
    while (stream && fgets(line, sizeof line, stream) && sscanf(line, "Rss: %llu kB", &kib) != 1) {
    }
    if (stream) {
        fclose(stream);
    }
    return kib * 1024;
}

static uint8_t * pages(size_t size) {
    uint8_t * at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static struct tt_trace * opened(char folder[512]) {
    char error[256];
    folder_make(folder);
    return tt_open(folder, UINT64_MAX, error);
}

static void finish(struct tt_trace * trace, const char * folder) {
    tt_close(trace);
    read_samples(folder);
    folder_remove(folder);
}

static void the_parts_add_up_to_what_the_kernel_counts(void) {
    char              folder[512];
    struct tt_trace * trace = opened(folder);
    CHECK(trace);
    tt_footprint_write(trace, TT_OCCASION_LOAD, TT_NONE, TT_NONE);
    const uint64_t whole = rollup();
    finish(trace, folder);
    CHECK(n_samples == 1);
    uint64_t sum = 0;
    for (int kind = 0; kind < TT_PARTS; kind++) {
        sum += samples[0].kinds[kind];
    }
    CHECK(sum + SLACK > whole && sum < whole + SLACK);
    CHECK(samples[0].head.resident_bytes + SLACK > whole && samples[0].head.resident_bytes < whole + SLACK);
    CHECK(samples[0].kinds[TT_PART_FILES] > 0 && samples[0].kinds[TT_PART_STACKS] > 0);
    CHECK(samples[0].kinds[TT_PART_TRACER] > 0);
}

static void a_buffer_has_the_pages_that_were_touched(void) {
    char              folder[512];
    struct tt_trace * trace  = opened(folder);
    uint8_t *         buffer = pages(32 * MIB);
    CHECK(trace && buffer);
    madvise(buffer, 32 * MIB, MADV_NOHUGEPAGE);
    tt_footprint_add(TT_PART_BUFFER, 3, buffer, 32 * MIB);
    tt_footprint_write(trace, TT_OCCASION_LOAD, TT_NONE, TT_NONE);
    memset(buffer + 4 * MIB, 1, 8 * MIB);
    tt_footprint_write(trace, TT_OCCASION_LOAD, TT_NONE, TT_NONE);
    tt_footprint_remove(TT_PART_BUFFER, 3);
    tt_footprint_write(trace, TT_OCCASION_LOAD, TT_NONE, TT_NONE);
    munmap(buffer, 32 * MIB);
    finish(trace, folder);
    CHECK(n_samples == 3);
    CHECK(samples[0].of_number[3] == 0 && samples[1].of_number[3] == 8 * MIB && samples[2].of_number[3] == 0);
    CHECK(samples[1].kinds[TT_PART_ANONYMOUS] >= samples[0].kinds[TT_PART_ANONYMOUS] + 8 * MIB);
    CHECK(samples[1].kinds[TT_PART_BUFFER] <= samples[1].kinds[TT_PART_ANONYMOUS]);
}

static void what_is_written_over_is_forgotten(void) {
    char              folder[512];
    struct tt_trace * trace = opened(folder);
    uint8_t *         at    = pages(8 * MIB);
    CHECK(trace && at);
    madvise(at, 8 * MIB, MADV_NOHUGEPAGE);
    memset(at, 1, 8 * MIB);
    tt_footprint_add(TT_PART_SAVED, 0, at, 4 * MIB);
    tt_footprint_add(TT_PART_SAVED, 1, at + 2 * MIB, 4 * MIB); /* the first was freed, unseen */
    tt_footprint_write(trace, TT_OCCASION_LOAD, TT_NONE, TT_NONE);
    munmap(at, 8 * MIB);
    tt_footprint_write(trace, TT_OCCASION_LOAD, TT_NONE, TT_NONE);
    tt_footprint_remove(TT_PART_SAVED, 1);
    finish(trace, folder);
    CHECK(samples[0].kinds[TT_PART_SAVED] == 4 * MIB && samples[1].kinds[TT_PART_SAVED] == 0);
}

static void bytes_of_a_file_are_no_buffer(void) {
    char              folder[512], path[600];
    struct tt_trace * trace = opened(folder);
    CHECK(trace);
    snprintf(path, sizeof path, "%s/mapped", folder);
    FILE * stream = fopen(path, "w+");
    CHECK(stream && ftruncate(fileno(stream), MIB) == 0);
    uint8_t * at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(stream), 0);
    CHECK(at != MAP_FAILED);
    memset(at, 1, MIB);
    tt_footprint_add(TT_PART_BUFFER, 5, at, MIB);
    tt_footprint_write(trace, TT_OCCASION_LOAD, TT_NONE, TT_NONE);
    tt_footprint_remove(TT_PART_BUFFER, 5);
    munmap(at, MIB);
    fclose(stream);
    unlink(path);
    finish(trace, folder);
    CHECK(samples[0].of_number[5] == 0 && samples[0].kinds[TT_PART_FILES] >= MIB);
}

/* Between passes, only what changed by a MiB is written, and only for so long. */
static void samples_of_passes_have_a_budget(void) {
    char              folder[512];
    const uint64_t    opened_ns = tt_now();
    struct tt_trace * trace     = opened(folder);
    CHECK(trace);
    tt_footprint_write(trace, TT_OCCASION_PASS, TT_NONE, TT_NONE);
    const struct timespec pause = { .tv_nsec = 6000000 };
    for (int i = 0; i < 200; i++) {
        uint8_t * more = pages(2 * MIB);
        CHECK(more);
        memset(more, 1, 2 * MIB);
        nanosleep(&pause, NULL);
        const uint64_t before = tt_now();
        tt_footprint_write(trace, TT_OCCASION_PASS, TT_NONE, TT_NONE);
        tt_footprint_write(trace, TT_OCCASION_PASS, TT_NONE, TT_NONE); /* nothing has changed */
        if (tt_now() - before > 4000000) { /* the machine is busy, or the sanitizer slow */
            i += 10;
        }
    }
    finish(trace, folder);
    CHECK(n_samples >= 2 && n_samples < MOST);
    uint64_t before = 0, spent = 0, last = 0;
    for (size_t i = 0; i < n_samples; i++) {
        const uint64_t begin = samples[i].head.begin_ns, elapsed = begin - opened_ns;
        CHECK(spent + last <= 10000000 + elapsed / 200); /* one as long as the last fits before it is taken */
        last = samples[i].end_ns - begin;
        spent += last;
        CHECK(i == 0 || samples[i].head.resident_bytes >= before + MIB);
        before = samples[i].head.resident_bytes;
    }
}

static void it_can_be_switched_off(void) {
    char folder[512];
    setenv("TENSOR_TRACE_FOOTPRINT", "0", 1);
    struct tt_trace * trace = opened(folder);
    CHECK(trace);
    tt_footprint_add(TT_PART_BUFFER, 1, folder, sizeof folder);
    tt_footprint_write(trace, TT_OCCASION_LOAD, TT_NONE, TT_NONE);
    unsetenv("TENSOR_TRACE_FOOTPRINT");
    finish(trace, folder);
    CHECK(n_samples == 0);
}

int main(void) {
    const struct check checks[] = {
        TEST(the_parts_add_up_to_what_the_kernel_counts),
        TEST(a_buffer_has_the_pages_that_were_touched),
        TEST(what_is_written_over_is_forgotten),
        TEST(bytes_of_a_file_are_no_buffer),
        TEST(samples_of_passes_have_a_budget),
        TEST(it_can_be_switched_off),
    };
    return RUN_CHECKS(checks);
}
