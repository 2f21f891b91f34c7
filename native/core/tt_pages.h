/* Pages of the trace that somebody outside of the program's memory group makes. */
#ifndef TT_PAGES_H
#define TT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

void tt_pages_open(void); /* reads TENSOR_TRACE_PAGES */
/* Ask for `bytes` more of a file that ends at `at`, and wait for them. false: nobody makes pages; make them yourself. */
bool tt_pages_made(int fd, const char * name, uint64_t at, uint64_t bytes);
void tt_pages_done(const char * name, uint64_t at, uint64_t bytes); /* they may leave the cache when they are written */

#endif
