// SPDX-License-Identifier: Apache-2.0
//
// Condition variables with a deadline. Such a wait cannot be cut into parts:
// between two of them a signal would get lost. So who waits is listed, and when
// the clocks change everybody is woken as if by chance, which every user of
// condition variables must expect; it looks at the clock and waits again.
#include "clock.h"

struct waiter {
    pthread_cond_t *cond;
    uint32_t generation; // of the clocks that its deadline was translated with
    struct waiter *next, **link;
};

static pthread_mutex_t waiters_lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiter *waiters;

static void leave(void *arg) {
    struct waiter *w = arg;
    pthread_mutex_lock(&waiters_lock);
    *w->link = w->next;
    if (w->next) w->next->link = w->link;
    pthread_mutex_unlock(&waiters_lock);
}

// Translates the deadline with the clocks as they are once w is in the list: a
// later change finds it there.
static struct timespec enter(struct waiter *w, clockid_t id, int64_t until) {
    struct timespec real;
    pthread_mutex_lock(&waiters_lock);
    real = fi_timespec(fi_real_at(id, until, &w->generation));
    w->next = waiters;
    w->link = &waiters;
    if (waiters) waiters->link = &w->next;
    waiters = w;
    pthread_mutex_unlock(&waiters_lock);
    return real;
}

bool fi_condvar_change(void) {
    bool waiting = false;
    pthread_mutex_lock(&waiters_lock);
    uint32_t now = atomic_load(&fi_area->generation);
    for (struct waiter *w = waiters; w; w = w->next) {
        if (w->generation == now) continue;
        pthread_cond_broadcast(w->cond); // perhaps before it sleeps: hence again, until it has left
        waiting = true;
    }
    pthread_mutex_unlock(&waiters_lock);
    return waiting;
}

void fi_condvar_fork(void) {
    pthread_mutex_init(&waiters_lock, NULL);
    waiters = NULL;
}

static clockid_t clock_of(pthread_cond_t *c) {
    return __atomic_load_n(&c->__data.__wrefs, __ATOMIC_RELAXED) & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, const struct timespec *restrict t) {
    int64_t until;
    if (fi_area == NULL || !fi_ns(t, &until)) return NEXT(pthread_cond_timedwait)(c, m, t);
    struct waiter w = {.cond = c};
    fi_watch();
    struct timespec real = enter(&w, clock_of(c), until);
    int r;
    pthread_cleanup_push(leave, &w);
    r = NEXT(pthread_cond_timedwait)(c, m, &real);
    pthread_cleanup_pop(1);
    return r;
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t id, const struct timespec *t) {
    int64_t until;
    if (fi_area == NULL || fi_class(id) < 0 || !fi_ns(t, &until)) return NEXT(pthread_cond_clockwait)(c, m, id, t);
    struct waiter w = {.cond = c};
    fi_watch();
    struct timespec real = enter(&w, id, until);
    int r;
    pthread_cleanup_push(leave, &w);
    r = NEXT(pthread_cond_clockwait)(c, m, id, &real);
    pthread_cleanup_pop(1);
    return r;
}
