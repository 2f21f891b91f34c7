/* Pages that somebody outside makes: who makes them, and what happens when nobody does any more. */
#include "check.h"
#include "folder.h"
#include "tt_memory.h"
#include "tt_record.h"
#include "tt_trace.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/wait.h>

enum { MANY_NAMES = 30000 }; /* several chunks of the main segment */

struct served {
    uint64_t made_bytes;
    uint32_t n_made, n_dropped;
};

/* In a process of its own: serves until `most` chunks were made, says what it did, and ends; -1: it cannot begin. */
static void serve(const char * fifo, const char * folder, uint32_t most, int out) {
    struct tt_page_request request;
    struct served          served = { 0 };
    const int              in     = open(fifo, O_RDWR | O_CLOEXEC);
    if (in < 0 || flock(in, LOCK_EX | LOCK_NB) != 0 || write(out, "", 1) != 1) {
        _exit(1);
    }
    while (served.n_made < most && read(in, &request, sizeof request) == (ssize_t) sizeof request) {
        char path[1024];
        snprintf(path, sizeof path, "%.500s/%s", folder, request.name);
        struct stat status;
        const bool  known = stat(path, &status) == 0;
        served.n_dropped += request.wish == TT_PAGES_DROP;
        if (request.wish == TT_PAGES_MAKE && known && (uint64_t) status.st_size == request.at
            && truncate(path, (off_t) (request.at + request.bytes)) == 0) {
            served.made_bytes += request.bytes;
            served.n_made++;
        }
    }
    _exit(write(out, &served, sizeof served) == (ssize_t) sizeof served ? 0 : 1);
}

struct server {
    pid_t pid;
    int   out;
};

static bool serve_beside(struct server * server, const char * fifo, const char * folder, uint32_t most) {
    int  pipe_ends[2];
    char ready;
    if (mkfifo(fifo, 0600) != 0 || pipe(pipe_ends) != 0) {
        return false;
    }
    server->out = pipe_ends[0];
    server->pid = fork();
    if (server->pid == 0) {
        serve(fifo, folder, most, pipe_ends[1]);
    }
    close(pipe_ends[1]);
    return server->pid > 0 && read(server->out, &ready, 1) == 1;
}

static struct served end_of(const struct server * server) {
    struct served served = { 0 };
    if (read(server->out, &served, sizeof served) != (ssize_t) sizeof served) {
        served.n_made = UINT32_MAX;
    }
    close(server->out);
    waitpid(server->pid, NULL, 0);
    return served;
}

/* Writes a trace of several chunks; returns the bytes whose pages nobody outside made. */
static uint64_t write_names(const char * folder) {
    char              text[64], error[256];
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    for (int i = 0; trace && i < MANY_NAMES; i++) {
        snprintf(text, sizeof text, "a name that is long enough to fill %d", i);
        tt_string(trace, text);
    }
    const uint64_t own = trace ? tt_own_bytes(trace) : UINT64_MAX;
    if (trace) {
        tt_close(trace);
    }
    return own;
}

static struct chunks chunks_in(const char * folder) {
    struct file         file   = file_of(folder, 0);
    const struct chunks chunks = chunks_of(&file, NULL, NULL);
    free(file.data);
    return chunks;
}

static void names(char folder[512], char fifo[600]) {
    folder_make(folder);
    snprintf(fifo, 600, "%s.pages", folder);
}

static void clean(const char * folder, const char * fifo) {
    unsetenv("TENSOR_TRACE_PAGES");
    folder_remove(folder);
    unlink(fifo);
}

static void somebody_outside_makes_all_pages(void) {
    char folder[512], fifo[600];
    names(folder, fifo);
    setenv("TENSOR_TRACE_PAGES", fifo, 1);
    CHECK(write_names(folder) > 0); /* there is no FIFO: it makes them itself */
    const struct chunks alone = chunks_in(folder);
    folder_remove(folder);
    folder_make(folder);
    struct server server;
    CHECK(serve_beside(&server, fifo, folder, alone.n + 1)); /* the chunks and the page of the header */
    CHECK(write_names(folder) == 0);
    const struct chunks chunks = chunks_in(folder);
    const struct served served = end_of(&server);
    CHECK(chunks.valid && chunks.n == alone.n && chunks.n > 4 && chunks.n_sealed == chunks.n);
    CHECK(chunks.committed == alone.committed);
    /* it ended when it had made the last chunk: then the one before was in use */
    CHECK(served.n_made == chunks.n + 1 && served.n_dropped == chunks.n - 2);
    clean(folder, fifo);
}

