/*
 * tensor_trace: the functions and macros that the hooks in ggml and llama.cpp call.
 *
 * The option GGML_TENSOR_TRACE compiles the hooks in; without it no symbol of ours
 * remains. The environment variable TENSOR_TRACE_DIR switches them on; without it
 * every hook is one predicted branch.
 *
 *     TENSOR_TRACE_DIR        folder for the trace; it must exist
 *     TENSOR_TRACE_MAX_BYTES  size of the trace at which recording stops; what is dropped is counted
 *     TENSOR_TRACE_CLOCK      monotonic or tsc: the clock that times the events; by default the time stamp
 *                             counter where it ticks evenly and the kernel itself relies on it
 *     TENSOR_TRACE_AFTER      seconds from the start until recording begins
 *     TENSOR_TRACE_FOR        seconds for which passes are recorded
 *     TENSOR_TRACE_PASSES     N: record N passes; A-B: record passes A to B, counted from 0. The ubatches of
 *                             one call stay together. Other passes are counted, not recorded
 *     TENSOR_TRACE_SIGNAL     USR1 or USR2: the signal that ends the trace while the program goes on
 *     TENSOR_TRACE_RESIDENCY  1: record after every load and pass which pages of the model files are in memory
 *     TENSOR_TRACE_PREFAULT   0: map model files without reading them whole (no MAP_POPULATE, no MADV_WILLNEED):
 *                             a page is read when an op first touches it. Works without TENSOR_TRACE_DIR too
 *     TENSOR_TRACE_FAULTS     1: record each page fault on a model file: thread, time, duration, address. Where
 *                             the kernel does not allow it, the trace says why and the program goes on. The
 *                             kernel wakes a thread whose memory for them fills, by SIGURG: a handler that the
 *                             program has for it stays in use; where the program later replaces or blocks it,
 *                             faults can be lost inside an op, and are counted
 *     TENSOR_TRACE_FAULT_PAGES  at most so many pages of memory for the page faults of a thread between two
 *                             readings (a power of two; 32 without it)
 *     TENSOR_TRACE_PAGES      a FIFO: who reads it makes the pages of the trace, so that they do not count as memory
 *                             of this program (core/pages.c)
 *     TENSOR_TRACE_MEMORY     memory.current (or memory.usage_in_bytes) of this program's memory group: read after
 *                             every load and pass
 *     TENSOR_TRACE_FOOTPRINT  0: do not record what the resident memory of the process is made of
 *     TENSOR_TRACE_NODES      1: record on which NUMA node memory lies also where there is one
 *     TENSOR_TRACE_DEVICES    passive: do not wait for a device after each split. Its end is known when llama.cpp itself
 *                             has waited, and a pass ends then
 *     TENSOR_TRACE_VERIFY     1: hash the graph of every pass, also where llama.cpp says that it is unchanged,
 *                             and abort if it has changed
 */
#ifndef TENSOR_TRACE_H
#define TENSOR_TRACE_H

