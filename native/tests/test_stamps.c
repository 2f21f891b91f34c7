/* Time stamps of a device's operations, with a device that is made up: when they are read, and what is lost. */
#include "check.h"
#include "folder.h"
#include "found.h"
#include "ggml_process.h"
#include "ggml_splits.h"
#include "tt_record.h"
#include "tt_trace.h"

#include "tensor_trace.h"

#include "stamps.h"

/* ---- the split that is evaluated, and the trace ---- */

struct tt_trace * tt_process;
__thread uint64_t tt_hook_ticks;
bool              tensor_trace_on = true;
static bool       in_split        = true;
static uint32_t   now_in = 2, now_pass = 7;
bool              tt_split_now(uint32_t * pass, uint32_t * split) {
    *pass  = now_pass;
    *split = now_in;
    return in_split;
}

/* ---- the device: its clock ticks every 2 ns, has 36 bits, and began before the program's ---- */

enum { MOST = 1 << 15, BITS = 36 };
static uint64_t stamped[MOST], host_ns = 1u << 30;
static bool     written[MOST];
static uint64_t ticks_of(uint64_t ns) { return (ns / 2 + 12345) & ((1ull << BITS) - 1); }

static VkResult make_pool(VkDevice device, const VkQueryPoolCreateInfo * wanted, const VkAllocationCallbacks * memory,
                          VkQueryPool * pool) {
    (void) device, (void) memory;
    *pool = (VkQueryPool) 1;
    return wanted->queryCount <= MOST ? VK_SUCCESS : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}
static VkResult make_none(VkDevice device, const VkQueryPoolCreateInfo * wanted, const VkAllocationCallbacks * memory,
                          VkQueryPool * pool) {
    (void) device, (void) wanted, (void) memory, (void) pool;
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}
static void end_pool(VkDevice device, VkQueryPool pool, const VkAllocationCallbacks * memory) {
    (void) device, (void) pool, (void) memory;
}
static void reset(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t n) {
    (void) device, (void) pool;
    memset(written + first, 0, n);
}
/* A command that has been recorded runs at once, unless the device is lost. */
static bool lost;
static void stamp(VkCommandBuffer commands, VkPipelineStageFlagBits stage, VkQueryPool pool, uint32_t query) {
    (void) commands, (void) stage, (void) pool;
    stamped[query] = ticks_of(host_ns += 1000);
    written[query] = !lost;
}
static VkResult results(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t n, size_t size, void * data,
                        VkDeviceSize stride, VkQueryResultFlags flags) {
    uint64_t * out = data;
    (void) device, (void) pool;
    if (lost || stride != 16 || size != n * stride || flags & VK_QUERY_RESULT_WAIT_BIT) {
        return VK_ERROR_DEVICE_LOST;
    }
    for (uint32_t i = 0; i < n; i++, out += 2) {
        out[0] = written[first + i] ? stamped[first + i] : 0;
        out[1] = written[first + i];
    }
    return VK_SUCCESS;
}
static VkResult compare(VkDevice device, uint32_t n, const VkCalibratedTimestampInfoEXT * clocks, uint64_t * moment,
                        uint64_t * deviation) {
    (void) device;
    host_ns += 500;
    for (uint32_t i = 0; i < n; i++) {
        moment[i] = clocks[i].timeDomain == VK_TIME_DOMAIN_DEVICE_EXT ? ticks_of(host_ns) : host_ns;
    }
    *deviation = 0;
    return VK_SUCCESS;
}

static const struct stamp_functions device = { make_pool, end_pool, reset, results, stamp, compare };
static const uint64_t               mask   = (1ull << BITS) - 1;

/* ---- what was written ---- */

static struct found found_after(void (*run)(void)) {
    char         folder[512], error[256];
    struct found found = { 0 };
    folder_make(folder);
    lost       = false;
    in_split   = true;
    tt_process = tt_open(folder, UINT64_MAX, error);
    if (tt_process) {
        run();
        tt_close(tt_process);
        struct file main = file_of(folder, 0);
        chunks_of(&main, take_records, &found);
        free(main.data);
    }
    folder_remove(folder);
    return found;
}

static struct stamps * stamps_of_device(void) { return stamps_of(NULL, &device, mask, 2.0, true); }

/* ---- tests ---- */

static void two_operations(void) {
    struct stamps * stamps = stamps_of_device();
    const uint64_t  first  = stamp_begin(stamps, NULL, "MUL_MAT a");
    stamp_end(stamps, NULL, first);
    const uint64_t second = stamp_begin(stamps, NULL, "ADD b");
    stamps_read(stamps, now_pass, 9); /* of another split: the second has not ended */
    stamp_end(stamps, NULL, second);
    in_split = false;
    stamp_begin(stamps, NULL, "outside of splits");
    stamps_read(stamps, now_pass, now_in);
    stamps_read(stamps, now_pass, now_in); /* there is nothing more */
    stamps_end(stamps);
}

