/* The checksum of headers and chunks. */
#ifndef TT_CRC32_H
#define TT_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t tt_crc32(uint32_t crc, const void * data, size_t size);

#endif
