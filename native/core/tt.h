/* Types and functions that the files of the tracer share. Nothing in this folder knows ggml; ../ggml does. */
#ifndef TT_H
#define TT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* gettid, getrandom, MAP_POPULATE */
#endif

#include "tensor_trace_format.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static inline uint64_t tt_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* clock.c: events are timed in ticks: of the time stamp counter where it can serve as a clock (tt_tsc), else ns of
   CLOCK_MONOTONIC */
extern bool tt_tsc __attribute__((visibility("hidden")));
struct tt_moment { /* one moment on both clocks */
    uint64_t ns, ticks;
};
const char *     tt_clock_choose(void); /* reads TENSOR_TRACE_CLOCK, sets tt_tsc; returns the reason for the choice */
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

/* map.c: a hash map from a 64-bit key (never 0) to a 32-bit number; it grows, and single keys cannot be removed */
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

/* pages.c: pages of the trace that somebody outside of the program's memory group makes */
void tt_pages_open(void); /* reads TENSOR_TRACE_PAGES */
/* Ask for `bytes` more of a file that ends at `at`, and wait for them. false: nobody makes pages; make them yourself. */
bool tt_pages_made(int fd, const char * name, uint64_t at, uint64_t bytes);
void tt_pages_done(const char * name, uint64_t at, uint64_t bytes); /* they may leave the cache when they are written */

/* segment.c: one file of chunks */
struct tt_budget {
    _Atomic uint64_t left;
    bool             outside; /* somebody outside may make the pages */
};
struct tt_segment {
    int                      fd;
    uint64_t                 file_bytes; /* size of the file: where the next chunk begins */
    size_t                   chunk_bytes; /* smallest chunk to allocate */
    uint32_t                 sequence;
    uint8_t *                payload; /* of the current chunk, or NULL */
    size_t                   room, used;
    struct tt_chunk_header * chunk;
    uint64_t                 chunk_at; /* where the chunk begins in the file */
    struct tt_file_header *  header;
    struct tt_budget *       budget;
    uint64_t                 own_bytes; /* of the file: those whose pages nobody outside made */
    char                     name[TT_NAME_BYTES];
};
bool tt_segment_open(struct tt_segment * segment, int folder, const char * name, const uint8_t run_id[16],
                     enum tt_segment_kind kind, uint32_t number, size_t chunk_bytes, struct tt_budget * budget);
struct tt_trace;
void tt_segment_name(const struct tt_trace * trace, const char * suffix, char out[TT_NAME_BYTES]); /* RUNID.suffix.tt */
/* Add the segment of a thread to a trace, under its lock. Where it cannot be opened, its drops are counted in the header
   of the main segment. */
void tt_segment_of_thread(struct tt_segment * segment, struct tt_trace * trace, enum tt_segment_kind kind,
                          uint32_t place, size_t chunk_bytes);
/* Make room for `bytes` in one chunk; false: there is no room, and nothing was written. */
bool tt_segment_reserve(struct tt_segment * segment, size_t bytes);
/* Note in the file header why there was no room (`error`, an errno); only the first reason is kept. */
void tt_segment_explain(struct tt_segment * segment, int error);
/* Count records and bytes that were not written. */
void tt_segment_drop(struct tt_segment * segment, uint64_t records, uint64_t bytes);
/* Write the last checksum and close; in_use: a thread may still write, so leave the file open and that chunk unsealed. */
void tt_segment_close(struct tt_segment * segment, bool in_use);
void tt_segment_discard(struct tt_segment * segment); /* of a deleted file: its pages, too, are free then */

/* Make the next `bytes` of the payload valid for readers of the file. */
static inline void tt_segment_commit(struct tt_segment * segment, size_t bytes) {
    segment->used += bytes;
    __atomic_store_n(&segment->chunk->committed, (uint64_t) segment->used, __ATOMIC_RELEASE);
}

/* window.c: decides which passes are recorded */
struct tt_window {
    uint64_t begin_ns, end_ns; /* of CLOCK_MONOTONIC */
    uint64_t first, last; /* numbers of passes, both recorded */
    uint64_t max_recorded; /* how many passes at most */
};
/* Read TENSOR_TRACE_AFTER, _FOR and _PASSES; false: `error` says what is wrong. */
bool tt_window_read(struct tt_window * window, uint64_t now_ns, char error[256]);
/* Whether the pass with this number, which begins now, is recorded when `n_recorded` passes were recorded before it. */
bool tt_window_holds(const struct tt_window * window, uint64_t now_ns, uint64_t number, uint64_t n_recorded);

