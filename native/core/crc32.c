/* CRC-32 (IEEE 802.3, reflected, as in zlib), eight bytes at a time. */
#include "tt_crc32.h"

#include <pthread.h>
#include <string.h>

static uint32_t       table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
        }
        table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++) {
        for (int k = 1; k < 8; k++) {
            table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 0xff];
        }
    }
}

/* Not watched by ThreadSanitizer, whose own page faults would fill the ring of a thread that seals a chunk of faults. */
__attribute__((no_sanitize("thread"))) uint32_t tt_crc32(uint32_t crc, const void * data, size_t size) {
    pthread_once(&table_once, make_table);
    const uint8_t * at = data;

    crc = ~crc;
    for (; size >= 8; size -= 8, at += 8) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + 4, 4);
        low ^= crc;
        crc = table[7][low & 0xff] ^ table[6][(low >> 8) & 0xff] ^ table[5][(low >> 16) & 0xff] ^ table[4][low >> 24]
            ^ table[3][high & 0xff] ^ table[2][(high >> 8) & 0xff] ^ table[1][(high >> 16) & 0xff]
            ^ table[0][high >> 24];
    }
    for (; size > 0; size--, at++) {
        crc = (crc >> 8) ^ table[0][(crc ^ *at) & 0xff];
    }
    return ~crc;
}
