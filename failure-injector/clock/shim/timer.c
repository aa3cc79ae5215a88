// SPDX-License-Identifier: Apache-2.0
//
// Timers that the kernel runs and that end in a signal, and what all timers
// have in common: they are translated when they are set, and set anew when the
// clocks change.
#include "clock.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

void fi_timer_set(struct fi_timer *t, clockid_t id, bool absolute, int64_t until, int64_t every) {
    t->absolute = absolute;
    t->by = absolute ? id : CLOCK_MONOTONIC;
    t->until = until + (absolute ? 0 : fi_shown(t->by));
    t->every = every;
    t->fires = INT64_MAX;
}

struct itimerspec fi_timer_real(struct fi_timer *t) {
    int64_t now = fi_real(t->by);
    if (t->every > 0 && t->fires <= now) // so often it has fired, by the clocks as they were
        t->until += (1 + (now - t->fires) / t->pause) * t->every;
    t->fires = fi_real_at(t->by, t->until, &t->generation);
    t->pause = fi_real_length(t->by, t->every);
    int64_t at = t->absolute ? t->fires : t->fires - now;
    return (struct itimerspec){
        .it_value = fi_timespec(at > 0 ? at : 1), // 0 would disarm it
        .it_interval = fi_timespec(t->pause),
    };
}

void fi_timer_rest(const struct fi_timer *t, struct itimerspec *rest) {
    if (!t->armed || (rest->it_value.tv_sec | rest->it_value.tv_nsec) == 0) return;
    int64_t due = t->until, now = fi_shown(t->by);
    while (t->every > 0 && due <= now) due += t->every;
    rest->it_value = fi_timespec(due > now ? due - now : 1);
    rest->it_interval = fi_timespec(t->every);
}

// The timers of timer_create by their names, and the one of setitimer and alarm.

#define TIMERS 1024

static struct {
    bool made;
    timer_t name;
    clockid_t id;
    struct fi_timer timer;
} timers[TIMERS];
static struct fi_timer alarm_timer;
static pthread_mutex_t timers_lock = PTHREAD_MUTEX_INITIALIZER;

// Some of these functions may be called by signal handlers, so no signal comes
// while the lock is held.
static void lock(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    pthread_mutex_lock(&timers_lock);
}

