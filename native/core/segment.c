/* One file of chunks, each mapped while it is filled. See tensor_trace_format.h. */
#include "tt_segment.h"
#include "tt_clock.h"
#include "tt_crc32.h"
#include "tt_pages.h"
#include "tt_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t whole(size_t bytes) { return (bytes + TT_PAGE - 1) / TT_PAGE * TT_PAGE; }

static bool take_budget(struct tt_budget * budget, uint64_t bytes) {
    uint64_t left = atomic_load_explicit(&budget->left, memory_order_relaxed);
    while (left >= bytes) {
        if (atomic_compare_exchange_weak(&budget->left, &left, left - bytes)) {
            return true;
        }
    }
    return false;
}

/* Allocates disk space first: a full disk is then an error here, not a SIGBUS later. Then writes zeros, which bring the
 * pages into the cache in large pieces: that costs 7 ns an event; page faults one by one would cost 28. */
static int allocate(int fd, off_t at, size_t bytes) {
    static uint8_t zeros[256 << 10];
    int            error = tt_reserve(fd, at, bytes);
    while (!error && bytes > 0) {
        const ssize_t written = pwrite(fd, zeros, bytes < sizeof zeros ? bytes : sizeof zeros, at);

        error = written > 0 ? 0 : written < 0 ? errno : EIO;
        at += written;
        bytes -= (size_t) written;
    }
    return error;
}

/* How far behind the begin of a page of this machine that is: chunks are in units of TT_PAGE, its pages may be larger. */
static size_t in_page(const struct tt_segment * segment, uint64_t at) { return (size_t) (at & (segment->page - 1)); }

/* Maps what was allocated, and what lies before it in its first page; makes its pages writable before the first event:
   MAP_POPULATE would only make them readable. */
static void * map_chunk(const struct tt_segment * segment, off_t at, size_t bytes) {
    const size_t before = in_page(segment, (uint64_t) at);
    uint8_t * pages = mmap(NULL, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, at - (off_t) before);
    if (pages == MAP_FAILED) {
        return NULL;
    }
#ifdef MADV_POPULATE_WRITE
    if (madvise(pages, before + bytes, MADV_POPULATE_WRITE) != 0) {
        errno = 0; /* before Linux 5.14: the first write to each page faults */
    }
#endif
    return pages + before;
}

static void unmap(const struct tt_segment * segment, void * chunk, size_t bytes) {
    const size_t before = in_page(segment, (uintptr_t) chunk);
    tt_unmap((uint8_t *) chunk - before, before + bytes);
}

