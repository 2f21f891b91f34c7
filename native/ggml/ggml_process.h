/* The trace of this process, and the writer of each of its threads. */
#ifndef GGML_PROCESS_H
#define GGML_PROCESS_H

#include "tt_ggml.h"
#include "tt_writer.h"

extern struct tt_trace * tt_process TT_HIDDEN; /* NULL where it is not traced */
extern bool tt_verify               TT_HIDDEN; /* TENSOR_TRACE_VERIFY=1 */
extern bool tt_watch_pages          TT_HIDDEN; /* TENSOR_TRACE_RESIDENCY=1 */
extern bool tt_passive              TT_HIDDEN; /* TENSOR_TRACE_DEVICES=passive: the tracer waits for no device */
TT_HIDDEN struct tt_usage           tt_usage_now(void);
/* This thread's writer: acquired at the first call, released when the thread ends. NULL: none is available. */
TT_HIDDEN struct tt_writer * tt_my_writer(void);
TT_HIDDEN void               tt_collect_faults(void); /* writes what was recorded of this thread's page faults */
TT_HIDDEN void               tt_note_io_uring(void); /* that reads may be missing: a ring of io_uring is open now */
TT_HIDDEN bool               tt_wanted(void); /* whether a pass that begins now is recorded */
TT_HIDDEN bool               tt_enter(void);  /* a recorded pass begins; false: the trace is ending */
TT_HIDDEN void               tt_leave(void);
/* Set by attached tracing, which writes an op only when it learns that the op has ended. Writes the ended ops that this
   writer still holds; with NULL those of all writers. */
extern void (*tt_write_late)(struct tt_writer * writer) TT_HIDDEN;
extern void (*tt_at_end)(void) TT_HIDDEN; /* called before the trace is closed; NULL: nothing is left to write */

#endif
