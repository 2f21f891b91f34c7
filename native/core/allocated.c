/* Asks the library that counts allocations, if it is preloaded, and names the calls that asked for blocks. */
#include "tt_allocated.h"
#include "tt_allocations.h"
#include "tt_record.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SITES = 64, TEXT = 2048 };

static allocation_counts counts; /* NULL: nobody counts */

static void look(void) {
    void * found = dlsym(RTLD_DEFAULT, ALLOCATION_COUNTS);
    memcpy(&counts, &found, sizeof counts);
}

/* `name@library`, or `library+0x12` where the library does not export the function. */
static int frame_text(const void * address, char * text, size_t size) {
    Dl_info info = { 0 };
    if (!dladdr((const char *) address - 1, &info) || !info.dli_fname) { /* it returns to behind the call */
        return snprintf(text, size, "?");
    }
    const char * slash   = strrchr(info.dli_fname, '/');
    const char * library = slash ? slash + 1 : info.dli_fname;
    if (info.dli_sname) {
        return snprintf(text, size, "%s@%s", info.dli_sname, library);
    }
    const size_t offset = (size_t) ((const char *) address - (const char *) info.dli_fbase);
    return snprintf(text, size, "%s+0x%zx", library, offset);
}

static uint32_t stack_of(struct tt_trace * trace, const struct allocation_site * site) {
    char   text[TEXT] = "";
    size_t at         = 0;
    for (int i = 0; i < ALLOCATION_FRAMES && site->frames[i] && at < TEXT - 8; i++) {
        if (i) {
            memcpy(text + at, " < ", 4);
            at += 3;
        }
        const int length = frame_text(site->frames[i], text + at, TEXT - at);
        at += length > 0 ? (size_t) length : 0;
    }
    return tt_string(trace, text);
}

void tt_allocated_write(struct tt_trace * trace) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    if (!counts) {
        return;
    }
    static struct allocation_class classes[ALLOCATION_CLASSES]; /* under the lock of footprint.c */
    static struct allocation_site  sites[MOST_SITES];
    struct tt_allocated            head = { 0 };
    static struct {
        struct tt_allocated_class classes[ALLOCATION_CLASSES];
        struct tt_allocated_site  sites[MOST_SITES];
    } rows;
    const size_t n = counts(classes, sites, MOST_SITES, &head.n_lost);
    for (uint32_t i = 0; i < ALLOCATION_CLASSES; i++) {
        if (classes[i].n_live) {
            rows.classes[head.n_classes++] = (struct tt_allocated_class) { .n_live     = classes[i].n_live,
                                                                           .live_bytes = classes[i].live_bytes,
                                                                           .size_class = i };
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (sites[i].n_all) {
            rows.sites[head.n_sites++] = (struct tt_allocated_site) { .n_live     = sites[i].n_live,
                                                                      .live_bytes = sites[i].live_bytes,
                                                                      .n_all      = sites[i].n_all,
                                                                      .stack      = stack_of(trace, &sites[i]) };
        }
    }
    const size_t of_classes = head.n_classes * sizeof *rows.classes, of_sites = head.n_sites * sizeof *rows.sites;
    uint8_t *    at = tt_record_begin(trace, TT_ALLOCATED, sizeof head + of_classes + of_sites, tt_now());
    if (at) {
        memcpy(at, &head, sizeof head);
        memcpy(at + sizeof head, rows.classes, of_classes);
        memcpy(at + sizeof head + of_classes, rows.sites, of_sites);
        tt_record_end(trace);
    }
}
