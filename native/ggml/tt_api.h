/*
 * The functions of ggml and llama.cpp that the recorder calls. Attached tracing links neither library: attach/find.c
 * fills `tt_api` with the functions that it finds in the loaded libraries. The macros below make calls of ggml_* go
 * through `tt_api`, so that the files of this folder compile both with attached tracing and without.
 */
#ifndef TT_API_H
#define TT_API_H

#include "ggml.h"
#include "ggml-backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
/* X(result, name, parameters): if one of these is missing, nothing is traced */
#define TT_GGML_FUNCTIONS(X)                                                                                    \
    X(const char *, ggml_op_desc, (const struct ggml_tensor *))                                                 \
    X(const char *, ggml_type_name, (enum ggml_type))                                                           \
    X(size_t, ggml_nbytes, (const struct ggml_tensor *))                                                        \
    X(int64_t, ggml_nelements, (const struct ggml_tensor *))                                                    \
    X(size_t, ggml_type_size, (enum ggml_type))                                                                 \
    X(enum ggml_backend_buffer_usage, ggml_backend_buffer_get_usage, (ggml_backend_buffer_t))                   \
    X(ggml_backend_buffer_type_t, ggml_backend_buffer_get_type, (ggml_backend_buffer_t))                        \
    X(size_t, ggml_backend_buffer_get_size, (ggml_backend_buffer_t))                                            \
    X(void *, ggml_backend_buffer_get_base, (ggml_backend_buffer_t))                                            \
    X(bool, ggml_backend_buffer_is_host, (ggml_backend_buffer_t))                                               \
    X(const char *, ggml_backend_buft_name, (ggml_backend_buffer_type_t))                                       \
    X(ggml_backend_dev_t, ggml_backend_buft_get_device, (ggml_backend_buffer_type_t))                           \
    X(const char *, ggml_backend_dev_name, (ggml_backend_dev_t))                                                \
    X(ggml_backend_reg_t, ggml_backend_dev_backend_reg, (ggml_backend_dev_t))                                   \
    X(const char *, ggml_backend_reg_name, (ggml_backend_reg_t))                                                \
    X(const char *, ggml_backend_name, (ggml_backend_t))                                                        \
    X(ggml_backend_dev_t, ggml_backend_get_device, (ggml_backend_t))                                            \
    X(void, ggml_backend_synchronize, (ggml_backend_t))                                                         \
    X(void, ggml_backend_dev_memory, (ggml_backend_dev_t, size_t *, size_t *))                                  \
    /* for the check that structures have the layout of the headers that the tracer was compiled with */        \
    X(struct ggml_context *, ggml_init, (struct ggml_init_params))                                              \
    X(void, ggml_free, (struct ggml_context *))                                                                 \
    X(size_t, ggml_tensor_overhead, (void))                                                                     \
    X(size_t, ggml_graph_overhead, (void))                                                                      \
    X(struct ggml_cgraph *, ggml_new_graph, (struct ggml_context *))                                            \
    X(void, ggml_build_forward_expand, (struct ggml_cgraph *, struct ggml_tensor *))                            \
    X(struct ggml_tensor *, ggml_new_tensor_2d, (struct ggml_context *, enum ggml_type, int64_t, int64_t))      \
    X(struct ggml_tensor *, ggml_view_1d, (struct ggml_context *, struct ggml_tensor *, int64_t, size_t))       \
    X(struct ggml_tensor *, ggml_scale, (struct ggml_context *, struct ggml_tensor *, float))                   \
    X(struct ggml_tensor *, ggml_mul_mat, (struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *))  \
    X(struct ggml_tensor *, ggml_set_name, (struct ggml_tensor *, const char *))                                \
    X(void, ggml_set_input, (struct ggml_tensor *))

/* NULL where the library does not have them */
#define TT_GGML_OPTIONAL(X)          \
    X(const char *, ggml_version, (void)) \
    X(const char *, ggml_commit, (void))

/* llama_perf_context_data, and room for what releases to come may add at its end */
struct tt_counters {
    double  start_ms, load_ms, prompt_ms, eval_ms;
    int32_t n_prompt, n_eval;
    char    more[80];
};

/* of libllama; NULL where the process has no libllama */
#define TT_LLAMA_OPTIONAL(X)                                    \
    X(const void *, llama_get_model, (const void *))            \
    X(const void *, llama_get_memory, (const void *))           \
    X(int32_t, llama_memory_seq_pos_max, (const void *, int32_t)) \
    X(uint32_t, llama_n_ctx, (const void *))                    \
    X(uint32_t, llama_n_batch, (const void *))                  \
    X(uint32_t, llama_n_ubatch, (const void *))                 \
    X(int32_t, llama_n_threads, (const void *))                 \
    X(void, llama_synchronize, (void *))                        \
    X(struct tt_counters, llama_perf_context, (const void *))

struct tt_api {
#define TT_MEMBER(result, name, parameters) result (*name##_) parameters;
    TT_GGML_FUNCTIONS(TT_MEMBER)
    TT_GGML_OPTIONAL(TT_MEMBER)
    TT_LLAMA_OPTIONAL(TT_MEMBER)
#undef TT_MEMBER
};
extern struct tt_api tt_api __attribute__((visibility("hidden")));
/* clang-format on */

#define ggml_op_desc                  tt_api.ggml_op_desc_
#define ggml_type_name                tt_api.ggml_type_name_
#define ggml_nbytes                   tt_api.ggml_nbytes_
#define ggml_nelements                tt_api.ggml_nelements_
#define ggml_type_size                tt_api.ggml_type_size_
#define ggml_backend_buffer_get_usage tt_api.ggml_backend_buffer_get_usage_
#define ggml_backend_buffer_get_type  tt_api.ggml_backend_buffer_get_type_
#define ggml_backend_buffer_get_size  tt_api.ggml_backend_buffer_get_size_
#define ggml_backend_buffer_get_base  tt_api.ggml_backend_buffer_get_base_
#define ggml_backend_buffer_is_host   tt_api.ggml_backend_buffer_is_host_
#define ggml_backend_buft_name        tt_api.ggml_backend_buft_name_
#define ggml_backend_buft_get_device  tt_api.ggml_backend_buft_get_device_
#define ggml_backend_dev_name         tt_api.ggml_backend_dev_name_
#define ggml_backend_dev_backend_reg  tt_api.ggml_backend_dev_backend_reg_
#define ggml_backend_reg_name         tt_api.ggml_backend_reg_name_
#define ggml_backend_name             tt_api.ggml_backend_name_
#define ggml_backend_get_device       tt_api.ggml_backend_get_device_
#define ggml_backend_synchronize      tt_api.ggml_backend_synchronize_
#define ggml_backend_dev_memory       tt_api.ggml_backend_dev_memory_
#define ggml_version()                (tt_api.ggml_version_ ? tt_api.ggml_version_() : "")
#define ggml_commit()                 (tt_api.ggml_commit_ ? tt_api.ggml_commit_() : "")

#endif
