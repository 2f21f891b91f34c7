/* What the hooks call: ggml's structures in, plain records out. The only file that includes ggml's headers. */
#include "tt.h"

#include "tensor_trace.h"

#include "ggml.h"
#include "ggml-backend.h"
#include "ggml-backend-impl.h"
#include "ggml-impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

bool tensor_trace_on = false;
__thread struct tt_writer * tensor_trace_self __attribute__((tls_model("initial-exec"))) = NULL;

/* ---- state: one per process ---- */

enum { MAX_CONTEXTS = 256, MAX_COMPUTES = 64 };

struct graph_plan {                /* what to copy when a known graph runs; never freed while tracing */
    uint8_t * copies;              /* per node, or NULL */
    size_t    index_bytes;
};
struct known_graph {
    const struct ggml_cgraph * graph;
    uint32_t number, placement;
};
struct live_buffer {
    const void * key;
    uint32_t     number;
    bool         described;
};
struct live_context {
    const void *       key;
    struct known_graph last;
};
struct live_compute {
    _Atomic(const void *)  key;
    struct tt_compute_work work;
};

static struct tt_trace *    trace;
static bool                 verify;
static pthread_once_t       start_once = PTHREAD_ONCE_INIT;
static pthread_key_t        writer_key;
static pthread_mutex_t      state_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct live_buffer * buffers;
static size_t               n_buffers, buffers_size;
static uint32_t             next_buffer, next_load;
static struct live_context  contexts[MAX_CONTEXTS];
static uint32_t             n_contexts;
static struct graph_plan *  plans;
static uint32_t             plans_size;
static struct live_compute  computes[MAX_COMPUTES];

static __thread struct { /* the pass that this thread is evaluating */
    uint32_t           pass, split, n_tokens;
    struct known_graph graph;
    bool               open, outside, graph_built, warming_up;
} now_in;
static __thread struct tt_writer * my_writer;

/* ---- start and end ---- */

static void finish(void) {
    if (trace && tensor_trace_on) {
        tensor_trace_on = false;
        tt_close(trace);
        trace = NULL;
    }
}

static void leave_child(void) { tensor_trace_on = false; tensor_trace_self = NULL; trace = NULL; }

static void release_writer(void * writer) {
    if (trace) {
        tt_writer_release(writer);
    }
}

static void start(void) {
    const char * folder = getenv("TENSOR_TRACE_DIR");
    if (!folder || !*folder) {
        return;
    }
    const char * limit = getenv("TENSOR_TRACE_MAX_BYTES");
    const char * check = getenv("TENSOR_TRACE_VERIFY");
    char         error[256];
    verify = check && strcmp(check, "1") == 0;
    trace  = tt_open(folder, limit && *limit ? strtoull(limit, NULL, 10) : UINT64_MAX, error);
    if (!trace) {
        fprintf(stderr, "tensor_trace: nothing is recorded: %s\n", error);
        return;
    }
    pthread_key_create(&writer_key, release_writer);
    tt_info(trace, "ggml.version", ggml_version());
    tt_info(trace, "ggml.commit", ggml_commit());
    tt_facts(trace);
    tensor_trace_on = true;
    pthread_atfork(NULL, NULL, leave_child);
    atexit(finish);
}

void tensor_trace_start(void) { pthread_once(&start_once, start); }

/* ---- loading: files, weights ---- */

static struct tt_usage usage_now(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct tt_usage) {
        .minor_faults       = (uint64_t) usage.ru_minflt,
        .major_faults       = (uint64_t) usage.ru_majflt,
        .voluntary_switches = (uint64_t) usage.ru_nvcsw, .involuntary_switches = (uint64_t) usage.ru_nivcsw,
    };
}

void tensor_trace_load_begin(const char * path) {
    pthread_mutex_lock(&state_lock);
    const uint32_t load = next_load++;
    pthread_mutex_unlock(&state_lock);
    const struct tt_load record = { .usage = usage_now(), .load = load, .path = tt_string(trace, path) };
    tt_record(trace, TT_LOAD_BEGIN, &record, sizeof record, tt_now());
}

