/* The trace folder of a test: create it, read its files, remove it. Reads the layout without the writer's code. */
#ifndef FOLDER_H
#define FOLDER_H

#include "tt_crc32.h"

#include "tensor_trace_format.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline const char * folder_of_tests(void) {
    const char * base = getenv("TMPDIR");
    return base && *base ? base : "/tmp";
}

static inline void folder_make(char path[512]) {
    snprintf(path, 512, "%.400s/tt-test-XXXXXX", folder_of_tests());
    if (!mkdtemp(path)) {
        perror(path);
        exit(2);
    }
}

/* The path of entry `index` in order of name; false: there are fewer entries. */
static inline bool folder_entry(const char * folder, int index, char path[1024]) {
    struct dirent ** entries;
    const int        n     = scandir(folder, &entries, NULL, alphasort);
    bool             found = false;
    for (int i = 0, n_files = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.' && n_files++ == index) {
            snprintf(path, 1024, "%.500s/%s", folder, entries[i]->d_name);
            found = true;
        }
        free(entries[i]);
    }
    if (n >= 0) {
        free(entries);
    }
    return found;
}

static inline void folder_remove(const char * folder) {
    char path[1024];
    while (folder_entry(folder, 0, path)) {
        unlink(path);
    }
    rmdir(folder);
}

struct file {
    uint8_t * data;
    size_t    size;
};

static inline struct file file_read(const char * path) {
    struct file file = { 0 };
    struct stat status;
    const int   fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && (file.data = malloc((size_t) status.st_size + 1)) != NULL) {
        file.size = read(fd, file.data, (size_t) status.st_size) == status.st_size ? (size_t) status.st_size : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    return file;
}

static inline struct file file_of(const char * folder, int index) {
    char path[1024];
    return folder_entry(folder, index, path) ? file_read(path) : (struct file) { 0 };
}

static inline struct tt_file_header header_of(const struct file * file) {
    struct tt_file_header header = { 0 };
    if (file->size >= TT_PAGE) {
        memcpy(&header, file->data, sizeof header);
    }
    return header;
}

/* Totals over the chunks of a file; `valid` is false if a chunk contradicts the format. */
struct chunks {
    uint32_t n, n_sealed;
    uint64_t committed;
    bool     valid;
};

/* Calls `take` with each record of a type in the first chunk of a trace's main segment, and with its payload. */
static inline void each_record(const char * folder, uint32_t type,
                               void (*take)(const struct tt_record * record, const uint8_t * payload)) {
    struct file      file = file_of(folder, 0);
    struct tt_record record;
    for (size_t at = TT_PAGE + sizeof(struct tt_chunk_header); at + sizeof record <= file.size;
         at += record.length ? record.length : file.size) {
        memcpy(&record, file.data + at, sizeof record);
        if (record.type == type) {
            take(&record, file.data + at + sizeof record);
        }
    }
    free(file.data);
}

typedef void (*payload_fn)(const uint8_t * payload, size_t size, void * state);

static inline struct chunks chunks_of(const struct file * file, payload_fn each, void * state) {
    struct chunks chunks = { .valid = file->size >= TT_PAGE };
    size_t        at     = TT_PAGE;
    while (chunks.valid && at < file->size) {
        struct tt_chunk_header chunk;
        memcpy(&chunk, file->data + at, sizeof chunk);
        const uint8_t * payload = file->data + at + sizeof chunk;
        chunks.valid = chunk.magic == TT_CHUNK_MAGIC && chunk.sequence == chunks.n && chunk.size_bytes % TT_PAGE == 0
            && chunk.size_bytes >= sizeof chunk && chunk.size_bytes <= file->size - at
            && chunk.committed <= chunk.size_bytes - sizeof chunk
            && (!chunk.sealed || tt_crc32(0, payload, chunk.committed) == chunk.crc);
        if (chunks.valid && each) {
            each(payload, chunk.committed, state);
        }
        chunks.n++;
        chunks.n_sealed += chunk.sealed;
        chunks.committed += chunk.committed;
        at += chunks.valid ? chunk.size_bytes : file->size;
    }
    return chunks;
}

#endif
