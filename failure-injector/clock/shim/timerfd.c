// SPDX-License-Identifier: Apache-2.0
//
// Timers that are descriptors.
#include "clock.h"

#include <sys/timerfd.h>

#define TIMERS 65536

static pthread_mutex_t timers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    clockid_t id;
    bool made;
    int flags;
    struct fi_timer timer;
} timers[TIMERS]; // by descriptor

static int arm(int fd) {
    struct itimerspec real = fi_timer_real(&timers[fd].timer);
    return NEXT(timerfd_settime)(fd, timers[fd].flags, &real, NULL);
}

void fi_timerfd_change(void) {
    pthread_mutex_lock(&timers_lock);
    uint32_t now = atomic_load(&fi_area->generation);
    for (int fd = 0; fd < TIMERS; fd++) {
        struct fi_timer *t = &timers[fd].timer;
        if (!t->armed || t->generation == now) continue;
        struct itimerspec rest;
        if (NEXT(timerfd_gettime)(fd, &rest) != 0 || (rest.it_value.tv_sec | rest.it_value.tv_nsec) == 0)
            t->armed = false; // closed meanwhile, or it has fired
        else
            arm(fd);
    }
    pthread_mutex_unlock(&timers_lock);
}

void fi_timerfd_fork(void) { // the kernel's timers are the parent's, who looks after them
    pthread_mutex_init(&timers_lock, NULL);
    for (int fd = 0; fd < TIMERS; fd++) timers[fd].timer.armed = false;
}

EXPORT int timerfd_create(clockid_t id, int flags) {
    int fd = NEXT(timerfd_create)(id, flags);
    if (fd >= 0 && fd < TIMERS) {
        pthread_mutex_lock(&timers_lock);
        timers[fd].id = id;
        timers[fd].made = fi_class(id) >= 0;
        timers[fd].timer.armed = false;
        pthread_mutex_unlock(&timers_lock);
    }
    return fd;
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
    int64_t until, every;
    if (fi_area == NULL || fd < 0 || fd >= TIMERS || !timers[fd].made || !fi_ns(&new->it_value, &until) || !fi_ns(&new->it_interval, &every))
        return NEXT(timerfd_settime)(fd, flags, new, old);
    fi_watch();
    if (old) timerfd_gettime(fd, old);
    pthread_mutex_lock(&timers_lock);
    struct fi_timer *t = &timers[fd].timer;
    int r;
    if (until == 0) {
        t->armed = false;
        r = NEXT(timerfd_settime)(fd, flags, new, NULL);
    } else {
        timers[fd].flags = flags;
        fi_timer_set(t, timers[fd].id, flags & TFD_TIMER_ABSTIME, until, every);
        r = arm(fd);
        t->armed = r == 0;
    }
    pthread_mutex_unlock(&timers_lock);
    return r;
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *rest) {
    int r = NEXT(timerfd_gettime)(fd, rest);
    if (r != 0 || fi_area == NULL || fd < 0 || fd >= TIMERS) return r;
    pthread_mutex_lock(&timers_lock);
    fi_timer_rest(&timers[fd].timer, rest);
    pthread_mutex_unlock(&timers_lock);
    return r;
}
