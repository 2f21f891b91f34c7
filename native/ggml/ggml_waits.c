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
    ggml_backend_t backend; /* it may be gone since */
    uint64_t       server;  /* over RPC: which one; 0: it is no server */
    bool           asked;   /* the server, for a tensor since then: once it has come, the split is done */
    uint32_t       pass, split;
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

/* Which server a backend, or a type of buffer, is of, by its name: `RPC0[HOST:PORT]`, where the number is that of the
   server's device. One server does what all its devices are asked for in one order. */
static uint64_t server_in(const char * name) {
    uint64_t hash = 0;
    for (const char * at = name ? strchr(name, '[') : NULL; at && *at; at++) {
        hash = (hash ^ (uint8_t) *at) * 0x100000001b3u + 1;
    }
    return hash;
}

static uint64_t server_of(ggml_backend_t backend) {
    return is_remote(ggml_backend_get_device(backend)) ? server_in(ggml_backend_name(backend)) : 0;
}

/* A split whose pass has ended, because something else began before anybody waited for it: when it was done is not said
   then, only the stamps of its operations are read. */
static bool is_late(const struct open_split * split) {
    const struct tt_current pass = tt_current();
    return !pass.graph || pass.pass != split->pass;
}

static void forget_late(void) {
    unsigned n_left = 0;
    for (unsigned i = 0; i < waits.n_open; i++) {
        if (!is_late(&waits.open[i])) {
            waits.open[n_left++] = waits.open[i];
        }
    }
    waits.n_open = n_left;
}

void tt_split_is_open(ggml_backend_t backend, uint32_t pass, uint32_t split) {
    if (waits.n_open == MAX_OPEN) {
        forget_late();
    }
    if (waits.n_open < MAX_OPEN && registry_of(ggml_backend_get_device(backend))) { /* else nothing will prove it */
        waits.open[waits.n_open++] =
            (struct open_split) { .backend = backend, .server = server_of(backend), .pass = pass, .split = split };
        tt_devices_work(true);
    }
}

/* What a wait proves: that what this backend had taken is done; of a server, that what was asked before is. */
struct proven {
    ggml_backend_t backend; /* NULL: of a server */
    uint64_t       server;
    bool           only_asked;
};

static bool is_proven(const struct open_split * split, const struct proven * by) {
    if (by->server) {
        return split->server == by->server && (split->asked || !by->only_asked);
    }
    return split->backend == by->backend && !split->server;
}

/* Records that open splits are done, as a wait that ends now proves. */
static void record_done(const struct proven * by) {
    TT_TIMED_HOOK;
    struct {
        struct tt_done head;
        uint32_t       ids[MAX_OPEN][2];
    } record = { .head = { .begin_ns = waits.begin_ns, .proof = by->server ? TT_PROOF_REPLY : TT_PROOF_SYNCHRONISE } };
    unsigned n_left = 0, n_done = 0;
    uint32_t done[MAX_OPEN][2];
    for (unsigned i = 0; i < waits.n_open; i++) {
        const struct open_split * split = &waits.open[i];
        if (!is_proven(split, by)) {
            waits.open[n_left++] = *split;
            continue;
        }
        done[n_done][0]   = split->pass;
        done[n_done++][1] = split->split;
        if (!is_late(split)) {
            uint32_t * id = record.ids[record.head.n_splits++];
            id[0]         = split->pass;
            id[1]         = split->split;
        }
    }
    waits.n_open = n_left;
    if (record.head.n_splits) {
        const size_t size = sizeof record.head + record.head.n_splits * sizeof *record.ids;
        tt_record(tt_process, TT_DONE, &record, size, tt_now());
    }
    for (unsigned i = 0; i < n_done; i++) {
        tt_split_is_done(done[i][0], done[i][1]);
    }
}

static void note_done(const struct proven * by) {
    bool works = false;
    record_done(by);
    for (unsigned i = 0; i < waits.n_open; i++) {
        works |= !is_late(&waits.open[i]);
    }
    if (!works) {
        tt_devices_work(false); /* this may end the pass, so it is no part of a hook in it */
    }
}

void tensor_trace_wait_begin(void) {
    if (waits.n_open) {
        waits.begin_ns = tt_now();
    }
}

void tensor_trace_synchronised(struct ggml_backend * backend) {
    tt_chosen_arrived(backend);
    if (waits.n_open) {
        const struct proven by = { .backend = backend, .server = server_of(backend), .only_asked = true };
        note_done(&by);
    }
}

void tensor_trace_fetched(const struct ggml_tensor * tensor, const void * data, size_t offset, size_t size) {
    tt_chosen_fetched(tensor, data, offset, size);
    if (waits.n_open) {
        ggml_backend_buffer_t            buffer = tensor->view_src ? tensor->view_src->buffer : tensor->buffer;
        const ggml_backend_buffer_type_t type   = ggml_backend_buffer_get_type(buffer);
        const bool                       far    = is_remote(ggml_backend_buft_get_device(type));
        const struct proven              by     = { .server = far ? server_in(ggml_backend_buft_name(type)) : 0 };
        if (by.server) {
            note_done(&by);
        }
    }
}

void tensor_trace_asked(struct ggml_backend * backend, const struct ggml_tensor * tensor, const void * data,
                        size_t offset, size_t size) {
    const uint64_t server = waits.n_open ? server_of(backend) : 0;
    tt_chosen_asked(backend, tensor, data, offset, size);
    for (unsigned i = 0; server && i < waits.n_open; i++) {
        waits.open[i].asked |= waits.open[i].server == server;
    }
}
