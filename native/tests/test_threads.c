/* Tests of writers: several threads at once, one that is still busy at the end, one without a file. */
#include "check.h"
#include "folder.h"
#include "tt_graphs.h"
#include "tt_record.h"
#include "tt_trace.h"
#include "tt_writer.h"

#include "tensor_trace.h"

enum { N_THREADS = 4, N_COMPUTES = 300, N_NODES = 60 };

static size_t copy_rows(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens) {
    (void) graph;
    const uint32_t rows[2] = { (uint32_t) node, n_tokens };

    index->what  = TT_INDEX_ROWS;
    index->bytes = 4;
    index->ne0   = 2;
    index->ne1   = 1;
    if (room < TT_UNIT) {
        return TT_NO_ROOM;
    }
    memcpy(index + 1, rows, sizeof rows);
    return sizeof rows;
}

static const uint8_t plan[N_NODES] = { [4] = 1, [7] = 1 };

static struct tt_compute_work work_of(uint64_t compute) {
    return (struct tt_compute_work) {
        .compute     = compute,
        .plan        = plan,
        .index_bytes = 2 * (sizeof(struct tt_index) + TT_UNIT),
        .n_nodes     = N_NODES,
        .n_tokens    = 5,
        .copy_index  = copy_rows,
    };
}

struct job {
    struct tt_trace * trace;
    int               ith;
};

static void * run_job(void * arg) {
    const struct job * job    = arg;
    struct tt_writer * writer = tt_writer_acquire(job->trace);
    for (uint64_t compute = 0; writer && compute < N_COMPUTES; compute++) {
        const struct tt_compute_work work = work_of(compute);
        tt_thread_begin(writer, &work, job->ith, N_THREADS);
        for (int node = 0; node < N_NODES; node += 2) { /* pairs: each op computes the next node too */
            tensor_trace_op_begin(writer, node);
            tensor_trace_op_end(writer, node + 1);
        }
        tt_thread_end(writer);
        char text[32];
        snprintf(text, sizeof text, "name %d", (int) compute); /* the same names from all threads */
        const uint32_t names[2] = { tt_string(job->trace, text), tt_string(job->trace, text) };
        tt_record(job->trace, TT_INFO, names, sizeof names, tt_now());
        const struct tt_node node = { .ne = { compute } };
        tt_graph(job->trace, &node, 1, 0);
        tt_next_pass(job->trace);
        tt_next_compute(job->trace);
    }
    if (writer) {
        tt_writer_release(writer);
    }
    return NULL;
}

struct counts {
    uint64_t ops, begins, ends, indexes;
    uint64_t last; /* ticks of the last event */
    bool     valid;
};

static void count_units(const uint8_t * payload, size_t size, void * state) {
    struct counts * counts = state;
    for (size_t at = 0; at < size; at += TT_UNIT) {
        struct tt_op           op;
        struct tt_thread_begin begin;
        struct tt_long_op      long_op;
        memcpy(&op, payload + at, sizeof op);
        memcpy(&begin, payload + at, at + sizeof begin <= size ? sizeof begin : TT_UNIT);
        switch (op.type) {
            case TT_OP:
                counts->ops += op.n_fused == 1 && op.barrier == 0;
                counts->last += (uint64_t) op.gap + op.took;
                break;
            case TT_LONG_OP:
                memcpy(&long_op, payload + at, at + sizeof long_op <= size ? sizeof long_op : TT_UNIT);
                counts->ops += long_op.n_fused == 1 && long_op.barrier == 0;
                counts->valid = counts->valid && long_op.begin >= counts->last;
                counts->last  = long_op.begin + long_op.took;
                at += TT_UNIT;
                break;
            case TT_THREAD_BEGIN:
                counts->begins += begin.n_threads == N_THREADS && begin.compute < N_COMPUTES;
                /* fall through */
            case TT_INDEX:
            case TT_THREAD_END:
                counts->indexes += op.type == TT_INDEX;
                counts->ends += op.type == TT_THREAD_END;
                counts->valid = counts->valid && begin.time >= counts->last;
                counts->last  = begin.time;
                at += op.type == TT_INDEX ? 2 * TT_UNIT : op.type == TT_THREAD_BEGIN ? TT_UNIT : 0;
                break;
            default: counts->valid = false;
        }
    }
}

