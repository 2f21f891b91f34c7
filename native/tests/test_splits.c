/* Splits and copies: what the recorder says of their ends, for backends that compute at once, later, or elsewhere. */
#include "check.h"
#include "folder.h"
#include "ggml_passes.h"
#include "ggml_process.h"
#include "ggml_waits.h"
#include "tt_record.h"
#include "tt_trace.h"

#include "tensor_trace.h"

/* ---- what the recorder of splits asks of other files: one pass of a graph is evaluated ---- */

struct tt_trace *         tt_process;
bool                      tt_passive;
__thread uint64_t         tt_hook_ticks;
static struct ggml_cgraph graph = { .n_nodes = 3 };
static uint32_t           n_computes; /* of the CPU backend */

static uint32_t now_pass = 7; /* the pass of this thread */

struct tt_current tt_current(void) { return (struct tt_current) { &graph, now_pass, n_computes }; }
void              tt_in_split(uint32_t split) { (void) split; }
uint32_t          tt_first_node(const struct ggml_cgraph * part, const struct ggml_cgraph * whole) {
    return part == whole ? 0 : TT_NONE;
}
static bool devices_work;
void        tt_devices_work(bool work) { devices_work = work; }
void        tt_map_nodes(const struct ggml_cgraph * part, const struct ggml_cgraph * whole, uint32_t * map) {
    (void) part, (void) whole, (void) map;
}

/* ---- backends ---- */

static uint64_t done_ns; /* when the backend had computed; 0: it has not yet */
static unsigned n_synchronised, n_answers;

/* As a device that computes for a while after it was handed a split. */
static void wait_for_work(ggml_backend_t backend) {
    const struct timespec work = { .tv_nsec = 3000000 };
    (void) backend;
    nanosleep(&work, NULL);
    done_ns = tt_now();
    n_synchronised++;
}

/* As a server that answers after its work, and then at once. */
static void answer_after_work(void) {
    if (!done_ns) {
        wait_for_work(NULL);
    }
    n_answers++;
}

static void return_at_once(ggml_backend_t backend) {
    (void) backend;
    n_synchronised++;
}

static struct ggml_backend_reg cpu_registry = { "CPU" }, gpu_registry = { "Vulkan" }, rpc_registry = { "RPC[host:1]" };
static struct ggml_backend_device cpu_device = { .reg = &cpu_registry }, gpu_device = { .reg = &gpu_registry },
                                  rpc_device     = { &rpc_registry, answer_after_work, "RPC0[host:1]" },
                                  rpc_second     = { &rpc_registry, answer_after_work, "RPC1[host:1]" },
                                  rpc_other      = { &rpc_registry, answer_after_work, "RPC0[host:2]" },
                                  made_of_others = { .reg = NULL };
static struct ggml_backend        cpu            = { .device = &cpu_device, .name = "CPU" },
                                  gpu            = { { wait_for_work }, &gpu_device, "Vulkan0" },
                                  rpc            = { { return_at_once }, &rpc_device, "RPC0[host:1]" },
                                  second         = { { return_at_once }, &rpc_second, "RPC1[host:1]" },
                                  far            = { { return_at_once }, &rpc_other, "RPC0[host:2]" },
                                  meta           = { { wait_for_work }, &made_of_others, "Meta" };

/* ---- reading what was written ---- */

struct found {
    struct tt_split  split;
    uint64_t         split_end_ns;
    unsigned         n_splits, n_copies;
    struct tt_copy   copies[8];
    unsigned         n_done;
    struct tt_done   done; /* the last one, and its first split */
    uint32_t         done_split[2];
    uint64_t         done_end_ns;
    unsigned         n_chosen;
    struct tt_chosen chosen; /* the last one, with its first numbers */
    int32_t          experts[4];
};

static void take_records(const uint8_t * payload, size_t size, void * state) {
    struct found *   found = state;
    struct tt_record record;
    for (size_t at = 0; at + sizeof record <= size; at += record.length) {
        memcpy(&record, payload + at, sizeof record);
        if (record.type == TT_SPLIT) {
            memcpy(&found->split, payload + at + sizeof record, sizeof found->split);
            found->split_end_ns = record.time_ns;
            found->n_splits++;
        } else if (record.type == TT_DONE) {
            memcpy(&found->done, payload + at + sizeof record, sizeof found->done);
            memcpy(found->done_split, payload + at + sizeof record + sizeof found->done, sizeof found->done_split);
            found->done_end_ns = record.time_ns;
            found->n_done++;
        } else if (record.type == TT_CHOSEN) {
            memcpy(&found->chosen, payload + at + sizeof record, sizeof found->chosen);
            memcpy(found->experts, payload + at + sizeof record + sizeof found->chosen, sizeof found->experts);
            found->n_chosen++;
        } else if (record.type == TT_COPY && found->n_copies < 8) {
            memcpy(&found->copies[found->n_copies++], payload + at + sizeof record, sizeof *found->copies);
        }
    }
}

