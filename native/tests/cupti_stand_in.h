/* A CUPTI that is made up: what a test asks of it. */
#ifndef CUPTI_STAND_IN_H
#define CUPTI_STAND_IN_H

#include <stdint.h>

/* A call to launch a kernel, which a device then runs from `begin_ns` to `end_ns`. */
void stand_in_launch(uint32_t correlation, const char * kernel, uint64_t begin_ns, uint64_t end_ns);
/* From now on this function is refused; NULL: none. */
void stand_in_refuse(const char * function);
void stand_in_drop(unsigned n); /* so many records find no room */

#endif
