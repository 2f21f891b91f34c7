/* Loads, contexts, calls and passes: what programs ask of libllama, and what libllama asks of ggml's scheduler. */
#include "attach.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_KNOWN = 1024 };

/* llama_batch: how it has been since it lost its default positions in 2024 */
struct batch {
    int32_t    n_tokens;
    int32_t *  token;
    float *    embedding;
    int32_t *  position;
    int32_t *  n_sequences;
    int32_t ** sequence;
    int8_t *   output;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct { const void * model; uint32_t load; } models[MAX_KNOWN];
static struct { const void * batch; int32_t sequence; uint32_t n; bool several; } batches[MAX_KNOWN];
static const void *    contexts[MAX_KNOWN];
static unsigned        n_models, n_batches, n_contexts;

static __thread struct { /* the call that this thread is in */
    int          depth;
    const void * context;
    bool         encoding;
    uint32_t     n_sequences; /* of the whole call; 0: not known */
    int32_t      sequence;    /* the only one */
    int32_t      position;    /* of its next row; -1: not known */
    int          n_splits;    /* of its pass, so far */
} call;
static __thread const void * cleared; /* the memory of a context, since it computed something */

/* ---- loads ---- */

static void load_begins(const char * path) {
    tt_loading(1);
    tensor_trace_load_begin(path);
}

static void load_ended(const void * model) {
    tensor_trace_load_end();
    tt_loading(-1);
    pthread_mutex_lock(&lock);
    if (model) {
        models[n_models % MAX_KNOWN].model  = model;
        models[n_models++ % MAX_KNOWN].load = tt_last_load();
    }
    pthread_mutex_unlock(&lock);
}

static __thread bool in_load;
#define LOAD(path, theirs_call)                          \
    if (in_load || !tt_ready((void *) theirs)) {         \
        return theirs_call;                              \
    }                                                    \
    in_load = true;                                      \
    load_begins(path);                                   \
    void * model = theirs_call;                          \
    load_ended(model);                                   \
    in_load = false;                                     \
    return model;

SEEN void * llama_model_load_from_file(const char * path, struct by_value parameters) {
    THEIRS(void *, llama_model_load_from_file, (const char *, struct by_value))
    LOAD(path, theirs(path, parameters))
}

SEEN void * llama_model_load_from_splits(const char ** paths, size_t n_paths, struct by_value parameters) {
    THEIRS(void *, llama_model_load_from_splits, (const char **, size_t, struct by_value))
    LOAD(n_paths ? paths[0] : "", theirs(paths, n_paths, parameters))
}

static uint32_t load_of(const void * context) {
    const void * model = tt_api.llama_get_model_ ? tt_api.llama_get_model_(context) : NULL;
    uint32_t     load  = TT_NONE;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_models && i < MAX_KNOWN; i++) { /* the newest at this address */
        load = models[i].model == model ? models[i].load : load;
    }
    pthread_mutex_unlock(&lock);
    return load;
}

/* ---- contexts ---- */

static void know(const void * context) {
    bool known = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_contexts && !known; i++) {
        known = contexts[i] == context;
    }
    if (!known && n_contexts < MAX_KNOWN) {
        contexts[n_contexts++] = context;
    }
    pthread_mutex_unlock(&lock);
    if (!known) {
        const struct tensor_trace_context made = {
            .context = context, .load = load_of(context), .type_k = -1, .type_v = -1,
            .n_ctx     = tt_api.llama_n_ctx_ ? tt_api.llama_n_ctx_(context) : 0,
            .n_batch   = tt_api.llama_n_batch_ ? tt_api.llama_n_batch_(context) : 0,
            .n_ubatch  = tt_api.llama_n_ubatch_ ? tt_api.llama_n_ubatch_(context) : 0,
            .n_threads = tt_api.llama_n_threads_ ? (uint32_t) tt_api.llama_n_threads_(context) : 0,
        };
        tensor_trace_context(&made);
    }
}

