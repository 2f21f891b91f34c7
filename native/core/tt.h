/* What the files of the tracer share. Nothing here knows ggml; ../ggml does. */
#ifndef TT_H
#define TT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* gettid, getrandom, MAP_POPULATE */
#endif

#include "tensor_trace_format.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static inline uint64_t tt_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* clock.c: events count ticks, of the time stamp counter where it is a clock, else of CLOCK_MONOTONIC */
extern bool tt_tsc __attribute__((visibility("hidden")));
struct tt_moment {
    uint64_t ns, ticks;
};
const char *     tt_clock_choose(void); /* reads TENSOR_TRACE_CLOCK; says why it is this one */
struct tt_moment tt_moment(void);

static inline uint64_t tt_ticks(void) {
#if defined(__x86_64__)
    if (tt_tsc) {
        return __builtin_ia32_rdtsc();
    }
#endif
    return tt_now();
}

/* crc32.c */
uint32_t tt_crc32(uint32_t crc, const void * data, size_t size);

/* map.c: 64-bit key (never 0) to 32-bit number, grows, never forgets unless cleared */
struct tt_map {
    uint64_t * keys;
    uint32_t * values;
    size_t     size, used;
};
bool     tt_map_put(struct tt_map * map, uint64_t key, uint32_t value); /* false: out of memory */
bool     tt_map_get(const struct tt_map * map, uint64_t key, uint32_t * value);
void     tt_map_clear(struct tt_map * map);
void     tt_map_free(struct tt_map * map);
uint64_t tt_hash(uint64_t seed, const void * data, size_t size); /* never 0 */

/* segment.c: one file of chunks */
struct tt_budget {
    _Atomic uint64_t left;
};
struct tt_segment {
    int                      fd;
    uint64_t                 file_bytes;           /* where the next chunk begins */
    size_t                   chunk_bytes;          /* smallest chunk to allocate */
    uint32_t                 sequence;
    uint8_t *                payload; /* of the chunk in use, or NULL */
    size_t                   room, used;
    struct tt_chunk_header * chunk;
    struct tt_file_header *  header;
    struct tt_budget *       budget;
};
bool tt_segment_open(struct tt_segment * segment, int folder, const char * name, const uint8_t run_id[16],
                     enum tt_segment_kind kind, uint32_t number, size_t chunk_bytes, struct tt_budget * budget);
/* Make room for `bytes` without a seam; false: there is none, and nothing was written. */
bool tt_segment_reserve(struct tt_segment * segment, size_t bytes);
/* Keep for the reader why there was no room; the first reason (an errno) is the one that counts. */
void tt_segment_explain(struct tt_segment * segment, int fault);
void tt_segment_drop(struct tt_segment * segment, uint64_t records, uint64_t bytes);
void tt_segment_close(struct tt_segment * segment, bool in_use);

static inline void tt_segment_commit(struct tt_segment * segment, size_t bytes) {
    segment->used += bytes;
    __atomic_store_n(&segment->chunk->committed, (uint64_t) segment->used, __ATOMIC_RELEASE);
}

/* window.c: which passes are recorded */
struct tt_window {
    uint64_t begin_ns, end_ns, first, last, most;
};
bool tt_window_read(struct tt_window * window, uint64_t now_ns, char error[256]); /* reads the environment */
bool tt_window_holds(const struct tt_window * window, uint64_t now_ns, uint64_t number, uint64_t n_recorded);

/* trace.c: the run as a whole, and its main segment */
struct tt_writer;
struct tt_trace;
struct tt_trace * tt_open(const char * folder, uint64_t max_bytes, char error[256]);
/* Write the end and the checksums. Others may still call: what comes after is neither recorded nor counted. */
void tt_seal(struct tt_trace * trace);
void tt_close(struct tt_trace * trace); /* seal and free: when nobody calls any more */
void tt_forget(struct tt_trace * trace); /* free what it remembers: names, graphs, placements */
/* A record of `payload` bytes: fill what this returns, then call tt_record_end; NULL: dropped. */
void *   tt_record_begin(struct tt_trace * trace, enum tt_type type, size_t payload, uint64_t time_ns);
void     tt_record_end(struct tt_trace * trace);
void *   tt_record_begin_locked(struct tt_trace * trace, enum tt_type type, size_t payload, uint64_t time_ns);
void     tt_record_end_locked(struct tt_trace * trace);
void     tt_record(struct tt_trace * trace, enum tt_type type, const void * payload, size_t size, uint64_t time_ns);
void     tt_clock(struct tt_trace * trace, const struct tt_moment * moment); /* in clock.c */
uint32_t tt_string(struct tt_trace * trace, const char * text);
void     tt_info(struct tt_trace * trace, const char * key, const char * value);
uint32_t tt_next_pass(struct tt_trace * trace);
void     tt_skip_pass(struct tt_trace * trace); /* a pass outside the window: numbered, not recorded */
uint64_t tt_next_compute(struct tt_trace * trace);

