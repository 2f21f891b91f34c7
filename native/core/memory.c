/*
 * How much memory the program holds, when a load or a pass has ended: what its memory group is charged with, and how much
 * of its own is resident. Both are counters that the kernel has ready. The group's memory.stat would say more, but to read
 * it makes the kernel sum up its statistics, by which it decides what to evict: ten times a second that made a program
 * at its limit 10 % slower.
 */
#include "tt_memory.h"
#include "tt_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int usage_file = -1, own_file = -1;

void tt_memory_open(void) {
    const char * path = getenv("TENSOR_TRACE_MEMORY");
    usage_file        = path && *path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    own_file          = usage_file < 0 ? -1 : open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

static bool read_text(int fd, char text[96]) {
    const ssize_t size        = fd < 0 ? -1 : pread(fd, text, 95, 0);
    text[size > 0 ? size : 0] = 0;
    return size > 0;
}

static uint64_t group_bytes(void) {
    char               text[96];
    unsigned long long bytes;
    return read_text(usage_file, text) && sscanf(text, "%llu", &bytes) == 1 ? bytes : TT_UNKNOWN;
}

/* Resident pages less those of files. */
static uint64_t anon_bytes(void) {
    char               text[96];
    unsigned long long size, resident, shared;
    const bool known = read_text(own_file, text) && sscanf(text, "%llu %llu %llu", &size, &resident, &shared) == 3;
    return known && shared <= resident ? (resident - shared) * (uint64_t) sysconf(_SC_PAGESIZE) : TT_UNKNOWN;
}

void tt_memory_write(struct tt_trace * trace, uint32_t pass, uint32_t load) {
    if (usage_file >= 0) {
        const struct tt_memory record = {
            .anon_bytes  = anon_bytes(),
            .group_bytes = group_bytes(),
            .pass        = pass,
            .load        = load,
        };
        tt_record(trace, TT_MEMORY, &record, sizeof record, tt_now());
    }
}
