/* What the tracer asks of macOS. What only Linux has is not recorded, and the trace says so: page faults, devices, what
   is in the page cache by file, parts of memory. Processor time of threads is unknown there (thread_time.c). This file
   is compiled and linked; it was not run. */
#include "tt_allocated.h"
#include "tt_footprint.h"
#include "tt_mapped.h"
#include "tt_nodes.h"
#include "tt_record.h"
#include "tt_ring.h"
#include "tt_storage.h"
#include "tt_system.h"
#include "tt_wake.h"

#include <errno.h>
#include <fcntl.h>
#include <mach/mach.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sysctl.h>
#include <unistd.h>

uint32_t tt_thread_number(void) {
    uint64_t number = 0;
    pthread_threadid_np(NULL, &number);
    return (uint32_t) number;
}

bool tt_random(void * to, size_t size) { return getentropy(to, size) == 0; }

bool tt_path_of(int fd, char path[TT_PATH]) {
    path[0] = 0;
    return fcntl(fd, F_GETPATH, path) == 0 && path[0];
}

/* Reserves the blocks behind the end of the file, then makes the file longer. */
int tt_reserve(int fd, off_t at, size_t bytes) {
    fstore_t   store    = { .fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE, .fst_length = (off_t) bytes };
    const bool reserved = fcntl(fd, F_PREALLOCATE, &store) == 0 || errno == ENOTSUP; /* not on each file system */
    return reserved && ftruncate(fd, at + (off_t) bytes) == 0 ? 0 : errno;
}

void tt_unmap(void * address, size_t bytes) { (void) munmap(address, bytes); }

long tt_read_at(int fd, void * to, size_t size, off_t at) { return pread(fd, to, size, at); }

static semaphore_t semaphore; /* of Mach: one of POSIX without a name is not implemented there */

bool tt_semaphore_open(void) {
    return semaphore_create(mach_task_self(), &semaphore, SYNC_POLICY_FIFO, 0) == KERN_SUCCESS;
}

void tt_semaphore_post(void) { (void) semaphore_signal(semaphore); }

void tt_semaphore_wait(void) {
    while (semaphore_wait(semaphore) == KERN_ABORTED) {
    }
}

bool tt_program_name(char name[TT_LINE]) { return snprintf(name, TT_LINE, "%s", getprogname()) > 0; }

bool tt_processor_name(char name[TT_LINE]) {
    size_t size = TT_LINE;
    return sysctlbyname("machdep.cpu.brand_string", name, &size, NULL, 0) == 0;
}

int tt_processors_allowed(void) { return 0; } /* a process is not bound to some of them */

uint64_t tt_memory_size(void) {
    uint64_t bytes = 0;
    size_t   size  = sizeof bytes;
    return sysctlbyname("hw.memsize", &bytes, &size, NULL, 0) == 0 ? bytes : 0;
}

bool tt_has_io_uring(void) { return false; }

bool tt_counts_reads(void) { return false; }

/* ---- what Linux alone records ---- */

int      tt_ring_open(struct tt_ring * ring) { return ring->shared = NULL, ENOTSUP; }
void     tt_ring_start(const struct tt_ring * ring) { (void) ring; }
void     tt_ring_stop(const struct tt_ring * ring) { (void) ring; }
void     tt_ring_close(struct tt_ring * ring) { (void) ring; }
bool     tt_ring_half_full(const struct tt_ring * ring) { return (void) ring, false; }
uint64_t tt_ring_head(const struct tt_ring * ring) { return (void) ring, 0; }
bool     tt_ring_next(struct tt_ring * ring, uint64_t head, struct tt_noted * noted) {
    (void) ring, (void) head, (void) noted;
    return false;
}
uint64_t tt_ring_happened(const struct tt_ring * ring) { return (void) ring, 0; }
uint64_t tt_ring_missed(struct tt_ring * ring, uint64_t n_happened) { return (void) ring, (void) n_happened, 0; }

void tt_wake_start(void (*woken)(struct tt_faults * faults)) { (void) woken; }
void tt_wake_stop(void) {}
void tt_wake_for(struct tt_faults * faults, const struct tt_ring * ring) { (void) faults, (void) ring; }
void tt_wake_forget(const struct tt_faults * faults) { (void) faults; }
void tt_wake_block(sigset_t * was) { (void) was; }
void tt_wake_unblock(const sigset_t * was) { (void) was; }

void tt_allocated_write(struct tt_trace * trace) { (void) trace; }
void tt_footprint_open(void) {}
void tt_footprint_add(enum tt_part kind, uint32_t number, const void * address, size_t size) {
    (void) kind, (void) number, (void) address, (void) size;
}
void tt_footprint_remove(enum tt_part kind, uint32_t number) { (void) kind, (void) number; }
void tt_footprint_buffers(void (*visit)(const void * context, uint32_t number, uintptr_t address, size_t size),
                          const void * context) {
    (void) visit, (void) context;
}
void tt_footprint_write(struct tt_trace * trace, enum tt_occasion occasion, uint32_t pass, uint32_t load) {
    static atomic_bool said;
    (void) occasion, (void) pass, (void) load;
    if (!atomic_exchange(&said, true)) {
        tt_info(trace, "footprint.refused", "only Linux says what the memory of a process is made of");
    }
}

void tt_nodes_open(struct tt_trace * trace) { (void) trace; } /* one node */
void tt_nodes_write(struct tt_trace * trace, uint32_t pass, uint32_t load) { (void) trace, (void) pass, (void) load; }

bool tt_storage_map(struct tt_trace * trace, const struct tt_model_file * file) {
    if (!atomic_exchange(&trace->device_refused, true)) {
        tt_info(trace, "device.refused", "only Linux counts what a device does");
        tt_info(trace, "cache.refused", "only Linux says how much of a file is in the page cache");
    }
    return tt_mapped_add(file->address, file->size, file->residency, 0);
}
bool tt_storage_place(const void * address, uint32_t * path, uint64_t * offset) { /* nothing is asked for ahead there */
    (void) address, (void) path, (void) offset;
    return false;
}
bool tt_storage_unmap(const void * address, size_t size) { return tt_mapped_cut(address, size); }
void tt_devices_begin(struct tt_trace * trace, struct tt_devices * begin) { (void) trace, (void) begin; }
void tt_devices_begin_load(struct tt_trace * trace, const char * path, struct tt_devices * begin) {
    (void) trace, (void) path, (void) begin;
}
void tt_devices_end(struct tt_trace * trace, struct tt_devices * begin, uint32_t pass, uint32_t load) {
    (void) trace, (void) begin, (void) pass, (void) load;
}
void tt_cache_write(struct tt_trace * trace, uint32_t pass, uint32_t load) { (void) trace, (void) pass, (void) load; }