static struct found found_after(void (*run)(ggml_backend_t backend), ggml_backend_t backend) {
    char         folder[512], error[256];
    struct found found = { 0 };
    folder_make(folder);
    done_ns = n_synchronised = n_answers = n_computes = 0;
    now_pass                                          = 7;
    tt_process                                        = tt_open(folder, UINT64_MAX, error);
    if (tt_process) {
        run(backend);
        tt_close(tt_process);
        struct file main = file_of(folder, 0);
        chunks_of(&main, take_records, &found);
        free(main.data);
    }
    folder_remove(folder);
    return found;
}

static void one_split(ggml_backend_t backend) {
    tensor_trace_split_begin(&graph, 0, 2);
    tensor_trace_split_end(backend);
}

/* ---- tests ---- */

static void a_backend_that_computes_before_it_returns(void) {
    const struct found found = found_after(one_split, &cpu);
    CHECK(found.n_splits == 1 && found.split.proof == TT_PROOF_BLOCKING && n_synchronised == 0);
}

static void a_backend_that_computes_later_is_waited_for(void) {
    const struct found found = found_after(one_split, &gpu);
    CHECK(found.n_splits == 1 && found.split.proof == TT_PROOF_SYNCHRONISE && n_synchronised == 1);
    CHECK(done_ns != 0 && found.split.begin_ns < done_ns && found.split_end_ns >= done_ns);
    CHECK(found.split.begin_ns <= found.split.submitted_ns && found.split.submitted_ns + 2000000 < done_ns);
}

static void a_server_is_asked_for_an_answer(void) {
    const struct found found = found_after(one_split, &rpc);
    CHECK(found.n_splits == 1 && found.split.proof == TT_PROOF_REPLY && n_synchronised == 2 && n_answers == 1);
    CHECK(done_ns != 0 && found.split.begin_ns < done_ns && found.split_end_ns >= done_ns);
    CHECK(found.split.submitted_ns <= found.split_end_ns);
}

static void a_backend_made_of_others_has_no_proof(void) {
    const struct found found = found_after(one_split, &meta);
    CHECK(found.n_splits == 1 && found.split.proof == TT_PROOF_NONE);
}

/* ---- a passive tracer ---- */

static void passive(ggml_backend_t backend, void (*then)(ggml_backend_t backend)) {
    tt_passive = true;
    one_split(backend);
    CHECK(n_synchronised == 0 && n_answers == 0 && devices_work);
    tensor_trace_wait_begin();
    then(backend);
    tt_passive = false;
}

static void synchronises(ggml_backend_t backend) {
    wait_for_work(backend);
    tensor_trace_synchronised(backend);
}

static void fetches(ggml_backend_t backend) {
    static struct ggml_backend_buffer buffer;
    const struct ggml_tensor          tensor = { .buffer = &buffer }, view = { .view_src = &tensor };

    buffer.device = &cpu_device;
    tensor_trace_fetched(&tensor, NULL, 0, 0); /* of another device: proves nothing */
    CHECK(devices_work);
    buffer.device = backend->device;
    wait_for_work(backend);
    tensor_trace_fetched(&view, NULL, 0, 0);
}

static void asks_and_synchronises(ggml_backend_t backend) {
    tensor_trace_synchronised(backend); /* it was sent */
    CHECK(devices_work);
    static const struct ggml_tensor logits = { .name = "result_output" };
    tensor_trace_asked(backend, &logits, NULL, 0, 4);
    tensor_trace_wait_begin();
    synchronises(backend);
}

static void passive_gpu(ggml_backend_t backend) { passive(backend, synchronises); }
static void passive_fetch(ggml_backend_t backend) { passive(backend, fetches); }
static void passive_answer(ggml_backend_t backend) { passive(backend, asks_and_synchronises); }

