/* Prints the records of a segment of page faults. */
#include "dump.h"

static const char * const kinds[] = {
    [TT_FAULT_MINOR] = "minor",         [TT_FAULT_MAJOR] = "major",     [TT_FAULT_OPEN] = "open",
    [TT_FAULT_ELSEWHERE] = "elsewhere", [TT_FAULT_LOST] = "lost",       [TT_FAULT_UNSEEN] = "unseen",
    [TT_FAULT_PART] = "part",           [TT_FAULT_BARRIER] = "barrier", [TT_FAULT_OFF_CPU] = "off_cpu",
};

/* Prints one record. `compute`: what the last TT_FAULT_PART names; a TT_FAULT_PART changes it. */
static void print_record(struct bytes record, uint32_t kind, uint64_t * compute) {
    switch (kind) {
        case TT_FAULT_ELSEWHERE: {
            TAKE(&record, struct tt_faults_elsewhere, elsewhere);
            printf(" begin_ns=%" PRIu64 " took_ns=%" PRIu64 " n_faults=%" PRIu64, elsewhere.begin_ns, elsewhere.took_ns,
                   elsewhere.n_faults);
            break;
        }
        case TT_FAULT_LOST: {
            TAKE(&record, struct tt_faults_lost, lost);
            printf(" before_ns=%" PRIu64 " n_events=%" PRIu64, lost.before_ns, lost.n_events);
            break;
        }
        case TT_FAULT_UNSEEN: {
            TAKE(&record, struct tt_faults_unseen, unseen);
            printf(" since_ns=%" PRIu64 " error=%" PRIu64, unseen.since_ns, unseen.error);
            break;
        }
        case TT_FAULT_PART: {
            TAKE(&record, struct tt_fault_part, part);
            *compute = part.compute;
            printf(part.compute == TT_UNKNOWN ? " time_ns=%" PRIu64 " compute=-"
                                              : " time_ns=%" PRIu64 " compute=%" PRIu64,
                   part.time_ns, part.compute);
            printf(" thread=%" PRIu64, part.thread);
            break;
        }
        case TT_FAULT_BARRIER: {
            TAKE(&record, struct tt_barrier_wait, wait);
            printf(" begin=%" PRIu64 " took=%" PRIu64, wait.begin, wait.took);
            print_node(*compute, wait.node < TT_NONE ? (uint32_t) wait.node : TT_NONE);
            break;
        }
        case TT_FAULT_OFF_CPU: {
            TAKE(&record, struct tt_off_cpu, off);
            printf(" begin_ns=%" PRIu64 " took_ns=%" PRIu64 " slept=%" PRIu64, off.begin_ns, off.took_ns, off.slept);
            break;
        }
        default: {
            TAKE(&record, struct tt_fault, fault);
            printf(" begin_ns=%" PRIu64 " took_ns=%" PRIu64 " address=%#" PRIx64, fault.begin_ns, fault.took_ns,
                   fault.address);
        }
    }
}

static void count_record(struct bytes record, uint32_t kind, struct fault_count * count) {
    count->faults += kind <= TT_FAULT_OPEN;
    count->unseen += kind == TT_FAULT_UNSEEN;
    count->waits += kind == TT_FAULT_BARRIER;
    count->off_cpu += kind == TT_FAULT_OFF_CPU;
    if (kind == TT_FAULT_ELSEWHERE) {
        TAKE(&record, struct tt_faults_elsewhere, elsewhere);
        count->elsewhere += elsewhere.n_faults;
    } else if (kind == TT_FAULT_LOST) {
        TAKE(&record, struct tt_faults_lost, lost);
        count->lost += lost.n_events;
    }
}

void dump_faults(struct bytes chunk, bool show_events, struct fault_count * count) {
    static uint64_t compute = TT_UNKNOWN;
    while (chunk.at < chunk.end) {
        const struct bytes record = chunk;
        TAKE(&chunk, struct tt_fault, head); /* kind and os_thread are where they are in each record */
        const char * name = NAME_OF(kinds, head.kind, "kind of page fault", record.at);
        count_record(record, head.kind, count);
        if (show_events) {
            printf("  %s", name);
            print_record(record, head.kind, &compute);
            printf(" os_thread=%" PRIu32 "\n", head.os_thread);
        }
    }
}
