/* Writes facts about the process, the machine and the clock as TT_INFO records, each a key and a value. */
#include "tt.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void note_command_line(struct tt_trace * trace) {
    FILE * file = fopen("/proc/self/cmdline", "rb");
    if (!file) {
        return;
    }
    static char  text[1 << 16];
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    int n      = 0;
    for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
        char key[32];
        snprintf(key, sizeof key, "argv.%03d", n++);
        tt_info(trace, key, text + at);
    }
}

/* Only variables that change what is measured: others may hold secrets. */
static void note_environment(struct tt_trace * trace) {
    static const char * const prefixes[] = { "GGML_", "LLAMA_", "OMP_", "GOMP_", "KMP_", "TENSOR_TRACE_", "MALLOC_" };
    extern char **            environ;
    for (char ** variable = environ; *variable; variable++) {
        const char * equals = strchr(*variable, '=');
        for (size_t i = 0; equals && i < sizeof prefixes / sizeof *prefixes; i++) {
            if (strncmp(*variable, prefixes[i], strlen(prefixes[i])) == 0) {
                char key[256];
                snprintf(key, sizeof key, "env.%.*s", (int) (equals - *variable), *variable);
                tt_info(trace, key, equals + 1);
            }
        }
    }
}

static void note_machine(struct tt_trace * trace) {
    struct utsname name;
    if (uname(&name) == 0) {
        tt_info(trace, "host.name", name.nodename);
        tt_info(trace, "host.system", name.sysname);
        tt_info(trace, "host.kernel", name.release);
        tt_info(trace, "host.machine", name.machine);
    }
    char   line[512];
    FILE * file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        char * colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", 10) == 0) {
            line[strcspn(line, "\n")] = 0;
            tt_info(trace, "host.cpu", colon + 2);
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    if (access("/proc/self/io", F_OK) != 0) {
        tt_info(trace, "counters.read_bytes", "no"); /* a kernel without I/O accounting counts 0 */
    }
    snprintf(line, sizeof line, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    tt_info(trace, "host.processors", line);
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        snprintf(line, sizeof line, "%d", CPU_COUNT(&allowed));
        tt_info(trace, "host.processors_allowed", line);
    }
    snprintf(line, sizeof line, "%lld", (long long) sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
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
    note_command_line(trace);
    note_environment(trace);
    note_machine(trace);
    note_build_and_clock(trace);
}
