/* Why we cannot read the structures of this process's ggml, or NULL: they are as in the headers we have. */
#ifndef ATTACH_LAYOUT_H
#define ATTACH_LAYOUT_H

#include "tt_ggml.h"

TT_HIDDEN const char * tt_other_layout(void);

#endif
