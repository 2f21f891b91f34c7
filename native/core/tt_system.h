/* What only the operating system can say or do: linux.c and darwin.c each define all of it. */
#ifndef TT_SYSTEM_H
#define TT_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TT_LINE = 256, TT_PATH = 4096 };

uint32_t tt_thread_number(void);              /* of the thread that calls, as the system counts threads */
bool     tt_random(void * to, size_t size);   /* false: errno says why not */
bool     tt_path_of(int fd, char path[TT_PATH]); /* of an open file; false, and "": it has none */
/* Disk space for a part of a file, which then has this length: 0, or an errno. */
int  tt_reserve(int fd, off_t at, size_t bytes);
void tt_unmap(void * address, size_t bytes); /* not munmap: with attached tracing that is our own, which records */
long tt_read_at(int fd, void * to, size_t size, off_t at); /* as pread, which may be our own, too */

/* One semaphore of this process, at 0 when it is opened; a signal handler may post it. */
bool tt_semaphore_open(void);
void tt_semaphore_post(void);
void tt_semaphore_wait(void);

bool     tt_program_name(char name[TT_LINE]); /* false: not known, as below */
bool     tt_processor_name(char name[TT_LINE]);
int      tt_processors_allowed(void); /* to this process; 0: not known */
uint64_t tt_memory_size(void);        /* of the machine */
bool     tt_has_io_uring(void); /* whether the process has a ring of io_uring: its reads are no calls */
bool     tt_counts_reads(void);       /* whether getrusage and the like count what a process reads */

#endif
