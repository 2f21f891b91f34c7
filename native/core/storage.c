/*
 * The devices that hold the model files, and how much of these files is in memory. Both are read just before a load or
 * pass begins or just after it has ended, never during it:
 *
 *     /sys/dev/block/MAJOR:MINOR/stat   what a device has done since it was there, for all programs
 *     cachestat(2), since Linux 6.5     how many pages of a file are in memory, and how many were evicted
 *
 * A device stays open once it was found. A file stays open while a part of it is mapped.
 */
#include "tt_storage.h"
#include "tt_mapped.h"
#include "tt_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { CACHESTAT = 451, REASON = 160 };

struct device {
    dev_t       number;
    int         fd; /* of its counters */
    char        name[64];
    atomic_uint n_files; /* that are mapped */
};
struct file {
    uint32_t number; /* from 1, never reused */
    int      device; /* place among the devices; -1: none */
    int      fd;     /* a duplicate of the program's; -1: cachestat is not called for it */
    uint32_t path;   /* string */
    dev_t    on;
    ino_t    inode;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the files, and adding a device */
static struct device   devices[TT_MOST_DEVICES]; /* once n_devices counts a device, only its n_files changes */
static atomic_uint     n_devices, n_cached; /* n_cached: files with an fd */
static struct file     files[TT_MOST_MAPPED];
static size_t          n_files;
static uint32_t        last_number;

static void refuse(struct tt_trace * trace, atomic_bool * refused, const char * key, const char * reason) {
    if (*reason && !atomic_exchange(refused, true)) {
        tt_info(trace, key, reason);
    }
}

/* ---- devices ---- */

/* Opens a file of the device's folder in /sys. Returns -1 and sets errno when there is none. */
static int open_of_device(dev_t number, const char * name) {
    char path[128];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s", major(number), minor(number), name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Whether the counting of requests is switched off. For a partition the switch lies one folder higher. */
static bool counts_nothing(dev_t number) {
    char text = '1';
    int  fd   = open_of_device(number, "queue/iostats");
    fd        = fd < 0 ? open_of_device(number, "../queue/iostats") : fd;
    if (fd >= 0) {
        (void) !read(fd, &text, 1);
        close(fd);
    }
    return text == '0';
}

static void name_of(dev_t number, char name[64]) {
    char path[64], link[512];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(number), minor(number));
    const ssize_t n     = readlink(path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = 0;
    const char * slash  = strrchr(link, '/');
    if (slash && slash[1]) {
        snprintf(name, 64, "%.63s", slash + 1);
    } else {
        snprintf(name, 64, "%u:%u", major(number), minor(number));
    }
}

/* Call it under the lock. Returns the place of the device, or -1 and the reason why its counters cannot be read. */
static int device_of(dev_t number, char reason[REASON]) {
    const unsigned n = atomic_load(&n_devices);
    for (unsigned i = 0; i < n; i++) {
        if (devices[i].number == number) {
            return (int) i;
        }
    }
    if (major(number) == 0) {
        snprintf(reason, REASON, "the file system of the model has no block device of its own (it is device 0:%u)",
                 minor(number));
    } else if (n == TT_MOST_DEVICES) {
        snprintf(reason, REASON, "the models lie on more than %d devices", TT_MOST_DEVICES);
    } else if (counts_nothing(number)) {
        snprintf(reason, REASON, "the counting of requests is switched off for device %u:%u (queue/iostats is 0)",
                 major(number), minor(number));
    } else if ((devices[n].fd = open_of_device(number, "stat")) < 0) {
        snprintf(reason, REASON, "/sys/dev/block/%u:%u/stat: %s", major(number), minor(number), strerror(errno));
    } else {
        devices[n].number = number;
        name_of(number, devices[n].name);
        atomic_store(&n_devices, n + 1);
        return (int) n;
    }
    return -1;
}

static bool read_counts(const struct device * device, struct tt_device_counts * counts) {
    char               text[512];
    unsigned long long n[11];
    const ssize_t      size   = pread(device->fd, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = 0;
    if (sscanf(text, "%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5],
               &n[6], &n[7], &n[8], &n[9], &n[10])
        != 11) {
        return false;
    }
    *counts = (struct tt_device_counts) {
        .n_reads         = n[0],
        .read_sectors    = n[2],
        .read_ms         = n[3],
        .n_writes        = n[4],
        .written_sectors = n[6],
        .in_flight       = n[8],
        .busy_ms         = n[9],
    };
    return true;
}

/* Thread-local memory is scarce for a library that a program opens late. */
static_assert(sizeof(struct tt_devices) <= 16, "it is thread-local");

/* What was read after the pass before is used again if it is that new: reading takes as long as a hundred op events. */
enum { NEW_NS = 1000000 };

static void read_begin(struct tt_trace * trace, struct tt_devices * begin, int place) {
    if (begin->of && begin->of[place].ns && tt_now() - begin->of[place].ns < NEW_NS) {
        begin->known |= 1u << place;
    } else if (!begin->of && (begin->of = calloc(TT_MOST_DEVICES, sizeof *begin->of)) == NULL) {
        refuse(trace, &trace->device_refused, "device.refused", "out of memory");
    } else if (!read_counts(&devices[place], &begin->of[place].counts)) {
        refuse(trace, &trace->device_refused, "device.refused", "the device's counters cannot be read");
    } else {
        begin->of[place].ns = tt_now();
        begin->known |= 1u << place;
    }
}

void tt_devices_begin(struct tt_trace * trace, struct tt_devices * begin) {
    const int n  = (int) atomic_load(&n_devices);
    begin->known = 0;
    for (int i = 0; i < n; i++) {
        if (atomic_load(&devices[i].n_files) > 0) {
            read_begin(trace, begin, i);
        }
    }
}

void tt_devices_begin_load(struct tt_trace * trace, const char * path, struct tt_devices * begin) {
    char        reason[REASON] = "";
    struct stat status;
    int         place = -1;
    if (path && stat(path, &status) == 0) {
        pthread_mutex_lock(&lock);
        place = device_of(status.st_dev, reason);
        pthread_mutex_unlock(&lock);
        refuse(trace, &trace->device_refused, "device.refused", reason);
    }
    tt_devices_begin(trace, begin);
    if (place >= 0 && !(begin->known & 1u << place)) {
        read_begin(trace, begin, place);
    }
}

void tt_devices_end(struct tt_trace * trace, struct tt_devices * begin, uint32_t pass, uint32_t load) {
    for (int i = 0; i < TT_MOST_DEVICES; i++) {
        if (!(begin->known & 1u << i)) {
            continue;
        }
        struct tt_device_begin * of     = &begin->of[i];
        struct tt_device         record = { .begin = of->counts, .begin_ns = of->ns, .pass = pass, .load = load };
        of->ns                          = 0;
        if (!read_counts(&devices[i], &record.end)) {
            refuse(trace, &trace->device_refused, "device.refused", "the device's counters cannot be read");
            continue;
        }
        *of           = (struct tt_device_begin) { .counts = record.end, .ns = tt_now() };
        record.device = tt_string(trace, devices[i].name);
        tt_record(trace, TT_DEVICE, &record, sizeof record, of->ns);
    }
}

/* ---- files ---- */

/* Call it under the lock. Returns the number of the file, known or new; 0: there is no room. */
static uint32_t number_of(const struct tt_model_file * model, int place) {
    for (size_t i = 0; i < n_files; i++) {
        if (files[i].on == model->status->st_dev && files[i].inode == model->status->st_ino) {
            return files[i].number;
        }
    }
    if (n_files == TT_MOST_MAPPED) {
        return 0;
    }
    files[n_files++] = (struct file) {
        .number = ++last_number,
        .device = place,
        .fd     = -1,
        .path   = model->path,
        .on     = model->status->st_dev,
        .inode  = model->status->st_ino,
    };
    if (place >= 0) {
        atomic_fetch_add(&devices[place].n_files, 1);
    }
    return last_number;
}

/* Whether fd still is our duplicate: a program may close what it did not open, and open other files under the number. */
static bool is_ours(const struct file * file) {
    struct stat status;
    return fstat(file->fd, &status) == 0 && status.st_dev == file->on && status.st_ino == file->inode;
}

static void close_file(struct file * file) {
    if (file->fd >= 0) {
        if (is_ours(file)) {
            close(file->fd);
        }
        file->fd = -1;
        atomic_fetch_sub(&n_cached, 1);
    }
}

/* Call it under the lock: forgets the files of which nothing is mapped any more. */
static void forget_files(void) {
    struct tt_mapped mapped[TT_MOST_MAPPED];
    const size_t     n = tt_mapped_copy(mapped);
    for (size_t i = n_files; i-- > 0;) {
        bool used = false;
        for (size_t j = 0; j < n; j++) {
            used = used || mapped[j].file == files[i].number;
        }
        if (!used) {
            close_file(&files[i]);
            if (files[i].device >= 0) {
                atomic_fetch_sub(&devices[files[i].device].n_files, 1);
            }
            files[i] = files[--n_files];
        }
    }
}

/* Call it under the lock: keeps the file open for cachestat. Returns 0, or an errno. */
static int keep_open(uint32_t number, int fd) {
    for (size_t i = 0; i < n_files; i++) {
        if (files[i].number == number && files[i].fd < 0) {
            files[i].fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
            if (files[i].fd < 0) {
                return errno;
            }
            atomic_fetch_add(&n_cached, 1);
        }
    }
    return 0;
}

bool tt_storage_map(struct tt_trace * trace, const struct tt_model_file * file) {
    char reason[REASON] = "";
    pthread_mutex_lock(&lock);
    const int      place   = device_of(file->status->st_dev, reason);
    const uint32_t number  = number_of(file, place);
    const bool     added   = tt_mapped_add(file->address, file->size, file->residency, number);
    const int      failure = file->cache ? keep_open(number, file->fd) : 0;
    if (!added) {
        forget_files();
    }
    pthread_mutex_unlock(&lock);
    refuse(trace, &trace->device_refused, "device.refused", reason);
    refuse(trace, &trace->cache_refused, "cache.refused", failure ? strerror(failure) : "");
    return added;
}

bool tt_storage_place(const void * address, uint32_t * path, uint64_t * offset) {
    struct tt_mapped mapped[TT_MOST_MAPPED];
    const size_t     n     = tt_mapped_copy(mapped);
    bool             found = false;
    for (size_t i = 0; i < n && !found; i++) {
        if ((uintptr_t) address - mapped[i].address < mapped[i].size) {
            *offset = (uintptr_t) address - mapped[i].base;
            pthread_mutex_lock(&lock);
            for (size_t j = 0; j < n_files; j++) {
                if (files[j].number == mapped[i].file) {
                    *path = files[j].path;
                    found = true;
                }
            }
            pthread_mutex_unlock(&lock);
        }
    }
    return found;
}

bool tt_storage_unmap(const void * address, size_t size) {
    pthread_mutex_lock(&lock);
    const bool whole = tt_mapped_cut(address, size);
    forget_files();
    pthread_mutex_unlock(&lock);
    return whole;
}

/* ---- the kernel's cache ---- */

struct range { /* struct cachestat_range: length 0 is to the end of the file */
    uint64_t begin, length;
};
struct pages { /* struct cachestat */
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/* Returns 0, or an errno. */
static int read_cache(const struct file * file, struct pages * pages) {
    const struct range range = { 0 };
    if (!is_ours(file)) {
        return EBADF;
    }
    return syscall(CACHESTAT, file->fd, &range, pages, 0u) == 0 ? 0 : errno;
}

void tt_cache_write(struct tt_trace * trace, uint32_t pass, uint32_t load) {
    struct tt_cache records[TT_MOST_MAPPED];
    size_t          n       = 0;
    int             failure = 0;
    if (atomic_load(&n_cached) == 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_files; i++) {
        struct pages pages  = { 0 };
        const int    answer = files[i].fd < 0 ? 0 : read_cache(&files[i], &pages);
        if (answer != 0) {
            failure = answer;
            close_file(&files[i]);
        } else if (files[i].fd >= 0) {
            records[n++] = (struct tt_cache) {
                .cached           = pages.cached,
                .dirty            = pages.dirty,
                .writeback        = pages.writeback,
                .evicted          = pages.evicted,
                .recently_evicted = pages.recently_evicted,
                .path             = files[i].path,
                .pass             = pass,
                .load             = load,
                .page_bytes       = (uint32_t) sysconf(_SC_PAGESIZE),
            };
        }
    }
    pthread_mutex_unlock(&lock);
    const uint64_t time = tt_now();
    for (size_t i = 0; i < n; i++) {
        tt_record(trace, TT_CACHE, &records[i], sizeof records[i], time);
    }
    refuse(trace, &trace->cache_refused, "cache.refused", failure ? strerror(failure) : "");
}
