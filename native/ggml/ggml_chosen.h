/* The experts that llama.cpp fetches from a device, to copy what is used of a layer's weights. */
#ifndef GGML_CHOSEN_H
#define GGML_CHOSEN_H

#include "tt_ggml.h"

/* asked: the values come when the backend is synchronised; fetched: they are here. Tensors of other names are not looked
   at. */
TT_HIDDEN void tt_chosen_asked(ggml_backend_t backend, const struct ggml_tensor * tensor, const void * data,
                               size_t offset, size_t size);
TT_HIDDEN void tt_chosen_arrived(ggml_backend_t backend);
TT_HIDDEN void tt_chosen_fetched(const struct ggml_tensor * tensor, const void * data, size_t offset, size_t size);

#endif
