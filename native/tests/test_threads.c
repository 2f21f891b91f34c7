/* Writers of several threads at once, one that is still busy at the end, one without a file. */
#include "check.h"
#include "folder.h"
#include "tensor_trace.h"
#include "tt.h"

enum { N_THREADS = 4, N_COMPUTES = 300, N_NODES = 60 };

static size_t one_index(const void * graph, int node, struct tt_index * index, size_t room, uint32_t n_tokens) {
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
        .copy_index  = one_index,
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

struct counted {
    uint64_t ops, begins, ends, indexes, last;
    bool     valid;
};

static void count_units(const uint8_t * payload, size_t size, void * state) {
    struct counted * made = state;
    for (size_t at = 0; at < size; at += TT_UNIT) {
        struct tt_op           op;
        struct tt_thread_begin begin;
        struct tt_long_op      late;
        memcpy(&op, payload + at, sizeof op);
        memcpy(&begin, payload + at, at + sizeof begin <= size ? sizeof begin : TT_UNIT);
        switch (op.type) {
            case TT_OP:
                made->ops += op.n_fused == 1 && op.barrier == 0;
                made->last += (uint64_t) op.gap + op.took;
                break;
            case TT_LONG_OP:
                memcpy(&late, payload + at, at + sizeof late <= size ? sizeof late : TT_UNIT);
                made->ops += late.n_fused == 1 && late.barrier == 0;
                made->valid = made->valid && late.begin >= made->last;
                made->last  = late.begin + late.took;
                at += TT_UNIT;
                break;
            case TT_THREAD_BEGIN:
                made->begins += begin.n_threads == N_THREADS && begin.compute < N_COMPUTES;
                /* fall through */
            case TT_INDEX:
            case TT_THREAD_END:
                made->indexes += op.type == TT_INDEX;
                made->ends += op.type == TT_THREAD_END;
                made->valid = made->valid && begin.time >= made->last;
                made->last  = begin.time;
                at += op.type == TT_INDEX ? 2 * TT_UNIT : op.type == TT_THREAD_BEGIN ? TT_UNIT : 0;
                break;
            default: made->valid = false;
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
    struct counted all = { .valid = true };
    for (uint32_t i = 0; i < n_segments; i++) {
        struct file         file    = file_of(folder, (int) i);
        struct counted      counted = { .valid = true };
        const struct chunks chunks  = chunks_of(&file, i ? count_units : NULL, &counted);
        CHECK(chunks.valid && chunks.n == chunks.n_sealed && counted.valid && header_of(&file).number == i);
        CHECK(header_of(&file).dropped_records == 0);
        all.ops += counted.ops;
        all.begins += counted.begins;
        all.ends += counted.ends;
        all.indexes += counted.indexes;
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

/* What does not fit a short unit takes a long one: a late begin, a long time, a large graph, many fused nodes. */
static void what_is_too_large_for_an_op_is_a_long_op(void) {
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
        struct tt_long_op found;
        memcpy(&found, writer->segment.payload + used, sizeof found);
        CHECK(writer->segment.used - used == (cases[i].is_long ? sizeof(struct tt_long_op) : sizeof(struct tt_op)));
        CHECK(found.type == (cases[i].is_long ? TT_LONG_OP : TT_OP));
        if (cases[i].is_long) {
            CHECK(found.begin == begin && found.node == (uint32_t) cases[i].node && found.n_fused == cases[i].n_fused);
            CHECK(found.took >= cases[i].took && found.barrier == 0 && found.more == TT_MORE);
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

static void closing_spares_a_busy_writer(void) {
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
    struct counted      counted = { .valid = true };
    struct file         file    = file_of(folder, 2);
    const struct chunks chunks  = chunks_of(&file, count_units, &counted);
    CHECK(chunks.valid && chunks.n == 1 && chunks.n_sealed == 0 && counted.valid);
    CHECK(counted.begins == 1 && counted.ops == 2 && counted.ends == 1);
    free(file.data);
    free(busy.writer);
    folder_remove(folder);
}

/* As on a machine where a thread waits long for its processor. */
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
    struct counted      counted = { .valid = true };
    struct file         file    = file_of(folder, 1);
    const struct chunks chunks  = chunks_of(&file, count_units, &counted);
    CHECK(chunks.valid && chunks.n == 1 && chunks.n_sealed == 1 && counted.valid);
    CHECK(counted.begins == 1 && counted.ends == 1);
    free(file.data);
    folder_remove(folder);
}

struct talker {
    struct tt_trace * trace;
    atomic_bool       stop;
    atomic_uint       rounds;
};

static void * talk(void * arg) {
    struct talker * talker = arg;
    while (!atomic_load(&talker->stop)) {
        char text[32];
        snprintf(text, sizeof text, "round %u", atomic_fetch_add(&talker->rounds, 1));
        tt_info(talker->trace, text, text);
        const struct tt_node node = { .ne = { atomic_load(&talker->rounds) } };
        tt_graph(talker->trace, &node, 1, 0);
        struct tt_writer * writer = tt_writer_acquire(talker->trace);
        if (writer) {
            tt_writer_release(writer);
        }
    }
    return NULL;
}

/* A trace may end while the program goes on: what comes later is neither written nor counted as dropped. */
static void a_sealed_trace_takes_no_more(void) {
    char      folder[512], error[256];
    pthread_t threads[2];
    folder_make(folder);
    struct talker talker = { .trace = tt_open(folder, UINT64_MAX, error) };
    CHECK(talker.trace);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, talk, &talker) == 0);
    }
    while (atomic_load(&talker.rounds) < 200) {
    }
    tt_seal(talker.trace);
    const unsigned at = atomic_load(&talker.rounds);
    while (atomic_load(&talker.rounds) < at + 200) {
    }
    tt_seal(talker.trace); /* once more is once */
    CHECK(tt_writer_acquire(talker.trace) == NULL);
    atomic_store(&talker.stop, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    struct file                 file   = file_of(folder, 0);
    const struct chunks         chunks = chunks_of(&file, NULL, NULL);
    const struct tt_file_header header = header_of(&file);
    CHECK(chunks.valid && chunks.n == chunks.n_sealed && header.dropped_records == 0);
    free(file.data);
    tt_close(talker.trace);
    folder_remove(folder);
}

/* Room for the main segment and one thread: the other drops, and the main segment counts it. */
static void a_writer_without_a_file_is_counted(void) {
    char folder[512], error[256], path[1024];
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, TT_PAGE + (256 << 10) + TT_PAGE, error);
    CHECK(trace);
    struct tt_writer *           first = tt_writer_acquire(trace), *second = tt_writer_acquire(trace);
    const struct tt_compute_work work = work_of(0);
    CHECK(first && second && second->segment.fd < 0 && trace->n_segments == 2);
    for (int i = 0; i < 2; i++) { /* the first has a header, but no room for a chunk */
        tt_thread_begin(i ? second : first, &work, i, 2);
        tensor_trace_op_begin(i ? second : first, 0);
        tensor_trace_op_end(i ? second : first, 0);
        tt_thread_end(i ? second : first);
    }
    tt_close(trace);
    struct file main = file_of(folder, 0), thread = file_of(folder, 1);
    CHECK(header_of(&main).dropped_records == 3 && header_of(&thread).dropped_records == 3);
    const size_t each = sizeof(struct tt_thread_begin) + sizeof(struct tt_thread_end) + sizeof(struct tt_op);
    CHECK(header_of(&main).dropped_bytes == each && !folder_entry(folder, 2, path));
    free(main.data);
    free(thread.data);
    folder_remove(folder);
}

int main(void) {
    static const struct check checks[] = {
        { "threads_write_side_by_side", threads_write_side_by_side },
        { "a_released_writer_is_used_again", a_released_writer_is_used_again },
        { "what_is_too_large_for_an_op_is_a_long_op", what_is_too_large_for_an_op_is_a_long_op },
        { "closing_spares_a_busy_writer", closing_spares_a_busy_writer },
        { "closing_waits_for_a_late_writer", closing_waits_for_a_late_writer },
        { "a_sealed_trace_takes_no_more", a_sealed_trace_takes_no_more },
        { "a_writer_without_a_file_is_counted", a_writer_without_a_file_is_counted },
    };
    return RUN_CHECKS(checks);
}