/* record.c: the records of the main segment, and the strings that they name */
/* Begin a record with `payload` bytes: fill them at the address returned, then call tt_record_end. NULL: the record was
   dropped, and tt_record_end must not be called. The _locked ones are for callers that hold the lock of the trace. */
void * tt_record_begin(struct tt_trace * trace, enum tt_type type, size_t payload, uint64_t time_ns);
void   tt_record_end(struct tt_trace * trace);
void * tt_record_begin_locked(struct tt_trace * trace, enum tt_type type, size_t payload, uint64_t time_ns);
void   tt_record_end_locked(struct tt_trace * trace);
void   tt_record(struct tt_trace * trace, enum tt_type type, const void * payload, size_t size, uint64_t time_ns);
void tt_record_locked(struct tt_trace * trace, enum tt_type type, const void * payload, size_t size, uint64_t time_ns);
void tt_clock(struct tt_trace * trace, const struct tt_moment * moment); /* TT_CLOCK, if ticks are not ns */
uint32_t tt_string(struct tt_trace * trace, const char * text); /* the number of a string, written once */
void     tt_info(struct tt_trace * trace, const char * key, const char * value);

/* trace.c: the trace as a whole */
struct tt_writer;
/* Begin a trace in an existing folder; NULL: `error` says why not. */
struct tt_trace * tt_open(const char * folder, uint64_t max_bytes, char error[256]);
/* Write the end record and the checksums. Other threads may still call: later records are ignored and not counted. */
void     tt_seal(struct tt_trace * trace);
uint64_t tt_own_bytes(struct tt_trace * trace); /* of its files: those whose pages nobody outside made */
void     tt_close(struct tt_trace * trace); /* seal and free; no other thread may use the trace any more */
uint32_t tt_next_pass(struct tt_trace * trace);
void     tt_skip_pass(struct tt_trace * trace); /* a pass outside the window: it takes a number, but is not recorded */
uint64_t tt_next_compute(struct tt_trace * trace);

/* mapped.c: where the model files are mapped now */
struct tt_mapped {
    uintptr_t address;
    size_t    size;
    bool      residency; /* its pages in memory are recorded */
    uint32_t  file; /* its number in storage.c; 0: none */
    uint64_t  since_ns; /* before, other memory may have been at this address */
    uint64_t  last_hash; /* hash of its pages in memory when they were last written; 0: never */
};
enum { TT_MOST_MAPPED = 256 };
bool   tt_mapped_add(const void * address, size_t size, bool residency, uint32_t file); /* false: there are too many */
bool   tt_mapped_cut(const void * address, size_t size);
size_t tt_mapped_copy(struct tt_mapped copy[TT_MOST_MAPPED]);
bool   tt_mapped_remember(const struct tt_mapped * mapped, uint64_t last_hash); /* false: it is no longer mapped so */

/* storage.c: the devices that hold the model files, and how much of the files is in the kernel's cache */
struct stat;
struct tt_model_file {
    const void *        address; /* where it is mapped */
    size_t              size;
    int                 fd;
    const struct stat * status;
    uint32_t            path; /* string */
    bool                residency, cache; /* whether to record: which of its pages are in memory, and how many */
};
bool tt_storage_map(struct tt_trace * trace, const struct tt_model_file * file); /* false: too many are mapped */
bool tt_storage_unmap(const void * address, size_t size); /* false: too many are mapped */
enum { TT_MOST_DEVICES = 8 };
struct tt_devices { /* what the devices had counted before a load or pass, and then after it; zero before the first */
    struct tt_device_begin {
        struct tt_device_counts counts;
        uint64_t                ns; /* when they were read */
    } *      of; /* TT_MOST_DEVICES of them; NULL: no device was read yet */
    uint32_t known; /* bit i: of[i] is set */
};
void tt_devices_begin(struct tt_trace * trace, struct tt_devices * begin); /* the devices of the mapped files */
void tt_devices_begin_load(struct tt_trace * trace, const char * path, struct tt_devices * begin); /* and of `path` */
/* Write what the devices did since `begin`: for this pass, or for the load where `pass` is TT_NONE. */
void tt_devices_end(struct tt_trace * trace, struct tt_devices * begin, uint32_t pass, uint32_t load);
void tt_cache_write(struct tt_trace * trace, uint32_t pass, uint32_t load);