#ifdef GGML_TENSOR_TRACE
#define TENSOR_TRACE_ENABLED 1
#else
#define TENSOR_TRACE_ENABLED 0
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
#include <exception>
extern "C" {
#endif

struct ggml_cgraph;
struct ggml_tensor;
struct ggml_backend;
struct ggml_backend_buffer;
struct tt_writer;

/*
 * The order of calls. Each line may occur many times within the less indented line above it; the calls of a line come
 * in that order. A call in the wrong place does not stop the program: it is not recorded, and the checks of the run
 * report what is missing.
 *
 *     start                                        once, by the hook that comes first
 *     load_begin  file_mapped …  read …  weight …  buffer_is …  load_end     a model
 *     buffer_begin  buffer_end                     any allocation, at any time
 *     context                                      of a model that is loaded
 *       call                                       llama_decode or llama_encode of a context
 *         [graph_built]  pass_begin  pass_end      a ubatch
 *           copy_begin [copy_part …] [copy_blocking]  split_begin  split_end                a split of the scheduler
 *             compute_begin  compute_end           a graph, or a part of one, on the CPU
 *               thread_begin  thread_end           on each of its threads
 *                 op_begin [barrier_begin  barrier_end …]  op_end           a node
 *       logits  sampled                            after the pass that gave them
 *       state_begin  state_end                     a state of a sequence is saved or restored
 */

/* A hook calls only if this process is traced (tensor_trace_on) or this thread runs a compute (tensor_trace_self). */
extern bool                        tensor_trace_on; /* another thread may clear it: see TENSOR_TRACE_PROCESS */
extern __thread struct tt_writer * tensor_trace_self __attribute__((tls_model("initial-exec")));

void tensor_trace_start(void); /* called by hooks that may come first; reads the environment once */

/* A model is loaded from `path`: what this thread maps and allocates until load_end belongs to that load. */
void tensor_trace_load_begin(const char * path);
void tensor_trace_load_end(void);
/* `size` bytes of the file `fd` are mapped at `address`; unmapped: these bytes are mapped no longer. */
void tensor_trace_file_mapped(const void * address, size_t size, int fd);
void tensor_trace_file_unmapped(const void * address, size_t size);
/* A part of a file was read into memory, or (WILLNEED, ...) asked for; recorded if it is a model's. */
struct tensor_trace_read {
    uint64_t     begin_ns; /* tensor_trace_now() before it */
    uint64_t     offset, size_bytes, got_bytes;
    const void * address;
    int          fd, call; /* enum tt_read_call */
    bool         direct;
    uint32_t     n_calls;
    uint32_t     path; /* string; 0: that of `fd` */
    uint64_t     end_ns; /* 0: now */
};
uint64_t tensor_trace_now(void);
void     tensor_trace_ahead(uint64_t begin_ns, const void * address, size_t size); /* of a mapped file, by madvise */
void     tensor_trace_read(const struct tensor_trace_read * read);
bool     tensor_trace_prefault_off(void); /* whether TENSOR_TRACE_PREFAULT is 0; notes it in the trace */
/* A weight comes from this file of the model (split_index) at this offset; mapped: it is used in place, not copied. */
void tensor_trace_weight(const struct ggml_tensor * tensor, uint32_t split_index, size_t offset, bool mapped);

/* begin: a ggml buffer was allocated; is: its usage (weights, compute) was set; end: it is about to be freed. */
void tensor_trace_buffer_begin(struct ggml_backend_buffer * buffer);
void tensor_trace_buffer_is(struct ggml_backend_buffer * buffer);
void tensor_trace_buffer_end(struct ggml_backend_buffer * buffer);
/* The CPU backend's memory for intermediate values of its kernels, which is no ggml buffer. */
void tensor_trace_work_begin(const void * address, size_t size);
void tensor_trace_work_end(const void * address);

struct tensor_trace_context {
    const void * context;
    uint32_t     load; /* number of its model's load; UINT32_MAX: the last load */
    uint32_t     n_ctx, n_batch, n_ubatch, n_threads;
    int          type_k, type_v; /* enum ggml_type of the KV cache; -1: not known */
};
struct tensor_trace_ubatch {
    const void *            context;
    struct ggml_cgraph *    graph;
    bool                    warmup, encoder;
    uint32_t                n_tokens, n_sequences, n_pos;
    const int32_t *         token;    /* may be NULL: embeddings */
    const int32_t *         position; /* may be NULL */
    const int32_t * const * sequence;
    const int8_t *          output;    /* may be NULL; -1: not known */
};
void tensor_trace_context(const struct tensor_trace_context * context); /* a context was created */
void tensor_trace_call(const void * context); /* llama_decode or llama_encode begins */
void tensor_trace_warmup(bool begins);        /* a warm-up begins or ends on this thread */
void tensor_trace_graph_built(void);          /* the graph of this thread's next pass was built anew */
void tensor_trace_pass_begin(const struct tensor_trace_ubatch * ubatch); /* its graph is about to be computed */
void tensor_trace_pass_end(int status);            /* the pass has ended; status 0: success */
void tensor_trace_logits(const void * context);    /* logits of the context's last pass are read */
/* The state of a sequence is copied out of a context into memory, or restored from there; flags as llama.cpp's. */
struct tensor_trace_state {
    const void * context;
    const void * address;
    size_t       size_bytes;
    int32_t      sequence;
    uint32_t     flags;
    bool         restored;
};
void tensor_trace_state_begin(void);
void tensor_trace_state_end(const struct tensor_trace_state * state);
void tensor_trace_sampled(int32_t token);          /* a token was chosen from the logits that this thread read last */

/* The splits of a pass, and the tensors that are copied for them. A copy ends when the next copy or split begins. */
void tensor_trace_copy_begin(const struct ggml_tensor * tensor, struct ggml_backend * from, struct ggml_backend * to,
                             int split);
void tensor_trace_copy_part(size_t size); /* only this part of the tensor was copied; parts add up */
void tensor_trace_copy_blocking(void); /* the copy was made by a call that returns when it is done */
void tensor_trace_split_begin(struct ggml_cgraph * graph, int split, int n_splits);
void tensor_trace_split_end(struct ggml_backend * backend); /* waits until it is done, unless the tracer is passive */
/* llama.cpp waits: it synchronised a backend, or `size` bytes of a tensor were fetched into `data`, from its begin if
   `offset` is 0. asked: they come later, when the backend is synchronised. */
void tensor_trace_wait_begin(void);
void tensor_trace_synchronised(struct ggml_backend * backend);
void tensor_trace_fetched(const struct ggml_tensor * tensor, const void * data, size_t offset, size_t size);
void tensor_trace_asked(struct ggml_backend * backend, const struct ggml_tensor * tensor, const void * data,
                        size_t offset, size_t size);

/* The CPU backend computes a graph, or the part of a graph that is a split. Called on the thread that started it. */
void tensor_trace_compute_begin(struct ggml_cgraph * graph);
void tensor_trace_compute_end(struct ggml_cgraph * graph);
/* The part of thread `ith` of `nth` in that compute. Between the two `tensor_trace_self` is the thread's writer. */
void tensor_trace_thread_begin(struct ggml_cgraph * graph, int ith, int nth);
void tensor_trace_thread_end(void);
/* This thread computes a node, given by its index in the graph. If op_end names a later node, the nodes after the first
   up to that one were fused into it. */
void tensor_trace_op_begin(struct tt_writer * self, int node);
void tensor_trace_op_end(struct tt_writer * self, int node);
/* This thread waits at a barrier; a wait within an op counts for that op. */
void tensor_trace_barrier_begin(struct tt_writer * self);
void tensor_trace_barrier_end(struct tt_writer * self);

#ifdef __cplusplus
}

