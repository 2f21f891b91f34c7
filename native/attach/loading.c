/* Keeps whether this thread loads a model, and how many files the load has mapped. */
#include "attach_loading.h"

static __thread bool     loading __attribute__((tls_model("initial-exec")));
static __thread uint32_t n_files __attribute__((tls_model("initial-exec"))); /* of this load, mapped so far */

void tt_loading(bool begins) {
    loading = begins;
    n_files = 0;
}

bool tt_is_loading(void) { return loading; }

uint32_t tt_next_split(void) { return n_files++; }