/* memory.c: what the memory group of the program holds */
void tt_memory_open(void); /* reads TENSOR_TRACE_MEMORY */
void tt_memory_write(struct tt_trace * trace, uint32_t pass, uint32_t load);

/* residency.c: which pages of the mapped files are in memory */
void tt_residency_write(struct tt_trace * trace, uint32_t pass, uint32_t load);

/* ring.c: the memory in which the kernel notes the page faults of a thread */
enum { TT_RING_NOTED = 3, TT_RING_WAKES = 2 };
struct perf_event_mmap_page;
struct tt_ring {
    struct perf_event_mmap_page * shared; /* NULL: no thread is watched */
    size_t                        page, n_bytes; /* of the machine; of the ring without its first page */
    int                           noted[TT_RING_NOTED], wakes[TT_RING_WAKES]; /* descriptors; -1: none */
    uint64_t                      n_seen; /* events that were in the ring, or were said to be lost */
};
struct tt_noted { /* what the kernel noted */
    enum { TT_NOTED_BEGIN, TT_NOTED_MINOR, TT_NOTED_MAJOR, TT_NOTED_LOST } what;
    uint64_t n; /* events: more than one if they were lost */
    uint64_t time_ns, address; /* address: only of a begin */
};
int      tt_ring_open(struct tt_ring * ring); /* watch the thread that calls; 0, or the errno that says why not */
void     tt_ring_stop(const struct tt_ring * ring); /* nothing is noted any more */
void     tt_ring_close(struct tt_ring * ring);
bool     tt_ring_half_full(const struct tt_ring * ring);
uint64_t tt_ring_head(const struct tt_ring * ring); /* where what comes from now on will begin */
/* Take the oldest of what stands before `head`; false: there is no more. */
bool     tt_ring_next(struct tt_ring * ring, uint64_t head, struct tt_noted * noted);
uint64_t tt_ring_missed(const struct tt_ring * ring); /* events that happened and were never seen; after the stop */

/* wake.c: a thread is woken in the middle of an op when its ring is filling */
/* A trace that records page faults begins; `woken` is called in the signal handler of a woken thread. */
void tt_wake_start(void (*woken)(struct tt_writer * writer));
void tt_wake_stop(void); /* it ends */
void tt_wake_for(struct tt_writer * writer, const struct tt_ring * ring); /* the thread that calls has this writer */
void tt_wake_forget(const struct tt_writer * writer); /* it has it no longer */
void tt_wake_block(sigset_t * was); /* not while the thread that calls holds a lock that emptying takes */
void tt_wake_unblock(const sigset_t * was);

/* faults.c: page faults of the threads that record */
struct tt_faults;
void     tt_faults_start(struct tt_trace * trace); /* TENSOR_TRACE_FAULTS=1; says in the trace why not */
void     tt_faults_stop(struct tt_trace * trace); /* all writers are closed */
void     tt_faults_watch(struct tt_writer * writer); /* under the lock: this thread has this writer from now on */
void     tt_faults_collect(struct tt_writer * writer); /* write the faults that the kernel has noted so far */
void     tt_faults_end(struct tt_writer * writer); /* its thread is about to end */
void     tt_faults_close(struct tt_writer * writer); /* the trace ends: seal the segment */
void     tt_faults_free(struct tt_writer * writer);
uint64_t tt_faults_own_bytes(const struct tt_writer * writer); /* of its segment; see tt_own_bytes */
/* The waits at barriers inside an op are written beside the faults: they tell who waited for whose fault. Of one op at
   most TT_MOST_BARRIERS; those beyond it are part of the op's time all the same. */
enum { TT_MOST_BARRIERS = 256 };
void tt_faults_barrier(struct tt_writer * writer, uint64_t begin, uint64_t end); /* ticks; writer->faults is not NULL */
/* The op of these waits has ended. Faults are written if there is soon no room for more. */
void tt_faults_op(struct tt_writer * writer, int node);

/* facts.c: TT_INFO records about the process, the machine and the clock */
void tt_facts(struct tt_trace * trace);

/* graphs.c: writes each distinct graph and placement once; number TT_NONE: it could not be written */
struct tt_known {
    uint32_t number;
    bool     is_new;
};
struct tt_known tt_graph(struct tt_trace * trace, const struct tt_node * nodes, uint32_t n_nodes, uint32_t n_leafs);
struct tt_known tt_placement(struct tt_trace * trace, uint32_t graph, const struct tt_place * places, uint32_t n);

