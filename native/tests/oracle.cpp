// Prints what llama.cpp computes, by its public interface: the tests compare the tracer's output with it.
//
//     oracle --model FILE --prompt TEXT [--feed 17,4,...] [--threads N] [--context N] [--ubatch N]
//            [--flash-attention auto|on|off] [--mmap on|off] [--repack on|off] [--warmup on|off] [--nodes on|off]
//            [--logits N]
//
// Evaluates a warm-up, the prompt and the token ids of --feed, as llama-completion does with sampled tokens.
// Prints one JSON object per ubatch: its nodes in order of execution and, after the last ubatch of a
// call, the logits of its last row: a hash of all, and the first N (8). With `--nodes off` there is no callback,
// and only the logits are printed.
//
// The callback cb_eval asks for every node, so each node runs as a graph of its own: nothing is fused, and
// nodes that compute nothing are reported too. So the nodes printed are the whole graph. This program needs
// only the public headers of llama.cpp and ggml, and nothing of the tracer.
#include "ggml-backend.h"
#include "ggml.h"
#include "llama.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

// ---- JSON ----

static std::string quoted(const std::string & text) {
    std::string json = "\"";
    for (const unsigned char c : text) {
        char escape[8];
        if (c < 0x20 || c == '"' || c == '\\') {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            json += escape;
        } else {
            json += (char) c;
        }
    }
    return json + "\"";
}

static std::string number(int64_t value) { return std::to_string(value); }

static std::string number(float value) {
    char text[32];
    snprintf(text, sizeof text, "%.9g", value); // nine digits give a float back exactly
    return std::isfinite(value) ? text : "null";
}

template <typename Values, typename Print> static std::string list(const Values & values, Print print) {
    std::string json = "[";
    for (const auto & value : values) {
        json += (json.size() > 1 ? "," : "") + print(value);
    }
    return json + "]";
}

// ---- one node ----

static const ggml_tensor * root_of(const ggml_tensor * tensor) {
    return tensor->view_src ? root_of(tensor->view_src) : tensor;
}

// `"op":...,"buffer":...`: the fields of a node and of each of its operands
static std::string tensor_fields(const ggml_tensor * tensor) {
    const std::vector<int64_t> ne(tensor->ne, tensor->ne + GGML_MAX_DIMS);
    const std::vector<int64_t> nb(tensor->nb, tensor->nb + GGML_MAX_DIMS);
    const auto                 print  = [](int64_t value) { return number(value); };
    ggml_backend_buffer_t      buffer = root_of(tensor)->buffer;
    return "\"op\":" + quoted(ggml_op_desc(tensor)) + ",\"name\":" + quoted(tensor->name)
        + ",\"dtype\":" + quoted(ggml_type_name(tensor->type)) + ",\"ne\":" + list(ne, print)
        + ",\"nb\":" + list(nb, print) + ",\"buffer\":" + (buffer ? quoted(ggml_backend_buffer_name(buffer)) : "null");
}

template <typename T> static std::string numbers_in(const ggml_tensor * tensor) {
    std::vector<T> values;
    for (int64_t i = 0; i < ggml_nelements(tensor); i++) {
        size_t  offset = 0;
        int64_t rest   = i;
        for (int d = 0; d < GGML_MAX_DIMS; d++) {
            offset += (size_t) (rest % tensor->ne[d]) * tensor->nb[d];
            rest /= tensor->ne[d];
        }
        T value;
        ggml_backend_tensor_get(tensor, &value, offset, sizeof value);
        values.push_back(value);
    }
    return list(values, [](T value) {
        if constexpr (std::is_floating_point_v<T>) {
            return number(value);
        } else {
            return number((int64_t) value);
        }
    });
}

// The operand with the rows, experts or weights that the node uses; NULL: none.
static const ggml_tensor * selector_of(const ggml_tensor * node) {
    switch (node->op) {
        case GGML_OP_GET_ROWS:
        case GGML_OP_SET_ROWS: return node->src[1];
        case GGML_OP_MUL_MAT_ID: return node->src[2];
        case GGML_OP_MUL: return strncmp(node->src[1]->name, "ffn_moe_weights", 15) == 0 ? node->src[1] : nullptr;
        default: return nullptr;
    }
}

