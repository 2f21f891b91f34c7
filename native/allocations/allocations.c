/*
 * Preloaded: stands before malloc and its kin, and counts what is live, by size and, of blocks of 64 KiB and more, by the
 * calls that asked for it. A block is counted by what malloc_usable_size says of it, so that nothing is stored beside a
 * small one. Only for the GNU C library, whose own functions have second names.
 */
#include "tt_allocations.h"

#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT  __attribute__((visibility("default")))
#define INITIAL __attribute__((tls_model("initial-exec"))) /* else the first use in a thread could allocate */

enum { SHARDS = 16, LARGE = 65536, SITES = 4096, BLOCKS = 1 << 16, OURS = 2 /* frames of this file */ };

extern void * __libc_malloc(size_t size);
extern void * __libc_calloc(size_t n, size_t size);
extern void * __libc_realloc(void * block, size_t size);
extern void * __libc_memalign(size_t alignment, size_t size);
extern void   __libc_free(void * block);

/* ---- by size ---- */

static struct shard { /* of some threads: what one allocates another may free, so that only sums mean something */
    _Alignas(64) _Atomic int64_t n[ALLOCATION_CLASSES];
    _Atomic int64_t bytes[ALLOCATION_CLASSES];
} shards[SHARDS];

static __thread char mark   INITIAL;   /* its address tells threads apart */
static __thread bool inside INITIAL; /* what backtrace allocates at its first call is not looked at */

static unsigned class_of(size_t size) { return size ? 63 - (unsigned) __builtin_clzll(size) : 0; }

static void count(size_t size, int64_t sign) {
    struct shard * shard = &shards[((uintptr_t) &mark >> 12) % SHARDS];
    const unsigned class = class_of(size);
    atomic_fetch_add_explicit(&shard->n[class], sign, memory_order_relaxed);
    atomic_fetch_add_explicit(&shard->bytes[class], sign * (int64_t) size, memory_order_relaxed);
}

/* ---- by the calls that asked ---- */

struct block {
    const void * address; /* NULL: free; `gone`: was in use */
    uint32_t     site;
    size_t       size;
};
static pthread_mutex_t        lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct allocation_site sites[SITES];
static struct block           blocks[BLOCKS];
static uint32_t               n_sites, n_used; /* used: blocks that are not free */
static _Atomic uint64_t       n_lost;
static const char             gone;

static size_t hash(const void * const * words, size_t n) {
    uint64_t value = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) {
        value = (value ^ (uintptr_t) words[i]) * 0x9e3779b97f4a7c15u;
        value ^= value >> 29;
    }
    return (size_t) value;
}

/* Its number, or SITES: there are too many. */
static uint32_t site_of(const void * const frames[ALLOCATION_FRAMES]) {
    for (size_t i = 0, at = hash(frames, ALLOCATION_FRAMES) % SITES; i < SITES; i++, at = (at + 1) % SITES) {
        if (!sites[at].frames[0] && n_sites < SITES * 3 / 4) {
            memcpy(sites[at].frames, frames, sizeof sites[at].frames);
            n_sites++;
            return (uint32_t) at;
        }
        if (!sites[at].frames[0]) {
            return SITES;
        }
        if (memcmp(sites[at].frames, frames, sizeof sites[at].frames) == 0) {
            return (uint32_t) at;
        }
    }
    return SITES;
}

static struct block * find(const void * address) {
    for (size_t i = 0, at = hash(&address, 1) % BLOCKS; i < BLOCKS && blocks[at].address; i++, at = (at + 1) % BLOCKS) {
        if (blocks[at].address == address) {
            return &blocks[at];
        }
    }
    return NULL;
}

/* A place for a block that is not in the table; NULL: it is nearly full. */
static struct block * place_for(const void * address) {
    size_t at = hash(&address, 1) % BLOCKS;
    while (blocks[at].address && blocks[at].address != &gone) {
        at = (at + 1) % BLOCKS;
    }
    if (!blocks[at].address && n_used >= BLOCKS * 7 / 8) {
        return NULL;
    }
    n_used += !blocks[at].address;
    return &blocks[at];
}

static void remember(const void * address, size_t size) {
    void *       stack[ALLOCATION_FRAMES + OURS];
    const void * frames[ALLOCATION_FRAMES] = { NULL };
    const int    n                         = backtrace(stack, ALLOCATION_FRAMES + OURS);
    for (int i = OURS; i < n; i++) {
        frames[i - OURS] = stack[i];
    }
    pthread_mutex_lock(&lock);
    const uint32_t site  = frames[0] ? site_of(frames) : SITES;
    struct block * block = site < SITES ? place_for(address) : NULL;
    if (block) {
        *block = (struct block) { .address = address, .site = site, .size = size };
        sites[site].n_live++;
        sites[site].n_all++;
        sites[site].live_bytes += size;
    }
    pthread_mutex_unlock(&lock);
    if (!block) {
        atomic_fetch_add_explicit(&n_lost, 1, memory_order_relaxed);
    }
}