static void unlock(const sigset_t *before) {
    pthread_mutex_unlock(&timers_lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int find(timer_t name) {
    for (int k = 0; k < TIMERS; k++)
        if (timers[k].made && timers[k].name == name) return k;
    return -1;
}

static int arm(int k) {
    struct itimerspec real = fi_timer_real(&timers[k].timer);
    return NEXT(timer_settime)(timers[k].name, timers[k].timer.absolute ? TIMER_ABSTIME : 0, &real, NULL);
}

static struct timeval microseconds(struct timespec t) { // up: never too early
    int64_t us = (int64_t)t.tv_sec * 1000000 + (t.tv_nsec + 999) / 1000;
    return (struct timeval){.tv_sec = us / 1000000, .tv_usec = us % 1000000};
}

static struct timespec nanoseconds(struct timeval t) { return (struct timespec){t.tv_sec, t.tv_usec * 1000}; }

static int arm_alarm(void) {
    struct itimerspec t = fi_timer_real(&alarm_timer);
    struct itimerval real = {.it_value = microseconds(t.it_value), .it_interval = microseconds(t.it_interval)};
    return NEXT(setitimer)(ITIMER_REAL, &real, NULL);
}

void fi_timer_change(void) {
    sigset_t before;
    lock(&before);
    uint32_t now = atomic_load(&fi_area->generation);
    for (int k = 0; k < TIMERS; k++) {
        struct itimerspec rest;
        if (!timers[k].made || !timers[k].timer.armed || timers[k].timer.generation == now) continue;
        if (NEXT(timer_gettime)(timers[k].name, &rest) != 0 || (rest.it_value.tv_sec | rest.it_value.tv_nsec) == 0)
            timers[k].timer.armed = false; // it has fired
        else
            arm(k);
    }
    struct itimerval left;
    if (alarm_timer.armed && alarm_timer.generation != now) {
        if (NEXT(getitimer)(ITIMER_REAL, &left) != 0 || (left.it_value.tv_sec | left.it_value.tv_usec) == 0)
            alarm_timer.armed = false;
        else
            arm_alarm();
    }
    unlock(&before);
}

void fi_timer_fork(void) { // a child has none of them
    pthread_mutex_init(&timers_lock, NULL);
    memset(timers, 0, sizeof timers);
    alarm_timer.armed = false;
}

EXPORT int timer_create(clockid_t id, struct sigevent *restrict event, timer_t *restrict name) {
    int r = NEXT(timer_create)(id, event, name);
    if (r != 0 || fi_area == NULL || fi_class(id) < 0) return r;
    sigset_t before;
    lock(&before);
    for (int k = 0; k < TIMERS; k++) {
        if (timers[k].made) continue;
        timers[k].made = true;
        timers[k].name = *name;
        timers[k].id = id;
        timers[k].timer.armed = false;
        break;
    }
    unlock(&before);
    return r;
}

EXPORT int timer_delete(timer_t name) {
    sigset_t before;
    lock(&before);
    int k = find(name);
    if (k >= 0) timers[k].made = false;
    int r = NEXT(timer_delete)(name);
    unlock(&before);
    return r;
}

EXPORT int timer_gettime(timer_t name, struct itimerspec *rest) {
    sigset_t before;
    lock(&before);
    int r = NEXT(timer_gettime)(name, rest), k = find(name);
    if (r == 0 && k >= 0) fi_timer_rest(&timers[k].timer, rest);
    unlock(&before);
    return r;
}

EXPORT int timer_settime(timer_t name, int flags, const struct itimerspec *restrict new, struct itimerspec *restrict old) {
    int64_t until, every;
    if (fi_area == NULL || !fi_ns(&new->it_value, &until) || !fi_ns(&new->it_interval, &every))
        return NEXT(timer_settime)(name, flags, new, old);
    fi_watch();
    if (old) timer_gettime(name, old);
    sigset_t before;
    lock(&before);
    int k = find(name), r;
    if (k < 0 || until == 0) {
        if (k >= 0) timers[k].timer.armed = false;
        r = NEXT(timer_settime)(name, flags, new, NULL);
    } else {
        fi_timer_set(&timers[k].timer, timers[k].id, flags & TIMER_ABSTIME, until, every);
        r = arm(k);
        timers[k].timer.armed = r == 0;
    }
    unlock(&before);
    return r;
}

EXPORT int getitimer(__itimer_which_t which, struct itimerval *left) {
    int r = NEXT(getitimer)(which, left);
    if (r != 0 || fi_area == NULL || which != ITIMER_REAL) return r;
    sigset_t before;
    lock(&before);
    struct itimerspec t = {.it_value = nanoseconds(left->it_value), .it_interval = nanoseconds(left->it_interval)};
    fi_timer_rest(&alarm_timer, &t);
    left->it_value = microseconds(t.it_value);
    left->it_interval = microseconds(t.it_interval);
    unlock(&before);
    return r;
}

EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict new, struct itimerval *restrict old) {
    int64_t until, every;
    if (fi_area == NULL || which != ITIMER_REAL || new == NULL || !fi_ns(&(struct timespec){new->it_value.tv_sec, new->it_value.tv_usec * 1000}, &until) ||
        !fi_ns(&(struct timespec){new->it_interval.tv_sec, new->it_interval.tv_usec * 1000}, &every))
        return NEXT(setitimer)(which, new, old);
    fi_watch();
    if (old) getitimer(which, old);
    sigset_t before;
    lock(&before);
    int r;
    if (until == 0) {
        alarm_timer.armed = false;
        r = NEXT(setitimer)(which, new, NULL);
    } else {
        fi_timer_set(&alarm_timer, CLOCK_MONOTONIC, false, until, every);
        r = arm_alarm();
        alarm_timer.armed = r == 0;
    }
    unlock(&before);
    return r;
}

EXPORT unsigned alarm(unsigned seconds) {
    if (fi_area == NULL) return NEXT(alarm)(seconds);
    struct itimerval new = {.it_value.tv_sec = seconds}, old = {0};
    if (setitimer(ITIMER_REAL, &new, &old) != 0) return 0;
    unsigned left = (unsigned)old.it_value.tv_sec + (old.it_value.tv_usec >= 500000); // as Linux rounds
    return left == 0 && old.it_value.tv_usec > 0 ? 1 : left;
}
