/* A file of pages that stands for a model, mapped without read-ahead. */
#ifndef MODEL_H
#define MODEL_H

#include "folder.h"

#include <sys/mman.h>

enum { N_PAGES = 4096 };

struct model {
    char        path[512];
    int         fd;
    size_t      page, size;
    uint8_t *   map;
    struct stat status;
};

static inline bool model_map(struct model * model) {
    model->map = mmap(NULL, model->size, PROT_READ, MAP_SHARED, model->fd, 0);
    return model->map != MAP_FAILED && madvise(model->map, model->size, MADV_RANDOM) == 0;
}

static inline bool model_make(struct model * model, const char * folder) {
    snprintf(model->path, sizeof model->path, "%.400s/tt-model-XXXXXX", folder);
    model->page        = (size_t) sysconf(_SC_PAGESIZE);
    model->size        = N_PAGES * model->page;
    model->fd          = mkstemp(model->path);
    uint8_t * contents = malloc(model->size);
    if (model->fd < 0 || !contents) {
        free(contents);
        return false;
    }
    memset(contents, 7, model->size);
    const bool written = write(model->fd, contents, model->size) == (ssize_t) model->size && fsync(model->fd) == 0
        && fstat(model->fd, &model->status) == 0;
    free(contents);
    return written && model_map(model);
}

static inline void model_remove(struct model * model) {
    munmap(model->map, model->size);
    close(model->fd);
    unlink(model->path);
}

static inline size_t pages_in_memory(const struct model * model) {
    static uint8_t resident[N_PAGES];
    size_t         n = 0;
    mincore(model->map, model->size, resident);
    for (size_t i = 0; i < N_PAGES; i++) {
        n += resident[i] & 1;
    }
    return n;
}

/* Take the pages out of the page table and out of memory; whether the file system let go of them. */
static inline bool evict(const struct model * model) {
    madvise(model->map, model->size, MADV_DONTNEED);
    posix_fadvise(model->fd, 0, 0, POSIX_FADV_DONTNEED);
    return pages_in_memory(model) == 0;
}

#endif
