/*
 * The layout of a tensor trace, version 2.
 *
 * A traced process writes its files into one folder. Each file is a segment. All
 * have the same run id in their names and in their headers:
 *
 *     RUNID.main.tt      what many ops share: names, graphs, passes, buffers, files
 *     RUNID.t000.tt ...  one for each thread that computed: when it ran each node
 *     RUNID.f000.tt ...  one for each thread whose page faults were recorded
 *
 * All numbers are little-endian. Times named _ns are nanoseconds of CLOCK_MONOTONIC (macOS: CLOCK_UPTIME_RAW).
 * The header of a segment names the clock that times its events: CLOCK_MONOTONIC, or
 * the time stamp counter of an x86-64 processor. Each TT_CLOCK record holds one moment
 * on both clocks. Times between two moments are interpolated linearly; every pass lies
 * between two moments.
 *
 * SEGMENT   a header page of 4,096 bytes (struct tt_file_header, rest zero), then
 *           chunks without gaps. A chunk begins at a multiple of 4,096 with struct
 *           tt_chunk_header; `committed` bytes of payload follow, the rest of the
 *           chunk is unused. `committed` is stored with release order after the
 *           bytes that it counts, so a killed process leaves a readable prefix.
 *           A sealed chunk is final and has the CRC-32 (IEEE) of its payload: it is
 *           sealed when it is full. An unsealed chunk means that the process did not end
 *           in order.
 *           Nothing is overwritten: what does not fit is dropped and counted in the
 *           file header, with the reason: a limit (of the trace or a disk quota), no
 *           space, or another error.
 *
 * MAIN      records of struct tt_record (16 bytes: type, length, time), then the
 *           payload of that type, padded to 8 bytes; `length` counts all of it.
 *           A record lies in one chunk. After a record that did not fit only TT_END is
 *           written, so that no record refers to a missing one.
 *           Each string is written once, as TT_STRING, before the first record that
 *           has its number; number 0 is the empty string.
 *
 * THREAD    units of 16 bytes; the last byte of each is its type. TT_THREAD_BEGIN opens
 *           the part of one thread in one compute (a graph, or a part of a graph, run by
 *           the CPU backend). Each TT_OP is a node that the thread ran. TT_INDEX holds
 *           row numbers, expert numbers or routing weights that an op was about to use;
 *           its data follow, padded to 16 bytes. TT_THREAD_END closes the part. `node`
 *           counts within the compute; the TT_COMPUTE record of the main segment maps it
 *           to a node of the graph. An event of two units has TT_MORE as the type of the
 *           second.
 *
 *           A TT_OP states its begin as the ticks since the time before it: the end of
 *           the op before it, or the time of a TT_THREAD_BEGIN or TT_INDEX in between.
 *           An op whose numbers do not fit is a TT_LONG_OP, which states its own begin.
 *
 * FAULTS    records of 32 bytes (struct tt_fault and those beside it), in the order in which the faults of
 *           the thread ended; and the waits at barriers inside ops, of each op when it has ended. A
 *           TT_FAULT_PART names the compute and the thread of the records that follow it. Where the TT_INFO
 *           faults.off_cpu is 1, a TT_FAULT_OFF_CPU says when the thread, in its part of a compute, had no
 *           processor, and whether it could have run or waited for something else; in no compute there is none.
 *
 * A thread waits after an op from its end to the begin of the thread's next op, or to
 * TT_THREAD_END. Waiting inside the op is in `barrier`.
 *
 * Version 1 had events of 32 bytes and only CLOCK_MONOTONIC; it can no longer be read.
 */
#ifndef TENSOR_TRACE_FORMAT_H
#define TENSOR_TRACE_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define TT_MAGIC       "TTRACE\r\n" /* 8 bytes; a copy in text mode would change the line end */
#define TT_VERSION     2u
#define TT_CHUNK_MAGIC 0x4b4e4843u  /* "CHNK" */
#define TT_PAGE        4096u
#define TT_NONE        0xffffffffu  /* no node, no buffer, no pass */

enum tt_segment_kind { TT_SEGMENT_MAIN = 0, TT_SEGMENT_THREAD = 1, TT_SEGMENT_FAULTS = 2 };
enum tt_dropped_why { TT_DROPPED_UNKNOWN = 0, TT_DROPPED_LIMIT = 1, TT_DROPPED_NO_SPACE = 2, TT_DROPPED_ERROR = 3 };
enum tt_clock_kind { TT_CLOCK_MONOTONIC = 0, TT_CLOCK_TSC = 1 };

