/* crc32, hash and map. */
#include "check.h"
#include "tt.h"

#include <stdlib.h>
#include <string.h>

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

static void hash_is_never_zero_and_tells_apart(void) {
    CHECK(tt_hash(0, "", 0) != 0);
    CHECK(tt_hash(0, "ab", 2) != tt_hash(0, "ba", 2));
    CHECK(tt_hash(0, "ab", 2) != tt_hash(1, "ab", 2));
    CHECK(tt_hash(0, "a", 1) != tt_hash(0, "a\0", 2));
    CHECK(tt_hash(0, "12345678abc", 11) == tt_hash(0, "12345678abc", 11));
}

static void map_keeps_what_it_was_given(void) {
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

int main(void) {
    static const struct check checks[] = {
        { "crc32_has_the_known_values", crc32_has_the_known_values },
        { "crc32_goes_on_where_it_stopped", crc32_goes_on_where_it_stopped },
        { "hash_is_never_zero_and_tells_apart", hash_is_never_zero_and_tells_apart },
        { "map_keeps_what_it_was_given", map_keeps_what_it_was_given },
    };
    return RUN_CHECKS(checks);
}
