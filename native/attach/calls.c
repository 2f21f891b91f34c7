/* Records what a program calls in libllama: loads, contexts, calls with their batches, logits, the end of a warm-up. */
#include "attach_calls.h"
#include "attach.h"
#include "attach_find.h"
#include "attach_loading.h"
#include "attach_reads.h"
#include "ggml_memory.h"
#include "ggml_passes.h"
#include "ggml_process.h"
#include "tt_record.h"

#include <stdio.h>

enum { MAX_KNOWN = 1024 };

/* llama_batch: its layout since 2024, when the fields with default positions were removed */
struct batch {
    int32_t    n_tokens;
    int32_t *  token;
    float *    embedding;
    int32_t *  position;
    int32_t *  n_sequences;
    int32_t ** sequence;
    int8_t *   output;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static struct {
    const void * model;
    uint32_t     load;
} models[MAX_KNOWN];
static struct {
    const void * batch;
    int32_t      sequence;
    uint32_t     n; /* rows so far */
    bool         several; /* rows of more than one sequence */
} batches[MAX_KNOWN];
static const void * contexts[MAX_KNOWN];
static unsigned     n_models, n_batches, n_contexts;

__thread struct tt_call      tt_call;
static __thread int          depth; /* nesting of calls: 0 outside */
static __thread const void * cleared; /* the memory that was cleared since this thread's last call, or NULL */

/* ---- loads ---- */

static void load_begins(const char * path) {
    tt_loading(true);
    tensor_trace_load_begin(path);
}

static void load_ends(const void * model) {
    tt_reads_written();
    tensor_trace_load_end();
    tt_loading(false);
    pthread_mutex_lock(&lock);
    if (model) {
        models[n_models % MAX_KNOWN].model  = model;
        models[n_models++ % MAX_KNOWN].load = tt_last_load();
    }
    pthread_mutex_unlock(&lock);
}

#define LOAD(path, theirs_call) \
    if (tt_is_loading() || !tt_ready((void *) theirs)) { \
        return theirs_call; \
    } \
    load_begins(path); \
    void * model = theirs_call; \
    load_ends(model); \
    return model;

REPLACES void * llama_model_load_from_file(const char * path, struct by_value parameters) {
    THEIRS(void *, llama_model_load_from_file, (const char *, struct by_value)) LOAD(path, theirs(path, parameters))
}

REPLACES void * llama_model_load_from_splits(const char ** paths, size_t n_paths, struct by_value parameters) {
    THEIRS(void *, llama_model_load_from_splits, (const char **, size_t, struct by_value))
    LOAD(n_paths ? paths[0] : "", theirs(paths, n_paths, parameters))
}

static uint32_t load_of(const void * context) {
    const void * model = tt_api.llama_get_model_ ? tt_api.llama_get_model_(context) : NULL;
    uint32_t     load  = TT_NONE;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_models && i < MAX_KNOWN; i++) { /* the newest model at this address */
        load = models[i].model == model ? models[i].load : load;
    }
    pthread_mutex_unlock(&lock);
    return load;
}

/* ---- contexts ---- */

/* Whether a context is in the trace. Call it under the lock. */
static bool is_known(const void * context) {
    bool known = false;
    for (unsigned i = 0; i < n_contexts && !known; i++) {
        known = contexts[i] == context;
    }
    return known;
}

static void record_context(const void * context) {
    pthread_mutex_lock(&lock);
    const bool known = is_known(context);
    if (!known && n_contexts < MAX_KNOWN) {
        contexts[n_contexts++] = context;
    }
    pthread_mutex_unlock(&lock);
    if (!known) {
        const struct tensor_trace_context sizes = {
            .context   = context,
            .load      = load_of(context),
            .type_k    = -1,
            .type_v    = -1,
            .n_ctx     = tt_api.llama_n_ctx_ ? tt_api.llama_n_ctx_(context) : 0,
            .n_batch   = tt_api.llama_n_batch_ ? tt_api.llama_n_batch_(context) : 0,
            .n_ubatch  = tt_api.llama_n_ubatch_ ? tt_api.llama_n_ubatch_(context) : 0,
            .n_threads = tt_api.llama_n_threads_ ? (uint32_t) tt_api.llama_n_threads_(context) : 0,
        };
        tensor_trace_context(&sizes);
    }
}

