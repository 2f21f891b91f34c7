/* The trace as a whole: its run id, how it begins and ends. */
#include "tt_trace.h"
#include "tt_footprint.h"
#include "tt_memory.h"
#include "tt_pages.h"
#include "tt_record.h"
#include "tt_system.h"
#include "tt_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAIN_CHUNK = 256 << 10 };

struct tt_trace * tt_open(const char * folder, uint64_t max_bytes, char error[256]) {
    struct tt_trace * trace = calloc(1, sizeof *trace);
    if (!trace) {
        snprintf(error, 256, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&trace->lock, NULL);
    atomic_init(&trace->budget.left, max_bytes);
    trace->budget.outside = true;
    tt_pages_open();
    tt_memory_open();
    tt_footprint_open();
    trace->main.fd = -1;
    trace->clock   = tt_clock_choose();
    trace->folder  = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (trace->folder < 0 || !tt_random(trace->run_id, sizeof trace->run_id)) {
        snprintf(error, 256, "%.200s: %s", folder, strerror(errno));
        tt_close(trace);
        return NULL;
    }
    char name[TT_NAME_BYTES];
    tt_segment_name(trace, "main", name);
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
            tt_record_locked(trace, TT_CLOCK, &moment.ticks, sizeof moment.ticks, moment.ns);
        }
        tt_record_locked(trace, TT_END, &end, sizeof end, moment.ns);
        tt_segment_close(&trace->main, false);
        trace->sealed = true;
    }
    pthread_mutex_unlock(&trace->lock);
}

uint64_t tt_own_bytes(struct tt_trace * trace) {
    pthread_mutex_lock(&trace->lock);
    uint64_t bytes = trace->main.own_bytes;
    for (struct tt_writer * writer = trace->writers; writer; writer = writer->next) {
        bytes += writer->segment.own_bytes + tt_faults_own_bytes(writer->faults);
    }
    pthread_mutex_unlock(&trace->lock);
    return bytes;
}

void tt_close(struct tt_trace * trace) {
    tt_seal(trace);
    tt_writers_free(trace);
    if (trace->folder >= 0) {
        close(trace->folder);
    }
    for (uint32_t i = 0; i < trace->n_strings; i++) {
        free(trace->texts[i]);
    }
    free(trace->texts);
    tt_map_free(&trace->strings);
    tt_map_free(&trace->graphs);
    tt_map_free(&trace->placements);
    pthread_mutex_destroy(&trace->lock);
    free(trace);
}