/* writer.c: writes the events of the ops, each thread by its own writer; tensor_trace.h has the other functions */
/* Copies the index data of a node: fills `what`, `bytes`, `ne0` and `ne1` of `index` and puts the numbers behind it.
   Returns the bytes of the numbers, or TT_NO_ROOM when they need more than `room`. */
#define TT_NO_ROOM SIZE_MAX
typedef size_t (*tt_index_fn)(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens);
struct tt_compute_work { /* what the threads of a compute need; valid until compute_end */
    const void *    graph;
    uint64_t        compute;
    const uint8_t * plan; /* per node: not 0 where index data must be copied; NULL: nowhere */
    size_t          index_bytes; /* most bytes that these copies can take */
    uint32_t        n_nodes, n_tokens;
    tt_index_fn     copy_index;
};
/* schedule.c: the kernel's counters of a thread: its processor time, and how long it was runnable but did not run */
struct tt_thread_time {
    uint64_t cpu_ns, delay_ns;
    uint32_t os_thread;
};
struct tt_schedule_begin { /* the counters of all threads when a pass began */
    struct tt_thread_time * times; /* indexed by the writer's place */
    uint32_t                n, size;
    uint64_t                ns; /* just before the first counter was read */
};
/* Read the counters when a pass begins. false: out of memory; then each thread counts from when it got its writer. */
bool tt_schedule_begin(struct tt_trace * trace, struct tt_schedule_begin * begin);
/* The sums over all threads since the begin; the caller fills in the pass. */
struct tt_schedule tt_schedule_end(struct tt_trace * trace, const struct tt_schedule_begin * begin);

struct tt_writer {
    struct tt_segment      segment;
    struct tt_trace *      trace;
    struct tt_writer *     next;
    uint64_t               last, begin, barrier, barrier_begin; /* ticks; begin is 0 between ops */
    struct tt_compute_work work;
    const uint8_t *        plan; /* work.plan if this thread copies index data, else NULL */
    int                    first_node;
    uint32_t               thread, os_thread;
    uint32_t               place; /* index among the writers of the run, from 0 */
    int                    schedstat; /* descriptor of its thread's schedstat; -1: it cannot be opened */
    struct tt_thread_time  since; /* the thread's counters when it got this writer */
    struct tt_faults *     faults; /* NULL: the page faults of its thread are not recorded */
    bool                   dropping; /* there is no room: the events of this compute are counted, not written */
    bool                   is_watched; /* dropping, or page faults are recorded: see watched_op */
    atomic_bool            busy, owned; /* busy: between thread_begin and thread_end */
};
/* A writer for the calling thread: a released one or a new one. NULL: the trace is sealed, or out of memory. */
struct tt_writer * tt_writer_acquire(struct tt_trace * trace);
void tt_schedule_of_thread(struct tt_writer * writer); /* in schedule.c: set schedstat and since; under the lock */
void tt_writer_release(struct tt_writer * writer);
/* Make room for a compute with so many nodes and bytes of index data. Called before a pass, so that allocating a chunk
   is not part of the pass. */
bool tt_writer_prepare(struct tt_writer * writer, uint32_t n_nodes, size_t index_bytes);
void tt_thread_begin(struct tt_writer * writer, const struct tt_compute_work * work, int ith, int nth);
void tt_thread_end(struct tt_writer * writer);
/* For attached tracing, which learns the times of an op only after it. All times are in ticks. */
void tt_thread_end_at(struct tt_writer * writer, uint64_t ticks);
void tt_index_at(struct tt_writer * writer, int node); /* before the op: copies its index data if the plan says so */
void tt_op_was(struct tt_writer * writer, int node, int n_fused, uint64_t begin, uint64_t end, uint64_t barrier);
void tt_writers_seal(struct tt_trace * trace); /* under the lock */
void tt_writers_free(struct tt_trace * trace);
enum { TT_THREAD_CHUNK = 1 << 20 };

/* cost.c: ns that an op event takes beside other work, and ns that a read of its clock takes, in this folder, now */
struct tt_cost {
    double event_ns, clock_ns;
};
bool tt_measure_cost(struct tt_trace * trace, struct tt_cost * cost); /* false: it could not be measured */

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

#endif
