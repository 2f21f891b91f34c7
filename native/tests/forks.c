/*
 * forks MODEL: evaluates a token, forks, evaluates more tokens in both processes, and ends both in order.
 *
 * The child must not be recorded, and the parent's trace must be as without it.
 */
#include "llama.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static bool evaluate(struct llama_context * context, llama_token token) {
    return llama_decode(context, llama_batch_get_one(&token, 1)) == 0;
}

int main(int argc, char ** argv) {
    llama_backend_init();
    struct llama_model * model = argc == 2 ? llama_model_load_from_file(argv[1], llama_model_default_params()) : NULL;
    struct llama_context_params params = llama_context_default_params();

    params.n_ctx     = 256;
    params.n_threads = params.n_threads_batch = 1; /* no pool: its threads would be missing in the child */
    struct llama_context * context            = model ? llama_init_from_model(model, params) : NULL;
    if (!context || !evaluate(context, 1)) {
        return 2;
    }
    const pid_t child = fork();
    if (child == 0) {
        exit(evaluate(context, 2) && evaluate(context, 3) ? 0 : 1);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0 || !evaluate(context, 2)) {
        return 1;
    }
    llama_free(context);
    llama_model_free(model);
    return 0;
}