/* llama.cpp's own counters of a context, before it goes: of the last one, if there are several. It counts a call when it
   knows it to be done, which the last one of a program may not be. A context that computed nothing is left out, as
   those that llama.cpp makes to see what fits into a device. */
static void record_counters(void * context) {
    pthread_mutex_lock(&lock);
    const bool known = is_known(context);
    pthread_mutex_unlock(&lock);
    if (known && tensor_trace_on && tt_api.llama_perf_context_ && tt_api.llama_synchronize_) {
        tt_api.llama_synchronize_(context);
        const struct tt_counters counters = tt_api.llama_perf_context_(context);
        char                     text[64];
        snprintf(text, sizeof text, "%d %d", counters.n_prompt, counters.n_eval);
        tt_info(tt_process, "llama.counters", text);
    }
}

#define STATE(pointer, to_context) \
    if (!tensor_trace_on) { \
        return theirs(context, pointer, size, sequence, flags); \
    } \
    tensor_trace_state_begin(); \
    const size_t                    n     = theirs(context, pointer, size, sequence, flags); \
    const struct tensor_trace_state state = { context, pointer, n, sequence, flags, to_context }; \
    tensor_trace_state_end(&state); \
    return n;

REPLACES size_t llama_state_seq_get_data_ext(void * context, uint8_t * target, size_t size, int32_t sequence,
                                             uint32_t flags) {
    THEIRS(size_t, llama_state_seq_get_data_ext, (void *, uint8_t *, size_t, int32_t, uint32_t) ) STATE(target, false)
}

REPLACES size_t
    llama_state_seq_set_data_ext(void * context, const uint8_t * source, size_t size, int32_t sequence,
                                 uint32_t flags) { THEIRS(size_t, llama_state_seq_set_data_ext,
                                                          (void *, const uint8_t *, size_t, int32_t, uint32_t) )
                                                       STATE(source, true) }

REPLACES void llama_free(void * context) {
    THEIRS(void, llama_free, (void *) )
    record_counters(context);
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

/* A call made within another call is a part of that call, and not recorded by itself. */
static void call_begins(const void * context, bool encoding, uint32_t n_sequences, int32_t sequence,
                        const int32_t * position) {
    if (depth++ > 0) {
        return;
    }
    record_context(context);
    const void * memory = memory_of(context);
    tt_call.context     = context;
    tt_call.encoding    = encoding || (tt_api.llama_get_memory_ && !memory);
    tt_call.n_sequences = n_sequences;
    tt_call.sequence    = sequence;
    tt_call.position    = -1;
    if (n_sequences == 1 && position) {
        tt_call.position = *position;
    } else if (n_sequences == 1 && memory && tt_api.llama_memory_seq_pos_max_) {
        tt_call.position = tt_api.llama_memory_seq_pos_max_(memory, sequence) + 1;
    }
    cleared = NULL;
    tensor_trace_call(context);
}

static void call_ends(void) {
    if (--depth == 0) {
        tt_call.context = NULL;
    }
}

static void batch_begins(const void * context, const struct batch * batch, bool encoding) {
    uint32_t n = 1;
    for (int32_t i = 0; batch->sequence && batch->n_sequences && i < batch->n_tokens && n == 1; i++) {
        n = batch->n_sequences[i] == 1 && batch->sequence[i][0] == batch->sequence[0][0] ? 1 : 2;
    }
    const bool known = batch->sequence && batch->n_sequences && batch->n_tokens > 0 && batch->n_sequences[0] > 0;
    call_begins(context, encoding, n, known ? batch->sequence[0][0] : 0, batch->position);
}

#define CALL(begins, theirs_call) \
    const bool traced = tt_ready((void *) theirs); \
    if (traced) { \
        begins; \
    } \
    const int32_t status = theirs_call; \
    if (traced) { \
        call_ends(); \
    } \
    return status;

REPLACES int32_t llama_decode(void * context, struct batch batch) {
    THEIRS(int32_t, llama_decode, (void *, struct batch))
        CALL(batch_begins(context, &batch, false), theirs(context, batch))
}

REPLACES int32_t llama_encode(void * context, struct batch batch) {
    THEIRS(int32_t, llama_encode, (void *, struct batch))
    CALL(batch_begins(context, &batch, true), theirs(context, batch))
}

/* ---- calls with a batch whose structure is private to llama.cpp: we record what the program puts into it ---- */

/* Notes a row of this sequence; `empty`: the batch held no rows before. With sequence -1 the batch is emptied. */
static void put_into_batch(const void * batch, int32_t sequence, bool empty) {
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < n_batches && batches[i].batch != batch) {
        i++;
    }
    if (i == n_batches && n_batches < MAX_KNOWN) {
        n_batches++;
        empty            = true;
        batches[i].batch = batch;
        batches[i].n     = 0;
    }
    if (i < n_batches) {
        batches[i].several  = !empty && batches[i].n > 0 && (batches[i].several || batches[i].sequence != sequence);
        batches[i].n        = sequence < 0 ? 0 : (empty ? 0 : batches[i].n) + 1;
        batches[i].sequence = sequence;
    }
    pthread_mutex_unlock(&lock);
}

