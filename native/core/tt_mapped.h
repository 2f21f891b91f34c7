/* Where the model files are mapped now. */
#ifndef TT_MAPPED_H
#define TT_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tt_mapped {
    uintptr_t address;
    uintptr_t base; /* where the first byte of the file was mapped */
    size_t    size;
    bool      residency; /* its pages in memory are recorded */
    uint32_t  file; /* its number in storage.c; 0: none */
    uint64_t  since_ns; /* before, other memory may have been at this address */
    uint64_t  last_hash; /* hash of its pages in memory when they were last written; 0: never */
};
enum { TT_MOST_MAPPED = 256 };
bool   tt_mapped_add(const void * address, size_t size, bool residency, uint32_t file); /* false: there are too many */
bool   tt_mapped_cut(const void * address, size_t size);
size_t tt_mapped_copy(struct tt_mapped copy[TT_MOST_MAPPED]);
bool   tt_mapped_remember(const struct tt_mapped * mapped, uint64_t last_hash); /* false: it is no longer mapped so */

#endif
