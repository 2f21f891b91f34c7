/* Waits for backends, and records the waits of llama.cpp that prove that splits are done. */
#include "ggml_waits.h"
#include "ggml_chosen.h"
#include "ggml_passes.h"
#include "ggml_process.h"
#include "tt_record.h"

#include "tensor_trace.h"

#include <string.h>

enum { MAX_OPEN = 256 }; /* splits of a thread; that more are done is not known */

struct open_split {
    ggml_backend_t     backend; /* it may be gone since; its device is not */
    ggml_backend_dev_t device;
    bool               asked; /* for a tensor since then: once it has come, the split is done */
    uint32_t           pass, split;
};

void (*tt_read_stamps)(uint32_t pass, uint32_t split);

static __thread struct {
    struct open_split open[MAX_OPEN];
    unsigned          n_open;
    uint64_t          begin_ns; /* of this thread's wait */
} waits;

/* ---- the tracer waits ---- */

static ggml_backend_reg_t registry_of(ggml_backend_dev_t device) {
    return device ? ggml_backend_dev_backend_reg(device) : NULL;
}

static bool is_remote(ggml_backend_dev_t device) {
    const ggml_backend_reg_t registry = registry_of(device);
    return registry && strncmp(ggml_backend_reg_name(registry), "RPC", 3) == 0;
}

bool tt_waits_for_work(ggml_backend_dev_t device) { return registry_of(device) && !is_remote(device); }

enum tt_proof tt_wait_for(ggml_backend_t backend) {
    const ggml_backend_dev_t device = ggml_backend_get_device(backend);

    ggml_backend_synchronize(backend); /* an asynchronous backend returns before it has computed */
    if (is_remote(device)) {
        /* a server does one request after another: once it answers this one, all before are done */
        size_t free, total;
        ggml_backend_dev_memory(device, &free, &total);
        return TT_PROOF_REPLY;
    }
    return tt_waits_for_work(device) ? TT_PROOF_SYNCHRONISE : TT_PROOF_NONE;
}

void tt_split_is_done(uint32_t pass, uint32_t split) {
    void (*read)(uint32_t, uint32_t) = __atomic_load_n(&tt_read_stamps, __ATOMIC_ACQUIRE);
    if (read) {
        read(pass, split);
    }
}

/* ---- llama.cpp waits ---- */

void tt_split_is_open(ggml_backend_t backend, uint32_t pass, uint32_t split) {
    const ggml_backend_dev_t device = ggml_backend_get_device(backend);
    if (waits.n_open < MAX_OPEN && registry_of(device)) { /* of a backend that is made of others nothing proves it */
        waits.open[waits.n_open++] =
            (struct open_split) { .backend = backend, .device = device, .pass = pass, .split = split };
        tt_devices_work(true);
    }
}

/* Records that the open splits for which `is_done` holds are done, as a wait that ends now proves. */
static void record_done(bool (*is_done)(const struct open_split * split, const void * of), const void * of,
                        enum tt_proof proof) {
    struct {
        struct tt_done head;
        uint32_t       ids[MAX_OPEN][2];
    } record        = { .head = { .begin_ns = waits.begin_ns, .proof = proof } };
    unsigned n_left = 0;
    for (unsigned i = 0; i < waits.n_open; i++) {
        const struct open_split * split = &waits.open[i];
        if (is_done(split, of)) {
            uint32_t * id = record.ids[record.head.n_splits++];
            id[0]         = split->pass;
            id[1]         = split->split;
        } else {
            waits.open[n_left++] = *split;
        }
    }
    waits.n_open = n_left;
    if (record.head.n_splits) {
        const size_t size = sizeof record.head + record.head.n_splits * sizeof *record.ids;
        tt_record(tt_process, TT_DONE, &record, size, tt_now());
        for (unsigned i = 0; i < record.head.n_splits; i++) {
            tt_split_is_done(record.ids[i][0], record.ids[i][1]);
        }
    }
    if (n_left == 0) {
        tt_devices_work(false);
    }
}

static bool is_of_backend(const struct open_split * split, const void * backend) {
    return split->backend == backend && (!is_remote(split->device) || split->asked);
}

static bool is_on_server(const struct open_split * split, const void * device) {
    return split->device == device && is_remote(split->device);
}

void tensor_trace_wait_begin(void) {
    if (waits.n_open) {
        waits.begin_ns = tt_now();
    }
}

void tensor_trace_synchronised(struct ggml_backend * backend) {
    tt_chosen_arrived(backend);
    if (waits.n_open) {
        TT_TIMED_HOOK;
        record_done(is_of_backend, backend,
                    is_remote(ggml_backend_get_device(backend)) ? TT_PROOF_REPLY : TT_PROOF_SYNCHRONISE);
    }
}

void tensor_trace_fetched(const struct ggml_tensor * tensor, const void * data, size_t offset, size_t size) {
    tt_chosen_fetched(tensor, data, offset, size);
    if (waits.n_open) {
        TT_TIMED_HOOK;
        ggml_backend_buffer_t buffer = tensor->view_src ? tensor->view_src->buffer : tensor->buffer;
        record_done(is_on_server, ggml_backend_buft_get_device(ggml_backend_buffer_get_type(buffer)), TT_PROOF_REPLY);
    }
}

void tensor_trace_asked(struct ggml_backend * backend, const struct ggml_tensor * tensor, const void * data,
                        size_t offset, size_t size) {
    tt_chosen_asked(backend, tensor, data, offset, size);
    for (unsigned i = 0; i < waits.n_open; i++) {
        waits.open[i].asked |= waits.open[i].backend == backend;
    }
}