static void each_operation_once_on_the_clock_of_the_program(void) {
    const uint64_t     before = host_ns;
    const struct found found  = found_after(two_operations);
    CHECK(found.n_ops == 2 && found.ops[0].pass == 7 && found.ops[0].split == 2 && found.ops[0].exact == 1);
    CHECK(found.ops[0].order < found.ops[1].order);
    CHECK(found.ops[0].begin_ns - before <= 1002 && found.ops[0].begin_ns + 998 >= before);
    CHECK(found.ops[0].end_ns - found.ops[0].begin_ns >= 998 && found.ops[0].end_ns - found.ops[0].begin_ns <= 1002);
    CHECK(found.ops[1].begin_ns >= found.ops[0].end_ns);
    CHECK(strstr(found.strings, "MUL_MAT a|") && strstr(found.strings, "ADD b|"));
    CHECK(!strstr(found.strings, "outside"));
}

static void a_clock_passes_its_end(void) {
    struct stamps * stamps = stamps_of_device();
    host_ns                = (((1ull << BITS) - 12345 - 400) * 2); /* 800 ns before the clock is at 0 again */
    const uint64_t number  = stamp_begin(stamps, NULL, "ADD c");
    stamp_end(stamps, NULL, number);
    stamps_read(stamps, now_pass, now_in);
    stamps_end(stamps);
}

static void a_clock_that_begins_again(void) {
    const struct found found = found_after(a_clock_passes_its_end);
    CHECK(found.n_ops == 1 && found.ops[0].end_ns - found.ops[0].begin_ns <= 1002);
    CHECK(found.ops[0].end_ns <= host_ns && found.ops[0].end_ns + 1000 >= host_ns);
}

static void more_than_there_is_room_for(void) {
    struct stamps * stamps = stamps_of_device();
    for (unsigned i = 0; i < MOST / 2 + 5; i++) {
        const uint64_t number = stamp_begin(stamps, NULL, "ADD d");
        if (number != NOT_STAMPED) {
            stamp_end(stamps, NULL, number);
        }
    }
    stamps_read(stamps, now_pass, now_in);
    stamps_end(stamps);
}

static void operations_without_room_are_counted(void) {
    const struct found found = found_after(more_than_there_is_room_for);
    CHECK(found.n_ops == MOST / 2);
    CHECK(strstr(found.strings, "vulkan.lost|5|"));
}

/* Of two splits that go on at the end, one was told to be done, and the other one, of a pass that failed, never is. */
static void two_are_never_run(void) {
    struct stamps * stamps = stamps_of_device();
    stamp_begin(stamps, NULL, "ADD never");
    stamps_read(stamps, now_pass, now_in);
    const uint64_t late = stamp_begin(stamps, NULL, "ADD not told");
    for (now_pass = 8; now_pass < 8 + MOST / 100; now_pass++) {
        for (unsigned i = 0; i < 100; i++) {
            stamp_end(stamps, NULL, stamp_begin(stamps, NULL, "ADD f"));
        }
        stamps_read(stamps, now_pass, now_in);
    }
    stamp_end(stamps, NULL, late); /* its place has been another's since */
    now_pass = 7;
    stamps_end(stamps);
}

static void what_is_never_run_takes_no_room_for_ever(void) {
    const struct found found = found_after(two_are_never_run);
    CHECK(found.n_ops == MOST / 100 * 100);
    CHECK(strstr(found.strings, "vulkan.lost|6|") && strstr(found.strings, "|7|")); /* after 5 */
}

static void a_device_is_lost(void) {
    struct stamps * stamps = stamps_of_device();
    for (unsigned i = 0; i < MOST; i++) { /* each place has been used */
        stamp_end(stamps, NULL, stamp_begin(stamps, NULL, "ADD e"));
        stamps_read(stamps, now_pass, now_in);
    }
    lost = true;
    stamp_end(stamps, NULL, stamp_begin(stamps, NULL, "ADD g"));
    stamps_read(stamps, now_pass, now_in);
    stamps_end(stamps);
}

static void a_lost_device_has_no_times(void) { CHECK(found_after(a_device_is_lost).n_ops == MOST); }

static void devices_without_stamps(void) {
    struct stamp_functions other = device;
    stamps_of(NULL, &device, 0, 1.0, true);
    other.GetCalibratedTimestampsEXT = NULL;
    stamps_of(NULL, &other, mask, 1.0, true);
    other                 = device;
    other.CreateQueryPool = make_none;
    stamps_of(NULL, &other, mask, 1.0, true);
}

static void why_a_device_is_not_stamped(void) {
    const struct found found = found_after(devices_without_stamps);
    CHECK(strstr(found.strings, "writes no time stamps|") && strstr(found.strings, "does not compare the clock"));
    CHECK(strstr(found.strings, "no memory for time stamps|"));
}

int main(void) {
    const struct check checks[] = {
        TEST(each_operation_once_on_the_clock_of_the_program),
        TEST(a_clock_that_begins_again),
        TEST(operations_without_room_are_counted),
        TEST(what_is_never_run_takes_no_room_for_ever),
        TEST(a_lost_device_has_no_times),
        TEST(why_a_device_is_not_stamped),
    };
    return RUN_CHECKS(checks);
}