struct tt_file_header {
    char     magic[8];
    uint32_t version;
    uint32_t kind;            /* enum tt_segment_kind */
    uint8_t  run_id[16];
    uint32_t number;          /* of the segment within the run */
    uint32_t os_thread;
    uint64_t open_ns;
    uint64_t reserved;
    uint32_t clock;           /* enum tt_clock_kind: the clock that times the events */
    uint32_t crc;             /* of the bytes before it */
    uint64_t dropped_records; /* may still grow: outside the checksum */
    uint64_t dropped_bytes;
    uint32_t dropped_why;     /* enum tt_dropped_why, of the first drop */
    uint32_t reserved2;
};

struct tt_chunk_header {
    uint32_t magic;
    uint32_t sequence;        /* from 0, without gaps */
    uint64_t size_bytes;      /* of the chunk, header included; a multiple of TT_PAGE */
    uint64_t committed;       /* payload bytes that are valid */
    uint32_t sealed;          /* 1: final, crc is valid */
    uint32_t crc;             /* CRC-32 of the committed payload */
    uint64_t reserved[4];
};

/* ---- main segment ------------------------------------------------------- */

enum tt_type {
    TT_INFO       = 1,  /* u32 key, u32 value (strings): facts about process and machine */
    TT_STRING     = 2,  /* u32 number, u32 bytes, the bytes */
    TT_FILE_MAP   = 3,  /* struct tt_file_map */
    TT_FILE_UNMAP = 4,  /* struct tt_file_map; path is 0 */
    TT_LOAD_BEGIN = 5,  /* struct tt_load */
    TT_LOAD_END   = 6,  /* struct tt_load */
    TT_WEIGHT     = 7,  /* struct tt_weight */
    TT_CONTEXT    = 8,  /* struct tt_context */
    TT_BUFFER     = 9,  /* struct tt_buffer: allocated */
    TT_BUFFER_IS  = 10, /* struct tt_buffer: name, usage and address are known now */
    TT_BUFFER_END = 11, /* struct tt_buffer: freed */
    TT_GRAPH      = 12, /* struct tt_graph, then n_nodes + n_leafs struct tt_node */
    TT_PLACEMENT  = 13, /* struct tt_placement, then n struct tt_place */
    TT_CALL       = 14, /* u32 context, u32 0: one llama_decode or llama_encode begins */
    TT_PASS_BEGIN = 15, /* struct tt_pass, then n_tokens struct tt_token */
    TT_PASS_END   = 16, /* struct tt_pass, n_tokens is 0 */
    TT_COMPUTE    = 17, /* struct tt_compute, then n_map u32 */
    TT_LOGITS     = 18, /* u32 context, u32 0: the caller reads logits of the last call */
    TT_SAMPLED    = 19, /* u32 context (or TT_NONE), i32 token: the token chosen from them */
    TT_END        = 20, /* struct tt_end: the trace was closed in order */
    TT_CLOCK      = 21, /* u64 ticks: the clock of the events at time_ns of the record */
    TT_RESIDENCY  = 22, /* struct tt_residency, then n_runs pairs of u32: first page in memory, how many pages */
    TT_WARMUP     = 23, /* u32 context, u32 0: the passes of this context so far only warmed it up */
    TT_SPLIT = 24, /* struct tt_split, then n_map u32; at its end; not for the only split of a pass if the CPU ran it */
    TT_COPY  = 25, /* struct tt_copy; when it has ended */
    TT_HOOKS = 26, /* struct tt_hooks: what tracing a pass cost beside its ops; after its end */
    TT_SCHEDULE = 27, /* struct tt_schedule: how the threads of a pass got processors; after its end */
    TT_DEVICE   = 28, /* struct tt_device: what a device that holds model files did; after the end of a load or pass */
    TT_CACHE  = 29, /* struct tt_cache: pages of a model file in the kernel's cache; after the end of a load or pass */
    TT_MEMORY = 30, /* struct tt_memory: what the memory group of the program holds; after the end of a load or pass */
    TT_DEVICE_OP = 31, /* struct tt_device_op: when the device that computes a split ran an operation; after that */
    TT_DONE      = 32, /* struct tt_done, then n_splits pairs of u32: pass, split; at the end of a wait of llama.cpp */
    TT_FOOTPRINT = 34, /* struct tt_footprint, then n_parts struct tt_footprint_part: what resident memory is made of */
    TT_READ  = 36, /* struct tt_read: a part of a model file was read, or asked for, by a call; when it has returned */
    TT_SAVED = 35, /* struct tt_saved: the state of a sequence was copied out of a context, or into it */
    TT_NODES = 37, /* struct tt_nodes, then n_runs times n_nodes + 1 u32: on which NUMA node pages lie */
    TT_ALLOCATED = 38, /* struct tt_allocated, then classes and sites: what is live; after its TT_FOOTPRINT */
    TT_CHOSEN    = 33, /* struct tt_chosen, then n_rows * n_chosen i32: experts that llama.cpp fetched from a device */
};