void tensor_trace_load_end(void) {
    const uint64_t       time   = tt_now();
    const struct tt_load record = { .usage = usage_now(), .load = next_load - 1 };
    tt_record(trace, TT_LOAD_END, &record, sizeof record, time);
}

void tensor_trace_file_mapped(const void * address, size_t size, int fd) {
    char        link[64], path[4096];
    struct stat status = { 0 };
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    fstat(fd, &status);
    const struct tt_file_map record = {
        .address = (uintptr_t) address, .size_bytes = size, .inode = status.st_ino, .path = tt_string(trace, path),
    };
    tt_record(trace, TT_FILE_MAP, &record, sizeof record, tt_now());
}

void tensor_trace_file_unmapped(const void * address, size_t size) {
    const struct tt_file_map record = { .address = (uintptr_t) address, .size_bytes = size };
    tt_record(trace, TT_FILE_UNMAP, &record, sizeof record, tt_now());
}

void tensor_trace_weight(const struct ggml_tensor * tensor, uint32_t split_index, size_t offset, bool mapped) {
    const struct tt_weight record = {
        .load = next_load - 1, .name = tt_string(trace, tensor->name), .split_index = split_index, .mapped = mapped,
        .file_offset = offset, .size_bytes = ggml_nbytes(tensor), .address = (uintptr_t) tensor->data,
    };
    tt_record(trace, TT_WEIGHT, &record, sizeof record, tt_now());
}

/* ---- buffers ---- */

static struct live_buffer * find_buffer(const void * key) {
    for (size_t i = n_buffers; i-- > 0; ) {
        if (buffers[i].key == key) {
            return &buffers[i];
        }
    }
    return NULL;
}

static uint32_t add_buffer(const void * key) {
    pthread_mutex_lock(&state_lock);
    if (n_buffers == buffers_size) {
        const size_t         size = buffers_size ? buffers_size * 2 : 64;
        struct live_buffer * made = realloc(buffers, size * sizeof *made);
        if (!made) {
            pthread_mutex_unlock(&state_lock);
            return TT_NONE;
        }
        buffers      = made;
        buffers_size = size;
    }
    const uint32_t number = next_buffer++;
    buffers[n_buffers++] = (struct live_buffer) { .key = key, .number = number };
    pthread_mutex_unlock(&state_lock);
    return number;
}

static uint32_t remove_buffer(const void * key) {
    uint32_t number = TT_NONE;
    pthread_mutex_lock(&state_lock);
    struct live_buffer * found = find_buffer(key);
    if (found) {
        number = found->number;
        *found = buffers[--n_buffers];
    }
    pthread_mutex_unlock(&state_lock);
    return number;
}

static void describe(uint32_t number, struct ggml_backend_buffer * buffer, enum tt_type type) {
    ggml_backend_buffer_type_t kind   = buffer->buft;
    ggml_backend_dev_t         device = kind ? ggml_backend_buft_get_device(kind) : NULL;
    const struct tt_buffer     record = {
        .buffer     = number,
        .usage      = (uint32_t) buffer->usage,
        .address    = buffer->size && buffer->iface.get_base ? (uintptr_t) buffer->iface.get_base(buffer) : 0,
        .size_bytes = buffer->size,
        .name       = tt_string(trace, kind ? ggml_backend_buft_name(kind) : ""),
        .backend    = tt_string(trace, device ? ggml_backend_dev_name(device) : ""),
    };
    tt_record(trace, type, &record, sizeof record, tt_now());
}

void tensor_trace_buffer_begin(struct ggml_backend_buffer * buffer) {
    const struct tt_buffer record = { .buffer = add_buffer(buffer), .size_bytes = buffer->size };
    tt_record(trace, TT_BUFFER, &record, sizeof record, tt_now());
}

void tensor_trace_buffer_is(struct ggml_backend_buffer * buffer) {
    pthread_mutex_lock(&state_lock);
    struct live_buffer * found  = find_buffer(buffer);
    const uint32_t       number = found ? found->number : TT_NONE;
    if (found) {
        found->described = true;
    }
    pthread_mutex_unlock(&state_lock);
    if (number != TT_NONE) {
        describe(number, buffer, TT_BUFFER_IS);
    }
}

