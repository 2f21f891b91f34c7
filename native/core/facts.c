/* Writes facts about the process, the machine and the clock as TT_INFO records, each a key and a value. */
#include "tt_facts.h"
#include "environment.h"
#include "tt_cost.h"
#include "tt_record.h"
#include "tt_system.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Only the name of the program: arguments may hold secrets, and tracegen knows those of the program it starts. */
static void note_program(struct tt_trace * trace) {
    char name[TT_LINE];
    if (tt_program_name(name)) {
        tt_info(trace, "argv.000", name);
    }
}

/* Whether one of the words is in a text of `size` bytes. Words that are upper case match lower case too. */
static bool holds_any(const char * text, size_t size, const char * const * words, size_t n, bool any_case) {
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(words[i]);
        for (size_t at = 0; at + length <= size; at++) {
            const int differs =
                any_case ? strncasecmp(text + at, words[i], length) : strncmp(text + at, words[i], length);
            if (!differs) {
                return true;
            }
        }
    }
    return false;
}

#define HOLDS_ANY(text, size, words, any_case) holds_any(text, size, words, sizeof words / sizeof *words, any_case)

static bool looks_secret(const char * name, size_t size) {
    return HOLDS_ANY(name, size, tt_secret_words, true) || HOLDS_ANY(name, size, tt_token_prefixes, false);
}

/* Whether a text is short, and holds only letters, digits and these signs. */
static bool is_plain(const char * text, size_t size, const char * signs) {
    size_t plain = 0;
    while (plain < size && (isalnum((unsigned char) text[plain]) || strchr(signs, text[plain]))) {
        plain++;
    }
    return plain == size && size <= TT_VALUE_LENGTH;
}

static bool is_known(const char * name, size_t size) {
    for (size_t i = 0; i < sizeof tt_harmless / sizeof *tt_harmless; i++) {
        if (strlen(tt_harmless[i]) == size && strncmp(name, tt_harmless[i], size) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_harmless(const char * value) {
    const size_t length = strlen(value);
    return is_plain(value, length, TT_VALUE_SIGNS) && !HOLDS_ANY(value, length, tt_token_prefixes, false);
}

static bool in_family(const char * name) {
    for (size_t i = 0; i < sizeof tt_families / sizeof *tt_families; i++) {
        if (strncmp(name, tt_families[i], strlen(tt_families[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void note_environment(struct tt_trace * trace) {
    extern char ** environ;
    int            unnamed = 0;
    for (char ** variable = environ; variable && *variable; variable++) {
        const char * equals = strchr(*variable, '=');
        if (!equals || !in_family(*variable)) {
            continue;
        }
        const size_t size  = (size_t) (equals - *variable);
        const bool   known = is_known(*variable, size);
        if (!known && (!is_plain(*variable, size, "_") || looks_secret(*variable, size))) {
            unnamed++;
            continue;
        }
        char key[TT_VALUE_LENGTH + 8];
        snprintf(key, sizeof key, "env.%.*s", (int) size, *variable);
        tt_info(trace, key, known && is_harmless(equals + 1) ? equals + 1 : TT_WITHHELD);
    }
    char text[16];
    snprintf(text, sizeof text, "%d", unnamed);
    tt_info(trace, "environment.unnamed", text);
}

static void note_machine(struct tt_trace * trace) {
    struct utsname name;
    if (uname(&name) == 0) {
        tt_info(trace, "host.name", name.nodename);
        tt_info(trace, "host.system", name.sysname);
        tt_info(trace, "host.kernel", name.release);
        tt_info(trace, "host.machine", name.machine);
    }
    char line[TT_LINE];
    if (tt_processor_name(line)) {
        tt_info(trace, "host.cpu", line);
    }
    if (!tt_counts_reads()) {
        tt_info(trace, "counters.read_bytes", "no");
    }
    snprintf(line, sizeof line, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    tt_info(trace, "host.processors", line);
    const int allowed = tt_processors_allowed();
    if (allowed) {
        snprintf(line, sizeof line, "%d", allowed);
        tt_info(trace, "host.processors_allowed", line);
    }
    snprintf(line, sizeof line, "%llu", (unsigned long long) tt_memory_size());
    tt_info(trace, "host.memory_bytes", line);
    snprintf(line, sizeof line, "%ld", sysconf(_SC_PAGESIZE));
    tt_info(trace, "host.page_bytes", line);
}

static void note_build_and_clock(struct tt_trace * trace) {
    char           text[128];
    struct tt_cost cost;
#if defined(__VERSION__) && !defined(TT_ATTACH) /* with attached tracing, another compiler made llama.cpp */
    tt_info(trace, "build.compiler", __VERSION__);
#endif
#ifdef TENSOR_TRACE_BUILD
    tt_info(trace, "build.flags", TENSOR_TRACE_BUILD);
#endif
#ifdef TENSOR_TRACE_HOOKED
    tt_info(trace, "build.hooked", TENSOR_TRACE_HOOKED); /* which hooks, in which llama.cpp */
#endif
    if (tt_measure_cost(trace, &cost)) { /* else the reader says that the cost is not known */
        snprintf(text, sizeof text, "%.2f", cost.event_ns);
        tt_info(trace, "cost.event_ns", text);
        snprintf(text, sizeof text, "%.2f", cost.clock_ns);
        tt_info(trace, "cost.clock_ns", text);
    }
    tt_info(trace, "clock.events", tt_tsc ? "tsc" : "monotonic");
    tt_info(trace, "clock.why", trace->clock);
    struct timespec wall;
    const uint64_t  before = tt_now();
    clock_gettime(CLOCK_REALTIME, &wall);
    const uint64_t after = tt_now();
    snprintf(text, sizeof text, "%llu %lld%09ld", (unsigned long long) (before + (after - before) / 2),
             (long long) wall.tv_sec, wall.tv_nsec);
    tt_info(trace, "clock.anchor", text); /* CLOCK_MONOTONIC and CLOCK_REALTIME, in ns, at one moment */
    snprintf(text, sizeof text, "%ld", (long) getpid());
    tt_info(trace, "process.id", text);
}

void tt_facts(struct tt_trace * trace) {
    note_program(trace);
    note_environment(trace);
    note_machine(trace);
    note_build_and_clock(trace);
}