/* From here to the end of the block a file is read; an exception says that it failed. */
class tensor_trace_file_read {
  public:
    tensor_trace_file_read(int fd, uint64_t offset, const void * address, uint64_t size, bool direct)
        : read_ {
              tensor_trace_on ? tensor_trace_now() : 0, offset, size, 0, address, fd, direct ? 0 : 2, direct, 1, 0, 0
          },
          exceptions_(std::uncaught_exceptions()) {}
    ~tensor_trace_file_read() {
        if (tensor_trace_on) {
            read_.got_bytes = std::uncaught_exceptions() == exceptions_ ? read_.size_bytes : 0;
            tensor_trace_read(&read_);
        }
    }
    tensor_trace_file_read(const tensor_trace_file_read &)             = delete;
    tensor_trace_file_read & operator=(const tensor_trace_file_read &) = delete;

  private:
    struct tensor_trace_read read_;
    const int                exceptions_;
};

/* Until the end of the block the kernel is asked to read a part of a mapped file ahead. */
class tensor_trace_asked_ahead {
  public:
    tensor_trace_asked_ahead(const void * address, size_t size)
        : begin_ns_(tensor_trace_on ? tensor_trace_now() : 0), address_(address), size_(size) {}
    ~tensor_trace_asked_ahead() {
        if (tensor_trace_on) {
            tensor_trace_ahead(begin_ns_, address_, size_);
        }
    }
    tensor_trace_asked_ahead(const tensor_trace_asked_ahead &)             = delete;
    tensor_trace_asked_ahead & operator=(const tensor_trace_asked_ahead &) = delete;

  private:
    const uint64_t     begin_ns_;
    const void * const address_;
    const size_t       size_;
};

/* From here to the end of the block the state of a sequence is copied. */
class tensor_trace_copied_state {
  public:
    explicit tensor_trace_copied_state(const tensor_trace_state & state) : state_(state) {
        if (tensor_trace_on) {
            tensor_trace_state_begin();
        }
    }
    ~tensor_trace_copied_state() {
        if (tensor_trace_on) {
            tensor_trace_state_end(&state_);
        }
    }
    tensor_trace_copied_state(const tensor_trace_copied_state &)             = delete;
    tensor_trace_copied_state & operator=(const tensor_trace_copied_state &) = delete;

  private:
    const tensor_trace_state state_;
};

