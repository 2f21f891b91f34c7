/* The devices that hold the model files, and how much of the files is in the kernel's cache. */
#ifndef TT_STORAGE_H
#define TT_STORAGE_H

#include "tt_state.h"

struct stat;
struct tt_model_file {
    const void *        address; /* where it is mapped */
    size_t              size;
    int                 fd;
    const struct stat * status;
    uint32_t            path; /* string */
    bool                residency, cache; /* whether to record: which of its pages are in memory, and how many */
};
bool tt_storage_map(struct tt_trace * trace, const struct tt_model_file * file); /* false: too many are mapped */
/* The path (a string) and the offset of a byte of a mapped file; false: none is mapped there. */
bool tt_storage_place(const void * address, uint32_t * path, uint64_t * offset);
bool tt_storage_unmap(const void * address, size_t size); /* false: too many are mapped */
enum { TT_MOST_DEVICES = 8 };
struct tt_devices { /* what the devices had counted before a load or pass, and then after it; zero before the first */
    struct tt_device_begin {
        struct tt_device_counts counts;
        uint64_t                ns; /* when they were read */
    } *      of; /* TT_MOST_DEVICES of them; NULL: no device was read yet */
    uint32_t known; /* bit i: of[i] is set */
};
void tt_devices_begin(struct tt_trace * trace, struct tt_devices * begin); /* the devices of the mapped files */
void tt_devices_begin_load(struct tt_trace * trace, const char * path, struct tt_devices * begin); /* and of `path` */
/* Write what the devices did since `begin`: for this pass, or for the load where `pass` is TT_NONE. */
void tt_devices_end(struct tt_trace * trace, struct tt_devices * begin, uint32_t pass, uint32_t load);
void tt_cache_write(struct tt_trace * trace, uint32_t pass, uint32_t load);

#endif