SEEN void llama_free(void * context) {
    THEIRS(void, llama_free, (void *))
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_contexts; i++) {
        if (contexts[i] == context) {
            contexts[i] = contexts[--n_contexts];
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    theirs(context);
}

/* ---- calls ---- */

static const void * memory_of(const void * context) {
    return tt_api.llama_get_memory_ ? tt_api.llama_get_memory_(context) : NULL;
}

/* True: the caller must tell its end. A call that another one makes is a part of that one. */
static bool call_begins(const void * context, bool encoding, uint32_t n_sequences, int32_t sequence, const int32_t * position) {
    if (call.depth++ > 0) {
        return true;
    }
    know(context);
    const void * memory = memory_of(context);
    call.context     = context;
    call.encoding    = encoding || (tt_api.llama_get_memory_ && !memory);
    call.n_sequences = n_sequences;
    call.sequence    = sequence;
    call.position    = -1;
    if (n_sequences == 1 && position) {
        call.position = *position;
    } else if (n_sequences == 1 && memory && tt_api.llama_memory_seq_pos_max_) {
        call.position = tt_api.llama_memory_seq_pos_max_(memory, sequence) + 1;
    }
    cleared = NULL;
    tensor_trace_call(context);
    return true;
}

static void call_ends(void) {
    if (--call.depth == 0) {
        call.context = NULL;
    }
}

static bool batch_begins(const void * context, const struct batch * batch, bool encoding) {
    uint32_t n = 1;
    for (int32_t i = 0; batch->sequence && batch->n_sequences && i < batch->n_tokens && n == 1; i++) {
        n = batch->n_sequences[i] == 1 && batch->sequence[i][0] == batch->sequence[0][0] ? 1 : 2;
    }
    const bool told = batch->sequence && batch->n_sequences && batch->n_tokens > 0 && batch->n_sequences[0] > 0;
    return call_begins(context, encoding, n, told ? batch->sequence[0][0] : 0, batch->position);
}

#define CALL(begins, theirs_call)                                        \
    const bool    told   = tt_ready((void *) theirs) && (begins);        \
    const int32_t status = theirs_call;                                  \
    if (told) {                                                          \
        call_ends();                                                     \
    }                                                                    \
    return status;

SEEN int32_t llama_decode(void * context, struct batch batch) {
    THEIRS(int32_t, llama_decode, (void *, struct batch))
    CALL(batch_begins(context, &batch, false), theirs(context, batch))
}

SEEN int32_t llama_encode(void * context, struct batch batch) {
    THEIRS(int32_t, llama_encode, (void *, struct batch))
    CALL(batch_begins(context, &batch, true), theirs(context, batch))
}

/* ---- calls with a batch that only llama.cpp can look into: what is put into it is noted ---- */

static void put_into_batch(const void * batch, int32_t sequence, bool anew) {
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < n_batches && batches[i].batch != batch) {
        i++;
    }
    if (i == n_batches && n_batches < MAX_KNOWN) {
        n_batches++;
        anew = true;
        batches[i].batch = batch;
        batches[i].n     = 0;
    }
    if (i < n_batches) {
        batches[i].several  = !anew && batches[i].n > 0 && (batches[i].several || batches[i].sequence != sequence);
        batches[i].n        = sequence < 0 ? 0 : (anew ? 0 : batches[i].n) + 1;
        batches[i].sequence = sequence;
    }
    pthread_mutex_unlock(&lock);
}

SEEN void llama_batch_ext_clear(void * batch) {
    THEIRS(void, llama_batch_ext_clear, (void *))
    put_into_batch(batch, -1, true);
    theirs(batch);
}
SEEN void llama_batch_ext_free(void * batch) {
    THEIRS(void, llama_batch_ext_free, (void *))
    put_into_batch(batch, -1, true);
    theirs(batch);
}
SEEN int32_t llama_batch_ext_add(void * batch, int32_t sequence) {
    THEIRS(int32_t, llama_batch_ext_add, (void *, int32_t))
    put_into_batch(batch, sequence, false);
    return theirs(batch, sequence);
}
SEEN int32_t llama_batch_ext_add_token(void * batch, int32_t sequence, int32_t token) {
    THEIRS(int32_t, llama_batch_ext_add_token, (void *, int32_t, int32_t))
    put_into_batch(batch, sequence, false);
    return theirs(batch, sequence, token);
}
SEEN bool llama_batch_ext_add_seq(void * batch, int32_t row, int32_t sequence) {
    THEIRS(bool, llama_batch_ext_add_seq, (void *, int32_t, int32_t))
    put_into_batch(batch, sequence + (1 << 30), false); /* a row of several sequences */
    return theirs(batch, row, sequence);
}