static std::string selected(const ggml_tensor * node) {
    const ggml_tensor * from = selector_of(node);
    if (!from) {
        return "null";
    }
    switch (from->type) {
        case GGML_TYPE_I32: return numbers_in<int32_t>(from);
        case GGML_TYPE_I64: return numbers_in<int64_t>(from);
        case GGML_TYPE_F32: return numbers_in<float>(from);
        default: throw std::runtime_error(std::string("selector of type ") + ggml_type_name(from->type));
    }
}

static std::string params_of(const ggml_tensor * node) {
    std::string hex;
    for (size_t i = 0; i < sizeof node->op_params; i++) {
        char byte[4];
        snprintf(byte, sizeof byte, "%02x", ((const uint8_t *) node->op_params)[i]);
        hex += byte;
    }
    return quoted(hex);
}

static std::string node_json(const ggml_tensor * node) {
    int last = GGML_MAX_SRC;
    while (last > 0 && !node->src[last - 1]) {
        last--;
    }
    const std::vector<ggml_tensor *> sources(node->src, node->src + last);
    return "{" + tensor_fields(node) + ",\"params\":" + params_of(node) + ",\"selected\":" + selected(node)
        + ",\"sources\":"
        + list(sources, [](const ggml_tensor * s) { return s ? "{" + tensor_fields(s) + "}" : std::string("null"); })
        + "}";
}

// ---- one call of llama_decode ----

struct witness {
    struct ubatch {
        std::vector<std::string> nodes;
    };
    std::vector<ubatch> ubatches; // of the call that runs
    std::string         first;    // name of the node that each ubatch begins with
    std::string         next;     // JSON of the node that runs next
    int32_t             logits;   // how many of a call are printed
};

// Operands are read before the node runs: it may write its result over them.
static bool watch(ggml_tensor * node, bool ask, void * data) {
    witness & w = *(witness *) data;
    if (ask) {
        w.next = node_json(node);
        return true;
    }
    if (w.first.empty()) {
        w.first = node->name;
    }
    if (w.ubatches.empty() || w.first == node->name) {
        w.ubatches.emplace_back();
    }
    w.ubatches.back().nodes.push_back(w.next);
    return true;
}

static std::string logits_of(llama_context * ctx, int32_t printed) {
    const int32_t            n      = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(ctx)));
    const float *            logits = llama_get_logits_ith(ctx, -1);
    uint64_t                 hash   = 0xcbf29ce484222325u; // FNV-1a
    const std::vector<float> first(logits, logits + std::min(n, printed));
    for (size_t i = 0; i < n * sizeof *logits; i++) {
        hash = (hash ^ ((const uint8_t *) logits)[i]) * 0x100000001b3u;
    }
    char text[20];
    snprintf(text, sizeof text, "%016llx", (unsigned long long) hash);
    return "{\"hash\":" + quoted(text) + ",\"first\":" + list(first, [](float value) { return number(value); }) + "}";
}

static void evaluate(llama_context * ctx, witness & w, const char * kind, std::vector<llama_token> tokens) {
    w.ubatches.clear();
    if (llama_decode(ctx, llama_batch_get_one(tokens.data(), (int32_t) tokens.size())) != 0) {
        throw std::runtime_error(std::string("llama_decode failed: ") + kind);
    }
    if (w.ubatches.empty()) {
        w.ubatches.emplace_back();
    }
    const std::string logits = strcmp(kind, "warmup") == 0 ? "null" : logits_of(ctx, w.logits);
    for (const auto & ubatch : w.ubatches) {
        const std::string nodes = list(ubatch.nodes, [](const std::string & node) { return node; });
        printf("{\"kind\":\"%s\",\"nodes\":%s,\"logits\":%s}\n", kind, nodes.c_str(),
               &ubatch == &w.ubatches.back() ? logits.c_str() : "null");
    }
}

// ---- settings ----

using settings = std::map<std::string, std::string>;

static settings read_settings(int argc, char ** argv) {
    settings values = {
        { "--threads", "2" }, { "--context", "512" }, { "--ubatch", "512" }, { "--flash-attention", "auto" },
        { "--mmap", "on" },   { "--repack", "on" },   { "--warmup", "on" },  { "--nodes", "on" },
        { "--feed", "" },     { "--model", "" },      { "--prompt", "" },    { "--pieces", "off" },
        { "--logits", "8" },
    };
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc || !values.count(argv[i])) {
            throw std::runtime_error(std::string(argv[i]) + ": unknown option, or its value is missing");
        }
        values[argv[i]] = argv[i + 1];
    }
    return values;
}