void tensor_trace_buffer_end(struct ggml_backend_buffer * buffer) {
    const uint32_t number = buffer ? remove_buffer(buffer) : TT_NONE;
    if (number != TT_NONE) {
        describe(number, buffer, TT_BUFFER_END);
    }
}

void tensor_trace_work_begin(const void * address, size_t size) {
    const struct tt_buffer record = {
        .buffer = add_buffer(address), .usage = 3, .address = (uintptr_t) address, .size_bytes = size,
        .name = tt_string(trace, "CPU work"), .backend = tt_string(trace, "CPU"),
    };
    tt_record(trace, TT_BUFFER, &record, sizeof record, tt_now());
}

void tensor_trace_work_end(const void * address) {
    const struct tt_buffer record = { .buffer = address ? remove_buffer(address) : TT_NONE, .usage = 3 };
    if (record.buffer != TT_NONE) {
        tt_record(trace, TT_BUFFER_END, &record, sizeof record, tt_now());
    }
}

/* ---- graphs: each tensor becomes a struct tt_node, its address a struct tt_place ---- */

struct scratch {
    struct tt_map        numbers;   /* tensor -> node or leaf */
    struct ggml_tensor **tensors;   /* nodes, leafs, then operands that are neither */
    struct tt_node *     nodes;
    struct tt_place *    places;
    size_t               size;
};
static __thread struct scratch scratch;

static bool make_room(struct scratch * s, size_t n) {
    if (n <= s->size) {
        return true;
    }
    free(s->nodes);
    free(s->places);
    struct ggml_tensor ** kept = realloc(s->tensors, n * sizeof *kept);
    if (kept) {
        s->tensors = kept;
    }
    s->nodes  = malloc(n * sizeof *s->nodes);
    s->places = malloc(n * sizeof *s->places);
    s->size   = kept && s->nodes && s->places ? n : 0;
    return s->size != 0;
}

static uint32_t number_of(const struct scratch * s, const struct ggml_tensor * tensor) {
    uint32_t number;
    return tensor && tt_map_get(&s->numbers, (uintptr_t) tensor, &number) ? number : TT_NONE;
}

static bool add_tensor(struct scratch * s, struct ggml_tensor * tensor, size_t * n) {
    if (!tensor || number_of(s, tensor) != TT_NONE) {
        return true;
    }
    s->tensors[*n] = tensor;
    return tt_map_put(&s->numbers, (uintptr_t) tensor, (uint32_t) (*n)++);
}

/* Number the nodes, the leafs, and what they read or view without being either (copies between backends). */
static bool number_tensors(struct scratch * s, const struct ggml_cgraph * graph, size_t * n) {
    tt_map_clear(&s->numbers);
    if (!make_room(s, (size_t) (graph->n_nodes * 4 + graph->n_leafs + 16))) {
        return false;
    }
    *n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        if (!add_tensor(s, graph->nodes[i], n)) { return false; }
    }
    for (int i = 0; i < graph->n_leafs; i++) {
        if (!add_tensor(s, graph->leafs[i], n)) { return false; }
    }
    for (size_t i = 0; i < *n; i++) {
        if (*n + GGML_MAX_SRC + 1 > s->size) { return false; }
        for (int j = 0; j < GGML_MAX_SRC; j++) {
            if (!add_tensor(s, s->tensors[i]->src[j], n)) { return false; }
        }
        if (!add_tensor(s, s->tensors[i]->view_src, n)) { return false; }
    }
    return true;
}

static bool is_noop(enum ggml_op op) {
    return op == GGML_OP_NONE || op == GGML_OP_RESHAPE || op == GGML_OP_TRANSPOSE || op == GGML_OP_VIEW || op == GGML_OP_PERMUTE;
}

static void fill_node(const struct scratch * s, const struct ggml_tensor * tensor, struct tt_node * node) {
    *node = (struct tt_node) {
        .op          = tt_string(trace, ggml_op_desc(tensor)),
        .name        = tt_string(trace, tensor->name),
        .dtype       = tt_string(trace, ggml_type_name(tensor->type)),
        .flags       = (uint32_t) tensor->flags,
        .computes    = is_noop(tensor->op) ? 0 : (tensor->flags & GGML_TENSOR_FLAG_COMPUTE) ? 1 : 2,
        .view_of     = number_of(s, tensor->view_src),
        .view_offset = tensor->view_offs,
        .size_bytes  = ggml_nbytes(tensor),
    };
    for (int i = 0; i < 4; i++) {
        node->ne[i] = (uint64_t) tensor->ne[i];
        node->nb[i] = tensor->nb[i];
    }
    for (int i = 0; i < 10; i++) {
        node->src[i] = i < GGML_MAX_SRC ? number_of(s, tensor->src[i]) : TT_NONE;
    }
    memcpy(node->op_params, tensor->op_params, sizeof node->op_params);
}