static bool ext_begins(const void * context, const void * batch, bool encoding) {
    uint32_t n        = 0;
    int32_t  sequence = -1;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_batches; i++) {
        if (batches[i].batch == batch && batches[i].n > 0) {
            n        = batches[i].several ? 2 : 1;
            sequence = batches[i].sequence;
        }
    }
    pthread_mutex_unlock(&lock);
    return call_begins(context, encoding, n, sequence, NULL);
}

SEEN int32_t llama_process(void * context, int type, void * batch) {
    THEIRS(int32_t, llama_process, (void *, int, void *))
    CALL(ext_begins(context, batch, type == 0), theirs(context, type, batch))
}

/* ---- passes: the graph of a ubatch has inputs that hold its tokens ---- */

struct inputs { const struct ggml_tensor * tokens, * embedding, * position, * outputs; };

static bool is_row_of_numbers(const struct ggml_tensor * tensor) {
    return tensor->type == GGML_TYPE_I32 && tensor->data && tensor->buffer && ggml_backend_buffer_is_host(tensor->buffer);
}

static struct inputs inputs_of(const struct ggml_cgraph * graph) {
    struct inputs made = { 0 };
    for (int i = 0; i < graph->n_leafs; i++) {
        const struct ggml_tensor * leaf = graph->leafs[i];
        if ((leaf->flags & GGML_TENSOR_FLAG_INPUT) == 0) {
            continue;
        }
        made.tokens    = strcmp(leaf->name, "inp_tokens") == 0 ? leaf : made.tokens;
        made.embedding = strcmp(leaf->name, "inp_embd") == 0 ? leaf : made.embedding;
        made.position  = strcmp(leaf->name, "inp_pos") == 0 ? leaf : made.position;
    }
    bool tokens_used = false;
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct ggml_tensor * node = graph->nodes[i];
        if (node->op != GGML_OP_GET_ROWS || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
            continue;
        }
        if (node->src[1] == made.tokens) {
            tokens_used = true;
        } else if (node->src[0]->op != GGML_OP_NONE && node->src[1]->op == GGML_OP_NONE
                   && (node->src[1]->flags & GGML_TENSOR_FLAG_INPUT) && node->src[1]->type == GGML_TYPE_I32) {
            made.outputs = node->src[1]; /* rows of something computed, chosen from outside */
        }
    }
    made.tokens = tokens_used ? made.tokens : NULL; /* a graph may hold both ways, and run one */
    return made;
}

/* A row that nothing tells of: no output is asked of it where others are named, else it is not known. */
static void fill_outputs(int8_t * outputs, uint32_t n, const struct ggml_tensor * rows) {
    memset(outputs, rows ? 0 : -1, n);
    for (int64_t i = 0; rows && i < rows->ne[0]; i++) {
        const int32_t row = is_row_of_numbers(rows) ? ((const int32_t *) rows->data)[i] : -1;
        if (row >= 0 && (uint32_t) row < n) {
            outputs[row] = 1;
        }
    }
}