static void threads_write_side_by_side(void) {
    char       folder[512], error[256];
    pthread_t  threads[N_THREADS];
    struct job jobs[N_THREADS];
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    CHECK(trace);
    for (int i = 0; i < N_THREADS; i++) {
        jobs[i] = (struct job) { trace, i };
        CHECK(pthread_create(&threads[i], NULL, run_job, &jobs[i]) == 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(trace->n_strings == N_COMPUTES + 1 && trace->n_graphs == N_COMPUTES);
    CHECK(trace->n_passes == N_THREADS * N_COMPUTES && trace->n_computes == N_THREADS * N_COMPUTES);
    const uint32_t n_segments = trace->n_segments;
    tt_close(trace);
    struct counts all = { .valid = true };
    for (uint32_t i = 0; i < n_segments; i++) {
        struct file         file   = file_of(folder, (int) i);
        struct counts       counts = { .valid = true };
        const struct chunks chunks = chunks_of(&file, i ? count_units : NULL, &counts);
        CHECK(chunks.valid && chunks.n == chunks.n_sealed && counts.valid && header_of(&file).number == i);
        CHECK(header_of(&file).dropped_records == 0);
        all.ops += counts.ops;
        all.begins += counts.begins;
        all.ends += counts.ends;
        all.indexes += counts.indexes;
        free(file.data);
    }
    CHECK(all.ops == (uint64_t) N_THREADS * N_COMPUTES * N_NODES / 2);
    CHECK(all.begins == (uint64_t) N_THREADS * N_COMPUTES && all.ends == all.begins);
    CHECK(all.indexes == N_COMPUTES); /* the first thread copies, at a node that begins an op: 4, not 7 */
    folder_remove(folder);
}

static void a_released_writer_is_used_again(void) {
    char folder[512], error[256], path[1024];
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    CHECK(trace);
    struct tt_writer * first = tt_writer_acquire(trace);
    CHECK(first && tt_writer_acquire(trace) != first);
    tt_writer_release(first);
    CHECK(tt_writer_acquire(trace) == first && trace->n_segments == 3);
    tt_close(trace);
    CHECK(folder_entry(folder, 2, path) && !folder_entry(folder, 3, path));
    folder_remove(folder);
}

/* Numbers that do not fit into TT_OP need TT_LONG_OP: a late begin, a long time, a large graph, many fused nodes. */
static void an_op_with_large_numbers_is_a_long_op(void) {
    static const struct {
        uint64_t late, took;
        int      node, n_fused;
        bool     is_long;
    } cases[] = {
        { 5, 7, 65535, 255, false },   { UINT32_MAX, 0, 0, 0, false }, { 1ull << 32, 0, 0, 0, true },
        { 0, 1ull << 32, 0, 0, true }, { 0, 0, 65536, 0, true },       { 0, 0, 0, 256, true },
        { UINT64_MAX, 0, 0, 0, true },
    };
    char folder[512], error[256];
    setenv("TENSOR_TRACE_CLOCK", "monotonic", 1);
    folder_make(folder);
    struct tt_trace *  trace  = tt_open(folder, UINT64_MAX, error);
    struct tt_writer * writer = trace ? tt_writer_acquire(trace) : NULL;
    CHECK(writer);
    const struct tt_compute_work work = { .n_nodes = 70000 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_thread_begin(writer, &work, 0, 1);
        tensor_trace_op_begin(writer, cases[i].node);
        writer->begin        = tt_ticks() - cases[i].took;
        writer->last         = writer->begin - cases[i].late;
        const uint64_t begin = writer->begin;
        const size_t   used  = writer->segment.used;
        tensor_trace_op_end(writer, cases[i].node + cases[i].n_fused);
        struct tt_long_op written;
        memcpy(&written, writer->segment.payload + used, sizeof written);
        CHECK(writer->segment.used - used == (cases[i].is_long ? sizeof(struct tt_long_op) : sizeof(struct tt_op)));
        CHECK(written.type == (cases[i].is_long ? TT_LONG_OP : TT_OP));
        if (cases[i].is_long) {
            CHECK(written.begin == begin && written.node == (uint32_t) cases[i].node
                  && written.n_fused == cases[i].n_fused);
            CHECK(written.took >= cases[i].took && written.barrier == 0 && written.more == TT_MORE);
        }
        tt_thread_end(writer);
    }
    CHECK(writer->segment.header->dropped_records == 0);
    tt_close(trace);
    folder_remove(folder);
    unsetenv("TENSOR_TRACE_CLOCK");
}

struct busy {
    struct tt_writer * writer;
    atomic_bool        begun, closed;
};

static void * stay_busy(void * arg) {
    struct busy *                busy = arg;
    const struct tt_compute_work work = work_of(0);
    tt_thread_begin(busy->writer, &work, 1, N_THREADS);
    tensor_trace_op_begin(busy->writer, 0);
    tensor_trace_op_end(busy->writer, 1);
    atomic_store(&busy->begun, true);
    while (!atomic_load(&busy->closed)) {
    }
    tensor_trace_op_begin(busy->writer, 2); /* its mapping is still there */
    tensor_trace_op_end(busy->writer, 3);
    tt_thread_end(busy->writer);
    return NULL;
}

static void closing_leaves_a_busy_writer_its_mapping(void) {
    char      folder[512], error[256];
    pthread_t thread;
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    CHECK(trace);
    struct tt_writer * idle = tt_writer_acquire(trace);
    struct busy        busy = { .writer = tt_writer_acquire(trace) };
    CHECK(idle && busy.writer && pthread_create(&thread, NULL, stay_busy, &busy) == 0);
    while (!atomic_load(&busy.begun)) {
    }
    tt_close(trace);
    atomic_store(&busy.closed, true);
    pthread_join(thread, NULL);
    struct counts       counts = { .valid = true };
    struct file         file   = file_of(folder, 2);
    const struct chunks chunks = chunks_of(&file, count_units, &counts);
    CHECK(chunks.valid && chunks.n == 1 && chunks.n_sealed == 0 && counts.valid);
    CHECK(counts.begins == 1 && counts.ops == 2 && counts.ends == 1);
    free(file.data);
    free(busy.writer);
    folder_remove(folder);
}

/* Ends its part late, like a thread that waits long for a processor. */
static void * end_late(void * arg) {
    struct busy *                busy  = arg;
    const struct tt_compute_work work  = work_of(0);
    const struct timespec        pause = { .tv_nsec = 400000000 };
    tt_thread_begin(busy->writer, &work, 1, N_THREADS);
    atomic_store(&busy->begun, true);
    nanosleep(&pause, NULL);
    tt_thread_end(busy->writer);
    return NULL;
}

static void closing_waits_for_a_late_writer(void) {
    char      folder[512], error[256];
    pthread_t thread;
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    CHECK(trace);
    struct busy busy = { .writer = tt_writer_acquire(trace) };
    CHECK(busy.writer && pthread_create(&thread, NULL, end_late, &busy) == 0);
    while (!atomic_load(&busy.begun)) {
    }
    tt_close(trace);
    pthread_join(thread, NULL);
    struct counts       counts = { .valid = true };
    struct file         file   = file_of(folder, 1);
    const struct chunks chunks = chunks_of(&file, count_units, &counts);
    CHECK(chunks.valid && chunks.n == 1 && chunks.n_sealed == 1 && counts.valid);
    CHECK(counts.begins == 1 && counts.ends == 1);
    free(file.data);
    folder_remove(folder);
}

struct recorder {
    struct tt_trace * trace;
    atomic_bool       stop;
    atomic_uint       rounds;
};

static void * record_rounds(void * arg) {
    struct recorder * recorder = arg;
    while (!atomic_load(&recorder->stop)) {
        char text[32];
        snprintf(text, sizeof text, "round %u", atomic_fetch_add(&recorder->rounds, 1));
        tt_info(recorder->trace, text, text);
        const struct tt_node node = { .ne = { atomic_load(&recorder->rounds) } };
        tt_graph(recorder->trace, &node, 1, 0);
        struct tt_writer * writer = tt_writer_acquire(recorder->trace);
        if (writer) {
            tt_writer_release(writer);
        }
    }
    return NULL;
}

/* A trace may end while the program goes on: what comes later is neither written nor counts as dropped. */
static void a_sealed_trace_ignores_records(void) {
    char      folder[512], error[256];
    pthread_t threads[2];
    folder_make(folder);
    struct recorder recorder = { .trace = tt_open(folder, UINT64_MAX, error) };
    CHECK(recorder.trace);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, record_rounds, &recorder) == 0);
    }
    while (atomic_load(&recorder.rounds) < 200) {
    }
    tt_seal(recorder.trace);
    const unsigned at = atomic_load(&recorder.rounds);
    while (atomic_load(&recorder.rounds) < at + 200) {
    }
    tt_seal(recorder.trace); /* a second time does nothing */
    CHECK(tt_writer_acquire(recorder.trace) == NULL);
    atomic_store(&recorder.stop, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    struct file                 file   = file_of(folder, 0);
    const struct chunks         chunks = chunks_of(&file, NULL, NULL);
    const struct tt_file_header header = header_of(&file);
    CHECK(chunks.valid && chunks.n == chunks.n_sealed && header.dropped_records == 0);
    free(file.data);
    tt_close(recorder.trace);
    folder_remove(folder);
}