static bool starts_with(const char * text, const char * prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static const struct ggml_tensor * root_of(const struct ggml_tensor * tensor) {
    while (tensor->view_src) {
        tensor = tensor->view_src;
    }
    return tensor;
}

/* Only rows of weights and of the KV cache are worth copying: their containers are large. */
static bool is_stored(const struct ggml_tensor * tensor) {
    const struct ggml_tensor * root = root_of(tensor);
    return root->op == GGML_OP_NONE && root->buffer
        && (root->buffer->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS || starts_with(root->name, "cache_"));
}

/* Which operand of a node holds numbers to keep, and what they are; 0: none. */
static int index_of(const struct ggml_tensor * node, const struct ggml_tensor ** data) {
    switch (node->op) {
        case GGML_OP_GET_ROWS:   *data = node->src[1]; return is_stored(node->src[0]) ? TT_INDEX_ROWS : 0;
        case GGML_OP_MUL_MAT_ID: *data = node->src[2]; return TT_INDEX_EXPERTS;
        case GGML_OP_SET_ROWS:
            *data = node->src[1];
            return !is_stored(node) ? 0 : node->ne[0] == 1 ? TT_INDEX_COLUMNS : TT_INDEX_CELLS;
        case GGML_OP_MUL:
            *data = node->src[1];
            return starts_with(node->src[1]->name, "ffn_moe_weights") && node->src[1]->type == GGML_TYPE_F32
                ? TT_INDEX_WEIGHTS : 0;
        default: return 0;
    }
}

/* gate, up and down of a layer share one routing: the first of them keeps it. */
static bool seen_before(const struct ggml_cgraph * graph, int node, const struct ggml_tensor * ids) {
    for (int i = node - 1; i >= 0 && i >= node - 64; i--) {
        if (graph->nodes[i]->op == GGML_OP_MUL_MAT_ID && graph->nodes[i]->src[2] == ids) {
            return true;
        }
    }
    return false;
}

static void make_plan(struct graph_plan * plan, const struct ggml_cgraph * graph) {
    *plan = (struct graph_plan) { 0 };
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct ggml_tensor * data = NULL;
        const int                  what = index_of(graph->nodes[i], &data);
        if (what == 0 || (what == TT_INDEX_EXPERTS && seen_before(graph, i, data))) {
            continue;
        }
        if (!plan->copies && !(plan->copies = calloc((size_t) graph->n_nodes, 1))) {
            return;
        }
        plan->copies[i] = (uint8_t) what;
        plan->index_bytes += sizeof(struct tt_index) + TT_UNIT + (size_t) ggml_nelements(data) * ggml_type_size(data->type);
    }
}

static size_t copy_index(const void * graph_, int i, struct tt_index * index, size_t room, uint32_t n_tokens) {
    const struct ggml_cgraph * graph = graph_;
    const struct ggml_tensor * data  = NULL;
    const int                  what  = index_of(graph->nodes[i], &data);
    const size_t element = ggml_type_size(data->type);
    const size_t n       = (size_t) ggml_nelements(data);
    /* element by element, token after token: the first element of a token tells its column */
    const size_t step = what == TT_INDEX_COLUMNS && n_tokens && n % n_tokens == 0 ? n / n_tokens : 1;
    const size_t kept = n / step;
    if (kept * element + TT_UNIT > room || !data->data || (element != 4 && element != 8)) {
        return TT_NO_ROOM;
    }
    index->what  = (uint8_t) what;
    index->bytes = (uint8_t) element;
    index->ne0   = (uint32_t) (step > 1 ? kept : (size_t) data->ne[0]);
    index->ne1   = (uint32_t) (kept / (index->ne0 ? index->ne0 : 1));
    uint8_t * at = (uint8_t *) (index + 1);
    for (size_t k = 0; k < kept; k++, at += element) {
        size_t       rest = k * step;
        const size_t i0 = rest % (size_t) data->ne[0], i1 = (rest /= (size_t) data->ne[0]) % (size_t) data->ne[1];
        const size_t i2 = (rest /= (size_t) data->ne[1]) % (size_t) data->ne[2], i3 = rest / (size_t) data->ne[2];
        memcpy(at, (const char *) data->data + i0 * data->nb[0] + i1 * data->nb[1] + i2 * data->nb[2] + i3 * data->nb[3],
               element);
    }
    return kept * element;
}

