/* What a trace holds of devices: their operations, and all strings. */
#ifndef FOUND_H
#define FOUND_H

#include "tensor_trace_format.h"

#include <stddef.h>
#include <string.h>

enum { MOST_FOUND = 8 };
struct found {
    struct tt_device_op ops[MOST_FOUND];
    unsigned            n_ops;
    char                strings[4096]; /* all of them, each followed by a bar */
};

static inline void take_records(const uint8_t * payload, size_t size, void * state) {
    struct found *   found = state;
    struct tt_record record;
    for (size_t at = 0; at + sizeof record <= size; at += record.length) {
        memcpy(&record, payload + at, sizeof record);
        const uint8_t * data = payload + at + sizeof record;
        if (record.type == TT_DEVICE_OP && found->n_ops++ < MOST_FOUND) {
            memcpy(&found->ops[found->n_ops - 1], data, sizeof *found->ops);
        } else if (record.type == TT_STRING) {
            uint32_t     length;
            const size_t used = strlen(found->strings);
            memcpy(&length, data + 4, sizeof length);
            if (used + length + 2 < sizeof found->strings) {
                memcpy(found->strings + used, data + 8, length);
                found->strings[used + length] = '|';
            }
        }
    }
}

#endif