struct tt_record {
    uint32_t type;
    uint32_t length;
    uint64_t time_ns;
};

struct tt_file_map {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t inode;
    uint32_t path;
    uint32_t reserved;
};

struct tt_usage { /* getrusage(RUSAGE_SELF): counters of the whole process */
    uint64_t minor_faults, major_faults;
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t read_bytes; /* that the kernel read from storage for it, read-ahead included; in steps of 512 */
};

struct tt_load {
    struct tt_usage usage;
    uint32_t        load; /* number of the load in this process */
    uint32_t        path;
};

struct tt_weight {
    uint32_t load;
    uint32_t name;
    uint32_t split_index; /* which file of the model */
    uint32_t mapped; /* 1: used in the file mapping; 0: copied */
    uint64_t file_offset; /* absolute offset in that file */
    uint64_t size_bytes;
    uint64_t address; /* in its buffer: other buffers may have the same, of other devices or made up */
    uint32_t buffer; /* that holds it; TT_NONE: not known */
    uint32_t reserved;
};

struct tt_context {
    uint32_t context, load;
    uint32_t n_ctx, n_batch, n_ubatch, n_threads;
    uint32_t type_k, type_v; /* strings */
};

struct tt_buffer {
    uint32_t buffer; /* numbered in order of allocation, never reused */
    uint32_t usage; /* 0 any, 1 weights, 2 compute, 3 work */
    uint64_t address;
    uint64_t size_bytes;
    uint32_t name, backend;
};

struct tt_graph {
    uint64_t hash;
    uint32_t graph;
    uint32_t n_nodes, n_leafs;
    uint32_t reserved;
};

struct tt_node {
    uint32_t op, name, dtype; /* strings */
    uint32_t flags; /* ggml's tensor flags */
    uint32_t computes; /* 1 op, 0 noop or leaf, 2 op that is switched off */
    uint32_t view_of; /* node or leaf, or TT_NONE */
    uint64_t view_offset;
    uint64_t size_bytes; /* ggml_nbytes */
    uint64_t ne[4];
    uint64_t nb[4];
    uint32_t src[10]; /* node or leaf (n_nodes + i), or TT_NONE */
    uint32_t op_params[16];
};

struct tt_placement {
    uint64_t hash;
    uint32_t placement, graph;
    uint32_t n, reserved;
};

struct tt_place {
    uint64_t address; /* 0: none yet */
    uint32_t buffer; /* or TT_NONE */
    uint32_t reserved;
};

enum tt_pass_flags { TT_PASS_WARMUP = 1, TT_PASS_ENCODER = 2, TT_PASS_OUTSIDE = 4 /* a graph of no ubatch */ };

struct tt_pass {
    struct tt_usage usage;
    uint32_t        pass, context;
    uint32_t        graph, placement;
    uint32_t        flags; /* enum tt_pass_flags */
    int32_t         status; /* at the end: 0 is success */
    uint32_t        n_tokens, n_sequences; /* n_sequences 0: not known */
};

struct tt_token {
    int32_t  token; /* -1: the input was an embedding */
    int32_t  position;
    int32_t  sequence;
    uint32_t output; /* 1: logits were asked for; TT_NONE: not known */
};

struct tt_compute {
    uint64_t compute;
    uint32_t pass, split;
    uint32_t backend; /* string */
    uint32_t n_nodes;
    uint32_t first_node; /* node 0 of the compute is this node of the graph ... */
    uint32_t n_map; /* ... unless a map of n_nodes numbers follows */
};

