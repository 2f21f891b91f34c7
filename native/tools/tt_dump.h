/* Shared by the files of tt_dump. */
#ifndef TT_DUMP_H
#define TT_DUMP_H

#include "tensor_trace_format.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* dump_bytes.c: the bytes of a file, and the end of the program where they are wrong */
extern const char * file_name; /* of the file that is read, for error messages */
/* Print an error at this byte of the file, and exit with code 2. */
_Noreturn void stop(size_t at, const char * format, ...);
/* Reallocate to `n` elements of `each` bytes; exit with code 2 when there is no memory. */
void * grown(void * old, size_t n, size_t each);

/* Bytes of a segment that were read but not yet taken. */
struct bytes {
    const uint8_t * data;
    size_t          at, end;
};
struct bytes read_file(const char * path);
/* The next `size` bytes; stops where fewer are left. */
const void * take(struct bytes * from, size_t size);
/* Declares `name` and copies the next bytes into it. */
#define TAKE(from, type, name) \
    type name; \
    memcpy(&name, take(from, sizeof name), sizeof name)
uint32_t crc32_of(const uint8_t * data, size_t size);
void     print_text(const uint8_t * text, size_t size);
void     print_number(const char * label, uint32_t number);

/* dump_layout.c */
void print_layout(void);

/* dump_records.c: a chunk of the main segment; keeps its strings, graphs, passes and computes */
void dump_records(struct bytes chunk);
/* Prints a node of a compute: op and name too, where the main segment was dumped before. */
void print_node(uint64_t compute, uint32_t node);

/* dump_events.c: a chunk of a thread segment; prints its events if `show`, and adds them to `count` */
struct thread_count {
    uint64_t computes, open, ops, fused, indexes, work, barrier;
};
void dump_events(struct bytes chunk, bool show, struct thread_count * count);

#endif