static bool begin_pass(struct ggml_cgraph * graph) {
    const struct inputs inputs = inputs_of(graph);
    const int64_t       rows   = inputs.tokens ? inputs.tokens->ne[0] : inputs.embedding ? inputs.embedding->ne[1] : 0;
    if (!call.context || rows <= 0) {
        return false; /* a shift of the KV cache, say: it becomes a pass of its own */
    }
    const uint32_t n         = (uint32_t) rows;
    int32_t *      positions = malloc(n * sizeof *positions);
    int32_t **     sequences = malloc(n * sizeof *sequences);
    int8_t *       outputs   = malloc(n);
    if (positions && sequences && outputs) {
        const bool given = inputs.position && is_row_of_numbers(inputs.position) && inputs.position->ne[0] >= rows;
        for (uint32_t i = 0; i < n; i++) {
            positions[i] = given ? ((const int32_t *) inputs.position->data)[i] : call.position < 0 ? -1 : call.position + (int32_t) i;
            sequences[i] = &call.sequence;
        }
        if (call.position >= 0) {
            call.position += (int32_t) n;
        }
        fill_outputs(outputs, n, inputs.outputs);
        const struct tensor_trace_ubatch ubatch = {
            .context = call.context, .graph = graph, .encoder = call.encoding, .n_tokens = n, .n_sequences = call.n_sequences,
            .token = inputs.tokens && is_row_of_numbers(inputs.tokens) ? inputs.tokens->data : NULL,
            .position = positions, .sequence = call.n_sequences == 1 ? (const int32_t * const *) sequences : NULL,
            .output = outputs,
        };
        tensor_trace_pass_begin(&ubatch);
    }
    free(positions);
    free(sequences);
    free(outputs);
    return true;
}

SEEN enum ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t scheduler, struct ggml_cgraph * graph) {
    THEIRS(enum ggml_status, ggml_backend_sched_graph_compute_async, (ggml_backend_sched_t, struct ggml_cgraph *))
    const bool             told   = tt_ready((void *) theirs) && begin_pass(graph);
    call.n_splits = 0;
    const enum ggml_status status = theirs(scheduler, graph);
    if (told) {
        tensor_trace_pass_end((int) status);
    }
    return status;
}

/* Each split of a pass in turn; how many there are shows when a second one comes: a split of the CPU needs no record. */
SEEN enum ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, struct ggml_cgraph * graph) {
    THEIRS(enum ggml_status, ggml_backend_graph_compute_async, (ggml_backend_t, struct ggml_cgraph *))
    if (!tensor_trace_on) {
        return theirs(backend, graph);
    }
    tensor_trace_split_begin(graph, call.n_splits++, 1);
    const enum ggml_status status = theirs(backend, graph);
    tensor_trace_split_end(backend);
    return status;
}

SEEN bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t scheduler, struct ggml_cgraph * graph) {
    THEIRS(bool, ggml_backend_sched_alloc_graph, (ggml_backend_sched_t, struct ggml_cgraph *))
    if (tensor_trace_on) {
        tensor_trace_graph_built();
    }
    return theirs(scheduler, graph);
}

/* ---- what is asked of a call's logits ---- */

SEEN float * llama_get_logits(void * context) {
    THEIRS(float *, llama_get_logits, (void *))
    if (tensor_trace_on) {
        tensor_trace_logits(context);
    }
    return theirs(context);
}
SEEN float * llama_get_logits_ith(void * context, int32_t row) {
    THEIRS(float *, llama_get_logits_ith, (void *, int32_t))
    if (tensor_trace_on) {
        tensor_trace_logits(context);
    }
    return theirs(context, row);
}
SEEN int32_t llama_get_sampled_token_ith(void * context, int32_t row) {
    THEIRS(int32_t, llama_get_sampled_token_ith, (void *, int32_t))
    if (tensor_trace_on) {
        tensor_trace_logits(context);
    }
    return theirs(context, row);
}

/* ---- warm-up: told before in some releases; else what was computed, then cleared and its counters reset, was one ---- */

SEEN void llama_set_warmup(void * context, bool begins) {
    THEIRS(void, llama_set_warmup, (void *, bool))
    if (tensor_trace_on) {
        tensor_trace_warmup(begins);
    }
    theirs(context, begins);
}
SEEN void llama_memory_clear(void * memory, bool data) {
    THEIRS(void, llama_memory_clear, (void *, bool))
    cleared = memory;
    theirs(memory, data);
}
SEEN void llama_perf_context_reset(void * context) {
    THEIRS(void, llama_perf_context_reset, (void *))
    if (tensor_trace_on && cleared && cleared == memory_of(context)) {
        tt_was_warmup(context);
    }
    theirs(context);
}