static void forget(const void * address) {
    pthread_mutex_lock(&lock);
    struct block * block = find(address);
    if (block) { /* else it was lost, or allocated inside */
        sites[block->site].n_live--;
        sites[block->site].live_bytes -= block->size;
        block->address = &gone;
    }
    pthread_mutex_unlock(&lock);
}

/* A child that is forked has the lock as it was: nobody may hold it then. */
static void lock_it(void) { pthread_mutex_lock(&lock); }
static void unlock_it(void) { pthread_mutex_unlock(&lock); }

__attribute__((constructor)) static void start(void) { (void) pthread_atfork(lock_it, unlock_it, unlock_it); }

/* ---- malloc and its kin ---- */

static inline __attribute__((always_inline)) void * taken(void * block) {
    if (block) {
        const size_t size = malloc_usable_size(block);
        count(size, 1);
        if (size >= LARGE && !inside) {
            inside = true;
            remember(block, size);
            inside = false;
        }
    }
    return block;
}

static void given(void * block) {
    const size_t size = malloc_usable_size(block);
    count(size, -1);
    if (size >= LARGE && !inside) {
        forget(block);
    }
}

EXPORT void * malloc(size_t size) { return taken(__libc_malloc(size)); }

EXPORT void * calloc(size_t n, size_t size) { return taken(__libc_calloc(n, size)); }

EXPORT void free(void * block) {
    const int error = errno;
    if (block) {
        given(block);
        __libc_free(block);
    }
    errno = error;
}

EXPORT void * realloc(void * block, size_t size) {
    const size_t before = block ? malloc_usable_size(block) : 0;
    if (before >= LARGE) {
        forget(block); /* another thread may be given its address as soon as it is free */
    }
    void * moved = __libc_realloc(block, size);
    if (!moved && size) { /* the old block stays */
        if (before >= LARGE) {
            remember(block, before);
        }
        return NULL;
    }
    if (block) {
        count(before, -1);
    }
    return taken(moved);
}

EXPORT void * memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

EXPORT void * aligned_alloc(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

EXPORT int posix_memalign(void ** block, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) || !alignment || alignment & (alignment - 1)) {
        return EINVAL;
    }
    void * found = taken(__libc_memalign(alignment, size));
    *block       = found ? found : *block;
    return found ? 0 : ENOMEM;
}

/* ---- what is asked of it ---- */

/* Puts a site among those found, the one with most live bytes first. */
static size_t put(const struct allocation_site * site, struct allocation_site * found, size_t n, size_t most) {
    size_t at = n;
    while (at > 0 && found[at - 1].live_bytes < site->live_bytes) {
        at--;
    }
    if (at < most) {
        const size_t moved = (n < most ? n : most - 1) - at;
        memmove(found + at + 1, found + at, moved * sizeof *found);
        found[at] = *site;
        n += n < most;
    }
    return n;
}

EXPORT size_t tensor_trace_allocation_counts(struct allocation_class  classes[ALLOCATION_CLASSES],
                                             struct allocation_site * found, size_t most, uint64_t * lost);

size_t tensor_trace_allocation_counts(struct allocation_class  classes[ALLOCATION_CLASSES],
                                      struct allocation_site * found, size_t most, uint64_t * lost) {
    size_t n = 0;
    for (unsigned class = 0; class < ALLOCATION_CLASSES; class ++) {
        int64_t blocks_of = 0, bytes = 0;
        for (unsigned i = 0; i < SHARDS; i++) {
            blocks_of += atomic_load_explicit(&shards[i].n[class], memory_order_relaxed);
            bytes += atomic_load_explicit(&shards[i].bytes[class], memory_order_relaxed);
        }
        /* a block may be freed while the sums are made */
        classes[class] = (struct allocation_class) { .n_live     = blocks_of > 0 ? (uint64_t) blocks_of : 0,
                                                     .live_bytes = bytes > 0 ? (uint64_t) bytes : 0 };
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SITES; i++) {
        n = sites[i].frames[0] ? put(&sites[i], found, n, most) : n;
    }
    pthread_mutex_unlock(&lock);
    *lost = atomic_load_explicit(&n_lost, memory_order_relaxed);
    return n;
}