/* Whether the end of a split or copy is that of its work. */
enum tt_proof {
    TT_PROOF_UNRECORDED  = 0, /* in older traces */
    TT_PROOF_NONE        = 1, /* it is that of the hand-over: the work may have gone on */
    TT_PROOF_SYNCHRONISE = 2, /* it is: the backend was synchronised, which waits for the work */
    TT_PROOF_BLOCKING    = 3, /* it is: the call that does the work returns when the work is done */
    TT_PROOF_REPLY = 4, /* it is: a server answered what it was asked after the work, and it does one after another */
};

struct tt_split { /* a part of a pass that the scheduler gave to one backend */
    uint64_t
        begin_ns; /* its end is time_ns of the record; the tracer waits for the backend first, unless it is passive */
    uint32_t pass, split;
    uint32_t backend; /* string */
    uint32_t n_nodes;
    uint32_t first_node; /* node 0 of the split is this node of the graph ... */
    uint32_t n_map; /* ... unless a map of n_nodes numbers follows */
    uint32_t by_op; /* 1: the CPU backend ran it, and threads recorded its ops */
    uint32_t proof; /* enum tt_proof. NONE: only handed over; a TT_DONE may follow */
    uint64_t submitted_ns; /* the backend had taken it; over RPC, the thread that sends it had */
};

struct tt_done { /* llama.cpp waited for a backend: it has done these splits */
    uint64_t begin_ns; /* when it began to wait */
    uint32_t proof; /* enum tt_proof */
    uint32_t n_splits;
};

struct tt_chosen { /* the experts of each row in a layer, to copy them to the device that computes with them */
    uint32_t pass;
    uint32_t tensor; /* string: the name of the tensor of expert numbers, which ends with the layer */
    uint32_t n_rows, n_chosen;
};

struct tt_copy { /* a tensor that a split reads was copied to its backend */
    uint64_t begin_ns; /* waiting for both backends included */
    uint64_t size_bytes; /* bytes copied; of a tensor of experts only the experts that are used */
    uint32_t pass, split;
    uint32_t tensor; /* string: its name */
    uint32_t from, to; /* strings: names of the backend that had it and of the backend of the split */
    uint32_t proof; /* enum tt_proof; the tracer does not synchronise for a copy */
};

struct tt_device_op { /* what lay between two labels of a backend's commands, by the device's own time stamps */
    uint64_t begin_ns, end_ns; /* on the clock of the records */
    uint32_t pass, split;
    uint32_t label; /* string: its operation, or those fused into one, and the name of the first's tensor */
    uint32_t order; /* in which the labels were put into commands: within a split that of its nodes */
    uint32_t
        exact; /* 1: the device runs one after another; 0: others may have run meanwhile, so it took at most so long */
    uint32_t reserved;
};

struct tt_hooks { /* time that the thread of a pass spent in the tracer between the begin and the end of the pass */
    uint64_t ticks; /* for counters, clocks and records; op events, and other threads, are not in it */
    uint32_t pass;
    uint32_t inside; /* 1; 0 in older traces, where the time between passes was included */
    uint64_t between; /* ticks in the tracer since the end of the pass before; not in older traces */
};

#define TT_UNKNOWN UINT64_MAX

struct tt_schedule { /* of all threads that record, from just before the begin of a pass to just after its end */
    uint64_t
        run_delay_ns; /* runnable but without a processor, sum over threads; TT_UNKNOWN: the kernel does not tell */
    uint64_t cpu_ns; /* on a processor, sum over threads; or TT_UNKNOWN */
    uint64_t blocked_ns; /* neither of the two: the least of any thread that recorded all the time; or TT_UNKNOWN */
    uint64_t counted_ns; /* length of this interval */
    uint32_t pass, n_threads;
};

struct tt_residency { /* the pages of a mapping that are in memory when a load or a pass has ended */
    uint64_t address;
    uint64_t size_bytes;
    uint32_t pass; /* the pass that ended; TT_NONE: a load ended */
    uint32_t load; /* that load, else TT_NONE */
    uint32_t page_bytes;
    uint32_t n_runs; /* TT_NONE: unchanged since the last record of this address and size */
};

