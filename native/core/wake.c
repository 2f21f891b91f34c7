/*
 * The signal that empties a ring of page faults while its thread is inside one large op: the kernel sends it to the
 * thread that had the faults, before that thread goes on, so that none can be lost however small the ring is.
 *
 * It is SIGURG, which a process ignores unless it asks for it: a program that resets its signals is not ended by it.
 * A handler that the program had before is called for its own signals.
 */
#include "tt_wake.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t  lock = PTHREAD_MUTEX_INITIALIZER; /* guards n_traces */
static unsigned         n_traces;                         /* that record page faults now */
static struct sigaction before;                           /* what the program had */
static void (*wake)(struct tt_faults * faults);           /* what a woken thread does; set before the handler is */

static __thread struct {
    struct tt_faults * faults;             /* NULL: the page faults of this thread are not recorded */
    pid_t              thread;             /* that they are of */
    int                fds[TT_RING_WAKES]; /* of its ring */
} self __attribute__((tls_model("initial-exec")));

static bool program_listens(void) {
    return (before.sa_flags & SA_SIGINFO) || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
}

/* In a forked child the thread is another one, and the ring is not there. */
static bool is_ours(const siginfo_t * info) {
    return self.faults && info->si_code == POLL_IN && (info->si_fd == self.fds[0] || info->si_fd == self.fds[1])
        && self.thread == gettid();
}

static void handle(int number, siginfo_t * info, void * context) {
    const int error = errno;
    if (is_ours(info)) {
        wake(self.faults);
    } else if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (program_listens()) {
        before.sa_handler(number);
    }
    errno = error;
}

void tt_wake_start(void (*woken)(struct tt_faults * faults)) {
    struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    pthread_mutex_lock(&lock);
    wake = woken;
    if (n_traces++ == 0 && sigaction(SIGURG, NULL, &before) == 0) {
        action.sa_mask = before.sa_mask;
        (void) sigaction(SIGURG, &action, NULL);
    }
    pthread_mutex_unlock(&lock);
}

void tt_wake_stop(void) {
    struct sigaction now;
    pthread_mutex_lock(&lock);
    if (--n_traces == 0 && sigaction(SIGURG, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO)
        && now.sa_sigaction == handle) {
        (void) sigaction(SIGURG, &before, NULL);
    }
    pthread_mutex_unlock(&lock);
}

void tt_wake_block(sigset_t * was) {
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    pthread_sigmask(SIG_BLOCK, &urgent, was);
}

void tt_wake_unblock(const sigset_t * was) { pthread_sigmask(SIG_SETMASK, was, NULL); }

/* Some programs block every signal in the threads that compute. The program notices nothing, as it ignores this one. */
void tt_wake_for(struct tt_faults * faults, const struct tt_ring * ring) {
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    self.faults = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.thread = gettid();
    memcpy(self.fds, ring->wakes, sizeof self.fds);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.faults = faults;
    if (!program_listens()) {
        pthread_sigmask(SIG_UNBLOCK, &urgent, NULL);
    }
}

void tt_wake_forget(const struct tt_faults * faults) {
    if (self.faults == faults) {
        self.faults = NULL;
    }
}
