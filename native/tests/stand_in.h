/* Stands for tt_ggml.h: so much of ggml as the recorder of splits reads, with backends that a test makes. */
#ifndef TT_GGML_H
#define TT_GGML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_HIDDEN

typedef struct ggml_backend_buffer * ggml_backend_buffer_t;
enum ggml_type { GGML_TYPE_F32 = 0, GGML_TYPE_I32 = 26 };
struct ggml_tensor {
    char                       name[64];
    enum ggml_type             type;
    int64_t                    ne[4];
    size_t                     nb[4];
    ggml_backend_buffer_t      buffer;
    const struct ggml_tensor * view_src;
};
struct ggml_cgraph {
    int n_nodes;
};
typedef struct ggml_backend_reg * ggml_backend_reg_t;
typedef struct ggml_backend_device {
    ggml_backend_reg_t reg;
    void (*answer)(void); /* waits for a server */
    const char * name; /* of its type of buffer */
} *                           ggml_backend_dev_t;
typedef struct ggml_backend * ggml_backend_t;
struct ggml_backend {
    struct {
        void (*synchronize)(ggml_backend_t backend);
    } iface;
    ggml_backend_dev_t device;
    const char *       name;
};
struct ggml_backend_reg {
    const char * name;
};
struct ggml_backend_buffer {
    ggml_backend_dev_t device; /* stands for its type, too */
};
typedef ggml_backend_dev_t ggml_backend_buffer_type_t;

static inline const char *       ggml_backend_name(ggml_backend_t backend) { return backend->name; }
static inline ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend) { return backend->device; }
static inline ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device) { return device->reg; }
static inline const char *       ggml_backend_reg_name(ggml_backend_reg_t registry) { return registry->name; }
static inline size_t             ggml_nbytes(const struct ggml_tensor * tensor) { return sizeof tensor->name; }
static inline void               ggml_backend_synchronize(ggml_backend_t backend) {
    if (backend->iface.synchronize) {
        backend->iface.synchronize(backend);
    }
}
static inline void ggml_backend_dev_memory(ggml_backend_dev_t device, size_t * free, size_t * total) {
    *free = *total = 1;
    if (device->answer) {
        device->answer();
    }
}
static inline ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer) {
    return buffer->device;
}
static inline const char *       ggml_backend_buft_name(ggml_backend_buffer_type_t type) { return type->name; }
static inline ggml_backend_dev_t ggml_backend_buft_get_device(ggml_backend_buffer_type_t type) { return type; }

#endif
