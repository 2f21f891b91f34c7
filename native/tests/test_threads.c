/* Writers of several threads at once, one that is still busy at the end, one without a file. */
#include "check.h"
#include "folder.h"
#include "tt.h"

enum { N_THREADS = 4, N_COMPUTES = 300, N_NODES = 60 };

static size_t one_index(const void * graph, int node, uint8_t * out, size_t room, uint32_t n_tokens) {
    (void) graph;
    const uint32_t        rows[8] = { (uint32_t) node, n_tokens };
    const struct tt_event event = {
        .begin_ns = tt_now(), .end_ns = 2 | (uint64_t) 1 << 32, .barrier_ns = TT_INDEX_ROWS, .node = (uint32_t) node,
        .n_fused = 4, .type = TT_INDEX,
    };
    if (room < 2 * sizeof event) {
        return 0;
    }
    memcpy(out, &event, sizeof event);
    memcpy(out + sizeof event, rows, sizeof rows);
    return 2 * sizeof event;
}

static const uint8_t plan[N_NODES] = { [4] = 1, [7] = 1 };

static struct tt_compute_work work_of(uint64_t compute) {
    return (struct tt_compute_work) {
        .compute = compute, .plan = plan, .index_bytes = 4 * sizeof(struct tt_event), .n_nodes = N_NODES,
        .n_tokens = 5, .copy_index = one_index,
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
            tt_op_begin(writer, node);
            tt_op_end(writer, node + 1);
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
    uint64_t ops, begins, ends, indexes, last_ns;
    bool     valid;
};

static void count_events(const uint8_t * payload, size_t size, void * state) {
    struct counted * made = state;
    for (size_t at = 0; at < size; at += sizeof(struct tt_event)) {
        struct tt_event event;
        memcpy(&event, payload + at, sizeof event);
        made->valid = made->valid && event.begin_ns >= made->last_ns && event.type >= TT_OP && event.type <= TT_INDEX;
        made->last_ns = event.begin_ns;
        made->ops += event.type == TT_OP && event.n_fused == 1 && event.end_ns >= event.begin_ns;
        made->begins += event.type == TT_THREAD_BEGIN && (uint32_t) event.barrier_ns == N_THREADS;
        made->ends += event.type == TT_THREAD_END;
        made->indexes += event.type == TT_INDEX;
        at += event.type == TT_INDEX ? sizeof event : 0;
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
        const struct chunks chunks  = chunks_of(&file, i ? count_events : NULL, &counted);
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

struct busy {
    struct tt_writer * writer;
    atomic_bool        begun, closed;
};

static void * stay_busy(void * arg) {
    struct busy *                busy = arg;
    const struct tt_compute_work work = work_of(0);
    tt_thread_begin(busy->writer, &work, 1, N_THREADS);
    tt_op_begin(busy->writer, 0);
    tt_op_end(busy->writer, 1);
    atomic_store(&busy->begun, true);
    while (!atomic_load(&busy->closed)) {
    }
    tt_op_begin(busy->writer, 2); /* its mapping is still there */
    tt_op_end(busy->writer, 3);
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
    const struct chunks chunks  = chunks_of(&file, count_events, &counted);
    CHECK(chunks.valid && chunks.n == 1 && chunks.n_sealed == 0 && counted.valid);
    CHECK(counted.begins == 1 && counted.ops == 2 && counted.ends == 1);
    free(file.data);
    free(busy.writer);
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
        tt_op_begin(i ? second : first, 0);
        tt_op_end(i ? second : first, 0);
        tt_thread_end(i ? second : first);
    }
    tt_close(trace);
    struct file main = file_of(folder, 0), thread = file_of(folder, 1);
    CHECK(header_of(&main).dropped_records == 3 && header_of(&thread).dropped_records == 3);
    CHECK(header_of(&main).dropped_bytes == 96 && !folder_entry(folder, 2, path));
    free(main.data);
    free(thread.data);
    folder_remove(folder);
}

int main(void) {
    static const struct check checks[] = {
        { "threads_write_side_by_side", threads_write_side_by_side },
        { "a_released_writer_is_used_again", a_released_writer_is_used_again },
        { "closing_spares_a_busy_writer", closing_spares_a_busy_writer },
        { "a_writer_without_a_file_is_counted", a_writer_without_a_file_is_counted },
    };
    return RUN_CHECKS(checks);
}
