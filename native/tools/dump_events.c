/* Prints the events of a thread segment. */
#include "dump.h"

struct op { /* a TT_OP or a TT_LONG_OP, in ticks */
    const char * name;
    uint64_t     begin, end, barrier;
    uint32_t     node;
    uint16_t     n_fused;
};

static const char * const meanings[] = {
    [TT_INDEX_ROWS] = "rows",       [TT_INDEX_EXPERTS] = "experts", [TT_INDEX_CELLS] = "cells",
    [TT_INDEX_COLUMNS] = "columns", [TT_INDEX_WEIGHTS] = "weights", [TT_INDEX_MASK] = "mask",
};

static void print_index(const struct tt_index * index, const char * what, const uint8_t * data, uint64_t n) {
    printf(" what=%s ne=%" PRIu32 ",%" PRIu32 " values=", what, index->ne0, index->ne1);
    for (uint64_t i = 0; i < n; i++) {
        int64_t wide = 0;
        int32_t narrow;
        float   weight;
        memcpy(&narrow, data + i * index->bytes, sizeof narrow);
        memcpy(&wide, data + i * index->bytes, index->bytes == 8 ? sizeof wide : 0);
        memcpy(&weight, &narrow, sizeof weight);
        printf("%s", i ? "," : "");
        if (index->what == TT_INDEX_WEIGHTS) {
            printf("%.9g", (double) weight);
        } else {
            printf("%" PRId64, index->bytes == 8 ? wide : narrow);
        }
    }
}

static void dump_op(const struct op * op, uint64_t compute, bool show_events, struct thread_count * count) {
    count->ops++;
    count->fused += op->n_fused;
    count->work += op->end - op->begin - op->barrier;
    count->barrier += op->barrier;
    if (show_events) {
        printf("  %s compute=%" PRIu64, op->name, compute);
        print_node(compute, op->node);
        printf(" begin=%" PRIu64 " end=%" PRIu64 " barrier=%" PRIu64 " n_fused=%" PRIu16 "\n", op->begin, op->end,
               op->barrier, op->n_fused);
    }
}

static void dump_index(const struct tt_index * index, struct bytes * chunk, uint64_t compute, bool show_events) {
    const uint64_t n = (uint64_t) index->ne0 * index->ne1, left = chunk->end - chunk->at;
    if ((index->bytes != 4 && index->bytes != 8) || n > left / index->bytes) {
        stop(chunk->at, "index of %" PRIu32 " x %" PRIu32 " numbers of %u bytes, %" PRIu64 " bytes are left",
             index->ne0, index->ne1, index->bytes, left);
    }
    const char *    what = NAME_OF(meanings, index->what, "kind of index", chunk->at - sizeof *index);
    const uint8_t * data = take(chunk, ((size_t) n * index->bytes + TT_UNIT - 1) / TT_UNIT * TT_UNIT);
    if (show_events) {
        printf("  index time=%" PRIu64 " compute=%" PRIu64, index->time, compute);
        print_node(compute, index->node);
        print_index(index, what, data, n);
        putchar('\n');
    }
}

void dump_events(struct bytes chunk, bool show_events, struct thread_count * count) {
    static uint64_t compute, last;
    while (chunk.at < chunk.end) {
        const size_t at    = chunk.at;
        struct bytes after = chunk; /* where the chunk goes on if this is a TT_OP */
        TAKE(&after, struct tt_op, op);
        switch (op.type) {
            case TT_OP: {
                const uint64_t  begin    = last + op.gap;
                const struct op short_op = { "op", begin, begin + op.took, op.barrier, op.node, op.n_fused };

                last     = short_op.end;
                chunk.at = after.at;
                dump_op(&short_op, compute, show_events, count);
                break;
            }
            case TT_LONG_OP: {
                TAKE(&chunk, struct tt_long_op, units);
                const uint64_t  barrier = units.barrier | (uint64_t) units.barrier_high << 32;
                const struct op long_op = { "long_op", units.begin, units.begin + units.took,
                                            barrier,   units.node,  units.n_fused };

                last = long_op.end;
                dump_op(&long_op, compute, show_events, count);
                break;
            }
            case TT_THREAD_BEGIN: {
                TAKE(&chunk, struct tt_thread_begin, begin);
                compute = begin.compute;
                last    = begin.time;
                count->computes++;
                count->open++;
                if (show_events) {
                    printf("  thread_begin time=%" PRIu64 " compute=%" PRIu64 " thread=%" PRIu32 " pool=%" PRIu16
                           " os_thread=%" PRIu32 "\n",
                           begin.time, compute, begin.thread, begin.n_threads, begin.os_thread);
                }
                break;
            }
            case TT_THREAD_END: {
                TAKE(&chunk, struct tt_thread_end, end);
                last = end.time;
                count->open--;
                if (show_events) {
                    printf("  thread_end time=%" PRIu64 " compute=%" PRIu64 " thread=%" PRIu32 "\n", end.time, compute,
                           end.thread);
                }
                break;
            }
            case TT_INDEX: {
                TAKE(&chunk, struct tt_index, index);
                last = index.time;
                count->indexes++;
                dump_index(&index, &chunk, compute, show_events);
                break;
            }
            default: stop(at, "unit type %u is unknown", op.type);
        }
    }
}
