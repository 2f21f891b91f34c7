/* Writes the records of the main segment, and once each string that they name. */
#include "tt_record.h"

#include <stdlib.h>
#include <string.h>

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

void tt_record_locked(struct tt_trace * trace, enum tt_type type, const void * payload, size_t size, uint64_t time_ns) {
    void * at = tt_record_begin_locked(trace, type, size, time_ns);
    if (at) {
        memcpy(at, payload, size);
        tt_record_end_locked(trace);
    }
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
    tt_record_locked(trace, type, payload, size, time_ns);
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

void tt_clock(struct tt_trace * trace, const struct tt_moment * moment) {
    if (tt_tsc) {
        tt_record(trace, TT_CLOCK, &moment->ticks, sizeof moment->ticks, moment->ns);
    }
}
