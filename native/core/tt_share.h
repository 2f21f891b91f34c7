/* How much of the time a program is looked at, where the program may wait for it: a 200th, the next look among it. */
#ifndef TT_SHARE_H
#define TT_SHARE_H

#include "tt_clock.h"

#include <stdbool.h>

struct tt_share { /* ns; whoever has one guards it */
    uint64_t opened, spent, last;
};

static inline struct tt_share tt_share_open(void) { return (struct tt_share) { .opened = tt_now() }; }

/* Whether one more look, as long as the last, has room. 10 ms have room at first. */
static inline bool tt_share_has_room(const struct tt_share * share, uint64_t now) {
    return share->spent + share->last <= 10000000 + (now - share->opened) / 200;
}

/* A look has ended that began then. One that was due with room or without does not count. */
static inline void tt_share_spend(struct tt_share * share, uint64_t begin, bool counts) {
    share->last = tt_now() - begin;
    share->spent += counts ? share->last : 0;
}

#endif
