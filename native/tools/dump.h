/* Shared by the files of tt_dump. Each may call those that stand before it here. */
#ifndef DUMP_H
#define DUMP_H

#include "tensor_trace_format.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* dump_bytes.c: the bytes of a file, and errors about them */
extern const char * file_name; /* the current file, for error messages */
/* Prints an error at this byte of the current file and exits with code 2. */
_Noreturn void stop(size_t at, const char * format, ...);
/* Reallocates to `n` elements of `each` bytes; if there is no memory, exits with code 2. */
void * resized(void * old, size_t n, size_t each);

/* Bytes of a segment: those from `at` to `end` are not yet taken. */
struct bytes {
    const uint8_t * data;
    size_t          at, end;
};
struct bytes read_file(const char * path);
/* Takes the next `size` bytes; calls stop if fewer are left. */
const void * take(struct bytes * from, size_t size);
/* Declares `name` and copies the next bytes into it. */
#define TAKE(from, type, name) \
    type name; \
    memcpy(&name, take(from, sizeof name), sizeof name)
uint32_t crc32_of(const uint8_t * data, size_t size);
void     print_text(const uint8_t * text, size_t size);
void     print_number(const char * label, uint32_t number);
/* The name that `names` has for a number; calls stop if it has none. `what`: what the number is, for the error. */
#define NAME_OF(names, number, what, at) name_of(names, sizeof names / sizeof *names, number, what, at)
const char * name_of(const char * const * names, size_t n, uint32_t number, const char * what, size_t at);

/* dump_layout.c */
void print_layout(void);

/* dump_records.c: prints the records of a chunk of the main segment, and keeps strings, graphs, passes and computes */
void dump_records(struct bytes chunk);
/* Prints a node of a compute; with its op and name if the main segment was dumped before. */
void print_node(uint64_t compute_number, uint32_t node);

/* dump_events.c: counts the events of a chunk of a thread segment, and prints them if show_events is set */
struct thread_count {
    uint64_t computes, open, ops, fused, indexes, work, barrier;
};
void dump_events(struct bytes chunk, bool show_events, struct thread_count * count);

/* dump_faults.c: counts the records of a chunk of a segment of page faults, and prints them if show_events is set */
struct fault_count {
    uint64_t faults, elsewhere, lost, unseen, waits, off_cpu;
};
void dump_faults(struct bytes chunk, bool show_events, struct fault_count * count);

#endif
