/* A hash map from a 64-bit key (never 0) to a 32-bit number. It grows, and single keys cannot be removed. */
#ifndef TT_MAP_H
#define TT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tt_map {
    uint64_t * keys;
    uint32_t * values;
    size_t     size, used;
};
bool     tt_map_put(struct tt_map * map, uint64_t key, uint32_t value); /* false: out of memory */
bool     tt_map_get(const struct tt_map * map, uint64_t key, uint32_t * value);
void     tt_map_clear(struct tt_map * map);
void     tt_map_free(struct tt_map * map);
uint64_t tt_hash(uint64_t seed, const void * data, size_t size); /* never 0 */

#endif
