/* Records what is in memory: loads, file mappings, weights, and buffers from allocation to free. */
#include "ggml_memory.h"
#include "ggml_process.h"
#include "tt_footprint.h"
#include "tt_memory.h"
#include "tt_nodes.h"
#include "tt_record.h"
#include "tt_residency.h"
#include "tt_storage.h"
#include "tt_system.h"

#include "tensor_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct live_buffer {
    const void * key; /* its ggml_backend_buffer, or the address of a work buffer */
    uint32_t     number;
    bool         described; /* TT_BUFFER_IS was written */
};

static pthread_mutex_t      lock = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static struct live_buffer * buffers;
static size_t               n_buffers, buffers_size;
static uint32_t             next_buffer, next_load;

static __thread struct tt_devices devices_begin; /* before the load that this thread has begun */
static __thread bool              in_load;

/* ---- loads ---- */

void tensor_trace_load_begin(const char * path) {
    pthread_mutex_lock(&lock);
    const uint32_t load = next_load++;
    pthread_mutex_unlock(&lock);
    tt_footprint_write(tt_process, TT_OCCASION_LOAD, TT_NONE, TT_NONE);
    tt_devices_begin_load(tt_process, path, &devices_begin);
    const struct tt_load record = { .usage = tt_usage_now(), .load = load, .path = tt_string(tt_process, path) };
    if (tt_process->faults) {
        (void) tt_my_writer(); /* from now on the page faults of this thread are recorded */
    }
    in_load = true;
    tt_record(tt_process, TT_LOAD_BEGIN, &record, sizeof record, tt_now());
}

bool tt_in_load(void) { return in_load; }

uint32_t tt_last_load(void) {
    pthread_mutex_lock(&lock);
    const uint32_t load = next_load - 1;
    pthread_mutex_unlock(&lock);
    return load;
}

void tensor_trace_load_end(void) {
    const uint64_t       time   = tt_now();
    const struct tt_load record = { .usage = tt_usage_now(), .load = tt_last_load() };
    in_load                     = false;
    tt_record(tt_process, TT_LOAD_END, &record, sizeof record, time);
    tt_note_io_uring();
    tt_devices_end(tt_process, &devices_begin, TT_NONE, record.load);
    tt_collect_faults();
    if (tt_watch_pages) {
        tt_residency_write(tt_process, TT_NONE, record.load);
    }
    tt_cache_write(tt_process, TT_NONE, record.load);
    tt_memory_write(tt_process, TT_NONE, record.load);
    tt_nodes_write(tt_process, TT_NONE, record.load);
    tt_footprint_write(tt_process, TT_OCCASION_LOAD, TT_NONE, record.load);
}

/* mincore tells which pages of a file are in memory only to those who may write it; for others it reports all pages. */
static bool tells_residency(const char * path, const struct stat * status) {
    if (access(path, W_OK) != 0 && status->st_uid != geteuid()) {
        tt_info(tt_process, "residency.refused", path);
        return false;
    }
    return true;
}

bool tensor_trace_prefault_off(void) {
    const char * choice = getenv("TENSOR_TRACE_PREFAULT");
    const bool   off    = choice && strcmp(choice, "0") == 0;
    tensor_trace_start();
    if (off && tt_process) {
        tt_info(tt_process, "load.prefault", "off");
    }
    return off;
}

void tensor_trace_file_mapped(const void * address, size_t size, int fd) {
    char        path[TT_PATH];
    struct stat status = { 0 };
    (void) tt_path_of(fd, path);
    fstat(fd, &status);
    const struct tt_file_map record = {
        .address    = (uintptr_t) address,
        .size_bytes = size,
        .inode      = status.st_ino,
        .path       = tt_string(tt_process, path),
    };
    tt_record(tt_process, TT_FILE_MAP, &record, sizeof record, tt_now());
    const struct tt_model_file file = {
        .address   = address,
        .size      = size,
        .fd        = fd,
        .status    = &status,
        .path      = record.path,
        .residency = tt_watch_pages && tells_residency(path, &status),
        .cache     = tt_watch_pages, /* up to 0.3 s for a large file: only where that is asked for */
    };
    if (!tt_storage_map(tt_process, &file)) {
        tt_segment_drop(&tt_process->main, 1, 0);
    }
}

void tensor_trace_file_unmapped(const void * address, size_t size) {
    const struct tt_file_map record = { .address = (uintptr_t) address, .size_bytes = size };
    tt_record(tt_process, TT_FILE_UNMAP, &record, sizeof record, tt_now());
    tt_collect_faults(); /* while the mapping is known */
    if (!tt_storage_unmap(address, size)) {
        tt_segment_drop(&tt_process->main, 1, 0);
    }
}

void tensor_trace_weight(const struct ggml_tensor * tensor, uint32_t split_index, size_t offset, bool mapped) {
    const struct tt_weight record = {
        .load        = tt_last_load(),
        .name        = tt_string(tt_process, tensor->name),
        .split_index = split_index,
        .mapped      = mapped,
        .file_offset = offset,
        .size_bytes  = ggml_nbytes(tensor),
        .address     = (uintptr_t) tensor->data,
        .buffer      = tensor->buffer ? tt_buffer_of(tensor->buffer) : TT_NONE,
    };
    tt_record(tt_process, TT_WEIGHT, &record, sizeof record, tt_now());
    tt_collect_faults(); /* where weights are copied the ring would be full before the end of the load */
}

/* ---- buffers ---- */

static struct live_buffer * find_buffer(const void * key) {
    for (size_t i = n_buffers; i-- > 0;) {
        if (buffers[i].key == key) {
            return &buffers[i];
        }
    }
    return NULL;
}

