/* Where the model files are mapped: one list for residency and page faults. */
#include "tt_mapped.h"
#include "tt_clock.h"
#include "tt_wake.h"

#include <pthread.h>

static pthread_mutex_t  lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct tt_mapped all[TT_MOST_MAPPED];
static size_t           n;

/* A thread that is woken to empty its ring takes the lock too: not while it has it. */
static void enter(sigset_t * was) {
    tt_wake_block(was);
    pthread_mutex_lock(&lock);
}

static void leave(const sigset_t * was) {
    pthread_mutex_unlock(&lock);
    tt_wake_unblock(was);
}

static bool add(struct tt_mapped mapped, uintptr_t address, size_t size) {
    if (size == 0 || n == TT_MOST_MAPPED) {
        return size == 0;
    }
    mapped.address   = address;
    mapped.size      = size;
    mapped.last_hash = 0;
    all[n++]         = mapped;
    return true;
}

bool tt_mapped_add(const void * address, size_t size, bool residency, uint32_t file) {
    const struct tt_mapped mapped = {
        .base = (uintptr_t) address, .residency = residency, .file = file, .since_ns = tt_now()
    };
    sigset_t was;
    enter(&was);
    const bool added = add(mapped, (uintptr_t) address, size);
    leave(&was);
    return added;
}

bool tt_mapped_cut(const void * address, size_t size) {
    const uintptr_t begin = (uintptr_t) address, end = begin + size;
    bool            whole = true;
    sigset_t        was;
    enter(&was);
    for (size_t i = n; i-- > 0;) {
        const struct tt_mapped old     = all[i];
        const uintptr_t        old_end = old.address + old.size;
        if (begin < old_end && old.address < end) {
            all[i] = all[--n];
            whole  = add(old, old.address, begin > old.address ? begin - old.address : 0) && whole;
            whole  = add(old, end, end < old_end ? old_end - end : 0) && whole;
        }
    }
    leave(&was);
    return whole;
}

size_t tt_mapped_copy(struct tt_mapped copy[TT_MOST_MAPPED]) {
    sigset_t was;
    enter(&was);
    const size_t copied = n;
    for (size_t i = 0; i < copied; i++) {
        copy[i] = all[i];
    }
    leave(&was);
    return copied;
}

bool tt_mapped_remember(const struct tt_mapped * mapped, uint64_t last_hash) {
    bool     found = false;
    sigset_t was;
    enter(&was);
    for (size_t i = 0; i < n; i++) {
        if (all[i].address == mapped->address && all[i].size == mapped->size) {
            all[i].last_hash = last_hash;
            found            = true;
        }
    }
    leave(&was);
    return found;
}
