/* Records which pages of the mapped model files are in memory: asks mincore when a load or a pass has ended. */
#include "tt_residency.h"
#include "tt_mapped.h"
#include "tt_record.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static size_t          pages_size;
static uint8_t *       pages;

static bool room_for(size_t n) {
    if (n > pages_size) {
        uint8_t * larger = realloc(pages, n);
        if (!larger) {
            return false;
        }
        pages      = larger;
        pages_size = n;
    }
    return true;
}

/* Counts the runs of pages that are in memory; if `runs` is not NULL, writes first page and length of each to it. */
static uint32_t runs_of(size_t n_pages, uint32_t * runs) {
    uint32_t n = 0;
    for (size_t i = 0; i < n_pages;) {
        size_t end = i;
        while (end < n_pages && (pages[end] & 1)) {
            end++;
        }
        if (end > i && runs) {
            runs[2 * n]     = (uint32_t) i;
            runs[2 * n + 1] = (uint32_t) (end - i);
        }
        n += end > i;
        i = end > i ? end : i + 1;
    }
    return n;
}

static bool write_range(struct tt_trace * trace, const struct tt_mapped * range, uint32_t pass, uint32_t load) {
    const size_t page = (size_t) sysconf(_SC_PAGESIZE), n_pages = (range->size + page - 1) / page;
    if (n_pages > UINT32_MAX || !room_for(n_pages)
        || mincore((void *) range->address, range->size, (void *) pages) != 0) {
        return false;
    }
    for (size_t i = 0; i < n_pages; i++) {
        pages[i] &= 1; /* the other bits are undefined */
    }
    const uint64_t            hash      = tt_hash(0, pages, n_pages);
    const bool                unchanged = hash == range->last_hash;
    const uint32_t            n         = unchanged ? 0 : runs_of(n_pages, NULL);
    const struct tt_residency record    = {
        .address    = range->address,
        .size_bytes = range->size,
        .pass       = pass,
        .load       = load,
        .page_bytes = (uint32_t) page,
        .n_runs     = unchanged ? TT_NONE : n,
    };
    uint8_t * at = tt_record_begin(trace, TT_RESIDENCY, sizeof record + (size_t) n * 8, tt_now());
    if (!at) {
        return true; /* tt_record_begin has counted the drop */
    }
    memcpy(at, &record, sizeof record);
    runs_of(unchanged ? 0 : n_pages, (uint32_t *) (void *) (at + sizeof record));
    tt_record_end(trace);
    (void) tt_mapped_remember(range, hash);
    return true;
}

void tt_residency_write(struct tt_trace * trace, uint32_t pass, uint32_t load) {
    struct tt_mapped mapped[TT_MOST_MAPPED];
    const size_t     n = tt_mapped_copy(mapped);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n; i++) {
        if (mapped[i].residency && !write_range(trace, &mapped[i], pass, load)
            && tt_mapped_remember(&mapped[i], 0)) { /* else another thread has just unmapped it */
            tt_segment_drop(&trace->main, 1, 0);
        }
    }
    pthread_mutex_unlock(&lock);
}
