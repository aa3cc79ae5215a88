// SPDX-License-Identifier: Apache-2.0
//
// Timers that are descriptors: the kernel runs them, so they are translated
// when they are set, and set anew when the clocks change.
#include "clock.h"

#include <string.h>
#include <sys/timerfd.h>

#define TIMERS 65536

struct timer {
    clockid_t id;
    bool made, armed;
    int flags;
    clockid_t by;         // what until is of: a length is not moved by steps of the timer's clock
    int64_t until, every; // ns of that clock as it is shown
    uint32_t generation;  // of the clocks that the kernel's timer was set with
};

static pthread_mutex_t timers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct timer timers[TIMERS]; // by descriptor

static int arm(int fd, struct timer *t) {
    int64_t at = fi_real_at(t->by, t->until, &t->generation);
    if (!(t->flags & TFD_TIMER_ABSTIME)) at -= fi_real(t->by);
    struct itimerspec real = {
        .it_value = fi_timespec(at > 0 ? at : 1), // 0 would disarm it
        .it_interval = fi_timespec(fi_real_length(t->by, t->every)),
    };
    return NEXT(timerfd_settime)(fd, t->flags, &real, NULL);
}

void fi_timerfd_change(void) {
    pthread_mutex_lock(&timers_lock);
    uint32_t now = atomic_load(&fi_area->generation);
    for (int fd = 0; fd < TIMERS; fd++) {
        struct timer *t = &timers[fd];
        if (!t->armed || t->generation == now) continue;
        struct itimerspec rest;
        if (NEXT(timerfd_gettime)(fd, &rest) != 0 || (rest.it_value.tv_sec == 0 && rest.it_value.tv_nsec == 0)) {
            t->armed = false; // closed meanwhile, or it has fired
            continue;
        }
        while (t->every > 0 && t->until <= fi_shown(t->by)) t->until += t->every; // those have fired
        arm(fd, t);
    }
    pthread_mutex_unlock(&timers_lock);
}

void fi_timerfd_fork(void) { // the kernel's timers are the parent's, who looks after them
    pthread_mutex_init(&timers_lock, NULL);
    for (int fd = 0; fd < TIMERS; fd++) timers[fd].armed = false;
}

EXPORT int timerfd_create(clockid_t id, int flags) {
    int fd = NEXT(timerfd_create)(id, flags);
    if (fd >= 0 && fd < TIMERS) {
        pthread_mutex_lock(&timers_lock);
        timers[fd] = (struct timer){.id = id, .made = fi_class(id) >= 0};
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
    struct timer *t = &timers[fd];
    int r;
    if (until == 0) {
        t->armed = false;
        r = NEXT(timerfd_settime)(fd, flags, new, NULL);
    } else {
        bool length = !(flags & TFD_TIMER_ABSTIME);
        t->flags = flags;
        t->by = length ? CLOCK_MONOTONIC : t->id;
        t->until = until + (length ? fi_shown(t->by) : 0);
        t->every = every;
        r = arm(fd, t);
        t->armed = r == 0;
    }
    pthread_mutex_unlock(&timers_lock);
    return r;
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *rest) {
    int r = NEXT(timerfd_gettime)(fd, rest);
    if (r != 0 || fi_area == NULL || fd < 0 || fd >= TIMERS) return r;
    pthread_mutex_lock(&timers_lock);
    struct timer *t = &timers[fd];
    if (t->armed && (rest->it_value.tv_sec | rest->it_value.tv_nsec)) {
        int64_t due = t->until, now = fi_shown(t->by);
        while (t->every > 0 && due <= now) due += t->every;
        rest->it_value = fi_timespec(due > now ? due - now : 1);
        rest->it_interval = fi_timespec(t->every);
    }
    pthread_mutex_unlock(&timers_lock);
    return r;
}
