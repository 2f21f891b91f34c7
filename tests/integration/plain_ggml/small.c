/* A program that uses ggml by itself: rows of a table times a matrix, plus a vector, computed twice and printed. */
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 8, ROWS = 16, OUT = 4, CHOSEN = 3 };

static void fill(struct ggml_tensor * tensor, float step) {
    float * values = malloc(ggml_nbytes(tensor));
    for (int64_t i = 0; i < ggml_nelements(tensor); i++) {
        values[i] = step * (float) i;
    }
    ggml_backend_tensor_set(tensor, values, 0, ggml_nbytes(tensor));
    free(values);
}

int main(void) {
    const struct ggml_init_params room = { .mem_size = 1 << 20, .no_alloc = true };
    ggml_backend_t                backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, 2);

    struct ggml_context * kept   = ggml_init(room);
    struct ggml_tensor *  table  = ggml_set_name(ggml_new_tensor_2d(kept, GGML_TYPE_F32, WIDTH, ROWS), "table");
    struct ggml_tensor *  matrix = ggml_set_name(ggml_new_tensor_2d(kept, GGML_TYPE_F32, WIDTH, OUT), "matrix");
    struct ggml_tensor *  vector = ggml_set_name(ggml_new_tensor_1d(kept, GGML_TYPE_F32, OUT * CHOSEN), "vector");
    ggml_backend_buffer_t weights = ggml_backend_alloc_ctx_tensors(kept, backend);
    ggml_backend_buffer_set_usage(weights, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    fill(table, 0.5f);
    fill(matrix, 0.25f);
    fill(vector, 1.0f);

    struct ggml_context * made = ggml_init(room);
    struct ggml_tensor *  ids  = ggml_set_name(ggml_new_tensor_1d(made, GGML_TYPE_I32, CHOSEN), "ids");
    ggml_set_input(ids);
    struct ggml_tensor * product = ggml_mul_mat(made, matrix, ggml_get_rows(made, table, ids));
    struct ggml_tensor * sum     = ggml_add(made, ggml_reshape_1d(made, product, OUT * CHOSEN), vector);
    struct ggml_cgraph * graph   = ggml_new_graph(made);
    ggml_build_forward_expand(graph, sum);
    ggml_gallocr_t allocator = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    if (!ggml_gallocr_alloc_graph(allocator, graph)) {
        return 1;
    }
    for (int32_t time = 0; time < 2; time++) {
        const int32_t chosen[CHOSEN] = { 2, 3, 9 + time };
        ggml_backend_tensor_set(ids, chosen, 0, sizeof chosen);
        if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) {
            return 1;
        }
        float values[OUT * CHOSEN];
        ggml_backend_tensor_get(sum, values, 0, sizeof values);
        for (int i = 0; i < OUT * CHOSEN; i++) {
            printf("%g ", (double) values[i]);
        }
    }
    ggml_gallocr_free(allocator);
    ggml_free(made);
    ggml_backend_buffer_free(weights);
    ggml_free(kept);
    ggml_backend_free(backend);
    return 0;
}
