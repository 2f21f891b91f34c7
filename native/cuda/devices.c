/* The moment at which a program takes a CUDA device: from then on its kernels are recorded. */
#include "attach.h"
#include "attach_find.h"
#include "kernels.h"

#include <string.h>

REPLACES ggml_backend_t ggml_backend_dev_init(ggml_backend_dev_t device, const char * parameters) {
    THEIRS(ggml_backend_t, ggml_backend_dev_init, (ggml_backend_dev_t, const char *) )
    if (tt_ready((void *) theirs)) {
        const ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(device);
        if (registry && strcmp(ggml_backend_reg_name(registry), "CUDA") == 0) {
            cuda_kernels_start();
        }
    }
    return theirs(device, parameters);
}
