/*
 * What the resident memory of this process is made of. A sample reads
 *
 *     /proc/self/smaps     each mapping with its resident bytes; they add up to what the process holds
 *     /proc/self/pagemap   which pages of a range are present: of ggml's buffers and of saved states of contexts
 *
 * The kernel walks the page tables for it, which takes milliseconds for gigabytes. So between passes a sample is written
 * where memory has changed, and only if all of them, one as long as the last among them, take less than a 200th of the
 * time, and some ms at first: a program's own clock may run on, as llama.cpp's of a prompt does. It is
 * read by system calls: read and pread may be those that an attached tracer records.
 */
#include "tt_footprint.h"
#include "tt_allocated.h"
#include "tt_share.h"
#include "tt_mapped.h"
#include "tt_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHANGED = 1 << 20, OFTEN_NS = 5000000, MOST_RANGES = 65536, TEXT = 65536, PAGES = 4096 };

struct range {
    uintptr_t    begin, end;
    enum tt_part kind;
    uint32_t     number;
};
struct span { /* a mapping without a file */
    uintptr_t begin, end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static bool            on;
static int             own_file = -1;
static struct range *  ranges;
static size_t          n_ranges, ranges_size;
static struct span *   spans;
static size_t          n_spans, spans_size;
static uint64_t        looked_ns, last_bytes;
static struct tt_share share; /* between passes */

void tt_footprint_open(void) {
    const char * choice = getenv("TENSOR_TRACE_FOOTPRINT");
    on                  = !choice || strcmp(choice, "0") != 0;
    own_file            = on ? open("/proc/self/statm", O_RDONLY | O_CLOEXEC) : -1;
    share               = tt_share_open();
    looked_ns = last_bytes = 0;
}

/* Makes room for one more element. */
static bool room(void ** array, size_t n, size_t * size, size_t element) {
    if (n == *size) {
        const size_t larger = *size ? *size * 2 : 64;
        void *       moved  = realloc(*array, larger * element);
        if (!moved) {
            return false;
        }
        *array = moved;
        *size  = larger;
    }
    return true;
}

/* ---- ranges ---- */

void tt_footprint_add(enum tt_part kind, uint32_t number, const void * address, size_t size) {
    const uintptr_t begin = (uintptr_t) address, end = begin + size;
    if (!on || !size || end < begin) {
        return;
    }
    pthread_mutex_lock(&lock);
    for (size_t i = n_ranges; i-- > 0;) { /* what was here has been freed, unseen */
        if (ranges[i].begin < end && begin < ranges[i].end) {
            ranges[i] = ranges[--n_ranges];
        }
    }
    if (n_ranges < MOST_RANGES && room((void **) &ranges, n_ranges, &ranges_size, sizeof *ranges)) {
        ranges[n_ranges++] = (struct range) { .begin = begin, .end = end, .kind = kind, .number = number };
    }
    pthread_mutex_unlock(&lock);
}

void tt_footprint_remove(enum tt_part kind, uint32_t number) {
    pthread_mutex_lock(&lock);
    for (size_t i = n_ranges; i-- > 0;) {
        if (ranges[i].kind == kind && ranges[i].number == number) {
            ranges[i] = ranges[--n_ranges];
        }
    }
    pthread_mutex_unlock(&lock);
}

void tt_footprint_buffers(void (*visit)(const void * context, uint32_t number, uintptr_t address, size_t size),
                          const void * context) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_ranges; i++) {
        if (ranges[i].kind == TT_PART_BUFFER) {
            visit(context, ranges[i].number, ranges[i].begin, ranges[i].end - ranges[i].begin);
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- mappings ---- */

struct mapping { /* the one whose lines are read */
    uintptr_t    begin, end;
    enum tt_part kind;
    bool         untouchable; /* nobody may read or write it */
};

static bool ends_with(const char * text, const char * end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_model(uintptr_t begin, const struct tt_mapped * mapped, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (begin >= mapped[i].address && begin - mapped[i].address < mapped[i].size) {
            return true;
        }
    }
    return false;
}

/* The stack of a thread is a mapping without a name behind a page that nobody may touch. */
static bool is_stack(const struct mapping * before, uintptr_t begin) {
    return before->untouchable && before->end == begin
        && before->end - before->begin == (uintptr_t) sysconf(_SC_PAGESIZE);
}

static enum tt_part kind_of(const char * name, const struct mapping * before, uintptr_t begin) {
    if (!*name || strncmp(name, "[anon", 5) == 0) {
        return is_stack(before, begin) ? TT_PART_STACKS : TT_PART_ANONYMOUS;
    }
    if (strcmp(name, "[heap]") == 0) {
        return TT_PART_ANONYMOUS;
    }
    if (strncmp(name, "[stack", 6) == 0) {
        return TT_PART_STACKS;
    }
    if (ends_with(name, ".tt") || strstr(name, "[perf_event]")) {
        return TT_PART_TRACER;
    }
    if (strncmp(name, "/dev/", 5) == 0 && strncmp(name, "/dev/zero", 9) != 0 && strncmp(name, "/dev/shm/", 9) != 0) {
        return TT_PART_DEVICES;
    }
    return *name == '/' ? TT_PART_FILES : TT_PART_OTHER;
}

/* Takes a line of smaps: the head of a mapping, or how much of it is resident. */
static void take_line(const char * line, struct mapping * mapping, const struct tt_mapped * mapped, size_t n_mapped,
                      uint64_t sums[TT_PARTS]) {
    unsigned long      begin, end;
    char               rights[8];
    int                name = 0;
    unsigned long long kib;
    if (sscanf(line, "Rss: %llu kB", &kib) == 1) {
        sums[mapping->kind] += kib * 1024;
        return;
    }
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %n", &begin, &end, rights, &name) < 3 || !name) {
        return;
    }
    const enum tt_part kind = is_model(begin, mapped, n_mapped) ? TT_PART_MODEL : kind_of(line + name, mapping, begin);
    const bool         untouchable = strncmp(rights, "---", 3) == 0;
    *mapping = (struct mapping) { .begin = begin, .end = end, .kind = kind, .untouchable = untouchable };
    if (kind == TT_PART_ANONYMOUS && room((void **) &spans, n_spans, &spans_size, sizeof *spans)) {
        spans[n_spans++] = (struct span) { .begin = begin, .end = end };
    }
}

/* Sums up the mappings by kind, and notes those without a file. */
static bool read_mappings(uint64_t sums[TT_PARTS]) {
    struct tt_mapped mapped[TT_MOST_MAPPED];
    const size_t     n_mapped = tt_mapped_copy(mapped);
    struct mapping   mapping  = { .kind = TT_PART_OTHER };
    char *           text     = malloc(TEXT + 1);
    const int        fd       = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    size_t           kept     = 0;
    ssize_t          got      = -1;
    n_spans                   = 0;
    while (text && fd >= 0 && (got = syscall(SYS_read, fd, text + kept, TEXT - kept)) > 0) {
        char * line = text;
        kept += (size_t) got;
        text[kept] = 0;
        for (char * end; (end = memchr(line, '\n', (size_t) (text + kept - line))) != NULL; line = end + 1) {
            *end = 0;
            take_line(line, &mapping, mapped, n_mapped, sums);
        }
        kept -= (size_t) (line - text);
        memmove(text, line, kept);
        kept = kept == TEXT ? 0 : kept; /* a name that long */
    }
    if (fd >= 0) {
        close(fd);
    }
    free(text);
    return got == 0;
}

/* ---- pages of ranges ---- */

static uint64_t present(int fd, uintptr_t begin, uintptr_t end) {
    static uint64_t entries[PAGES]; /* under the lock */
    const size_t    page = (size_t) sysconf(_SC_PAGESIZE);
    uint64_t        n    = 0;
    size_t          at   = (begin + page - 1) / page;
    const size_t    last = end / page;
    while (at < last) {
        const size_t  want = last - at < PAGES ? last - at : PAGES;
        const ssize_t got  = syscall(SYS_pread64, fd, entries, want * sizeof *entries, (off_t) (at * sizeof *entries));
        if (got < (ssize_t) sizeof *entries) {
            break;
        }
        const size_t read = (size_t) got / sizeof *entries;
        for (size_t i = 0; i < read; i++) {
            n += entries[i] >> 63;
        }
        at += read;
    }
    return n * page;
}

/* How much of a range is present in memory without a file. */
static uint64_t present_in_spans(int fd, const struct range * range) {
    size_t low = 0, high = n_spans; /* the first that ends behind its begin: they are in order */
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (spans[middle].end > range->begin) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    uint64_t bytes = 0;
    for (; low < n_spans && spans[low].begin < range->end; low++) {
        const uintptr_t begin = spans[low].begin > range->begin ? spans[low].begin : range->begin;
        const uintptr_t end   = spans[low].end < range->end ? spans[low].end : range->end;
        bytes += present(fd, begin, end);
    }
    return bytes;
}

/* ---- samples ---- */

static uint64_t resident_bytes(void) {
    char               text[96];
    unsigned long long size, resident;
    const ssize_t      n = own_file < 0 ? -1 : syscall(SYS_pread64, own_file, text, sizeof text - 1, (off_t) 0);
    text[n > 0 ? n : 0]  = 0;
    return sscanf(text, "%llu %llu", &size, &resident) == 2 ? resident * (uint64_t) sysconf(_SC_PAGESIZE) : TT_UNKNOWN;
}

/* Whether a sample is written now. Call it under the lock. */
static bool is_due(enum tt_occasion occasion, uint64_t now) {
    if (occasion == TT_OCCASION_LOAD || occasion == TT_OCCASION_END) {
        return true;
    }
    if (!tt_share_has_room(&share, now) || (occasion == TT_OCCASION_PASS && now - looked_ns < OFTEN_NS)) {
        return false;
    }
    looked_ns            = now;
    const uint64_t bytes = resident_bytes();
    return bytes > last_bytes ? bytes - last_bytes >= CHANGED : last_bytes - bytes >= CHANGED;
}

static void write_sample(struct tt_trace * trace, struct tt_footprint * sample) {
    uint64_t  sums[TT_PARTS] = { 0 };
    const int pages          = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (!read_mappings(sums)) {
        tt_info(trace, "footprint.refused", "/proc/self/smaps cannot be read");
        on = false;
    } else {
        struct tt_footprint_part * parts = malloc((TT_PARTS + n_ranges) * sizeof *parts);
        for (uint32_t kind = 0; parts && kind < TT_PARTS; kind++) {
            if (sums[kind]) {
                parts[sample->n_parts++] = (struct tt_footprint_part) { .bytes = sums[kind], .kind = kind };
            }
        }
        for (size_t i = 0; parts && pages >= 0 && i < n_ranges; i++) {
            const uint64_t bytes = present_in_spans(pages, &ranges[i]);
            if (bytes) {
                parts[sample->n_parts++] =
                    (struct tt_footprint_part) { .bytes = bytes, .kind = ranges[i].kind, .number = ranges[i].number };
            }
        }
        sample->resident_bytes = last_bytes = resident_bytes();
        const size_t size                   = sample->n_parts * sizeof *parts;
        uint8_t *    at = parts ? tt_record_begin(trace, TT_FOOTPRINT, sizeof *sample + size, tt_now()) : NULL;
        if (at) {
            memcpy(at, sample, sizeof *sample);
            memcpy(at + sizeof *sample, parts, size);
            tt_record_end(trace);
            tt_allocated_write(trace);
        }
        free(parts);
    }
    if (pages >= 0) {
        close(pages);
    } else if (on) {
        tt_info(trace, "footprint.refused", "/proc/self/pagemap cannot be read: buffers are part of other memory");
    }
}

void tt_footprint_write(struct tt_trace * trace, enum tt_occasion occasion, uint32_t pass, uint32_t load) {
    const uint64_t      begin  = tt_now();
    struct tt_footprint sample = { .begin_ns = begin, .pass = pass, .load = load, .occasion = occasion };
    if (!on) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (is_due(occasion, begin)) {
        write_sample(trace, &sample);
        tt_share_spend(&share, begin, occasion == TT_OCCASION_PASS || occasion == TT_OCCASION_SAVED);
    }
    pthread_mutex_unlock(&lock);
}
