/*
 * On which NUMA node the pages of mapped model files and of ggml's buffers lie. A page lies where the thread ran that
 * touched it first, unless a policy says otherwise; one of a file, where it ran that read it into the cache, which may
 * have been another program's.
 *
 * move_pages(2) without nodes to move to says it of each page, in about 0.1 us. On a machine with one node nothing is
 * asked. Else it is after loads, and after passes 1, 2, 4, 8, ... if all of it, one more time among it, takes less than
 * a 200th of the time (and some ms at first).
 */
#include "tt_nodes.h"
#include "tt_share.h"
#include "tt_footprint.h"
#include "tt_mapped.h"
#include "tt_record.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GRANULE = 65536, MOST_NODES = 64, BATCH = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static uint32_t        n_nodes; /* 0: nothing is recorded */
static uint64_t        n_passes;
static struct tt_share share;
static uint32_t *      runs; /* each: how many granules, and the pages of one of them on each node */
static size_t          n_runs, runs_size;

/* ---- which nodes there are ---- */

/* The first line of a file of a node, without its end. */
static bool line_of(const char * name, char text[256]) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/node/%s", name);
    FILE *     stream = fopen(path, "r");
    const bool read   = stream && fgets(text, 256, stream);
    if (stream) {
        fclose(stream);
    }
    text[read ? strcspn(text, "\n") : 0] = 0;
    return read;
}

/* The next range of a list as 0-3,8-11, and what follows it; NULL: there is none. */
static const char * next_range(const char * list, unsigned * first, unsigned * last) {
    int length = 0;
    if (sscanf(list, "%u%n", first, &length) != 1) {
        return NULL;
    }
    list += length;
    *last = *first;
    if (sscanf(list, "-%u%n", last, &length) == 1) {
        list += length;
    }
    return *list == ',' ? list + 1 : list;
}

static unsigned processors_of(unsigned node) {
    char      name[64], text[256];
    cpu_set_t allowed;
    unsigned  first, last, n = 0;
    snprintf(name, sizeof name, "node%u/cpulist", node);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || !line_of(name, text)) {
        return 0;
    }
    for (const char * at = text; (at = next_range(at, &first, &last)) != NULL;) {
        for (unsigned i = first; i <= last && i < CPU_SETSIZE; i++) {
            n += CPU_ISSET(i, &allowed) != 0;
        }
    }
    return n;
}

static void tell_processors(struct tt_trace * trace, unsigned nodes) {
    char text[MOST_NODES * 6] = "";
    for (unsigned node = 0; node < nodes; node++) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%u", node ? " " : "", processors_of(node));
    }
    tt_info(trace, "nodes.processors", text);
}

void tt_nodes_open(struct tt_trace * trace) {
    char         text[256];
    unsigned     first, last = MOST_NODES;
    const char * also_one = getenv("TENSOR_TRACE_NODES");
    share                 = tt_share_open();
    n_nodes               = 0;
    n_passes              = 0;
    if (!line_of("has_memory", text)) {
        tt_info(trace, "nodes.refused", "the kernel does not say which NUMA nodes there are");
        return;
    }
    for (const char * at = text; (at = next_range(at, &first, &last)) != NULL;) {
    }
    tt_info(trace, "nodes.memory", text);
    if (last >= MOST_NODES) {
        tt_info(trace, "nodes.refused", "more than 64 NUMA nodes");
    } else if (last > 0 || (also_one && strcmp(also_one, "1") == 0)) {
        n_nodes = last + 1;
        tell_processors(trace, n_nodes);
    }
}

/* ---- where pages lie ---- */

/* Adds a granule to the runs; false: there is no memory. */
static bool add_granule(const uint32_t * pages) {
    const size_t width  = n_nodes + 1;
    uint32_t *   before = n_runs ? runs + (n_runs - 1) * width : NULL;
    if (before && memcmp(before + 1, pages, n_nodes * sizeof *pages) == 0) {
        ++*before;
        return true;
    }
    if ((n_runs + 1) * width > runs_size) {
        const size_t larger = runs_size ? runs_size * 2 : 4096;
        uint32_t *   moved  = realloc(runs, larger * sizeof *moved);
        if (!moved) {
            return false;
        }
        runs      = moved;
        runs_size = larger;
    }
    uint32_t * run = runs + n_runs++ * width;
    run[0]         = 1;
    memcpy(run + 1, pages, n_nodes * sizeof *pages);
    return true;
}

