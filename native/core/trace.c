/* The trace as a whole: its run id, the records of the main segment, and the strings that they name. */
#include "tt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { MAIN_CHUNK = 256 << 10 };

void tt_name(const struct tt_trace * trace, const char * suffix, char out[64]) {
    static const char digits[] = "0123456789abcdef";
    char              hex[33];
    for (int i = 0; i < 16; i++) {
        hex[2 * i]     = digits[trace->run_id[i] >> 4];
        hex[2 * i + 1] = digits[trace->run_id[i] & 15];
    }
    hex[32] = 0;
    snprintf(out, 64, "%s.%s.tt", hex, suffix);
}

struct tt_trace * tt_open(const char * folder, uint64_t max_bytes, char error[256]) {
    struct tt_trace * trace = calloc(1, sizeof *trace);
    if (!trace) {
        snprintf(error, 256, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&trace->lock, NULL);
    atomic_init(&trace->budget.left, max_bytes);
    trace->main.fd = -1;
    trace->clock   = tt_clock_choose();
    trace->folder  = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (trace->folder < 0 || getrandom(trace->run_id, sizeof trace->run_id, 0) != (ssize_t) sizeof trace->run_id) {
        snprintf(error, 256, "%.200s: %s", folder, strerror(errno));
        tt_close(trace);
        return NULL;
    }
    char name[64];
    tt_name(trace, "main", name);
    if (!tt_segment_open(&trace->main, trace->folder, name, trace->run_id, TT_SEGMENT_MAIN, 0, MAIN_CHUNK,
                         &trace->budget)) {
        snprintf(error, 256, "%.120s/%.60s: %s", folder, name,
                 errno == EDQUOT ? "the limit of the trace (TENSOR_TRACE_MAX_BYTES, --limit) or a disk quota"
                                 : strerror(errno));
        tt_close(trace);
        return NULL;
    }
    trace->n_segments = 1;
    tt_string(trace, "");
    const struct tt_moment moment = tt_moment();
    tt_clock(trace, &moment);
    return trace;
}

static void put_locked(struct tt_trace * trace, enum tt_type type, const void * payload, size_t size,
                       uint64_t time_ns) {
    void * at = tt_record_begin_locked(trace, type, size, time_ns);
    if (at) {
        memcpy(at, payload, size);
        tt_record_end_locked(trace);
    }
}

void tt_seal(struct tt_trace * trace) {
    pthread_mutex_lock(&trace->lock);
    if (trace->main.fd >= 0 && !trace->sealed) {
        tt_writers_seal(trace);
        tt_faults_stop(trace);
        struct timespec wall;
        clock_gettime(CLOCK_REALTIME, &wall);
        const struct tt_end end = {
            .wall_ns    = (uint64_t) wall.tv_sec * 1000000000u + (uint64_t) wall.tv_nsec,
            .n_passes   = trace->n_passes,
            .n_segments = trace->n_segments,
            .n_skipped  = trace->n_skipped,
        };
        const struct tt_moment moment = tt_moment();
        if (tt_tsc) {
            put_locked(trace, TT_CLOCK, &moment.ticks, sizeof moment.ticks, moment.ns);
        }
        put_locked(trace, TT_END, &end, sizeof end, moment.ns);
        tt_segment_close(&trace->main, false);
        trace->sealed = true;
    }
    pthread_mutex_unlock(&trace->lock);
}

void tt_close(struct tt_trace * trace) {
    tt_seal(trace);
    tt_writers_free(trace);
    if (trace->folder >= 0) {
        close(trace->folder);
    }
    tt_forget(trace);
    free(trace);
}

void tt_forget(struct tt_trace * trace) {
    for (uint32_t i = 0; i < trace->n_strings; i++) {
        free(trace->texts[i]);
    }
    free(trace->texts);
    tt_map_free(&trace->strings);
    tt_map_free(&trace->graphs);
    tt_map_free(&trace->placements);
    pthread_mutex_destroy(&trace->lock);
}

/* After a record that did not fit only TT_END is written: other records could refer to what is missing. */
void * tt_record_begin_locked(struct tt_trace * trace, enum tt_type type, size_t payload, uint64_t time_ns) {
    const size_t padded = (payload + 7) / 8 * 8;
    const size_t length = sizeof(struct tt_record) + padded;
    const bool   closed = trace->full && type != TT_END;
    if (trace->sealed) {
        return NULL;
    }
    if (closed || length > UINT32_MAX || !tt_segment_reserve(&trace->main, length)) {
        trace->full = true;
        tt_segment_drop(&trace->main, 1, length);
        return NULL;
    }
    uint8_t *              at     = trace->main.payload + trace->main.used;
    const struct tt_record record = { .type = type, .length = (uint32_t) length, .time_ns = time_ns };
    memcpy(at, &record, sizeof record);
    memset(at + length - 8, 0, padded ? 8 : 0);
    return at + sizeof record;
}

void tt_record_end_locked(struct tt_trace * trace) {
    struct tt_record record;
    memcpy(&record, trace->main.payload + trace->main.used, sizeof record);
    tt_segment_commit(&trace->main, record.length);
}

void * tt_record_begin(struct tt_trace * trace, enum tt_type type, size_t payload, uint64_t time_ns) {
    pthread_mutex_lock(&trace->lock);
    void * at = tt_record_begin_locked(trace, type, payload, time_ns);
    if (!at) {
        pthread_mutex_unlock(&trace->lock);
    }
    return at;
}

void tt_record_end(struct tt_trace * trace) {
    tt_record_end_locked(trace);
    pthread_mutex_unlock(&trace->lock);
}

void tt_record(struct tt_trace * trace, enum tt_type type, const void * payload, size_t size, uint64_t time_ns) {
    pthread_mutex_lock(&trace->lock);
    put_locked(trace, type, payload, size, time_ns);
    pthread_mutex_unlock(&trace->lock);
}

static bool remember(struct tt_trace * trace, const char * text, uint64_t hash) {
    if (trace->n_strings == trace->texts_size) {
        const uint32_t size   = trace->texts_size ? trace->texts_size * 2 : 256;
        char **        larger = realloc(trace->texts, size * sizeof *larger);
        if (!larger) {
            return false;
        }
        trace->texts      = larger;
        trace->texts_size = size;
    }
    char * copy = strdup(text);
    if (!copy || !tt_map_put(&trace->strings, hash, trace->n_strings)) {
        free(copy);
        return false;
    }
    trace->texts[trace->n_strings++] = copy;
    return true;
}

/* Called under the lock: no record may name a string before the string is written. 0, the empty string: no room. */
static uint32_t string_locked(struct tt_trace * trace, const char * text) {
    const size_t size = strlen(text);
    uint32_t     number;
    uint64_t     hash = tt_hash(0, text, size);
    for (uint64_t seed = 1; tt_map_get(&trace->strings, hash, &number); seed++) {
        if (strcmp(trace->texts[number], text) == 0) {
            return number;
        }
        hash = tt_hash(seed, text, size);
    }
    number        = trace->n_strings;
    uint32_t * at = tt_record_begin_locked(trace, TT_STRING, 8 + size, tt_now());
    if (!at) {
        return 0;
    }
    if (!remember(trace, text, hash)) {
        tt_segment_drop(&trace->main, 1, size);
        return 0;
    }
    at[0] = number;
    at[1] = (uint32_t) size;
    memcpy(at + 2, text, size);
    tt_record_end_locked(trace);
    return number;
}

uint32_t tt_string(struct tt_trace * trace, const char * text) {
    pthread_mutex_lock(&trace->lock);
    const uint32_t number = string_locked(trace, text);
    pthread_mutex_unlock(&trace->lock);
    return number;
}

void tt_info(struct tt_trace * trace, const char * key, const char * value) {
    const uint32_t pair[2] = { tt_string(trace, key), tt_string(trace, value) };
    tt_record(trace, TT_INFO, pair, sizeof pair, tt_now());
}

uint32_t tt_next_pass(struct tt_trace * trace) { return atomic_fetch_add(&trace->n_passes, 1); }

void tt_skip_pass(struct tt_trace * trace) {
    atomic_fetch_add(&trace->n_passes, 1);
    atomic_fetch_add(&trace->n_skipped, 1);
}

uint64_t tt_next_compute(struct tt_trace * trace) { return atomic_fetch_add(&trace->n_computes, 1); }