/* llama.cpp's ubatch and parameters as plain fields; templates, because their types are internal. */
template <typename Context, typename Ubatch, typename Params>
inline void tensor_trace_ubatch_begin(const Context * context, ggml_cgraph * graph, const Ubatch & ubatch,
                                      const Params & params, bool encoder) {
    struct tensor_trace_ubatch plain = {};

    plain.context     = context;
    plain.graph       = graph;
    plain.warmup      = params.warmup;
    plain.encoder     = encoder;
    plain.n_tokens    = ubatch.n_tokens;
    plain.n_sequences = ubatch.n_seqs_unq;
    plain.n_pos       = ubatch.n_pos;
    plain.token       = ubatch.token;
    plain.position    = ubatch.pos;
    plain.sequence    = ubatch.seq_id;
    plain.output      = ubatch.output;
    tensor_trace_pass_begin(&plain);
}
template <typename Context, typename Params>
inline void tensor_trace_context_made(const Context * context, const Params & params) {
    struct tensor_trace_context plain = {};

    plain.context   = context;
    plain.load      = UINT32_MAX;
    plain.n_ctx     = llama_n_ctx(context);
    plain.n_batch   = llama_n_batch(context);
    plain.n_ubatch  = llama_n_ubatch(context);
    plain.n_threads = (uint32_t) params.n_threads;
    plain.type_k    = (int) params.type_k;
    plain.type_v    = (int) params.type_v;
    tensor_trace_context(&plain);
}
#endif

#if defined(__GNUC__)
#define TT_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#else
#define TT_UNLIKELY(condition) (condition)
#endif

/* A hook is a statement: no value, no control flow. Without the option the compiler still checks its arguments. */
/* clang-format off */
#define TENSOR_TRACE_CALL_IF(condition, call) \
    do { if (TENSOR_TRACE_ENABLED && TT_UNLIKELY(condition)) { call; } } while (0)
#define TENSOR_TRACE_PROCESS(call) TENSOR_TRACE_CALL_IF(__atomic_load_n(&tensor_trace_on, __ATOMIC_RELAXED), call)
#define TENSOR_TRACE_THREAD(call)  TENSOR_TRACE_CALL_IF(tensor_trace_self != NULL, call)

/* hooks that may come first in a process */
#define TENSOR_TRACE_LOAD_BEGIN(path) \
    do { if (TENSOR_TRACE_ENABLED) { tensor_trace_start(); TENSOR_TRACE_PROCESS(tensor_trace_load_begin(path)); } } while (0)
#define TENSOR_TRACE_BUFFER_BEGIN(buffer) \
    do { if (TENSOR_TRACE_ENABLED) { tensor_trace_start(); TENSOR_TRACE_PROCESS(tensor_trace_buffer_begin(buffer)); } } while (0)
#define TENSOR_TRACE_FILE_MAPPED(address, size, fd) \
    do { if (TENSOR_TRACE_ENABLED) { tensor_trace_start(); TENSOR_TRACE_PROCESS(tensor_trace_file_mapped(address, size, fd)); } } while (0)

/* The only hook that changes what llama.cpp does: it clears `prefetch` if TENSOR_TRACE_PREFAULT is 0. */
#define TENSOR_TRACE_PREFAULT(prefetch) \
    do { if (TENSOR_TRACE_ENABLED && tensor_trace_prefault_off()) { (prefetch) = 0; } } while (0)

/* llama.cpp writes its log, and the generated text, from a thread that it does not wait for at the end. */
#define TENSOR_TRACE_AT_EXIT(function) \
    do { if (TENSOR_TRACE_ENABLED) { atexit(function); } } while (0)

#define TENSOR_TRACE_LOAD_END()                   TENSOR_TRACE_PROCESS(tensor_trace_load_end())
#define TENSOR_TRACE_FILE_UNMAPPED(address, size) TENSOR_TRACE_PROCESS(tensor_trace_file_unmapped(address, size))
#define TENSOR_TRACE_WEIGHT(tensor, split, offset, mapped) \
    TENSOR_TRACE_PROCESS(tensor_trace_weight(tensor, split, offset, mapped))
#define TENSOR_TRACE_BUFFER_IS(buffer)           TENSOR_TRACE_PROCESS(tensor_trace_buffer_is(buffer))
#define TENSOR_TRACE_BUFFER_END(buffer)          TENSOR_TRACE_PROCESS(tensor_trace_buffer_end(buffer))
#define TENSOR_TRACE_WORK_BEGIN(address, size)   TENSOR_TRACE_PROCESS(tensor_trace_work_begin(address, size))
#define TENSOR_TRACE_WORK_END(address)           TENSOR_TRACE_PROCESS(tensor_trace_work_end(address))
#define TENSOR_TRACE_CONTEXT(context, params)     TENSOR_TRACE_PROCESS(tensor_trace_context_made(context, params))
#define TENSOR_TRACE_CALL(context)               TENSOR_TRACE_PROCESS(tensor_trace_call(context))
#define TENSOR_TRACE_WARMUP(begins)              TENSOR_TRACE_PROCESS(tensor_trace_warmup(begins))
#define TENSOR_TRACE_GRAPH_BUILT()               TENSOR_TRACE_PROCESS(tensor_trace_graph_built())
#define TENSOR_TRACE_PASS_BEGIN(context, graph, ubatch, params, encoder) \
    TENSOR_TRACE_PROCESS(tensor_trace_ubatch_begin(context, graph, ubatch, params, encoder))
