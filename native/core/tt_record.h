/* The records of the main segment, and the strings that they name. */
#ifndef TT_RECORD_H
#define TT_RECORD_H

#include "tt_clock.h"
#include "tt_state.h"

/* Begin a record with `payload` bytes: fill them at the address returned, then call tt_record_end. NULL: the record was
   dropped, and tt_record_end must not be called. The _locked ones are for callers that hold the lock of the trace. */
void * tt_record_begin(struct tt_trace * trace, enum tt_type type, size_t payload, uint64_t time_ns);
void   tt_record_end(struct tt_trace * trace);
void * tt_record_begin_locked(struct tt_trace * trace, enum tt_type type, size_t payload, uint64_t time_ns);
void   tt_record_end_locked(struct tt_trace * trace);
void   tt_record(struct tt_trace * trace, enum tt_type type, const void * payload, size_t size, uint64_t time_ns);
void tt_record_locked(struct tt_trace * trace, enum tt_type type, const void * payload, size_t size, uint64_t time_ns);
void tt_clock(struct tt_trace * trace, const struct tt_moment * moment); /* TT_CLOCK, if ticks are not ns */
uint32_t tt_string(struct tt_trace * trace, const char * text); /* the number of a string, written once */
void     tt_info(struct tt_trace * trace, const char * key, const char * value);

#endif