static uint32_t add_buffer(const void * key) {
    pthread_mutex_lock(&lock);
    if (n_buffers == buffers_size) {
        const size_t         size   = buffers_size ? buffers_size * 2 : 64;
        struct live_buffer * larger = realloc(buffers, size * sizeof *larger);
        if (!larger) {
            pthread_mutex_unlock(&lock);
            return TT_NONE;
        }
        buffers      = larger;
        buffers_size = size;
    }
    const uint32_t number = next_buffer++;
    buffers[n_buffers++]  = (struct live_buffer) { .key = key, .number = number };
    pthread_mutex_unlock(&lock);
    return number;
}

static uint32_t remove_buffer(const void * key) {
    uint32_t number = TT_NONE;
    pthread_mutex_lock(&lock);
    struct live_buffer * buffer = find_buffer(key);
    if (buffer) {
        number  = buffer->number;
        *buffer = buffers[--n_buffers];
    }
    pthread_mutex_unlock(&lock);
    return number;
}

static bool is_cpu(ggml_backend_dev_t device) {
    const ggml_backend_reg_t registry = device ? ggml_backend_dev_backend_reg(device) : NULL;
    return !registry || strcmp(ggml_backend_reg_name(registry), "CPU") == 0;
}

/* What the memory of a device has free, and all of it, as its driver says; the last that is written counts. */
static void tell_memory(ggml_backend_dev_t device) {
    char   key[128], text[64];
    size_t free_bytes = 0, total_bytes = 0;
    ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
    const int length = snprintf(key, sizeof key, "device_memory.%s", ggml_backend_dev_name(device));
    if (length > 0 && (size_t) length < sizeof key) {
        snprintf(text, sizeof text, "%zu %zu", free_bytes, total_bytes);
        tt_info(tt_process, key, text);
    }
}

static void describe(uint32_t number, struct ggml_backend_buffer * buffer, enum tt_type type) {
    ggml_backend_buffer_type_t kind   = ggml_backend_buffer_get_type(buffer);
    const size_t               size   = ggml_backend_buffer_get_size(buffer);
    ggml_backend_dev_t         device = kind ? ggml_backend_buft_get_device(kind) : NULL;
    const struct tt_buffer     record = {
        .buffer     = number,
        .usage      = (uint32_t) ggml_backend_buffer_get_usage(buffer),
        .address    = size ? (uintptr_t) ggml_backend_buffer_get_base(buffer) : 0,
        .size_bytes = size,
        .name       = tt_string(tt_process, kind ? ggml_backend_buft_name(kind) : ""),
        .backend    = tt_string(tt_process, device ? ggml_backend_dev_name(device) : ""),
    };
    tt_record(tt_process, type, &record, sizeof record, tt_now());
    if (type == TT_BUFFER_IS && !is_cpu(device)) {
        tell_memory(device);
    }
    if (type == TT_BUFFER_IS && (is_cpu(device) || ggml_backend_buffer_is_host(buffer))) {
        tt_footprint_add(TT_PART_BUFFER, number, (const void *) (uintptr_t) record.address, size);
    }
}

void tensor_trace_buffer_begin(struct ggml_backend_buffer * buffer) {
    const struct tt_buffer record = { .buffer     = add_buffer(buffer),
                                      .size_bytes = ggml_backend_buffer_get_size(buffer) };
    tt_record(tt_process, TT_BUFFER, &record, sizeof record, tt_now());
}

void tensor_trace_buffer_is(struct ggml_backend_buffer * buffer) {
    pthread_mutex_lock(&lock);
    struct live_buffer * live   = find_buffer(buffer);
    const uint32_t       number = live ? live->number : TT_NONE;
    if (live) {
        live->described = true;
    }
    pthread_mutex_unlock(&lock);
    if (number != TT_NONE) {
        describe(number, buffer, TT_BUFFER_IS);
    }
}

void tensor_trace_buffer_end(struct ggml_backend_buffer * buffer) {
    const uint32_t number = buffer ? remove_buffer(buffer) : TT_NONE;
    if (number != TT_NONE) {
        tt_footprint_remove(TT_PART_BUFFER, number);
        describe(number, buffer, TT_BUFFER_END);
    }
}

void tensor_trace_work_begin(const void * address, size_t size) {
    const struct tt_buffer record = {
        .buffer     = add_buffer(address),
        .usage      = 3,
        .address    = (uintptr_t) address,
        .size_bytes = size,
        .name       = tt_string(tt_process, "CPU work"),
        .backend    = tt_string(tt_process, "CPU"),
    };
    tt_record(tt_process, TT_BUFFER, &record, sizeof record, tt_now());
    tt_footprint_add(TT_PART_BUFFER, record.buffer, address, size);
}

void tensor_trace_work_end(const void * address) {
    const struct tt_buffer record = { .buffer = address ? remove_buffer(address) : TT_NONE, .usage = 3 };
    if (record.buffer != TT_NONE) {
        tt_footprint_remove(TT_PART_BUFFER, record.buffer);
        tt_record(tt_process, TT_BUFFER_END, &record, sizeof record, tt_now());
    }
}

uint32_t tt_buffer_of(struct ggml_backend_buffer * buffer) {
    pthread_mutex_lock(&lock);
    const struct live_buffer * live        = find_buffer(buffer);
    const uint32_t             number      = live ? live->number : TT_NONE;
    const bool                 undescribed = live && !live->described;
    pthread_mutex_unlock(&lock);
    if (undescribed) {
        tensor_trace_buffer_is(buffer);
    }
    return number;
}