#define TENSOR_TRACE_PASS_END(status)            TENSOR_TRACE_PROCESS(tensor_trace_pass_end((int) (status)))
#define TENSOR_TRACE_LOGITS(context)             TENSOR_TRACE_PROCESS(tensor_trace_logits(context))
#define TENSOR_TRACE_SAMPLED(token)              TENSOR_TRACE_PROCESS(tensor_trace_sampled(token))

#if TENSOR_TRACE_ENABLED
#define TENSOR_TRACE_AHEAD(address, size) const tensor_trace_asked_ahead tensor_trace_asks(address, size)
#else
#define TENSOR_TRACE_AHEAD(address, size) \
    do { } while (0)
#endif
/* `offset` is asked for only in a traced process */
#if TENSOR_TRACE_ENABLED
#define TENSOR_TRACE_READ(fd, offset, address, size, direct) \
    const tensor_trace_file_read tensor_trace_reads(fd, tensor_trace_on ? offset : 0, address, size, direct)
#else
#define TENSOR_TRACE_READ(fd, offset, address, size, direct) \
    do { } while (0)
#endif
#if TENSOR_TRACE_ENABLED
#define TENSOR_TRACE_STATE(context, address, size, sequence, flags, restored) \
    const tensor_trace_copied_state tensor_trace_copied({ context, address, size, sequence, flags, restored })
#else
#define TENSOR_TRACE_STATE(context, address, size, sequence, flags, restored) \
    do { } while (0)
#endif

#define TENSOR_TRACE_COPY_BEGIN(tensor, from, to, split) \
    TENSOR_TRACE_PROCESS(tensor_trace_copy_begin(tensor, from, to, split))
#define TENSOR_TRACE_COPY_PART(size)             TENSOR_TRACE_PROCESS(tensor_trace_copy_part(size))
#define TENSOR_TRACE_COPY_BLOCKING()             TENSOR_TRACE_PROCESS(tensor_trace_copy_blocking())
#define TENSOR_TRACE_SPLIT_BEGIN(graph, split, n_splits) \
    TENSOR_TRACE_PROCESS(tensor_trace_split_begin(graph, split, n_splits))
#define TENSOR_TRACE_SPLIT_END(backend)          TENSOR_TRACE_PROCESS(tensor_trace_split_end(backend))

#define TENSOR_TRACE_WAIT_BEGIN()                TENSOR_TRACE_PROCESS(tensor_trace_wait_begin())
#define TENSOR_TRACE_SYNCHRONISED(backend)       TENSOR_TRACE_PROCESS(tensor_trace_synchronised(backend))
#define TENSOR_TRACE_FETCHED(tensor, data, offset, size) \
    TENSOR_TRACE_PROCESS(tensor_trace_fetched(tensor, data, offset, size))
#define TENSOR_TRACE_ASKED(backend, tensor, data, offset, size) \
    TENSOR_TRACE_PROCESS(tensor_trace_asked(backend, tensor, data, offset, size))

#define TENSOR_TRACE_COMPUTE_BEGIN(graph)        TENSOR_TRACE_PROCESS(tensor_trace_compute_begin(graph))
#define TENSOR_TRACE_COMPUTE_END(graph)          TENSOR_TRACE_PROCESS(tensor_trace_compute_end(graph))
#define TENSOR_TRACE_THREAD_BEGIN(graph, ith, nth) TENSOR_TRACE_PROCESS(tensor_trace_thread_begin(graph, ith, nth))
#define TENSOR_TRACE_THREAD_END()                TENSOR_TRACE_THREAD(tensor_trace_thread_end())
#define TENSOR_TRACE_OP_BEGIN(node)              TENSOR_TRACE_THREAD(tensor_trace_op_begin(tensor_trace_self, node))
#define TENSOR_TRACE_OP_END(node)                TENSOR_TRACE_THREAD(tensor_trace_op_end(tensor_trace_self, node))
#define TENSOR_TRACE_BARRIER_BEGIN()             TENSOR_TRACE_THREAD(tensor_trace_barrier_begin(tensor_trace_self))
#define TENSOR_TRACE_BARRIER_END()               TENSOR_TRACE_THREAD(tensor_trace_barrier_end(tensor_trace_self))
/* clang-format on */

#endif