static bool keep_plan(uint32_t number, const struct ggml_cgraph * graph) {
    struct graph_plan plan;
    make_plan(&plan, graph);
    pthread_mutex_lock(&state_lock);
    if (number >= plans_size) {
        const uint32_t      size = number * 2 + 16;
        struct graph_plan * made = realloc(plans, size * sizeof *made);
        if (!made) {
            pthread_mutex_unlock(&state_lock);
            free(plan.copies);
            return false;
        }
        memset(made + plans_size, 0, (size - plans_size) * sizeof *made);
        plans      = made;
        plans_size = size;
    }
    plans[number] = plan;
    pthread_mutex_unlock(&state_lock);
    return true;
}

static struct known_graph register_graph(const struct ggml_cgraph * graph) {
    struct scratch *   s     = &scratch;
    struct known_graph known = { .graph = graph, .number = TT_NONE, .placement = TT_NONE };
    size_t             n     = 0;
    if (!number_tensors(s, graph, &n)) {
        return known;
    }
    for (size_t i = 0; i < n; i++) {
        const struct ggml_tensor * tensor = s->tensors[i];
        fill_node(s, tensor, &s->nodes[i]);
        ggml_backend_buffer_t buffer = tensor->view_src ? root_of(tensor)->buffer : tensor->buffer;
        pthread_mutex_lock(&state_lock);
        const struct live_buffer * found  = buffer ? find_buffer(buffer) : NULL;
        const uint32_t             number = found ? found->number : TT_NONE;
        const bool                 fresh  = found && !found->described;
        pthread_mutex_unlock(&state_lock);
        if (fresh) {
            tensor_trace_buffer_is(buffer);
        }
        s->places[i] = (struct tt_place) { .address = (uintptr_t) tensor->data, .buffer = number };
    }
    const uint32_t        n_nodes = (uint32_t) graph->n_nodes;
    const struct tt_known made    = tt_graph(trace, s->nodes, n_nodes, (uint32_t) n - n_nodes);
    if (made.number == TT_NONE || (made.is_new && !keep_plan(made.number, graph))) {
        return known;
    }
    known.number    = made.number;
    known.placement = tt_placement(trace, made.number, s->places, (uint32_t) n).number;
    return known;
}

/* ---- contexts, calls, passes ---- */

static uint32_t context_number(const void * key) {
    pthread_mutex_lock(&state_lock);
    uint32_t number = n_contexts;
    for (uint32_t i = 0; i < n_contexts; i++) { /* the newest context at this address */
        number = contexts[i].key == key ? i : number;
    }
    if (number == n_contexts) {
        number = TT_NONE;
    }
    pthread_mutex_unlock(&state_lock);
    return number;
}

void tensor_trace_context(const struct tensor_trace_context * made) {
    pthread_mutex_lock(&state_lock);
    const uint32_t number = n_contexts < MAX_CONTEXTS ? n_contexts++ : TT_NONE;
    if (number != TT_NONE) {
        contexts[number] = (struct live_context) { .key = made->context };
    }
    const uint32_t load = next_load - 1;
    pthread_mutex_unlock(&state_lock);
    if (number == TT_NONE) {
        tt_segment_drop(&trace->main, 1, sizeof(struct tt_context));
        return;
    }
    const struct tt_context record = {
        .context = number, .load = load, .n_ctx = made->n_ctx, .n_batch = made->n_batch, .n_ubatch = made->n_ubatch,
        .n_threads = made->n_threads, .type_k = tt_string(trace, ggml_type_name((enum ggml_type) made->type_k)),
        .type_v = tt_string(trace, ggml_type_name((enum ggml_type) made->type_v)),
    };
    tt_record(trace, TT_CONTEXT, &record, sizeof record, tt_now());
}

