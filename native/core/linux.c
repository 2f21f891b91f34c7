/* What the tracer asks of Linux, other than page faults (ring.c, wake.c), devices (storage.c) and the parts of memory
   (footprint.c). */
#include "tt_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t tt_thread_number(void) { return (uint32_t) gettid(); }

bool tt_random(void * to, size_t size) { return getrandom(to, size, 0) == (ssize_t) size; }

bool tt_path_of(int fd, char path[TT_PATH]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length          = readlink(link, path, TT_PATH - 1);
    path[length > 0 ? length : 0] = 0;
    return length > 0;
}

int tt_reserve(int fd, off_t at, size_t bytes) { return posix_fallocate(fd, at, (off_t) bytes); }

void tt_unmap(void * address, size_t bytes) { (void) syscall(SYS_munmap, address, bytes); }

long tt_read_at(int fd, void * to, size_t size, off_t at) { return syscall(SYS_pread64, fd, to, size, at); }

static sem_t semaphore;

bool tt_semaphore_open(void) { return sem_init(&semaphore, 0, 0) == 0; }

void tt_semaphore_post(void) { (void) sem_post(&semaphore); }

void tt_semaphore_wait(void) {
    while (sem_wait(&semaphore) != 0) {
    }
}

/* The first line of a file, or that which begins with `key`: what follows `mark` in it. */
static bool line_of(const char * path, const char * key, const char * mark, char text[TT_LINE]) {
    FILE * file  = fopen(path, "r");
    bool   found = false;
    char   line[512];
    while (file && !found && fgets(line, sizeof line, file)) {
        const char * value = strncmp(line, key, strlen(key)) == 0 ? strstr(line, mark) : NULL;
        if (value) {
            line[strcspn(line, "\n")] = 0;
            snprintf(text, TT_LINE, "%s", value + strlen(mark));
            found = true;
        }
    }
    if (file) {
        fclose(file);
    }
    return found;
}

bool tt_program_name(char name[TT_LINE]) { return line_of("/proc/self/comm", "", "", name); }

bool tt_processor_name(char name[TT_LINE]) { return line_of("/proc/cpuinfo", "model name", ": ", name); }

int tt_processors_allowed(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

uint64_t tt_memory_size(void) { return (uint64_t) sysconf(_SC_PHYS_PAGES) * (uint64_t) sysconf(_SC_PAGESIZE); }

bool tt_has_io_uring(void) {
    DIR *                 folder = opendir("/proc/self/fd");
    const struct dirent * entry;
    char                  link[32];
    bool                  found = false;
    while (folder && !found && (entry = readdir(folder)) != NULL) {
        const ssize_t length          = readlinkat(dirfd(folder), entry->d_name, link, sizeof link - 1);
        link[length > 0 ? length : 0] = 0;
        found                         = strcmp(link, "anon_inode:[io_uring]") == 0;
    }
    if (folder) {
        closedir(folder);
    }
    return found;
}

bool tt_counts_reads(void) { return access("/proc/self/io", F_OK) == 0; } /* else the kernel counts 0 */
