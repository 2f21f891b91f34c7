/* Records the experts that llama.cpp fetches from a device. */
#include "ggml_chosen.h"
#include "ggml_passes.h"
#include "ggml_process.h"
#include "tt_record.h"

#include <string.h>

static const char name_of_chosen[] = "ffn_moe_topk-";

static __thread struct {
    ggml_backend_t             backend; /* NULL: nothing is awaited */
    const struct ggml_tensor * tensor;
    const char *               data;
} awaited;

/* Whether these are the numbers of all experts of a tensor. Its rows may lie apart, as those of a view. */
static bool is_all(const struct ggml_tensor * tensor, size_t offset, size_t size) {
    const char layer = tensor->name[sizeof name_of_chosen - 1];
    return strncmp(tensor->name, name_of_chosen, sizeof name_of_chosen - 1) == 0 && layer >= '0' && layer <= '9'
        && tensor->type == GGML_TYPE_I32 && tensor->ne[2] == 1 && tensor->ne[3] == 1 && tensor->ne[0] > 0
        && tensor->ne[1] > 0 && tensor->nb[0] == sizeof(int32_t) && offset == 0
        && size >= (size_t) (tensor->ne[1] - 1) * tensor->nb[1] + (size_t) tensor->ne[0] * sizeof(int32_t);
}

static void record(const struct ggml_tensor * tensor, const char * data) {
    const struct tt_current pass = tt_current();
    if (!pass.graph) {
        return;
    }
    const struct tt_chosen head = {
        .pass     = pass.pass,
        .tensor   = tt_string(tt_process, tensor->name),
        .n_rows   = (uint32_t) tensor->ne[1],
        .n_chosen = (uint32_t) tensor->ne[0],
    };
    const size_t row = head.n_chosen * sizeof(int32_t);
    for (uint32_t i = 0; i < head.n_rows; i++) {
        for (uint32_t k = 0; k < head.n_chosen; k++) {
            int32_t expert;
            memcpy(&expert, data + i * tensor->nb[1] + k * sizeof expert, sizeof expert);
            if (expert < 0) { /* it is none: this is not what it seems to be */
                return;
            }
        }
    }
    uint8_t * at = tt_record_begin(tt_process, TT_CHOSEN, sizeof head + head.n_rows * row, tt_now());
    if (at) {
        memcpy(at, &head, sizeof head);
        at += sizeof head;
        for (uint32_t i = 0; i < head.n_rows; i++) {
            memcpy(at + i * row, data + i * tensor->nb[1], row);
        }
        tt_record_end(tt_process);
    }
}

void tt_chosen_asked(ggml_backend_t backend, const struct ggml_tensor * tensor, const void * data, size_t offset,
                     size_t size) {
    if (is_all(tensor, offset, size)) {
        awaited.backend = backend;
        awaited.tensor  = tensor;
        awaited.data    = data;
    }
}

void tt_chosen_arrived(ggml_backend_t backend) {
    if (awaited.backend && awaited.backend == backend) {
        TT_TIMED_HOOK;
        record(awaited.tensor, awaited.data);
        awaited.backend = NULL;
    }
}

void tt_chosen_fetched(const struct ggml_tensor * tensor, const void * data, size_t offset, size_t size) {
    if (is_all(tensor, offset, size)) {
        TT_TIMED_HOOK;
        record(tensor, data);
    }
}
