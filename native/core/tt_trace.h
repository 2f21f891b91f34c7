/* The trace as a whole. */
#ifndef TT_TRACE_H
#define TT_TRACE_H

#include "tt_state.h"

/* Begin a trace in an existing folder; NULL: `error` says why not. */
struct tt_trace * tt_open(const char * folder, uint64_t max_bytes, char error[256]);
/* Write the end record and the checksums. Other threads may still call: later records are ignored and not counted. */
void     tt_seal(struct tt_trace * trace);
uint64_t tt_own_bytes(struct tt_trace * trace); /* of its files: those whose pages nobody outside made */
void     tt_close(struct tt_trace * trace); /* seal and free; no other thread may use the trace any more */

#endif
