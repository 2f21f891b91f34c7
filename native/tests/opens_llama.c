/* opens_llama LIBRARY MODEL: opens libllama with dlopen, as Python does, and evaluates a prompt and one more token. */
#include "llama.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define FIND(name) \
    __typeof__(&name) name##_ = NULL; \
    *(void **) &name##_       = dlsym(library, #name); \
    if (!name##_) { \
        fprintf(stderr, "the library has no %s\n", #name); \
        return 1; \
    }

int main(int argc, char ** argv) {
    void * library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", argc == 3 ? dlerror() : "usage: opens_llama LIBRARY MODEL");
        return 1;
    }
    FIND(llama_model_default_params);
    FIND(llama_context_default_params);
    FIND(llama_model_load_from_file);
    FIND(llama_init_from_model);
    FIND(llama_decode);
    FIND(llama_batch_get_one);
    FIND(llama_get_logits_ith);
    FIND(llama_free);
    FIND(llama_model_free);

    struct llama_model *        model  = llama_model_load_from_file_(argv[2], llama_model_default_params_());
    struct llama_context_params params = llama_context_default_params_();

    params.n_ctx                   = 64;
    struct llama_context * context = model ? llama_init_from_model_(model, params) : NULL;
    if (!context) {
        return 1;
    }
    llama_token tokens[] = { 1, 5, 6, 7 };
    if (llama_decode_(context, llama_batch_get_one_(tokens, 3)) != 0 || !llama_get_logits_ith_(context, -1)
        || llama_decode_(context, llama_batch_get_one_(tokens + 3, 1)) != 0 || !llama_get_logits_ith_(context, -1)) {
        return 1;
    }
    llama_free_(context);
    llama_model_free_(model);
    return 0;
}