/* There is room for the main segment and the header of one thread: the main segment counts what the second thread
   drops. */
static void a_writer_without_a_file_is_counted(void) {
    char folder[512], error[256], path[1024];
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, TT_PAGE + (256 << 10) + TT_PAGE, error);
    CHECK(trace);
    struct tt_writer *           first = tt_writer_acquire(trace), *second = tt_writer_acquire(trace);
    const struct tt_compute_work work = work_of(0);
    CHECK(first && second && second->segment.fd < 0 && trace->n_segments == 2);
    for (int i = 0; i < 2; i++) { /* the first has a file with a header, but no room for a chunk */
        tt_thread_begin(i ? second : first, &work, i, 2);
        tensor_trace_op_begin(i ? second : first, 0);
        tensor_trace_op_end(i ? second : first, 0);
        tt_thread_end(i ? second : first);
    }
    tt_close(trace);
    struct file main = file_of(folder, 0), thread = file_of(folder, 1);
    CHECK(header_of(&main).dropped_records == 3 && header_of(&thread).dropped_records == 3);
    const size_t dropped = sizeof(struct tt_thread_begin) + sizeof(struct tt_thread_end) + sizeof(struct tt_op);
    CHECK(header_of(&main).dropped_bytes == dropped && !folder_entry(folder, 2, path));
    free(main.data);
    free(thread.data);
    folder_remove(folder);
}

int main(void) {
    static const struct check checks[] = {
        TEST(threads_write_side_by_side),
        TEST(a_released_writer_is_used_again),
        TEST(an_op_with_large_numbers_is_a_long_op),
        TEST(closing_leaves_a_busy_writer_its_mapping),
        TEST(closing_waits_for_a_late_writer),
        TEST(a_sealed_trace_ignores_records),
        TEST(a_writer_without_a_file_is_counted),
    };
    return RUN_CHECKS(checks);
}