/* residency.c: which pages of the mapped files are in memory; false: there are too many ranges */
bool tt_residency_add(const void * address, size_t size);
bool tt_residency_cut(const void * address, size_t size);
void tt_residency_write(struct tt_trace * trace, uint32_t pass, uint32_t load);

/* facts.c */
void tt_facts(struct tt_trace * trace);

/* graphs.c: each distinct graph and placement once */
struct tt_known {
    uint32_t number;
    bool     is_new;
};
struct tt_known tt_graph(struct tt_trace * trace, const struct tt_node * nodes, uint32_t n_nodes, uint32_t n_leafs);
struct tt_known tt_placement(struct tt_trace * trace, uint32_t graph, const struct tt_place * places, uint32_t n);

/* writer.c: the path of the ops, one writer per thread, nothing shared; tensor_trace.h has the rest of it */
/* Fill what, bytes and ne of `index` and put the numbers behind it; their size, or TT_NO_ROOM. */
#define TT_NO_ROOM SIZE_MAX
typedef size_t (*tt_index_fn)(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens);
struct tt_compute_work {           /* what the threads of a compute need; lives until compute_end */
    const void *    graph;
    uint64_t        compute;
    const uint8_t * plan;          /* per node: 1 when index data must be copied; NULL: none */
    size_t          index_bytes;   /* most that the copies of one thread can take */
    uint32_t        n_nodes, n_tokens;
    tt_index_fn     copy_index;
};
/* schedule.c: what the kernel tells of a thread: its processor time, and how long it was runnable and did not run */
struct tt_thread_time {
    uint64_t cpu_ns, delay_ns;
    uint32_t os_thread;
};
struct tt_schedule_begin {
    struct tt_thread_time * times; /* by place of the writer */
    uint32_t                n, size;
    uint64_t                ns;                   /* just before the first of them was asked */
};
/* A pass that must be told later how its threads ran; false: out of memory, and those that are there already count less. */
bool               tt_schedule_begin(struct tt_trace * trace, struct tt_schedule_begin * begin);
struct tt_schedule tt_schedule_end(struct tt_trace * trace, const struct tt_schedule_begin * begin);

struct tt_writer {
    struct tt_segment      segment;
    struct tt_trace *      trace;
    struct tt_writer *     next;
    uint64_t               last, begin, barrier, barrier_begin; /* ticks; begin is 0 between ops */
    struct tt_compute_work work;
    const uint8_t *        plan;          /* of the work, where this thread copies index data */
    int                    first_node;
    uint32_t               thread, os_thread;
    uint32_t               place;                /* among the writers of the run, from 0 */
    int                    schedstat;            /* file of its thread's run delay; -1: there is none */
    struct tt_thread_time  since;   /* when its thread got it */
    bool                   dropping;
    atomic_bool            busy, owned;
};
struct tt_writer * tt_writer_acquire(struct tt_trace * trace);
void tt_schedule_of_thread(struct tt_writer * writer); /* in schedule.c: under the lock, when a thread gets it */
void tt_writer_release(struct tt_writer * writer);
/* Make room for a compute of so many nodes and bytes of index data: before a pass, so that it need not wait for it. */
bool tt_writer_prepare(struct tt_writer * writer, uint32_t n_nodes, size_t index_bytes);
void tt_thread_begin(struct tt_writer * writer, const struct tt_compute_work * work, int ith, int nth);
void tt_thread_end(struct tt_writer * writer);
/* The same for who learns later when something was, in ticks: attached tracing. */
void tt_thread_end_at(struct tt_writer * writer, uint64_t ticks);
void tt_index_at(struct tt_writer * writer, int node); /* before the op: its index data, where the plan wants them */
void tt_op_was(struct tt_writer * writer, int node, int n_fused, uint64_t begin, uint64_t end, uint64_t barrier);
void tt_writers_seal(struct tt_trace * trace); /* under the lock */
void tt_writers_free(struct tt_trace * trace);
enum { TT_THREAD_CHUNK = 1 << 20 };

/* cost.c: nanoseconds that an op event beside other work and a read of its clock alone take in this folder, now */
struct tt_cost {
    double event_ns, clock_ns;
};
bool tt_measure_cost(struct tt_trace * trace, struct tt_cost * cost); /* false: it could not be measured */

/* shared by trace.c and writer.c */
struct tt_trace {
    pthread_mutex_t    lock;
    struct tt_segment  main;
    struct tt_budget   budget;
    uint8_t            run_id[16];
    int                folder;
    bool               full;       /* a record of the main segment was dropped */
    bool               sealed;
    const char *       clock;      /* why it is the one that events are timed by */
    uint32_t           n_segments;
    struct tt_writer * writers;    /* all of this run, in use or not */
    uint32_t           n_writers;
    struct tt_map      strings, graphs, placements;
    char **            texts;
    uint32_t           n_strings, texts_size, n_graphs, n_placements;
    _Atomic uint32_t   n_passes, n_skipped;
    _Atomic uint64_t   n_computes;
};

#endif
