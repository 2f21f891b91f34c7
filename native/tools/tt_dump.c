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
#include "tt_dump.h"

#include <dirent.h>

static void dump_header(const struct tt_file_header * header, const uint8_t * data) {
    const bool valid = header->crc == crc32_of(data, offsetof(struct tt_file_header, crc));
    printf("segment version=%" PRIu32 " kind=%s number=%" PRIu32 " run_id=", header->version,
           header->kind == TT_SEGMENT_MAIN ? "main" : "thread", header->number);
    for (int i = 0; i < 16; i++) {
        printf("%02x", header->run_id[i]);
    }
    printf(" os_thread=%" PRIu32 " open_ns=%" PRIu64 " clock=%s crc=%s dropped_records=%" PRIu64
           " dropped_bytes=%" PRIu64 " dropped_why=%" PRIu32 "\n",
           header->os_thread, header->open_ns, header->clock == TT_CLOCK_TSC ? "tsc" : "monotonic",
           valid ? "right" : "wrong", header->dropped_records, header->dropped_bytes, header->dropped_why);
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
    if (header.clock > TT_CLOCK_TSC) {
        stop(offsetof(struct tt_file_header, clock), "clock %" PRIu32 " is unknown", header.clock);
    }
    if (header.kind > TT_SEGMENT_THREAD) {
        stop(offsetof(struct tt_file_header, kind), "segment kind %" PRIu32 " is unknown", header.kind);
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
    struct thread_count count = { 0 };

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
        if (header.kind == TT_SEGMENT_MAIN) {
            dump_records(payload);
        } else {
            dump_events(payload, show_events, &count);
        }
        file.at = at + (size_t) chunk.size_bytes;
    }
    if (header.kind == TT_SEGMENT_THREAD) {
        printf("summary computes=%" PRIu64 " open=%" PRIu64 " ops=%" PRIu64 " fused=%" PRIu64 " indexes=%" PRIu64
               " work=%" PRIu64 " barrier=%" PRIu64 "\n",
               count.computes, count.open, count.ops, count.fused, count.indexes, count.work, count.barrier);
    }
}

static int is_segment(const struct dirent * entry) {
    const size_t n = strlen(entry->d_name);
    return n > 3 && strcmp(entry->d_name + n - 3, ".tt") == 0;
}

/* Dumps a file, or the segments of a folder: RUNID.main.tt sorts before RUNID.t000.tt. */
static void dump_path(const char * path, bool show_events) {
    struct dirent ** entries;
    const int        n = scandir(path, &entries, is_segment, alphasort);
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
