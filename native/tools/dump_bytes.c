/* Reads files, takes bytes, reports errors, prints text and numbers. */
#include "dump.h"

#include <errno.h>
#include <stdarg.h>

const char * file_name;

void stop(size_t at, const char * format, ...) {
    va_list list;
    fflush(stdout);
    fprintf(stderr, "tt_dump: %s: byte %zu: ", file_name, at);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(2);
}

void * resized(void * old, size_t n, size_t each) {
    void * memory = n > SIZE_MAX / each ? NULL : realloc(old, n * each);
    if (!memory) {
        fprintf(stderr, "tt_dump: out of memory\n");
        exit(2);
    }
    return memory;
}

const void * take(struct bytes * from, size_t size) {
    if (size > from->end - from->at) {
        stop(from->at, "%zu bytes are wanted, %zu are left", size, from->end - from->at);
    }
    from->at += size;
    return from->data + from->at - size;
}

uint32_t crc32_of(const uint8_t * data, size_t size) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

struct bytes read_file(const char * path) {
    struct bytes file   = { NULL, 0, 0 };
    FILE *       stream = fopen(path, "rb");
    size_t       got, size = 0;
    uint8_t *    data = NULL;
    if (!stream) {
        stop(0, "%s", strerror(errno));
    }
    do {
        data = resized(data, size + (1 << 20), 1);
        got  = fread(data + size, 1, 1 << 20, stream);
        size += got;
    } while (got > 0);
    if (ferror(stream)) {
        stop(size, "cannot be read");
    }
    fclose(stream);
    file.data = data; /* never freed: strings and nodes point into it */
    file.end  = size;
    return file;
}

void print_text(const uint8_t * text, size_t size) {
    putchar('"');
    for (size_t i = 0; i < size; i++) {
        if (text[i] < 32 || text[i] == 127 || text[i] == '"' || text[i] == '\\') {
            printf("\\x%02x", text[i]);
        } else {
            putchar(text[i]);
        }
    }
    putchar('"');
}

void print_number(const char * label, uint32_t number) {
    printf(number == TT_NONE ? " %s=-" : " %s=%" PRIu32, label, number);
}

const char * name_of(const char * const * names, size_t n, uint32_t number, const char * what, size_t at) {
    if (number >= n || !names[number]) {
        stop(at, "%s %" PRIu32 " is unknown", what, number);
    }
    return names[number];
}