REPLACES void llama_batch_ext_clear(void * batch) {
    THEIRS(void, llama_batch_ext_clear, (void *) )
    put_into_batch(batch, -1, true);
    theirs(batch);
}
REPLACES void llama_batch_ext_free(void * batch) {
    THEIRS(void, llama_batch_ext_free, (void *) )
    put_into_batch(batch, -1, true);
    theirs(batch);
}
REPLACES int32_t llama_batch_ext_add(void * batch, int32_t sequence) {
    THEIRS(int32_t, llama_batch_ext_add, (void *, int32_t) )
    put_into_batch(batch, sequence, false);
    return theirs(batch, sequence);
}
REPLACES int32_t llama_batch_ext_add_token(void * batch, int32_t sequence, int32_t token) {
    THEIRS(int32_t, llama_batch_ext_add_token, (void *, int32_t, int32_t) )
    put_into_batch(batch, sequence, false);
    return theirs(batch, sequence, token);
}
REPLACES bool llama_batch_ext_add_seq(void * batch, int32_t row, int32_t sequence) {
    THEIRS(bool, llama_batch_ext_add_seq, (void *, int32_t, int32_t) )
    put_into_batch(batch, sequence + (1 << 30), false); /* no sequence has this number: the row has several */
    return theirs(batch, row, sequence);
}

static void ext_begins(const void * context, const void * batch, bool encoding) {
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
    call_begins(context, encoding, n, sequence, NULL);
}

REPLACES int32_t llama_process(void * context, int type, void * batch) {
    THEIRS(int32_t, llama_process, (void *, int, void *) )
        CALL(ext_begins(context, batch, type == 0), theirs(context, type, batch))
}

/* ---- reads of a call's logits ---- */

REPLACES float * llama_get_logits(void * context) {
    THEIRS(float *, llama_get_logits, (void *) )
    if (tensor_trace_on) {
        tensor_trace_logits(context);
    }
    return theirs(context);
}
REPLACES float * llama_get_logits_ith(void * context, int32_t row) {
    THEIRS(float *, llama_get_logits_ith, (void *, int32_t) )
    if (tensor_trace_on) {
        tensor_trace_logits(context);
    }
    return theirs(context, row);
}
REPLACES int32_t llama_get_sampled_token_ith(void * context, int32_t row) {
    THEIRS(int32_t, llama_get_sampled_token_ith, (void *, int32_t) )
    if (tensor_trace_on) {
        tensor_trace_logits(context);
    }
    return theirs(context, row);
}

/* ---- warm-up: some releases announce it; others clear the memory and reset the counters after it ---- */

REPLACES void llama_set_warmup(void * context, bool begins) {
    THEIRS(void, llama_set_warmup, (void *, bool) )
    if (tensor_trace_on) {
        tensor_trace_warmup(begins);
    }
    theirs(context, begins);
}
REPLACES void llama_memory_clear(void * memory, bool data) {
    THEIRS(void, llama_memory_clear, (void *, bool) )
    cleared = memory;
    theirs(memory, data);
}
REPLACES void llama_perf_context_reset(void * context) {
    THEIRS(void, llama_perf_context_reset, (void *) )
    if (tensor_trace_on && cleared && cleared == memory_of(context)) {
        tt_was_warmup(context);
    }
    theirs(context);
}