static void check_done(const struct found * found, enum tt_proof proof) {
    CHECK(found->n_splits == 1 && found->split.proof == TT_PROOF_NONE);
    CHECK(found->split_end_ns == found->split.submitted_ns && found->split_end_ns < done_ns);
    CHECK(found->n_done == 1 && found->done.n_splits == 1 && found->done.proof == (uint32_t) proof);
    CHECK(found->done_split[0] == 7 && found->done_split[1] == 0);
    CHECK(found->done.begin_ns < done_ns && found->done_end_ns >= done_ns);
    CHECK(!devices_work);
}

static void a_passive_tracer_notes_who_synchronises(void) {
    const struct found found = found_after(passive_gpu, &gpu);
    check_done(&found, TT_PROOF_SYNCHRONISE);
}

static void a_fetched_tensor_proves_that_a_server_is_done(void) {
    const struct found found = found_after(passive_fetch, &rpc);
    check_done(&found, TT_PROOF_REPLY);
}

static void to_synchronise_a_server_proves_what_it_was_asked_for(void) {
    const struct found found = found_after(passive_answer, &rpc);
    check_done(&found, TT_PROOF_REPLY);
}

static void more_splits_than_are_kept(ggml_backend_t backend) {
    tt_passive = true;
    for (int i = 0; i < 600; i++) {
        tensor_trace_split_begin(&graph, i, 600);
        tensor_trace_split_end(i % 2 ? backend : &meta); /* of the other one nothing proves that it is done */
    }
    tensor_trace_wait_begin();
    tensor_trace_synchronised(&meta);
    CHECK(devices_work);
    synchronises(backend);
    CHECK(!devices_work);
    tt_passive = false;
}

static void splits_of_several_backends(void) {
    const struct found found = found_after(more_splits_than_are_kept, &gpu);
    CHECK(found.n_splits == 600 && found.n_done == 1 && found.done.n_splits == 256 && found.done_split[1] == 1);
}

/* Of two devices of a server only the last one is asked for something; it does one request after another. */
static void two_devices_of_a_server(ggml_backend_t backend) {
    static struct ggml_backend_buffer buffer = { &rpc_other };
    const struct ggml_tensor          there  = { .buffer = &buffer };
    tt_passive                               = true;
    one_split(backend);
    one_split(&second);
    tensor_trace_fetched(&there, NULL, 0, 4); /* of another server */
    CHECK(devices_work);
    tensor_trace_asked(&second, &there, NULL, 0, 4);
    wait_for_work(NULL);
    tensor_trace_synchronised(&far);
    CHECK(devices_work);
    tensor_trace_synchronised(&second);
    CHECK(!devices_work);
    tt_passive = false;
}

static void an_answer_proves_what_all_devices_of_a_server_had(void) {
    const struct found found = found_after(two_devices_of_a_server, &rpc);
    CHECK(found.n_splits == 2 && found.n_done == 1 && found.done.n_splits == 2 && found.done.proof == TT_PROOF_REPLY);
}

static unsigned n_read; /* times that stamps were read */
static void     count_reads(uint32_t pass, uint32_t split) { (void) split, n_read += pass == 7; }

/* The next ubatch begins before anybody has waited for the one before. */
static void waited_for_in_the_next_pass(ggml_backend_t backend) {
    tt_passive     = true;
    tt_read_stamps = count_reads;
    n_read         = 0;
    one_split(backend);
    now_pass++;
    one_split(backend);
    tensor_trace_wait_begin();
    synchronises(backend);
    CHECK(!devices_work && n_read == 1);
    tt_read_stamps = NULL;
    tt_passive     = false;
}

static void a_split_that_is_waited_for_after_its_pass_has_no_end(void) {
    const struct found found = found_after(waited_for_in_the_next_pass, &gpu);
    CHECK(found.n_splits == 2 && found.n_done == 1 && found.done.n_splits == 1 && found.done_split[0] == 8);
}

static void nobody_waits(ggml_backend_t backend) {
    tt_passive = true;
    for (int i = 0; i < 300; i++, now_pass++) { /* more than are kept: those of passes before make room */
        one_split(backend);
    }
    now_pass--;
    tensor_trace_wait_begin();
    synchronises(backend);
    tt_passive = false;
}

static void splits_of_passes_before_make_room(void) {
    const struct found found = found_after(nobody_waits, &gpu);
    CHECK(found.n_splits == 300 && found.done.n_splits == 1 && found.done_split[0] == 7 + 299 && !devices_work);
}

static void split_with_ops(ggml_backend_t backend) {
    tensor_trace_split_begin(&graph, 0, 2);
    n_computes++;
    tensor_trace_split_end(backend);
    tensor_trace_split_begin(&graph, 0, 1); /* the only one: its ops say everything */
    n_computes++;
    tensor_trace_split_end(backend);
}

