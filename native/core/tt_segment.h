/* One file of chunks. */
#ifndef TT_SEGMENT_H
#define TT_SEGMENT_H

#include "tensor_trace_format.h"

#include <stdatomic.h>
#include <stdbool.h>

struct tt_budget {
    _Atomic uint64_t left;
    bool             outside; /* somebody outside may make the pages */
};
struct tt_segment {
    int                      fd;
    size_t                   page;       /* of this machine: a chunk may begin inside of one */
    uint64_t                 file_bytes; /* size of the file: where the next chunk begins */
    size_t                   chunk_bytes; /* smallest chunk to allocate */
    uint32_t                 sequence;
    uint8_t *                payload; /* of the current chunk, or NULL */
    size_t                   room, used;
    struct tt_chunk_header * chunk;
    uint64_t                 chunk_at; /* where the chunk begins in the file */
    struct tt_file_header *  header;
    struct tt_budget *       budget;
    uint64_t                 own_bytes; /* of the file: those whose pages nobody outside made */
    char                     name[TT_NAME_BYTES];
};
bool tt_segment_open(struct tt_segment * segment, int folder, const char * name, const uint8_t run_id[16],
                     enum tt_segment_kind kind, uint32_t number, size_t chunk_bytes, struct tt_budget * budget);
/* Make room for `bytes` in one chunk; false: there is no room, and nothing was written. */
bool tt_segment_reserve(struct tt_segment * segment, size_t bytes);
/* Note in the file header why there was no room (`error`, an errno); only the first reason is kept. */
void tt_segment_explain(struct tt_segment * segment, int error);
/* Count records and bytes that were not written. */
void tt_segment_drop(struct tt_segment * segment, uint64_t records, uint64_t bytes);
/* Write the last checksum and close; in_use: a thread may still write, so leave the file open and that chunk unsealed. */
void tt_segment_close(struct tt_segment * segment, bool in_use);
void tt_segment_discard(struct tt_segment * segment); /* of a deleted file: its pages, too, are free then */

/* Make the next `bytes` of the payload valid for readers of the file. */
static inline void tt_segment_commit(struct tt_segment * segment, size_t bytes) {
    segment->used += bytes;
    __atomic_store_n(&segment->chunk->committed, (uint64_t) segment->used, __ATOMIC_RELEASE);
}

#endif
