/* What the parts of a trace share: its files, its lock, and its numbers. */
#ifndef TT_STATE_H
#define TT_STATE_H

#include "tt_map.h"
#include "tt_segment.h"

#include <pthread.h>
#include <stdatomic.h>

struct tt_writer;
struct tt_trace {
    pthread_mutex_t    lock;
    struct tt_segment  main;
    struct tt_budget   budget;
    uint8_t            run_id[16];
    int                folder;
    bool               full; /* a record of the main segment was dropped */
    bool               sealed;
    bool               faults; /* page faults are recorded */
    atomic_bool        device_refused, cache_refused; /* the trace says why a device or the cache is not recorded */
    const char *       clock; /* why events are timed by this clock, as tt_clock_choose says */
    uint32_t           n_segments;
    struct tt_writer * writers; /* all writers of this run, owned or not */
    uint32_t           n_writers;
    struct tt_map      strings, graphs, placements;
    char **            texts;
    uint32_t           n_strings, texts_size, n_graphs, n_placements;
    _Atomic uint32_t   n_passes, n_skipped;
    _Atomic uint64_t   n_computes;
};

void tt_segment_name(const struct tt_trace * trace, const char * suffix, char out[TT_NAME_BYTES]); /* RUNID.suffix.tt */
/* Add the segment of a thread to a trace, under its lock. Where it cannot be opened, its drops are counted in the header
   of the main segment. */
void     tt_segment_of_thread(struct tt_segment * segment, struct tt_trace * trace, enum tt_segment_kind kind,
                              uint32_t place, size_t chunk_bytes);
uint32_t tt_next_pass(struct tt_trace * trace);
void     tt_skip_pass(struct tt_trace * trace); /* a pass outside the window: it takes a number, but is not recorded */
uint64_t tt_next_compute(struct tt_trace * trace);

#endif
