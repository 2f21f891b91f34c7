/* Files of models that are read. */
#ifndef GGML_READS_H
#define GGML_READS_H

#include "tt_ggml.h"

#include <stdbool.h>
#include <stdint.h>

TT_HIDDEN bool tt_is_gguf(int fd); /* whether the file begins as a model does; false where O_DIRECT forbids to ask */
/* The string of the path of an open file that is a model; TT_NONE: it is none. A file that is read in a load is one if it
   `surely` is, or begins so; later it is known. */
TT_HIDDEN uint32_t tt_model_path(int fd, bool surely);

#endif