/* Fills the runs of a range of whole pages. An errno, or 0. */
static int count(uintptr_t begin, size_t n_pages, size_t page, size_t in_granule) {
    static void * addresses[BATCH]; /* under the lock */
    static int    nodes[BATCH];
    const size_t  batch = BATCH / in_granule * in_granule;
    for (size_t done = 0; done < n_pages;) {
        const size_t n = n_pages - done < batch ? n_pages - done : batch;
        for (size_t i = 0; i < n; i++) {
            addresses[i] = (void *) (begin + (done + i) * page);
            nodes[i]     = -ENOENT;
        }
        if (syscall(SYS_move_pages, 0, n, addresses, NULL, nodes, 0) < 0) {
            return errno;
        }
        for (size_t i = 0; i < n; i += in_granule) {
            uint32_t pages[MOST_NODES] = { 0 };
            for (size_t j = i; j < i + in_granule && j < n; j++) {
                if (nodes[j] >= 0 && nodes[j] < (int) n_nodes) {
                    pages[nodes[j]]++;
                }
            }
            if (!add_granule(pages)) {
                return ENOMEM;
            }
        }
        done += n;
    }
    return 0;
}

struct of { /* what has ended, and where files are mapped */
    struct tt_trace * trace;
    uint32_t          pass, load;
    size_t            n_mapped;
    struct tt_mapped  mapped[TT_MOST_MAPPED];
};

static void write_range(const struct of * of, uint32_t buffer, uintptr_t address, size_t size) {
    const size_t    page = (size_t) sysconf(_SC_PAGESIZE), in_granule = page < GRANULE ? GRANULE / page : 1;
    const uintptr_t begin = address / page * page;
    const size_t    n     = (address + size - begin + page - 1) / page;
    if (!n_nodes || !size) {
        return;
    }
    n_runs          = 0;
    const int error = count(begin, n, page, in_granule);
    if (error) {
        tt_info(of->trace, "nodes.refused", strerror(error));
        n_nodes = 0;
        return;
    }
    const struct tt_nodes record = {
        .address       = begin,
        .size_bytes    = n * page,
        .granule_bytes = in_granule * page,
        .buffer        = buffer,
        .pass          = of->pass,
        .load          = of->load,
        .page_bytes    = (uint32_t) page,
        .n_nodes       = n_nodes,
        .n_runs        = (uint32_t) n_runs,
    };
    const size_t counts = n_runs * (n_nodes + 1) * sizeof *runs;
    uint8_t *    at     = tt_record_begin(of->trace, TT_NODES, sizeof record + counts, tt_now());
    if (at) {
        memcpy(at, &record, sizeof record);
        memcpy(at + sizeof record, runs, counts);
        tt_record_end(of->trace);
    }
}

/* A buffer that views a mapped file is no memory of its own. */
static void write_buffer(const void * context, uint32_t number, uintptr_t address, size_t size) {
    const struct of * of = context;
    for (size_t i = 0; i < of->n_mapped; i++) {
        if (of->mapped[i].address < address + size && address < of->mapped[i].address + of->mapped[i].size) {
            return;
        }
    }
    write_range(of, number, address, size);
}

/* Call it under the lock. */
static bool is_due(uint32_t pass, uint64_t now) {
    if (!n_nodes) {
        return false;
    }
    if (pass == TT_NONE) {
        return true;
    }
    n_passes++;
    return (n_passes & (n_passes - 1)) == 0 && tt_share_has_room(&share, now);
}

void tt_nodes_write(struct tt_trace * trace, uint32_t pass, uint32_t load) {
    const uint64_t begin = tt_now();
    pthread_mutex_lock(&lock);
    if (is_due(pass, begin)) {
        struct of of = { .trace = trace, .pass = pass, .load = load };
        of.n_mapped  = tt_mapped_copy(of.mapped);
        for (size_t i = 0; i < of.n_mapped; i++) {
            write_range(&of, TT_NONE, of.mapped[i].address, of.mapped[i].size);
        }
        tt_footprint_buffers(write_buffer, &of);
        tt_share_spend(&share, begin, pass != TT_NONE);
    }
    pthread_mutex_unlock(&lock);
}