static std::vector<llama_token> tokens_in(const std::string & text) {
    std::vector<llama_token> tokens;
    std::istringstream       stream(text);
    for (std::string token; std::getline(stream, token, ',');) {
        tokens.push_back(std::stoi(token));
    }
    return tokens;
}

static llama_model * load(settings & values) {
    llama_model_params params = llama_model_default_params();
    params.load_mode          = values["--mmap"] == "on" ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
    params.use_extra_bufts    = values["--repack"] == "on";
    llama_model * model       = llama_model_load_from_file(values["--model"].c_str(), params);
    if (!model) {
        throw std::runtime_error("the model cannot be loaded");
    }
    return model;
}

static llama_context * context(settings & values, llama_model * model, witness & w) {
    const std::string    attention = values["--flash-attention"];
    llama_context_params params    = llama_context_default_params();
    params.n_ctx                   = (uint32_t) std::stoi(values["--context"]);
    params.n_batch                 = 2048;
    params.n_ubatch                = (uint32_t) std::stoi(values["--ubatch"]);
    params.n_threads = params.n_threads_batch = std::stoi(values["--threads"]);
    params.flash_attn_type                    = attention == "on" ? LLAMA_FLASH_ATTN_TYPE_ENABLED
        : attention == "off"                                      ? LLAMA_FLASH_ATTN_TYPE_DISABLED
                                                                  : LLAMA_FLASH_ATTN_TYPE_AUTO;
    if (values["--nodes"] == "on") {
        params.cb_eval           = watch;
        params.cb_eval_user_data = &w;
    }
    llama_context * ctx = llama_init_from_model(model, params);
    if (!ctx) {
        throw std::runtime_error("no context can be made");
    }
    return ctx;
}

static std::vector<llama_token> tokenized(const llama_vocab * vocab, const std::string & text) {
    std::vector<llama_token> tokens(text.size() + 8);
    const int32_t            n =
        llama_tokenize(vocab, text.c_str(), (int32_t) text.size(), tokens.data(), (int32_t) tokens.size(), true, true);
    if (n < 0) {
        throw std::runtime_error("the prompt cannot be tokenized");
    }
    tokens.resize((size_t) n);
    return tokens;
}

// One line for each token of the vocabulary: its id, and its piece in hexadecimal digits.
static void print_pieces(settings & values) {
    llama_model_params params = llama_model_default_params();
    params.vocab_only         = true;
    llama_model * model       = llama_model_load_from_file(values["--model"].c_str(), params);
    if (!model) {
        throw std::runtime_error("the model cannot be loaded");
    }
    const llama_vocab * vocab = llama_model_get_vocab(model);
    for (llama_token token = 0; token < llama_vocab_n_tokens(vocab); token++) {
        std::vector<char> piece(1 << 16);
        const int32_t     n = llama_token_to_piece(vocab, token, piece.data(), (int32_t) piece.size(), 0, true);
        if (n < 0) {
            throw std::runtime_error("a piece does not fit");
        }
        printf("{\"id\":%d,\"hex\":\"", token);
        for (int32_t i = 0; i < n; i++) {
            printf("%02x", (unsigned char) piece[(size_t) i]);
        }
        printf("\"}\n");
    }
    llama_model_free(model);
}

static void run(int argc, char ** argv) {
    settings values = read_settings(argc, argv);
    witness  w;
    llama_backend_init();
    if (values["--pieces"] == "on") {
        print_pieces(values);
        return;
    }
    w.logits = std::stoi(values["--logits"]);

    llama_model *       model = load(values);
    llama_context *     ctx   = context(values, model, w);
    const llama_vocab * vocab = llama_model_get_vocab(model);
    if (values["--warmup"] == "on") {
        evaluate(ctx, w, "warmup", { llama_vocab_bos(vocab), llama_vocab_eos(vocab) });
        llama_memory_clear(llama_get_memory(ctx), true);
        llama_synchronize(ctx);
    }
    evaluate(ctx, w, "prompt", tokenized(vocab, values["--prompt"]));
    for (const llama_token token : tokens_in(values["--feed"])) {
        evaluate(ctx, w, "generate", { token });
    }
    llama_free(ctx);
    llama_model_free(model);
    llama_backend_free();
}

int main(int argc, char ** argv) {
    try {
        run(argc, argv);
        return 0;
    } catch (const std::exception & error) {
        fprintf(stderr, "oracle: %s\n", error.what());
        return 1;
    }
}