struct tt_device_counts { /* /sys/dev/block/MAJOR:MINOR/stat: since the system was started, of all programs */
    uint64_t n_reads; /* completed */
    uint64_t read_sectors; /* of 512 bytes */
    uint64_t read_ms; /* sum over completed reads; modulo 2^32, as busy_ms */
    uint64_t n_writes; /* completed */
    uint64_t written_sectors;
    uint64_t in_flight; /* requests at this moment */
    uint64_t busy_ms; /* time with at least one request in flight */
};

struct
    tt_device { /* counted from begin_ns, at most 1 ms before the load or pass, until the record's time, just after */
    struct tt_device_counts begin, end;
    uint64_t                begin_ns;
    uint32_t                device; /* string: its name in /sys, of a partition the partition's */
    uint32_t                pass; /* or TT_NONE ... */
    uint32_t                load; /* ... and then the load that ended */
    uint32_t                reserved;
};

struct tt_cache { /* what cachestat(2) says of a mapped file when a load or pass had ended, in pages */
    uint64_t cached, dirty, writeback; /* in memory or being read; of them changed; of them being written */
    uint64_t evicted, recently_evicted; /* no longer in memory; of them so recently that more memory would hold them */
    uint32_t path; /* string: the file, as in its TT_FILE_MAP */
    uint32_t pass; /* or TT_NONE ... */
    uint32_t load; /* ... and then the load that ended */
    uint32_t page_bytes;
};

struct tt_memory { /* TT_UNKNOWN: the kernel does not say so */
    uint64_t anon_bytes; /* resident, of this process and of no file: heap, stacks, copied weights, the KV cache */
    uint64_t group_bytes; /* all that its memory group is charged with: also pages of files that it touched first */
    uint32_t pass; /* or TT_NONE ... */
    uint32_t load; /* ... and then the load that ended */
};

/* When a sample was taken. */
enum tt_occasion {
    TT_OCCASION_LOAD  = 0, /* a load is about to begin, or has ended */
    TT_OCCASION_PASS  = 1, /* a pass has ended */
    TT_OCCASION_SAVED = 2, /* the state of a sequence was saved or restored */
    TT_OCCASION_END   = 3, /* the trace ends */
};
/* The first kinds are mappings, whose bytes add up to the process's; the rest lie within TT_PART_ANONYMOUS. */
enum tt_part {
    TT_PART_MODEL     = 0, /* mapped model files */
    TT_PART_FILES     = 1, /* other files: programs and libraries */
    TT_PART_STACKS    = 2,
    TT_PART_ANONYMOUS = 3, /* memory of no file */
    TT_PART_TRACER    = 4, /* the trace's own files and rings */
    TT_PART_DEVICES   = 5, /* mapped from a driver */
    TT_PART_OTHER     = 6,
    TT_PARTS          = 7, /* how many of mappings there are */
    TT_PART_BUFFER    = 7, /* of the TT_BUFFER of this number */
    TT_PART_SAVED     = 8, /* of the TT_SAVED of this number: what still is resident where it was written to */
};
struct tt_footprint { /* read from begin_ns until the record's time */
    uint64_t begin_ns;
    uint64_t resident_bytes; /* as the kernel counts it for the process; TT_UNKNOWN: it does not say so */
    uint32_t pass; /* that ended, or TT_NONE */
    uint32_t load; /* that ended, or TT_NONE */
    uint32_t occasion; /* enum tt_occasion */
    uint32_t n_parts;
};
struct tt_footprint_part {
    uint64_t bytes; /* resident */
    uint32_t kind; /* enum tt_part */
    uint32_t number; /* of a buffer or a saved state */
};

/* How a part of a file was read; from TT_CALL_WILLNEED on the kernel was asked to read it ahead. */
enum tt_read_call {
    TT_CALL_READ      = 0,
    TT_CALL_PREAD     = 1,
    TT_CALL_FREAD     = 2, /* through a buffer of the C library */
    TT_CALL_WILLNEED  = 3, /* madvise of a mapping */
    TT_CALL_FADVISE   = 4,
    TT_CALL_READAHEAD = 5,
    TT_CALLS          = 6,
};
struct tt_read { /* at the record's time it has returned */
    uint64_t begin_ns;
    uint64_t offset, size_bytes; /* in the file */
    uint64_t got_bytes; /* that were read; 0: it failed, or asked only */
    uint64_t address; /* where the bytes went */
    uint32_t path; /* string: the file, as in its TT_FILE_MAP */
    uint32_t thread; /* as the kernel numbers it */
    uint32_t call; /* enum tt_read_call */
    uint32_t direct; /* 1: past the page cache (O_DIRECT) */
    uint32_t n_calls; /* small reads that followed each other in the file are one record */
    uint32_t reserved;
};