static void context_event(enum tt_type type, uint32_t context, uint32_t value) {
    const uint32_t record[2] = { context, value };
    tt_record(trace, type, record, sizeof record, tt_now());
}

void tensor_trace_call(const void * context) { context_event(TT_CALL, context_number(context), 0); }
void tensor_trace_logits(const void * context) { context_event(TT_LOGITS, context_number(context), 0); }
void tensor_trace_sampled(int32_t token) { context_event(TT_SAMPLED, TT_NONE, (uint32_t) token); }
void tensor_trace_warmup(bool begins) { now_in.warming_up = begins; }
void tensor_trace_graph_built(void) { now_in.graph_built = true; }

static struct known_graph graph_of_pass(uint32_t context, const struct ggml_cgraph * graph) {
    struct known_graph * last = context != TT_NONE ? &contexts[context].last : NULL;
    const bool unchanged = last && !now_in.graph_built && last->graph == graph && last->number != TT_NONE;
    if (unchanged && !verify) {
        return *last;
    }
    const struct known_graph known = register_graph(graph);
    if (unchanged && (known.number != last->number || known.placement != last->placement)) {
        fprintf(stderr, "tensor_trace: a graph said to be unchanged has changed\n");
        abort();
    }
    if (last) {
        *last = known;
    }
    return known;
}

void tensor_trace_pass_begin(const struct tensor_trace_ubatch * ubatch) {
    const uint32_t context = context_number(ubatch->context);
    now_in.graph       = graph_of_pass(context, ubatch->graph);
    now_in.graph_built = false;
    now_in.pass        = tt_next_pass(trace);
    now_in.split       = 0;
    now_in.n_tokens    = ubatch->n_tokens;
    now_in.open        = true;
    struct tt_pass pass = {
        .pass = now_in.pass, .context = context, .graph = now_in.graph.number, .placement = now_in.graph.placement,
        .flags = (ubatch->warmup || now_in.warming_up ? TT_PASS_WARMUP : 0u) | (ubatch->encoder ? TT_PASS_ENCODER : 0u)
            | (ubatch->context ? 0u : TT_PASS_OUTSIDE),
        .n_tokens = ubatch->n_tokens, .n_sequences = ubatch->n_sequences, .usage = usage_now(),
    };
    const size_t size = sizeof pass + ubatch->n_tokens * sizeof(struct tt_token);
    const struct tt_moment moment = tt_moment();
    tt_clock(trace, &moment);
    uint8_t * at = tt_record_begin(trace, TT_PASS_BEGIN, size, moment.ns);
    if (!at) {
        return;
    }
    memcpy(at, &pass, sizeof pass);
    struct tt_token * token = (struct tt_token *) (at + sizeof pass);
    for (uint32_t i = 0; i < ubatch->n_tokens; i++) {
        token[i] = (struct tt_token) {
            .token    = ubatch->token ? ubatch->token[i] : -1,
            .position = ubatch->position ? ubatch->position[i] : -1,
            .sequence = ubatch->sequence ? ubatch->sequence[i][0] : -1,
            .output   = ubatch->output && ubatch->output[i],
        };
    }
    tt_record_end(trace);
}

void tensor_trace_pass_end(int status) {
    const struct tt_moment moment = tt_moment();
    const struct tt_pass   pass   = {
        .pass = now_in.pass, .context = TT_NONE, .graph = now_in.graph.number, .placement = now_in.graph.placement,
        .status = status, .usage = usage_now(),
    };
    now_in.open = false;
    tt_record(trace, TT_PASS_END, &pass, sizeof pass, moment.ns);
    tt_clock(trace, &moment);
}

/* ---- computes: a graph, or the part of it that the CPU backend runs ---- */

