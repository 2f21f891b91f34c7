/* Records copies between backends: those that wait until they are done, and what is handed to a backend in parts, as used
   experts are. What a backend copies from another one without waiting is not seen. */
#include "attach.h"
#include "attach_calls.h"
#include "attach_copies.h"
#include "attach_find.h"
#include "ggml_passes.h"
#include "ggml_process.h"
#include "ggml_waits.h"
#include "tt_record.h"

#include <stdio.h>
#include <string.h>

static __thread struct {
    const struct ggml_tensor * to; /* NULL: nothing is handed over */
    struct tt_copy             record;
    uint64_t                   end_ns;
} parts;

/* The device in whose memory a tensor lies; NULL: the CPU's, which a device's memory on the host's side is, too. */
static ggml_backend_dev_t device_of(const struct ggml_tensor * tensor) {
    ggml_backend_buffer_t buffer = tensor->view_src ? tensor->view_src->buffer : tensor->buffer;
    const bool            other  = buffer && !ggml_backend_buffer_is_host(buffer);
    return other ? ggml_backend_buft_get_device(ggml_backend_buffer_get_type(buffer)) : NULL;
}

static uint32_t name_of(ggml_backend_dev_t device) {
    return tt_string(tt_process, device ? ggml_backend_dev_name(device) : "CPU");
}

static bool is_in_pass(struct tt_current * pass) {
    *pass = tt_current();
    return tensor_trace_on && pass->graph && tt_call.context;
}

void tt_copies_end(void) {
    if (parts.to) {
        tt_record(tt_process, TT_COPY, &parts.record, sizeof parts.record, parts.end_ns);
        parts.to = NULL;
    }
}

REPLACES void ggml_backend_tensor_copy(const struct ggml_tensor * from, struct ggml_tensor * to) {
    THEIRS(void, ggml_backend_tensor_copy, (const struct ggml_tensor *, struct ggml_tensor *) )
    struct tt_current pass;
    const bool        known = is_in_pass(&pass);
    struct tt_copy    copy  = { .begin_ns = known ? tt_now() : 0 };
    theirs(from, to);
    if (known) {
        tt_copies_end();
        copy.size_bytes = ggml_nbytes(from);
        copy.pass       = pass.pass;
        copy.split      = (uint32_t) tt_call.n_splits;
        copy.tensor     = tt_string(tt_process, from->name);
        copy.from       = name_of(device_of(from));
        copy.to         = name_of(device_of(to));
        copy.proof      = !device_of(to) || tt_waits_for_work(device_of(to)) ? TT_PROOF_BLOCKING : TT_PROOF_NONE;
        tt_record(tt_process, TT_COPY, &copy, sizeof copy, tt_now());
    }
}

/* The name of a tensor without that of the backend to which the scheduler copies it: `BACKEND#NAME#N`. */
static uint32_t original_name(const struct ggml_tensor * tensor) {
    const char *from = strchr(tensor->name, '#'), *to = strrchr(tensor->name, '#');
    char        name[GGML_MAX_NAME];
    if (!from || to == from) {
        return tt_string(tt_process, tensor->name);
    }
    snprintf(name, sizeof name, "%.*s", (int) (to - from - 1), from + 1);
    return tt_string(tt_process, name);
}

REPLACES void ggml_backend_tensor_set_async(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data,
                                            size_t offset, size_t size) {
    THEIRS(void, ggml_backend_tensor_set_async, (ggml_backend_t, struct ggml_tensor *, const void *, size_t, size_t) )
    struct tt_current pass;
    const bool        known = is_in_pass(&pass);
    if (known) {
        if (parts.to != tensor) {
            tt_copies_end();
            parts.to     = tensor;
            parts.record = (struct tt_copy) {
                .begin_ns = tt_now(),
                .pass     = pass.pass,
                .split    = (uint32_t) tt_call.n_splits,
                .tensor   = original_name(tensor),
                .from     = name_of(NULL),
                .to       = tt_string(tt_process, ggml_backend_name(backend)),
                .proof    = TT_PROOF_NONE,
            };
        }
        parts.record.size_bytes += size;
    }
    theirs(backend, tensor, data, offset, size);
    if (known) {
        parts.end_ns = tt_now();
    }
}
