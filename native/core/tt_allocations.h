/* What a program has allocated: asked of the library that is preloaded for it (allocations.c), if there is one. */
#ifndef TT_ALLOCATIONS_H
#define TT_ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>

enum { ALLOCATION_CLASSES = 64, ALLOCATION_FRAMES = 10 };

struct allocation_class { /* blocks that hold 2^i to 2^(i + 1) - 1 bytes, i its place in the array */
    uint64_t n_live, live_bytes; /* bytes that a program can use, without what malloc keeps beside them */
};
struct allocation_site { /* blocks that the same calls asked for, each of 64 KiB or more */
    const void * frames[ALLOCATION_FRAMES]; /* return addresses, the innermost first; NULL: there are no more */
    uint64_t     n_live, live_bytes, n_all;
};

/* The classes, and up to `most` sites with most live bytes; `lost`: how many blocks have no site. Returns the sites. */
typedef size_t (*allocation_counts)(struct allocation_class classes[ALLOCATION_CLASSES], struct allocation_site * sites,
                                    size_t most, uint64_t * lost);
#define ALLOCATION_COUNTS "tensor_trace_allocation_counts"

#endif