struct tt_saved { /* at the record's time it has ended */
    uint64_t begin_ns;
    uint64_t address, size_bytes; /* in memory; with hooks the room that there was, attached what was copied */
    uint32_t context;
    uint32_t saved; /* its number, from 0 */
    int32_t  sequence;
    uint32_t flags; /* of llama.cpp: 1: only what changes with each token (a checkpoint), 2: it stays on the device */
    uint32_t restored; /* 1: into the context, else out of it */
    uint32_t reserved;
};

struct tt_nodes { /* where the resident pages of a mapped file or buffer lay when a load or a pass had ended */
    uint64_t address; /* of a page */
    uint64_t size_bytes; /* whole pages */
    uint64_t granule_bytes; /* a run is granules of so many bytes that have as many pages on each node */
    uint32_t buffer; /* TT_NONE: a mapped file */
    uint32_t pass; /* or TT_NONE ... */
    uint32_t load; /* ... and then the load that ended */
    uint32_t page_bytes;
    uint32_t n_nodes; /* each run: how many granules; pages of one of them on node 0, on node 1, ... */
    uint32_t n_runs; /* together they cover the size; the last granule may be shorter */
};

struct tt_allocated { /* what malloc and its kin have given and not got back */
    uint64_t n_lost; /* large blocks, so far, whose calls are not known: there were too many */
    uint32_t n_classes; /* struct tt_allocated_class, by size */
    uint32_t n_sites; /* struct tt_allocated_site, those with most bytes first */
};
struct tt_allocated_class {
    uint64_t n_live, live_bytes;
    uint32_t size_class; /* its blocks hold 2^size_class bytes or more, and less than twice as many */
    uint32_t reserved;
};
struct tt_allocated_site { /* of blocks of 64 KiB or more */
    uint64_t n_live, live_bytes;
    uint64_t n_all; /* those that are free again, too */
    uint32_t stack; /* string: the calls, the innermost first: `name@library` or `library+0x12`, with < between them */
    uint32_t reserved;
};

struct tt_end {
    uint64_t wall_ns; /* CLOCK_REALTIME at time_ns of the record */
    uint64_t n_passes;
    uint64_t n_segments;
    uint64_t n_skipped; /* how many of the passes were outside the window and not recorded */
};

/* ---- thread segments ---------------------------------------------------- */

enum tt_unit_type {
    TT_OP           = 1,
    TT_THREAD_BEGIN = 2,
    TT_THREAD_END   = 3,
    TT_INDEX        = 4,
    TT_LONG_OP      = 5,
    TT_MORE         = 255,
};

#define TT_UNIT 16u

struct tt_op {
    uint32_t gap; /* ticks from the time before it (see above) to its begin */
    uint32_t took; /* ticks from its begin to its end */
    uint32_t barrier; /* how many of these were spent waiting inside the op */
    uint16_t node;
    uint8_t  n_fused; /* nodes after this one that the same kernel computed */
    uint8_t  type; /* enum tt_unit_type */
};

/* TT_OP and TT_THREAD_END take one unit, the others two; `more` is the type of the second unit. */
struct tt_long_op {
    uint64_t begin; /* ticks */
    uint32_t node;
    uint16_t n_fused;
    uint8_t  reserved, type;
    uint64_t took;
    uint32_t barrier;
    uint16_t barrier_high;
    uint8_t  reserved2, more;
};

struct tt_thread_begin {
    uint64_t time; /* ticks */
    uint32_t thread; /* its number in the pool */
    uint16_t n_threads; /* size of the pool */
    uint8_t  reserved, type;
    uint64_t compute;
    uint32_t os_thread;
    uint16_t reserved2;
    uint8_t  reserved3, more;
};

struct tt_thread_end {
    uint64_t time;
    uint32_t thread;
    uint16_t reserved;
    uint8_t  reserved2, type;
};