static void a_split_whose_ops_are_recorded(void) {
    const struct found found = found_after(split_with_ops, &cpu);
    CHECK(found.n_splits == 1 && found.split.by_op == 1 && found.split.proof == TT_PROOF_BLOCKING);
}

static void copies_of_each_kind(ggml_backend_t backend) {
    static const struct ggml_tensor tensor = { .name = "x" };
    (void) backend;
    tensor_trace_copy_blocking(); /* no copy has begun */
    tensor_trace_copy_begin(&tensor, &cpu, &gpu, 1);
    tensor_trace_copy_blocking();
    tensor_trace_copy_begin(&tensor, &cpu, &gpu, 1); /* submitted, whole */
    tensor_trace_copy_begin(&tensor, &cpu, &gpu, 1); /* submitted, in parts */
    tensor_trace_copy_part(5);
    tensor_trace_copy_part(6);
    tensor_trace_copy_begin(&tensor, &cpu, &rpc, 1);
    tensor_trace_copy_blocking(); /* it was sent */
    tensor_trace_copy_begin(&tensor, &rpc, &cpu, 1);
    tensor_trace_copy_blocking(); /* it was fetched */
    tensor_trace_split_begin(&graph, 1, 2);
}

static void copies_say_whether_they_were_made_by_their_end(void) {
    static const enum tt_proof expected[] = { TT_PROOF_BLOCKING, TT_PROOF_NONE, TT_PROOF_NONE, TT_PROOF_NONE,
                                              TT_PROOF_BLOCKING };
    const struct found         found      = found_after(copies_of_each_kind, NULL);
    CHECK(found.n_copies == sizeof expected / sizeof *expected && n_synchronised == 0);
    for (unsigned i = 0; i < found.n_copies; i++) {
        CHECK(found.copies[i].proof == expected[i]);
    }
    CHECK(found.copies[2].size_bytes == 11);
}

/* ---- experts ---- */

/* Two of four are chosen, of a row of four that are sorted. */
static int32_t            ids[]  = { 3, 1, 0, 2, 2, 0, 1, 3 };
static struct ggml_tensor chosen = {
    .name = "ffn_moe_topk-5", .type = GGML_TYPE_I32, .ne = { 2, 2, 1, 1 }, .nb = { 4, 16 }
};

static void fetch_experts(ggml_backend_t backend) {
    struct ggml_tensor other = chosen;
    tensor_trace_asked(backend, &chosen, ids, 0, 23); /* one byte is missing */
    tensor_trace_asked(backend, &chosen, ids, 4, 24); /* not from the begin */
    strcpy(other.name, "ffn_moe_weights-5");
    tensor_trace_asked(backend, &other, ids, 0, sizeof ids);
    tensor_trace_synchronised(backend);
    tensor_trace_asked(backend, &chosen, ids, 0, 24);
    tensor_trace_synchronised(&cpu); /* another one */
    tensor_trace_synchronised(backend);
    tensor_trace_synchronised(backend); /* nothing is awaited now */
    tensor_trace_fetched(&chosen, ids, 0, sizeof ids);
}

static void experts_are_recorded_when_they_have_come(void) {
    static const int32_t expected[] = { 3, 1, 2, 0 };
    const struct found   found      = found_after(fetch_experts, &gpu);
    CHECK(found.n_chosen == 2 && found.chosen.pass == 7 && found.chosen.n_rows == 2 && found.chosen.n_chosen == 2);
    CHECK(memcmp(found.experts, expected, sizeof expected) == 0);
}

int main(void) {
    const struct check checks[] = {
        TEST(a_backend_that_computes_before_it_returns),
        TEST(a_backend_that_computes_later_is_waited_for),
        TEST(a_server_is_asked_for_an_answer),
        TEST(a_backend_made_of_others_has_no_proof),
        TEST(a_split_whose_ops_are_recorded),
        TEST(a_passive_tracer_notes_who_synchronises),
        TEST(a_fetched_tensor_proves_that_a_server_is_done),
        TEST(to_synchronise_a_server_proves_what_it_was_asked_for),
        TEST(copies_say_whether_they_were_made_by_their_end),
        TEST(experts_are_recorded_when_they_have_come),
        TEST(an_answer_proves_what_all_devices_of_a_server_had),
        TEST(a_split_that_is_waited_for_after_its_pass_has_no_end),
        TEST(splits_of_passes_before_make_room),
        TEST(splits_of_several_backends),
    };
    return RUN_CHECKS(checks);
}
