/* On which NUMA node pages lie: what the trace says, and what /proc/self/numa_maps does. */
#include "check.h"
#include "folder.h"
#include "tt_footprint.h"
#include "tt_mapped.h"
#include "tt_nodes.h"
#include "tt_record.h"
#include "tt_trace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MIB = 1 << 20, NODES = 64, MOST = 16, BIND = 2 };

struct noted {
    struct tt_nodes head;
    uint64_t        pages[NODES];
    uint64_t        granules;
};

static struct noted noted[MOST];
static size_t       n_noted;

static void take(const struct tt_record * record, const uint8_t * payload) {
    (void) record;
    if (n_noted == MOST) {
        return;
    }
    struct noted *  one = &noted[n_noted++];
    const uint8_t * at  = payload + sizeof one->head;
    memset(one, 0, sizeof *one);
    memcpy(&one->head, payload, sizeof one->head);
    for (uint32_t i = 0; i < one->head.n_runs; i++) {
        uint32_t run[NODES + 1];
        memcpy(run, at, (one->head.n_nodes + 1) * sizeof *run);
        at += (one->head.n_nodes + 1) * sizeof *run;
        one->granules += run[0];
        for (uint32_t node = 0; node < one->head.n_nodes; node++) {
            one->pages[node] += (uint64_t) run[0] * run[1 + node];
        }
    }
}

static void finish(struct tt_trace * trace, const char * folder) {
    tt_close(trace);
    n_noted = 0;
    each_record(folder, TT_NODES, take);
    folder_remove(folder);
}

/* `also_one`: on a machine with one node, too. */
static struct tt_trace * opened(char folder[512], bool also_one) {
    char error[256];
    folder_make(folder);
    struct tt_trace * trace = tt_open(folder, UINT64_MAX, error);
    setenv("TENSOR_TRACE_NODES", also_one ? "1" : "0", 1);
    tt_nodes_open(trace);
    unsetenv("TENSOR_TRACE_NODES");
    return trace;
}

/* The pages of the mapping at an address, on each node, as the kernel sums them up. */
static void numa_maps(const void * address, uint64_t pages[NODES]) {
    char               line[1024];
    unsigned long      begin;
    unsigned long long n;
    unsigned           node;
    FILE *             stream = fopen("/proc/self/numa_maps", "r");
    while (stream && fgets(line, sizeof line, stream)) {
        if (sscanf(line, "%lx", &begin) == 1 && begin == (uintptr_t) address) {
            for (char * at = line; (at = strstr(at, " N")) != NULL; at += 2) {
                if (sscanf(at, " N%u=%llu", &node, &n) == 2 && node < NODES) {
                    pages[node] += n;
                }
            }
        }
    }
    if (stream) {
        fclose(stream);
    }
}

/* Memory of which every other 256 KiB lies on the last node, where there are several. */
static uint8_t * spread(size_t size, unsigned last_node) {
    uint8_t * at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        return NULL;
    }
    madvise(at, size, MADV_NOHUGEPAGE);
    for (size_t done = 0; done < size; done += MIB / 4) {
        const unsigned long mask = 1ul << (done / (MIB / 4) % 2 ? last_node : 0);
        if (last_node && syscall(SYS_mbind, at + done, MIB / 4, BIND, &mask, 64, 0) != 0) {
            return NULL;
        }
        if (done < size / 2) {
            memset(at + done, 1, MIB / 4);
        }
    }
    return at;
}

static unsigned last_node(void) {
    char     text[64] = "0";
    FILE *   stream   = fopen("/sys/devices/system/node/has_memory", "r");
    unsigned first = 0, last = 0;
    if (stream && fgets(text, sizeof text, stream) && sscanf(text, "%u-%u", &first, &last) < 2) {
        last = first;
    }
    if (stream) {
        fclose(stream);
    }
    return last;
}

/* Whether the kernel says where pages lie: a container may forbid to ask, or hide the nodes. */
static bool tells(void) {
    static char page[4096];
    void *      address = page;
    int         node    = -1;
    page[0]             = 1;
    return access("/sys/devices/system/node/has_memory", R_OK) == 0 && access("/proc/self/numa_maps", R_OK) == 0
        && syscall(SYS_move_pages, 0, 1, &address, NULL, &node, 0) == 0 && node >= 0;
}