struct tt_index { /* then ne0 x ne1 numbers, padded to whole units */
    uint64_t time; /* ticks */
    uint32_t node;
    uint8_t  what; /* enum tt_index_kind */
    uint8_t  bytes; /* of one number: 4 or 8 */
    uint8_t  reserved, type;
    uint32_t ne0, ne1;
    uint32_t reserved2;
    uint16_t reserved3;
    uint8_t  reserved4, more;
};

enum tt_index_kind {
    TT_INDEX_ROWS    = 1, /* src1 of GET_ROWS: the rows of src0 that are read */
    TT_INDEX_EXPERTS = 2, /* src2 of MUL_MAT_ID: ne0 choices for each of ne1 token rows */
    TT_INDEX_CELLS   = 3, /* src1 of SET_ROWS: the rows of dst that are written */
    TT_INDEX_COLUMNS = 4, /* src1 of a SET_ROWS that writes single elements: the first element of each token */
    TT_INDEX_WEIGHTS = 5, /* src1 of MUL: ne0 float weights for each of ne1 token rows */
    TT_INDEX_MASK    = 6, /* src3 of FLASH_ATTN_EXT: the rows of src1 and src2 that the mask admits for some row of
                             src0, as ne1 pairs of first row and number of rows; row r of stream s has the number
                             s * (ne1 of src1) + r */
};

/* ---- segments of page faults --------------------------------------------- */

#define TT_FAULT_BYTES 32u

enum tt_fault_kind {
    TT_FAULT_MINOR     = 1, /* struct tt_fault: no read was started, the page was in memory, or on its way */
    TT_FAULT_MAJOR     = 2, /* struct tt_fault: a read was started for it */
    TT_FAULT_OPEN      = 3, /* struct tt_fault: its end was not seen */
    TT_FAULT_ELSEWHERE = 4, /* struct tt_faults_elsewhere */
    TT_FAULT_LOST      = 5, /* struct tt_faults_lost */
    TT_FAULT_UNSEEN    = 6, /* struct tt_faults_unseen */
    TT_FAULT_PART      = 7, /* struct tt_fault_part */
    TT_FAULT_BARRIER   = 8, /* struct tt_barrier_wait */
    TT_FAULT_OFF_CPU   = 9, /* struct tt_off_cpu */
};

/* Each has os_thread and kind (enum tt_fault_kind) at the same place. Times named _ns are of CLOCK_MONOTONIC, whatever
   times the ops. */
struct tt_fault { /* in a mapped model file */
    uint64_t begin_ns;
    uint64_t took_ns; /* 0 if its end was not seen */
    uint64_t address;
    uint32_t os_thread, kind;
};

struct tt_faults_elsewhere { /* outside the mapped model files */
    uint64_t begin_ns; /* of the first */
    uint64_t took_ns; /* sum over all */
    uint64_t n_faults;
    uint32_t os_thread, kind;
};

struct tt_faults_lost { /* the kernel had no room for begins and ends of page faults */
    uint64_t before_ns;
    uint64_t reserved;
    uint64_t n_events;
    uint32_t os_thread, kind;
};

struct tt_faults_unseen { /* the thread is not watched */
    uint64_t since_ns;
    uint64_t reserved;
    uint64_t error; /* the errno that says why */
    uint32_t os_thread, kind;
};

struct tt_fault_part { /* the compute and the thread of the records that follow */
    uint64_t time_ns;
    uint64_t thread; /* its number in the pool of that compute */
    uint64_t compute; /* TT_UNKNOWN: it is in none */
    uint32_t os_thread, kind;
};

struct tt_barrier_wait { /* at a barrier inside an op */
    uint64_t begin, took; /* ticks of the clock that times the ops */
    uint64_t node; /* of the op, counted within the compute */
    uint32_t os_thread, kind;
};

struct tt_off_cpu { /* the thread lost its processor */
    uint64_t begin_ns;
    uint64_t took_ns; /* until it had one again */
    uint64_t slept; /* 0: it could have run on; 1: it waited for something else: a page, a barrier, a lock */
    uint32_t os_thread, kind;
};

/* ---- not in a file: what a traced process asks of whoever makes pages for it (TENSOR_TRACE_PAGES) ---- */