static void who_ends_leaves_the_rest_to_the_tracer(void) {
    char folder[512], fifo[600];
    names(folder, fifo);
    setenv("TENSOR_TRACE_PAGES", fifo, 1);
    struct server server;
    CHECK(serve_beside(&server, fifo, folder, 3));
    const uint64_t      own    = write_names(folder);
    const struct served served = end_of(&server);
    const struct chunks chunks = chunks_in(folder);
    CHECK(chunks.valid && chunks.n > 4 && chunks.n_sealed == chunks.n && served.n_made == 3);
    CHECK(own > 0 && own % TT_PAGE == 0);
    clean(folder, fifo);
}

static void a_fifo_that_nobody_serves_keeps_no_one_waiting(void) {
    char folder[512], fifo[600];
    names(folder, fifo);
    setenv("TENSOR_TRACE_PAGES", fifo, 1);
    CHECK(mkfifo(fifo, 0600) == 0);
    CHECK(write_names(folder) > 0);
    const struct chunks chunks = chunks_in(folder);
    CHECK(chunks.valid && chunks.n_sealed == chunks.n);
    clean(folder, fifo);
}

static void what_is_no_fifo_is_not_written(void) {
    char folder[512], fifo[600];
    names(folder, fifo);
    setenv("TENSOR_TRACE_PAGES", fifo, 1);
    const int fd = open(fifo, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write_names(folder) > 0);
    struct stat status;
    CHECK(fstat(fd, &status) == 0 && status.st_size == 0);
    close(fd);
    clean(folder, fifo);
}

static struct tt_memory memory_in(const char * folder) {
    struct file      file  = file_of(folder, 0);
    struct tt_memory found = { 0 };
    struct tt_record record;
    for (size_t at = TT_PAGE + sizeof(struct tt_chunk_header); at + sizeof record <= file.size;
         at += record.length ? record.length : file.size) {
        memcpy(&record, file.data + at, sizeof record);
        if (record.type == TT_MEMORY) {
            memcpy(&found, file.data + at + sizeof record, sizeof found);
        }
    }
    free(file.data);
    return found;
}

static void what_the_program_holds_is_recorded(void) {
    enum { MIB = 1 << 20 };
    uint64_t before = 0;
    for (int known = 0; known < 2; known++) {
        char folder[512], usage[600], error[256];
        names(folder, usage);
        FILE * stream = fopen(usage, "w");
        CHECK(stream && fputs(known ? "12288\n" : "max\n", stream) >= 0 && fclose(stream) == 0);
        setenv("TENSOR_TRACE_MEMORY", usage, 1);
        struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
        CHECK(trace);
        uint8_t * more = known ? malloc(8 * MIB) : NULL; /* touched: then it is resident */
        if (more) {
            memset(more, 1, 8 * MIB);
        }
        tt_memory_write(trace, 7, TT_NONE);
        tt_close(trace);
        free(more);
        unsetenv("TENSOR_TRACE_MEMORY");
        const struct tt_memory found = memory_in(folder);
        CHECK(found.pass == 7 && found.load == TT_NONE && found.group_bytes == (known ? 12288 : TT_UNKNOWN));
        CHECK(found.anon_bytes != TT_UNKNOWN && found.anon_bytes >= before + (known ? 7 * MIB : 0));
        before = found.anon_bytes;
        clean(folder, usage);
    }
}

int main(void) {
    const struct check checks[] = {
        TEST(somebody_outside_makes_all_pages),
        TEST(who_ends_leaves_the_rest_to_the_tracer),
        TEST(a_fifo_that_nobody_serves_keeps_no_one_waiting),
        TEST(what_is_no_fifo_is_not_written),
        TEST(what_the_program_holds_is_recorded),
    };
    return RUN_CHECKS(checks);
}
