/* Linked into a test, it makes a machine of pages of 64 KiB of this one: what the C library says, what may be mapped. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LARGE = 65536 };

static size_t whole(size_t bytes) { return (bytes + LARGE - 1) / LARGE * LARGE; }

long sysconf(int name) {
    static long (*libc)(int);
    if (name == _SC_PAGESIZE) {
        return LARGE;
    }
    if (!libc) {
        *(void **) &libc = dlsym(RTLD_NEXT, "sysconf");
    }
    return libc(name);
}

/* As a kernel with such pages: a place in a file that is inside of a page is refused, and a mapping begins with one. */
void * mmap(void * address, size_t bytes, int prot, int flags, int fd, off_t at) {
    if (at % LARGE != 0) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    if (!(flags & MAP_FIXED)) {
        const long room =
            syscall(SYS_mmap, NULL, whole(bytes) + LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, (off_t) 0);
        if (room == -1) {
            return MAP_FAILED;
        }
        address = (void *) whole((uintptr_t) room); /* what is left over stays reserved */
    }
    return (void *) syscall(SYS_mmap, address, bytes, prot, flags | MAP_FIXED, fd, at);
}

/* A large page is in memory where one of its small pages is. */
int mincore(void * address, size_t bytes, unsigned char * pages) {
    const size_t    small = (bytes + 4095) / 4096, each = LARGE / 4096;
    unsigned char * real = calloc(small, 1);
    const int       rc   = real ? (int) syscall(SYS_mincore, address, bytes, real) : -1;
    for (size_t i = 0; rc == 0 && i < whole(bytes) / LARGE; i++) {
        pages[i] = 0;
        for (size_t j = i * each; j < (i + 1) * each && j < small; j++) {
            pages[i] |= real[j] & 1;
        }
    }
    free(real);
    return rc;
}
