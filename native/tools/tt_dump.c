/*
 * tt_dump: prints a tensor trace as text, one line for each header, chunk, record and event.
 *
 *     tt_dump [--events] FOLDER|FILE...   a trace folder, or some of its segments
 *     tt_dump --layout                    name, offset and size of every struct in a trace and of its fields
 *
 * Exit code 0; or 2 if a file is not a valid segment (everything before the error is printed).
 * Numbers from a file are checked before they are used as a length or an index.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* scandir, asprintf */
#endif
#include "dump.h"

#include <dirent.h>

static const char * const segment_kinds[] = { [TT_SEGMENT_MAIN]   = "main",
                                              [TT_SEGMENT_THREAD] = "thread",
                                              [TT_SEGMENT_FAULTS] = "faults" };
static const char * const clocks[]        = { [TT_CLOCK_MONOTONIC] = "monotonic", [TT_CLOCK_TSC] = "tsc" };
static const char * const why_dropped[]   = { [TT_DROPPED_UNKNOWN]  = "unknown",
                                              [TT_DROPPED_LIMIT]    = "limit",
                                              [TT_DROPPED_NO_SPACE] = "no_space",
                                              [TT_DROPPED_ERROR]    = "error" };

static void dump_header(const struct tt_file_header * header, const uint8_t * data) {
    const bool valid = header->crc == crc32_of(data, offsetof(struct tt_file_header, crc));
    printf("segment version=%" PRIu32 " kind=%s number=%" PRIu32 " run_id=", header->version,
           NAME_OF(segment_kinds, header->kind, "segment kind", offsetof(struct tt_file_header, kind)), header->number);
    for (int i = 0; i < 16; i++) {
        printf("%02x", header->run_id[i]);
    }
    printf(" os_thread=%" PRIu32 " open_ns=%" PRIu64 " clock=%s crc=%s dropped_records=%" PRIu64
           " dropped_bytes=%" PRIu64 " dropped_why=%s\n",
           header->os_thread, header->open_ns,
           NAME_OF(clocks, header->clock, "clock", offsetof(struct tt_file_header, clock)), valid ? "right" : "wrong",
           header->dropped_records, header->dropped_bytes,
           NAME_OF(why_dropped, header->dropped_why, "reason", offsetof(struct tt_file_header, dropped_why)));
    if (!valid) {
        stop(offsetof(struct tt_file_header, crc), "the header has a wrong checksum");
    }
}

/* The header of a segment; stops if this program cannot read the segment. */
static struct tt_file_header header_of(const struct bytes * file) {
    if (file->end < TT_PAGE) {
        stop(0, "%zu bytes, a segment has at least %u", file->end, TT_PAGE);
    }
    struct tt_file_header header;
    memcpy(&header, file->data, sizeof header);
    if (memcmp(header.magic, TT_MAGIC, sizeof header.magic) != 0) {
        stop(0, "no tensor trace: it does not begin with TTRACE");
    }
    if (header.version != TT_VERSION) {
        stop(offsetof(struct tt_file_header, version), "version %" PRIu32 ", this tt_dump reads version %u",
             header.version, TT_VERSION);
    }
    return header;
}

