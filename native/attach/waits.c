/* What llama.cpp waits for: backends that it synchronises, tensors that it fetches. */
#include "attach.h"
#include "attach_find.h"

#undef ggml_backend_synchronize /* here it is the function that we replace */

REPLACES void ggml_backend_synchronize(ggml_backend_t backend) {
    THEIRS(void, ggml_backend_synchronize, (ggml_backend_t))
    if (!tensor_trace_on) {
        theirs(backend);
        return;
    }
    tensor_trace_wait_begin();
    theirs(backend);
    tensor_trace_synchronised(backend);
}

REPLACES void ggml_backend_tensor_get_async(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data,
                                            size_t offset, size_t size) {
    THEIRS(void, ggml_backend_tensor_get_async, (ggml_backend_t, const struct ggml_tensor *, void *, size_t, size_t) )
    theirs(backend, tensor, data, offset, size);
    if (tensor_trace_on) {
        tensor_trace_asked(backend, tensor, data, offset, size);
    }
}

REPLACES void ggml_backend_tensor_get(const struct ggml_tensor * tensor, void * data, size_t offset, size_t size) {
    THEIRS(void, ggml_backend_tensor_get, (const struct ggml_tensor *, void *, size_t, size_t) )
    if (!tensor_trace_on || size == 0) { /* then nobody is asked */
        theirs(tensor, data, offset, size);
        return;
    }
    tensor_trace_wait_begin();
    theirs(tensor, data, offset, size);
    tensor_trace_fetched(tensor, data, offset, size);
}