enum { TT_NAME_BYTES = 44 }; /* RUNID.t000.tt and its end */
enum tt_page_wish {
    TT_PAGES_MAKE = 1, /* write zeros behind the end of the file, which is at `at` */
    TT_PAGES_DROP = 2, /* these pages are final: write them, and drop them from the cache */
};

struct tt_page_request {
    uint64_t at, bytes;
    char     name[TT_NAME_BYTES]; /* of the segment, in the folder of the trace */
    uint32_t wish; /* enum tt_page_wish */
};

#define TT_ASSERT_SIZE(type, bytes) static_assert(sizeof(struct type) == (bytes), #type)
TT_ASSERT_SIZE(tt_file_header, 88);
TT_ASSERT_SIZE(tt_chunk_header, 64);
TT_ASSERT_SIZE(tt_record, 16);
TT_ASSERT_SIZE(tt_file_map, 32);
TT_ASSERT_SIZE(tt_load, 48);
TT_ASSERT_SIZE(tt_weight, 48);
TT_ASSERT_SIZE(tt_context, 32);
TT_ASSERT_SIZE(tt_buffer, 32);
TT_ASSERT_SIZE(tt_graph, 24);
TT_ASSERT_SIZE(tt_node, 208);
TT_ASSERT_SIZE(tt_placement, 24);
TT_ASSERT_SIZE(tt_place, 16);
TT_ASSERT_SIZE(tt_pass, 72);
TT_ASSERT_SIZE(tt_token, 16);
TT_ASSERT_SIZE(tt_compute, 32);
TT_ASSERT_SIZE(tt_split, 48);
TT_ASSERT_SIZE(tt_done, 16);
TT_ASSERT_SIZE(tt_chosen, 16);
TT_ASSERT_SIZE(tt_copy, 40);
TT_ASSERT_SIZE(tt_device_op, 40);
TT_ASSERT_SIZE(tt_hooks, 24);
TT_ASSERT_SIZE(tt_schedule, 40);
TT_ASSERT_SIZE(tt_residency, 32);
TT_ASSERT_SIZE(tt_device_counts, 56);
TT_ASSERT_SIZE(tt_device, 136);
TT_ASSERT_SIZE(tt_cache, 56);
TT_ASSERT_SIZE(tt_memory, 24);
TT_ASSERT_SIZE(tt_page_request, 64);
TT_ASSERT_SIZE(tt_footprint, 32);
TT_ASSERT_SIZE(tt_footprint_part, 16);
TT_ASSERT_SIZE(tt_saved, 48);
TT_ASSERT_SIZE(tt_read, 64);
TT_ASSERT_SIZE(tt_nodes, 48);
TT_ASSERT_SIZE(tt_allocated, 16);
TT_ASSERT_SIZE(tt_allocated_class, 24);
TT_ASSERT_SIZE(tt_allocated_site, 32);
TT_ASSERT_SIZE(tt_end, 32);
TT_ASSERT_SIZE(tt_op, TT_UNIT);
TT_ASSERT_SIZE(tt_long_op, 2 * TT_UNIT);
TT_ASSERT_SIZE(tt_thread_begin, 2 * TT_UNIT);
TT_ASSERT_SIZE(tt_thread_end, TT_UNIT);
TT_ASSERT_SIZE(tt_index, 2 * TT_UNIT);
#define TT_ASSERT_FAULT(type) \
    TT_ASSERT_SIZE(type, TT_FAULT_BYTES); \
    static_assert(offsetof(struct type, os_thread) == 24 && offsetof(struct type, kind) == 28, #type)
TT_ASSERT_FAULT(tt_fault);
TT_ASSERT_FAULT(tt_faults_elsewhere);
TT_ASSERT_FAULT(tt_faults_lost);
TT_ASSERT_FAULT(tt_faults_unseen);
TT_ASSERT_FAULT(tt_fault_part);
TT_ASSERT_FAULT(tt_barrier_wait);
TT_ASSERT_FAULT(tt_off_cpu);
static_assert(offsetof(struct tt_file_header, crc) == 60, "crc covers the 60 bytes before it");
static_assert(offsetof(struct tt_chunk_header, committed) == 16, "readers find the prefix here");
static_assert(offsetof(struct tt_node, src) == 104, "operands");
static_assert(offsetof(struct tt_op, type) == TT_UNIT - 1, "readers find the type here");

#endif
