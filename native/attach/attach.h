/*
 * Attached tracing: a library to preload into a program with an unchanged ggml and llama.cpp.
 *
 * It defines functions with the names of exported functions of ggml and llama.cpp. Calls between their libraries, or
 * between files of one of them, then reach our function, which records the call and calls the original. Calls that the
 * compiler bound within one file do not reach us and are not recorded.
 *
 * In these files `theirs` is the original function.
 */
#ifndef TT_ATTACH_H
#define TT_ATTACH_H

#include <stdint.h>

/* Marks a function that replaces the original of its name. */
#define REPLACES __attribute__((visibility("default"), noinline))

/* Stands for a structure that is passed by value and whose size differs between releases. It is larger than each of
   them: what we pass on is the structure and some of the caller's stack behind it. */
struct by_value {
    uint64_t words[128];
};

#endif
