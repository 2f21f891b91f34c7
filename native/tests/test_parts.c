/* Tests of crc32, hash, map and window, and of what the system is asked. */
#include "check.h"
#include "tt_crc32.h"
#include "tt_map.h"
#include "tt_system.h"
#include "tt_window.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void crc32_has_the_known_values(void) {
    const uint8_t zeros[32] = { 0 };
    CHECK(tt_crc32(0, "", 0) == 0);
    CHECK(tt_crc32(0, "a", 1) == 0xe8b7be43u);
    CHECK(tt_crc32(0, "123456789", 9) == 0xcbf43926u); /* the check value of CRC-32/ISO-HDLC */
    CHECK(tt_crc32(0, "The quick brown fox jumps over the lazy dog", 43) == 0x414fa339u);
    CHECK(tt_crc32(0, zeros, sizeof zeros) == 0x190a55adu);
}

static void crc32_goes_on_where_it_stopped(void) {
    uint8_t data[257];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t) (i * 31 + 7);
    }
    for (size_t cut = 0; cut <= sizeof data; cut++) {
        CHECK(tt_crc32(tt_crc32(0, data, cut), data + cut, sizeof data - cut) == tt_crc32(0, data, sizeof data));
    }
}

static void hash_is_never_zero_and_differs_by_input(void) {
    CHECK(tt_hash(0, "", 0) != 0);
    CHECK(tt_hash(0, "ab", 2) != tt_hash(0, "ba", 2));
    CHECK(tt_hash(0, "ab", 2) != tt_hash(1, "ab", 2));
    CHECK(tt_hash(0, "a", 1) != tt_hash(0, "a\0", 2));
    CHECK(tt_hash(0, "12345678abc", 11) == tt_hash(0, "12345678abc", 11));
}

static void map_returns_what_was_put(void) {
    enum { N = 5000 };
    struct tt_map map = { 0 };
    uint32_t      value;
    CHECK(!tt_map_get(&map, 1, &value));
    for (uint32_t i = 1; i <= N; i++) {
        CHECK(tt_map_put(&map, (uint64_t) i << 40, i));
    }
    CHECK(map.used == N && map.size >= 2 * N);
    for (uint32_t i = 1; i <= N; i++) {
        CHECK(tt_map_get(&map, (uint64_t) i << 40, &value) && value == i);
    }
    CHECK(!tt_map_get(&map, 7, &value));
    CHECK(tt_map_put(&map, (uint64_t) 1 << 40, 77) && map.used == N);
    CHECK(tt_map_get(&map, (uint64_t) 1 << 40, &value) && value == 77);
    tt_map_clear(&map);
    CHECK(map.used == 0 && !tt_map_get(&map, (uint64_t) 1 << 40, &value));
    tt_map_free(&map);
    CHECK(map.keys == NULL && map.size == 0);
}

/* Reads a window from the three variables; NULL: not set. */
static bool read_window(const char * after, const char * length, const char * passes, struct tt_window * window) {
    const struct {
        const char *name, *value;
    } variables[] = {
        { "TENSOR_TRACE_AFTER", after },
        { "TENSOR_TRACE_FOR", length },
        { "TENSOR_TRACE_PASSES", passes },
    };
    char error[256] = "";
    for (size_t i = 0; i < 3; i++) {
        variables[i].value ? setenv(variables[i].name, variables[i].value, 1) : unsetenv(variables[i].name);
    }
    const bool valid = tt_window_read(window, 1000000000u, error);
    for (size_t i = 0; i < 3; i++) {
        unsetenv(variables[i].name);
    }
    return valid && !*error;
}

static void a_window_holds_the_requested_passes(void) {
    const uint64_t   second = 1000000000u;
    struct tt_window window;
    CHECK(read_window(NULL, NULL, NULL, &window) && tt_window_holds(&window, second, 0, 0));
    CHECK(tt_window_holds(&window, UINT64_MAX - 1, UINT32_MAX, UINT32_MAX));
    CHECK(read_window("1.5", "2", "", &window)); /* from 2.5 s to 4.5 s of this clock */
    CHECK(!tt_window_holds(&window, 5 * second / 2 - 1, 0, 0) && tt_window_holds(&window, 5 * second / 2, 0, 0));
    CHECK(tt_window_holds(&window, 9 * second / 2 - 1, 0, 0) && !tt_window_holds(&window, 9 * second / 2, 0, 0));
    CHECK(read_window(NULL, NULL, "3", &window) && tt_window_holds(&window, second, 99, 2)
          && !tt_window_holds(&window, second, 99, 3));
    CHECK(read_window(NULL, NULL, "0", &window) && !tt_window_holds(&window, second, 0, 0));
    CHECK(read_window(NULL, NULL, "5-7", &window) && !tt_window_holds(&window, second, 4, 0)
          && tt_window_holds(&window, second, 5, 0));
    CHECK(tt_window_holds(&window, second, 7, 2) && !tt_window_holds(&window, second, 8, 3));
}

static void a_window_that_makes_no_sense_is_an_error(void) {
    static const char * const wrong_passes[]  = { "-1", "+3", "3-", "7-5", "x", "1-2-3", "1 2", "-" };
    static const char * const wrong_seconds[] = { "-1", "nan", "inf", "1e30", "2s", "1,5" };
    struct tt_window          window;
    for (size_t i = 0; i < sizeof wrong_passes / sizeof *wrong_passes; i++) {
        CHECK(!read_window(NULL, NULL, wrong_passes[i], &window));
    }
    for (size_t i = 0; i < sizeof wrong_seconds / sizeof *wrong_seconds; i++) {
        CHECK(!read_window(wrong_seconds[i], NULL, NULL, &window)
              && !read_window(NULL, wrong_seconds[i], NULL, &window));
    }
}

/* Where the kernel lets a process have one. */
static void a_ring_of_io_uring_is_seen(void) {
    uint8_t parameters[120] = { 0 }; /* struct io_uring_params */
    CHECK(!tt_has_io_uring());
    const int ring = (int) syscall(SYS_io_uring_setup, 4, parameters);
    if (ring >= 0) {
        CHECK(tt_has_io_uring());
        close(ring);
        CHECK(!tt_has_io_uring());
    }
}

int main(void) {
    static const struct check checks[] = {
        TEST(crc32_has_the_known_values),
        TEST(crc32_goes_on_where_it_stopped),
        TEST(hash_is_never_zero_and_differs_by_input),
        TEST(map_returns_what_was_put),
        TEST(a_window_holds_the_requested_passes),
        TEST(a_window_that_makes_no_sense_is_an_error),
        TEST(a_ring_of_io_uring_is_seen),
    };
    return RUN_CHECKS(checks);
}
