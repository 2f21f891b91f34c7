/* Two time stamps for each labelled operation, in a ring of queries; read when a split is known to be done. */
#include "stamps.h"
#include "ggml_passes.h"
#include "ggml_process.h"
#include "ggml_splits.h"
#include "tt_record.h"

#include "tensor_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static _Atomic uint64_t n_lost, n_said; /* of all devices: operations without times; said: in the trace */

enum { OLD = 64 }; /* passes: of one that began so long before, nothing more is to come, though its end was not told */
enum { RING = 1 << 14 }; /* operations between two readings; a token of a large model has some thousand */

struct stamp {
    uint32_t pass, split, label, order;
    bool     ended, read;
};

struct result {
    uint64_t ticks, written; /* written: not 0 when the device has */
};

struct stamps {
    pthread_mutex_t        lock;
    VkDevice               device;
    VkQueryPool            pool;
    struct stamp_functions call;
    uint64_t               mask;
    double                 ns_per_tick;
    bool                   exact;
    uint32_t               first, n; /* of the ring: stamps that are not read, oldest first */
    uint32_t               next_order;
    struct stamp           ring[RING];
    struct result          found[2 * RING]; /* of each query, as the driver writes it */
};

/* A program may make its device before its first call that is recorded; then the trace has not begun. */
static void refuse(const char * why) {
    if (tensor_trace_on) {
        tt_info(tt_process, "vulkan.refused", why);
    }
}

struct stamps * stamps_of(VkDevice device, const struct stamp_functions * functions, uint64_t mask, double ns_per_tick,
                          bool exact) {
    const VkQueryPoolCreateInfo wanted = {
        .sType      = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType  = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = 2 * RING,
    };
    if (!mask || !functions->GetCalibratedTimestampsEXT || !functions->ResetQueryPool) {
        refuse(!mask ? "a queue of the device writes no time stamps"
                     : "the driver does not compare the clock of the device with that of the program");
        return NULL;
    }
    struct stamps * stamps = calloc(1, sizeof *stamps);
    if (!stamps) {
        return NULL;
    }
    *stamps       = (struct stamps) { .device = device, .call = *functions, .mask = mask, .ns_per_tick = ns_per_tick };
    stamps->exact = exact;
    pthread_mutex_init(&stamps->lock, NULL);
    if (functions->CreateQueryPool(device, &wanted, NULL, &stamps->pool) != VK_SUCCESS) {
        refuse("the device has no memory for time stamps");
        free(stamps);
        return NULL;
    }
    functions->ResetQueryPool(device, stamps->pool, 0, 2 * RING);
    return stamps;
}

void stamps_end(struct stamps * stamps) {
    stamps->call.DestroyQueryPool(stamps->device, stamps->pool, NULL);
    pthread_mutex_destroy(&stamps->lock);
    free(stamps);
}

uint64_t stamp_begin(struct stamps * stamps, VkCommandBuffer commands, const char * label) {
    TT_TIMED_HOOK;
    struct stamp stamp  = { 0 };
    uint32_t     number = RING;
    if (!tensor_trace_on || !tt_split_now(&stamp.pass, &stamp.split)) {
        return NOT_STAMPED;
    }
    stamp.label = tt_string(tt_process, label);
    pthread_mutex_lock(&stamps->lock);
    stamp.order = stamps->next_order++;
    if (stamps->n == RING) {
        n_lost++;
    } else {
        number               = (stamps->first + stamps->n++) % RING;
        stamps->ring[number] = stamp;
        stamps->call.ResetQueryPool(stamps->device, stamps->pool, 2 * number, 2);
    }
    pthread_mutex_unlock(&stamps->lock);
    if (number == RING) {
        return NOT_STAMPED;
    }
    stamps->call.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, stamps->pool, 2 * number);
    return (uint64_t) stamp.order << 32 | number;
}