static void pages_of_a_buffer_lie_where_the_kernel_says(void) {
    if (!tells()) {
        return;
    }
    char      folder[512];
    uint64_t  expected[NODES] = { 0 };
    uint8_t * buffer          = spread(8 * MIB, last_node());
    CHECK(buffer);
    struct tt_trace * trace = opened(folder, true);
    tt_footprint_add(TT_PART_BUFFER, 3, buffer, 8 * MIB);
    tt_nodes_write(trace, TT_NONE, 0);
    tt_footprint_remove(TT_PART_BUFFER, 3);
    for (size_t at = 0; at < 8 * MIB; at += MIB / 4) { /* each part has a policy, and so a line, of its own */
        numa_maps(buffer + at, expected);
    }
    finish(trace, folder);
    munmap(buffer, 8 * MIB);
    CHECK(n_noted == 1 && noted[0].head.buffer == 3 && noted[0].head.address == (uintptr_t) buffer);
    CHECK(noted[0].granules * noted[0].head.granule_bytes == 8 * MIB);
    uint64_t sum = 0;
    for (unsigned node = 0; node < NODES; node++) {
        CHECK(noted[0].pages[node] == expected[node]);
        sum += expected[node];
    }
    CHECK(sum * (uint64_t) sysconf(_SC_PAGESIZE) == 4 * MIB);
    CHECK(last_node() == 0 || noted[0].pages[0] == noted[0].pages[last_node()]);
    CHECK(noted[0].head.n_runs <= 17 + 1);
}

static void pages_of_a_file_are_those_that_this_process_touched(void) {
    if (!tells()) {
        return;
    }
    char              folder[512], path[600];
    struct tt_trace * trace = opened(folder, true);
    snprintf(path, sizeof path, "%s/mapped", folder);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && ftruncate(fd, MIB + 100) == 0);
    uint8_t * at = mmap(NULL, MIB + 100, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(at != MAP_FAILED && tt_mapped_add(at, MIB + 100, false, 0));
    madvise(at, MIB + 100, MADV_RANDOM);
    volatile uint8_t read = at[MIB]; /* the last page, of which the file has 100 bytes */
    (void) read;
    uint64_t expected[NODES] = { 0 };
    tt_nodes_write(trace, 0, TT_NONE);
    numa_maps(at, expected);
    tt_mapped_cut(at, MIB + 100);
    munmap(at, MIB + 100);
    close(fd);
    unlink(path);
    finish(trace, folder);
    CHECK(n_noted == 1 && noted[0].head.buffer == TT_NONE && noted[0].head.pass == 0);
    uint64_t sum = 0;
    for (unsigned node = 0; node < NODES; node++) {
        CHECK(noted[0].pages[node] == expected[node]);
        sum += noted[0].pages[node];
    }
    CHECK(sum >= 1);
}

/* Passes 1, 2, 4, 8 and 16. */
static void passes_are_asked_ever_more_seldom(void) {
    if (!tells()) {
        return;
    }
    char              folder[512];
    uint8_t *         buffer = spread(MIB, last_node());
    struct tt_trace * trace  = opened(folder, true);
    tt_footprint_add(TT_PART_BUFFER, 0, buffer, MIB);
    for (uint32_t pass = 0; pass < 20; pass++) {
        tt_nodes_write(trace, pass, TT_NONE);
    }
    tt_footprint_remove(TT_PART_BUFFER, 0);
    munmap(buffer, MIB);
    finish(trace, folder);
    CHECK(n_noted == 5 && noted[4].head.pass == 15);
}

static void on_one_node_nothing_is_asked(void) {
    char              folder[512];
    uint8_t *         buffer = spread(MIB, last_node());
    struct tt_trace * trace  = opened(folder, false);
    tt_footprint_add(TT_PART_BUFFER, 0, buffer, MIB);
    tt_nodes_write(trace, TT_NONE, 0);
    tt_footprint_remove(TT_PART_BUFFER, 0);
    munmap(buffer, MIB);
    finish(trace, folder);
    CHECK(n_noted == (last_node() && tells() ? 1 : 0));
}

int main(void) {
    const struct check checks[] = {
        TEST(pages_of_a_buffer_lie_where_the_kernel_says),
        TEST(pages_of_a_file_are_those_that_this_process_touched),
        TEST(passes_are_asked_ever_more_seldom),
        TEST(on_one_node_nothing_is_asked),
    };
    return RUN_CHECKS(checks);
}
