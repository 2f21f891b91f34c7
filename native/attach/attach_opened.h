/* libc's dlsym; and the original of a function, if a program asked dlsym for it and got ours, else NULL. */
#ifndef ATTACH_OPENED_H
#define ATTACH_OPENED_H

#include "tt_ggml.h"

TT_HIDDEN void * tt_find(void * library, const char * name);
TT_HIDDEN void * tt_opened(const char * name);

#endif
