// SPDX-License-Identifier: Apache-2.0
//
// A thread that sleeps until the clocks change. It is started by the first wait
// that needs it, so most processes never have it.
#include "clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>

static atomic_bool watching;

static void *watch(void *arg) {
    uint32_t seen = (uint32_t)(uintptr_t)arg;
    for (;;) {
        NEXT(syscall)(SYS_futex, &fi_area->generation, FUTEX_WAIT, seen, NULL, NULL, 0);
        seen = atomic_load(&fi_area->generation);
        fi_timer_change();
        fi_timerfd_change();
        while (fi_condvar_change()) NEXT(nanosleep)(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

void fi_watch(void) {
    if (atomic_load(&watching) || atomic_exchange(&watching, true)) return;
    uintptr_t seen = atomic_load(&fi_area->generation);
    sigset_t all, before;
    sigfillset(&all); // signals are for the process' own threads
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    if (pthread_create(&thread, &attr, watch, (void *)seen) != 0) atomic_store(&watching, false); // the next one tries
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void fi_watch_fork(void) { atomic_store(&watching, false); }
