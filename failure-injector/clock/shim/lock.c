// SPDX-License-Identifier: Apache-2.0
//
// Locks, semaphores and futexes with a deadline: trying again is harmless.
#include "clock.h"

#include <linux/futex.h>
#include <semaphore.h>
#include <stdarg.h>

#define CLOCKED(name, object)                                                 \
    EXPORT int name(object *o, clockid_t id, const struct timespec *t) {      \
        int64_t until;                                                        \
        if (fi_area == NULL || fi_class(id) < 0 || !fi_ns(t, &until))         \
            return NEXT(name)(o, id, t);                                      \
        return FI_IN_PARTS(id, until, part, NEXT(name)(o, id, &part), r_ == ETIMEDOUT); \
    }
#define TIMED(name, object)                                                   \
    EXPORT int name(object *restrict o, const struct timespec *restrict t) {  \
        int64_t until;                                                        \
        if (fi_area == NULL || !fi_ns(t, &until)) return NEXT(name)(o, t);    \
        return FI_IN_PARTS(CLOCK_REALTIME, until, part, NEXT(name)(o, &part), r_ == ETIMEDOUT); \
    }

CLOCKED(pthread_mutex_clocklock, pthread_mutex_t)
CLOCKED(pthread_rwlock_clockrdlock, pthread_rwlock_t)
CLOCKED(pthread_rwlock_clockwrlock, pthread_rwlock_t)
TIMED(pthread_mutex_timedlock, pthread_mutex_t)
TIMED(pthread_rwlock_timedrdlock, pthread_rwlock_t)
TIMED(pthread_rwlock_timedwrlock, pthread_rwlock_t)

EXPORT int sem_clockwait(sem_t *s, clockid_t id, const struct timespec *t) {
    int64_t until;
    if (fi_area == NULL || fi_class(id) < 0 || !fi_ns(t, &until)) return NEXT(sem_clockwait)(s, id, t);
    return FI_IN_PARTS(id, until, part, NEXT(sem_clockwait)(s, id, &part), r_ != 0 && errno == ETIMEDOUT);
}

EXPORT int sem_timedwait(sem_t *restrict s, const struct timespec *restrict t) {
    int64_t until;
    if (fi_area == NULL || !fi_ns(t, &until)) return NEXT(sem_timedwait)(s, t);
    return FI_IN_PARTS(CLOCK_REALTIME, until, part, NEXT(sem_timedwait)(s, &part), r_ != 0 && errno == ETIMEDOUT);
}

EXPORT int pthread_clockjoin_np(pthread_t th, void **result, clockid_t id, const struct timespec *t) {
    int64_t until;
    if (fi_area == NULL || fi_class(id) < 0 || t == NULL || !fi_ns(t, &until)) return NEXT(pthread_clockjoin_np)(th, result, id, t);
    return FI_IN_PARTS(id, until, part, NEXT(pthread_clockjoin_np)(th, result, id, &part), r_ == ETIMEDOUT);
}

EXPORT int pthread_timedjoin_np(pthread_t th, void **result, const struct timespec *t) {
    return pthread_clockjoin_np(th, result, CLOCK_REALTIME, t);
}

// Futexes that a program (or its language's library) uses by itself. A plain
// wait takes a length, the others a point in time.
static long futex(long a[6], long (*next)(long, ...)) {
    int op = (int)a[1] & FUTEX_CMD_MASK;
    bool length = op == FUTEX_WAIT;
    clockid_t id = op == FUTEX_LOCK_PI || (a[1] & FUTEX_CLOCK_REALTIME) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    int64_t until;
    if ((!length && op != FUTEX_WAIT_BITSET && op != FUTEX_LOCK_PI && op != FUTEX_LOCK_PI2) || a[3] == 0 ||
        !fi_ns((const struct timespec *)a[3], &until))
        return next(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (length) until += fi_shown(id);
    return FI_IN_PARTS(id, until, part, ({
        if (length) part = fi_timespec((int64_t)part.tv_sec * 1000000000 + part.tv_nsec - fi_real(id));
        next(SYS_futex, a[0], a[1], a[2], (long)&part, a[4], a[5]);
    }), r_ == -1 && errno == ETIMEDOUT);
}

EXPORT long syscall(long number, ...) {
    long a[6];
    va_list l;
    va_start(l, number);
    for (int k = 0; k < 6; k++) a[k] = va_arg(l, long);
    va_end(l);
    if (fi_area != NULL && number == SYS_futex) return futex(a, NEXT(syscall));
    return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