void stamp_end(struct stamps * stamps, VkCommandBuffer commands, uint64_t number) {
    TT_TIMED_HOOK;
    struct stamp * stamp = &stamps->ring[number & UINT32_MAX];
    pthread_mutex_lock(&stamps->lock);
    const bool open = stamp->order == number >> 32 && !stamp->read; /* else its split has ended meanwhile */
    stamp->ended    = open || stamp->ended;
    pthread_mutex_unlock(&stamps->lock);
    if (open) {
        stamps->call.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, stamps->pool,
                                       2 * (uint32_t) number + 1);
    }
}

/* One moment on the device's clock and on the program's. */
static bool compared(const struct stamps * stamps, uint64_t * ticks, uint64_t * ns) {
    const VkCalibratedTimestampInfoEXT clocks[2] = {
        { .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT },
        { .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT },
    };
    uint64_t       moment[2], deviation;
    const VkResult result = stamps->call.GetCalibratedTimestampsEXT(stamps->device, 2, clocks, moment, &deviation);
    *ticks                = moment[0];
    *ns                   = moment[1];
    return result == VK_SUCCESS;
}

static void record(const struct stamps * stamps, const struct stamp * stamp, const struct result found[2],
                   uint64_t ticks, uint64_t ns) {
    uint64_t at[2];
    for (unsigned i = 0; i < 2; i++) { /* stamps lie before the moment; the clock may have begun again since */
        const uint64_t since = (ticks - found[i].ticks) & stamps->mask;
        at[i]                = ns - (uint64_t) ((double) since * stamps->ns_per_tick);
        if (since > stamps->mask / 2 || at[i] > ns) {
            n_lost++;
            return;
        }
    }
    if (at[1] < at[0]) {
        n_lost++;
        return;
    }
    const struct tt_device_op op = {
        .begin_ns = at[0],
        .end_ns   = at[1],
        .pass     = stamp->pass,
        .split    = stamp->split,
        .label    = stamp->label,
        .order    = stamp->order,
        .exact    = stamps->exact,
    };
    tt_record(tt_process, TT_DEVICE_OP, &op, sizeof op, tt_now());
}

/* Ask for all that are not read, by two calls at most: each takes a driver some µs. What it does not know is not written. */
static void fetch(struct stamps * stamps) {
    for (uint32_t i = 0, n; i < stamps->n; i += n) {
        const uint32_t  number = (stamps->first + i) % RING;
        struct result * found  = &stamps->found[2 * number];
        n                      = stamps->n - i < RING - number ? stamps->n - i : RING - number;
        const VkResult result  = stamps->call.GetQueryPoolResults(
            stamps->device, stamps->pool, 2 * number, 2 * n, 2 * n * sizeof *found, found, sizeof *found,
            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
        if (result != VK_SUCCESS && result != VK_NOT_READY) {
            memset(found, 0, 2 * n * sizeof *found);
        }
    }
}

void stamps_read(struct stamps * stamps, uint32_t pass, uint32_t split) {
    uint64_t ticks = 0, ns = 0;
    pthread_mutex_lock(&stamps->lock);
    if (tensor_trace_on && stamps->n) {
        fetch(stamps);
        const bool known = compared(stamps, &ticks, &ns); /* after it: no stamp is later than this moment */
        for (uint32_t i = 0; i < stamps->n; i++) {
            const uint32_t        number = (stamps->first + i) % RING;
            struct stamp *        stamp  = &stamps->ring[number];
            const struct result * found  = &stamps->found[2 * number];
            if (stamp->read) {
                continue;
            }
            if (known && stamp->ended && found[0].written && found[1].written) {
                record(stamps, stamp, found, ticks, ns);
                stamp->read = true;
            } else if ((stamp->pass == pass && stamp->split == split) || (int32_t) (pass - stamp->pass) > OLD) {
                n_lost++;
                stamp->read = true;
            }
        }
        while (stamps->n && stamps->ring[stamps->first].read) {
            stamps->first = (stamps->first + 1) % RING;
            stamps->n--;
        }
    }
    pthread_mutex_unlock(&stamps->lock);
    const uint64_t lost = n_lost;
    if (tensor_trace_on && lost != n_said) {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, n_said = lost);
        tt_info(tt_process, "vulkan.lost", text);
    }
}
