/* Copies that a split needs. */
#ifndef ATTACH_COPIES_H
#define ATTACH_COPIES_H

#include "tt_ggml.h"

TT_HIDDEN void tt_copies_end(void); /* the split begins: its copies have been made or handed over */

#endif