/* Where the compute's nodes stand in the pass's graph: from which node on, or else a map. */
static uint32_t first_node_of(const struct ggml_cgraph * part, const struct ggml_cgraph * whole) {
    for (int first = 0; first + part->n_nodes <= whole->n_nodes; first++) {
        if (whole->nodes[first] == part->nodes[0]) {
            return memcmp(whole->nodes + first, part->nodes, (size_t) part->n_nodes * sizeof *part->nodes) == 0
                ? (uint32_t) first : TT_NONE;
        }
    }
    return TT_NONE;
}

/* A graph that no ubatch asked for (a shift of the KV cache, say) is a pass of its own. */
static void begin_outside_pass(struct ggml_cgraph * graph) {
    const struct tensor_trace_ubatch nothing = { .graph = graph };
    now_in.graph_built = true;
    tensor_trace_pass_begin(&nothing);
    now_in.outside = true;
}

void tensor_trace_compute_begin(struct ggml_cgraph * graph) {
    if (graph->n_nodes == 0) {
        return;
    }
    if (!now_in.open) {
        begin_outside_pass(graph);
    }
    if (now_in.graph.number == TT_NONE) { /* nothing that its ops could point to */
        tt_segment_drop(&trace->main, 1, 0);
        return;
    }
    const struct ggml_cgraph * whole = now_in.graph.graph;
    const uint32_t             first = first_node_of(graph, whole);
    struct tt_compute record = {
        .compute = tt_next_compute(trace), .pass = now_in.pass, .split = now_in.split++, .backend = tt_string(trace, "CPU"),
        .n_nodes = (uint32_t) graph->n_nodes, .first_node = first, .n_map = first == TT_NONE ? (uint32_t) graph->n_nodes : 0,
    };
    uint8_t * at = tt_record_begin(trace, TT_COMPUTE, sizeof record + record.n_map * sizeof(uint32_t), tt_now());
    if (!at) {
        return; /* dropped and counted; its threads then find no compute and record nothing */
    }
    memcpy(at, &record, sizeof record);
    for (uint32_t i = 0; i < record.n_map; i++) {
        uint32_t number = TT_NONE;
        for (int j = 0; j < whole->n_nodes && number == TT_NONE; j++) {
            number = whole->nodes[j] == graph->nodes[i] ? (uint32_t) j : TT_NONE;
        }
        memcpy(at + sizeof record + i * sizeof number, &number, sizeof number);
    }
    tt_record_end(trace);
    pthread_mutex_lock(&state_lock);
    const bool planned = first != TT_NONE && now_in.graph.number < plans_size;
    const struct graph_plan plan = planned ? plans[now_in.graph.number] : (struct graph_plan) { 0 };
    pthread_mutex_unlock(&state_lock);
    for (int i = 0; i < MAX_COMPUTES; i++) {
        const void * none = NULL;
        if (atomic_compare_exchange_strong(&computes[i].key, &none, (const void *) &computes[i])) {
            computes[i].work = (struct tt_compute_work) {
                .graph = graph, .compute = record.compute, .plan = plan.copies ? plan.copies + first : NULL,
                .index_bytes = plan.index_bytes, .n_nodes = record.n_nodes, .n_tokens = now_in.n_tokens,
                .copy_index = copy_index,
            };
            atomic_store_explicit(&computes[i].key, graph, memory_order_release);
            break;
        }
    }
}

void tensor_trace_compute_end(struct ggml_cgraph * graph) {
    for (int i = 0; i < MAX_COMPUTES; i++) {
        if (atomic_load(&computes[i].key) == graph) {
            atomic_store(&computes[i].key, NULL);
        }
    }
    if (now_in.outside) {
        now_in.outside = false;
        tensor_trace_pass_end(0);
    }
}

void tensor_trace_thread_begin(struct ggml_cgraph * graph, int ith, int nth) {
    if (!my_writer) {
        my_writer = tt_writer_acquire(trace);
        pthread_setspecific(writer_key, my_writer);
    }
    for (int i = 0; i < MAX_COMPUTES && my_writer; i++) {
        if (atomic_load_explicit(&computes[i].key, memory_order_acquire) == graph) {
            tt_thread_begin(my_writer, &computes[i].work, ith, nth);
            tensor_trace_self = my_writer;
            return;
        }
    }
}

void tensor_trace_thread_end(void) {
    tt_thread_end(tensor_trace_self);
    tensor_trace_self = NULL;
}

