/* A hash map with open addressing and linear probing, at most half full; and the hash function. */
#include "tt_map.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct tt_map * map, uint64_t key) {
    size_t slot = (size_t) (key * 0x9e3779b97f4a7c15u) & (map->size - 1);
    while (map->keys[slot] != 0 && map->keys[slot] != key) {
        slot = (slot + 1) & (map->size - 1);
    }
    return slot;
}

static bool grow(struct tt_map * map) {
    struct tt_map larger = { .size = map->size ? map->size * 2 : 256 };

    larger.keys   = calloc(larger.size, sizeof *larger.keys);
    larger.values = calloc(larger.size, sizeof *larger.values);
    if (!larger.keys || !larger.values) {
        tt_map_free(&larger);
        return false;
    }
    for (size_t i = 0; i < map->size; i++) {
        if (map->keys[i]) {
            const size_t slot   = slot_of(&larger, map->keys[i]);
            larger.keys[slot]   = map->keys[i];
            larger.values[slot] = map->values[i];
            larger.used++;
        }
    }
    tt_map_free(map);
    *map = larger;
    return true;
}

bool tt_map_put(struct tt_map * map, uint64_t key, uint32_t value) {
    if (map->used * 2 >= map->size && !grow(map)) {
        return false;
    }
    const size_t slot = slot_of(map, key);
    map->used += map->keys[slot] == 0;
    map->keys[slot]   = key;
    map->values[slot] = value;
    return true;
}

bool tt_map_get(const struct tt_map * map, uint64_t key, uint32_t * value) {
    if (map->size == 0) {
        return false;
    }
    const size_t slot = slot_of(map, key);

    *value = map->values[slot];
    return map->keys[slot] != 0;
}

void tt_map_clear(struct tt_map * map) {
    if (map->size) {
        memset(map->keys, 0, map->size * sizeof *map->keys);
    }
    map->used = 0;
}

void tt_map_free(struct tt_map * map) {
    free(map->keys);
    free(map->values);
    *map = (struct tt_map) { 0 };
}

uint64_t tt_hash(uint64_t seed, const void * data, size_t size) {
    const uint8_t * at   = data;
    uint64_t        hash = seed ^ (size * 0x9e3779b97f4a7c15u);
    for (; size > 0;) {
        uint64_t     word = 0;
        const size_t step = size < 8 ? size : 8;
        memcpy(&word, at, step);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
        at += step;
        size -= step;
    }
    hash = (hash ^ (hash >> 29)) * 0xc4ceb9fe1a85ec53u;
    hash ^= hash >> 32;
    return hash ? hash : 1;
}