void tt_segment_explain(struct tt_segment * segment, int error) {
    if (segment->header) {
        const uint32_t why   = error == EDQUOT  ? TT_DROPPED_LIMIT
            : error == ENOSPC || error == EFBIG ? TT_DROPPED_NO_SPACE
                                                : TT_DROPPED_ERROR;
        uint32_t       unset = TT_DROPPED_UNKNOWN;
        __atomic_compare_exchange_n(&segment->header->dropped_why, &unset, why, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
}

/* Appends `bytes` to the file and maps them; NULL: errno says why not. */
static void * extend(struct tt_segment * segment, size_t bytes) {
    const off_t at = (off_t) segment->file_bytes;
    if (!take_budget(segment->budget, bytes)) {
        errno = EDQUOT;
        return NULL;
    }
    const bool made = segment->budget->outside && tt_pages_made(segment->fd, segment->name, segment->file_bytes, bytes);
    const int  failure = made ? 0 : allocate(segment->fd, at, bytes);
    void *     chunk   = failure ? NULL : map_chunk(segment, at, bytes);
    if (!chunk) {
        const int error = failure ? failure : errno;
        if (ftruncate(segment->fd, at) == 0) { /* if it fails, zeros stay behind the last chunk: harmless */
            atomic_fetch_add(&segment->budget->left, bytes);
        }
        errno = error;
        return NULL;
    }
    segment->file_bytes += bytes;
    segment->own_bytes += made ? 0 : bytes;
    return chunk;
}

/* Writes the checksum of the chunk, while its bytes are near, and lets go of its pages. */
static void seal_chunk(struct tt_segment * segment, size_t mapped_bytes) {
    struct tt_chunk_header * chunk = segment->chunk;
    chunk->crc                     = tt_crc32(0, segment->payload, segment->used);
    __atomic_store_n(&chunk->sealed, 1, __ATOMIC_RELEASE);
    unmap(segment, chunk, mapped_bytes);
    if (segment->budget->outside) {
        tt_pages_done(segment->name, segment->chunk_at, mapped_bytes);
    }
}

static void leave_chunk(struct tt_segment * segment) {
    if (segment->chunk) {
        seal_chunk(segment, segment->chunk->size_bytes);
    }
    segment->chunk   = NULL;
    segment->payload = NULL;
    segment->room = segment->used = 0;
}

bool tt_segment_open(struct tt_segment * segment, int folder, const char * name, const uint8_t run_id[16],
                     enum tt_segment_kind kind, uint32_t number, size_t chunk_bytes, struct tt_budget * budget) {
    *segment = (struct tt_segment) {
        .fd          = -1,
        .page        = (size_t) sysconf(_SC_PAGESIZE),
        .chunk_bytes = chunk_bytes,
        .budget      = budget,
    };
    snprintf(segment->name, sizeof segment->name, "%s", name);
    segment->fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (segment->fd < 0) {
        return false;
    }
    struct tt_file_header * header = extend(segment, TT_PAGE);
    if (!header) {
        const int error = errno;
        close(segment->fd);
        unlinkat(folder, name, 0);
        segment->fd = -1;
        errno       = error;
        return false;
    }
    memcpy(header->magic, TT_MAGIC, sizeof header->magic);
    header->version   = TT_VERSION;
    header->kind      = kind;
    header->number    = number;
    header->os_thread = tt_thread_number();
    header->open_ns   = tt_now();
    header->clock     = tt_tsc ? TT_CLOCK_TSC : TT_CLOCK_MONOTONIC;
    memcpy(header->run_id, run_id, sizeof header->run_id);
    header->crc     = tt_crc32(0, header, offsetof(struct tt_file_header, crc));
    segment->header = header;
    return true;
}

bool tt_segment_reserve(struct tt_segment * segment, size_t bytes) {
    if (segment->fd < 0) {
        return false;
    }
    if (segment->payload && segment->room - segment->used >= bytes) {
        return true;
    }
    const size_t             wanted   = whole(bytes + sizeof(struct tt_chunk_header));
    const size_t             smallest = whole(segment->chunk_bytes), size = wanted > smallest ? wanted : smallest;
    struct tt_chunk_header * chunk = extend(segment, size);
    if (!chunk) {
        tt_segment_explain(segment, errno);
        return false;
    }
    leave_chunk(segment);
    chunk->magic      = TT_CHUNK_MAGIC;
    chunk->sequence   = segment->sequence++;
    chunk->size_bytes = size;
    segment->chunk    = chunk;
    segment->chunk_at = segment->file_bytes - size;
    segment->payload  = (uint8_t *) (chunk + 1);
    segment->room     = size - sizeof *chunk;
    segment->used     = 0;
    return true;
}

void tt_segment_drop(struct tt_segment * segment, uint64_t records, uint64_t bytes) {
    if (segment->header) { /* atomic: threads without a file of their own all count in the main segment's header */
        __atomic_fetch_add(&segment->header->dropped_records, records, __ATOMIC_RELAXED);
        __atomic_fetch_add(&segment->header->dropped_bytes, bytes, __ATOMIC_RELAXED);
    }
}

void tt_segment_close(struct tt_segment * segment, bool in_use) {
    if (segment->fd < 0) {
        return;
    }
    if (in_use) { /* a thread may still write: leave the mapping, and the last chunk unsealed */
        return;
    }
    if (segment->chunk) {
        const size_t size     = whole(segment->used + sizeof *segment->chunk);
        const size_t old_size = segment->chunk->size_bytes;
        segment->file_bytes -= old_size - size;
        segment->chunk->size_bytes = size;
        seal_chunk(segment, old_size);
        segment->chunk = NULL;
        if (ftruncate(segment->fd, (off_t) segment->file_bytes) != 0) {
            errno = 0; /* only disk space is lost: each chunk says where it ends */
        }
    }
    close(segment->fd);
    segment->fd = -1; /* the header page stays mapped: a thread that still runs may count a drop in it */
}

void tt_segment_discard(struct tt_segment * segment) {
    if (segment->chunk) {
        unmap(segment, segment->chunk, segment->chunk->size_bytes);
    }
    unmap(segment, segment->header, TT_PAGE);
    close(segment->fd);
    *segment = (struct tt_segment) { .fd = -1 };
}
