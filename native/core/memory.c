/* How much memory the group of the program holds: the kernel's memory.stat, read when a load or a pass has ended. */
#include "tt.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The names of both versions of cgroups. The first version has sums over the group's children under names of its own. */
static const char * const anon_names[] = { "total_rss ", "anon " };
static const char * const file_names[] = { "total_cache ", "file " };

static int stat_file = -1;

void tt_memory_open(void) {
    const char * path = getenv("TENSOR_TRACE_MEMORY");
    stat_file         = path && *path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* The number behind `name` at the start of a line; TT_UNKNOWN: there is no such line. */
static uint64_t number_of(const char * text, const char * name) {
    for (const char * line = text; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
        if (strncmp(line, name, strlen(name)) == 0) {
            return strtoull(line + strlen(name), NULL, 10);
        }
    }
    return TT_UNKNOWN;
}

static uint64_t either(const char * text, const char * const names[2]) {
    const uint64_t number = number_of(text, names[0]);
    return number != TT_UNKNOWN ? number : number_of(text, names[1]);
}

void tt_memory_write(struct tt_trace * trace, uint32_t pass, uint32_t load) {
    char          text[8192];
    const ssize_t size = stat_file < 0 ? 0 : pread(stat_file, text, sizeof text - 1, 0);
    if (size <= 0) {
        return;
    }
    text[size]                    = 0;
    const struct tt_memory record = {
        .anon_bytes = either(text, anon_names),
        .file_bytes = either(text, file_names),
        .pass       = pass,
        .load       = load,
    };
    tt_record(trace, TT_MEMORY, &record, sizeof record, tt_now());
}