static void dump_segment(const char * path, bool show_events) {
    file_name                          = path;
    struct bytes                file   = read_file(path);
    const struct tt_file_header header = header_of(&file);
    printf("file ");
    print_text((const uint8_t *) path, strlen(path));
    putchar('\n');
    dump_header(&header, file.data);
    struct thread_count count  = { 0 };
    struct fault_count  faults = { 0 };

    file.at = TT_PAGE;
    for (uint32_t sequence = 0; file.at < file.end; sequence++) {
        const size_t at = file.at;
        TAKE(&file, struct tt_chunk_header, chunk);
        if (chunk.magic == 0) {
            break; /* space that a killed process had allocated but not begun to use */
        }
        if (chunk.magic != TT_CHUNK_MAGIC || chunk.sequence != sequence) {
            stop(at, "chunk %" PRIu32 " is expected here, but these bytes are not its header", sequence);
        }
        if (chunk.size_bytes % TT_PAGE || chunk.size_bytes < sizeof chunk || chunk.size_bytes > file.end - at) {
            stop(at, "chunk of %" PRIu64 " bytes, %zu are left", chunk.size_bytes, file.end - at);
        }
        if (chunk.committed > chunk.size_bytes - sizeof chunk) {
            stop(at, "chunk claims %" PRIu64 " of %" PRIu64 " bytes", chunk.committed, chunk.size_bytes);
        }
        struct bytes payload = { file.data, file.at, file.at + (size_t) chunk.committed };
        const bool   valid   = !chunk.sealed || chunk.crc == crc32_of(file.data + payload.at, (size_t) chunk.committed);
        printf("chunk %" PRIu32 " at=%zu size_bytes=%" PRIu64 " committed=%" PRIu64 " %s%s\n", sequence, at,
               chunk.size_bytes, chunk.committed, chunk.sealed ? "sealed" : "not sealed",
               valid ? "" : ", wrong checksum");
        if (!valid || chunk.sealed > 1) {
            stop(at, "chunk %" PRIu32 " has a wrong checksum", sequence);
        }
        switch (header.kind) {
            case TT_SEGMENT_MAIN: dump_records(payload); break;
            case TT_SEGMENT_THREAD: dump_events(payload, show_events, &count); break;
            case TT_SEGMENT_FAULTS: dump_faults(payload, show_events, &faults); break;
        }
        file.at = at + (size_t) chunk.size_bytes;
    }
    if (header.kind == TT_SEGMENT_THREAD) {
        printf("summary computes=%" PRIu64 " open=%" PRIu64 " ops=%" PRIu64 " fused=%" PRIu64 " indexes=%" PRIu64
               " work=%" PRIu64 " barrier=%" PRIu64 "\n",
               count.computes, count.open, count.ops, count.fused, count.indexes, count.work, count.barrier);
    } else if (header.kind == TT_SEGMENT_FAULTS) {
        printf("summary faults=%" PRIu64 " elsewhere=%" PRIu64 " lost=%" PRIu64 " unseen=%" PRIu64 " waits=%" PRIu64
               " off_cpu=%" PRIu64 "\n",
               faults.faults, faults.elsewhere, faults.lost, faults.unseen, faults.waits, faults.off_cpu);
    }
}

static int is_segment(const struct dirent * entry) {
    const size_t n = strlen(entry->d_name);
    return n > 3 && strcmp(entry->d_name + n - 3, ".tt") == 0;
}

static bool is_main(const struct dirent * entry) { return strstr(entry->d_name, ".main.tt") != NULL; }

static int main_first(const struct dirent ** a, const struct dirent ** b) {
    return is_main(*a) == is_main(*b) ? alphasort(a, b) : is_main(*b) - is_main(*a);
}

/* Dumps a file, or the segments of a folder: the main segment first, because the others refer to it. */
static void dump_path(const char * path, bool show_events) {
    struct dirent ** entries;
    const int        n = scandir(path, &entries, is_segment, main_first);
    if (n < 0) {
        dump_segment(path, show_events);
        return;
    }
    file_name = path;
    if (n == 0) {
        stop(0, "holds no trace (*.tt)");
    }
    for (int i = 0; i < n; i++) {
        char * name = NULL;
        if (asprintf(&name, "%s/%s", path, entries[i]->d_name) < 0) {
            stop(0, "out of memory");
        }
        dump_segment(name, show_events); /* the name is not freed: a later error message may need it */
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char ** argv) {
    bool show_events = false;
    int  n           = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--layout") == 0) {
            print_layout();
            return 0;
        }
        if (strcmp(argv[i], "--events") == 0) {
            show_events = true;
        } else if (argv[i][0] == '-') {
            n = 0;
            break;
        } else {
            argv[n++] = argv[i];
        }
    }
    if (n == 0) {
        fprintf(stderr, "usage: tt_dump [--events] FOLDER|FILE...\n       tt_dump --layout\n");
        return 2;
    }
    for (int i = 0; i < n; i++) {
        dump_path(argv[i], show_events);
    }
    return 0;
}
