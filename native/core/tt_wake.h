/* A thread is woken in the middle of an op when its ring is filling. */
#ifndef TT_WAKE_H
#define TT_WAKE_H

#include "tt_ring.h"

#include <signal.h>

/* What is handed to `woken`; only faults.c knows what is in it. */
struct tt_faults;
/* A trace that records page faults begins; `woken` is called in the signal handler of a woken thread. */
void tt_wake_start(void (*woken)(struct tt_faults * faults));
void tt_wake_stop(void); /* it ends */
void tt_wake_for(struct tt_faults * faults, const struct tt_ring * ring); /* those of the thread that calls */
void tt_wake_forget(const struct tt_faults * faults); /* they are no longer recorded */
void tt_wake_block(sigset_t * was); /* not while the thread that calls holds a lock that emptying takes */
void tt_wake_unblock(const sigset_t * was);

#endif
