// SPDX-License-Identifier: Apache-2.0
//
// Sleeping and waiting for descriptors. Time-outs that are lengths are of the
// monotonic clock, as in the kernel. (alloca: the sets of select have the size
// that the caller gave them.)
#include "clock.h"

#include <alloca.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

EXPORT int clock_nanosleep(clockid_t id, int flags, const struct timespec *t, struct timespec *rest) {
    int64_t until;
    if (fi_area == NULL || fi_class(id) < 0 || !fi_ns(t, &until)) return NEXT(clock_nanosleep)(id, flags, t, rest);
    if (!(flags & TIMER_ABSTIME)) until += fi_shown(id);
    int err = 0;
    do {
        struct timespec part;
        fi_part(id, until, &part);
        err = NEXT(clock_nanosleep)(id, TIMER_ABSTIME, &part, NULL);
    } while (err == 0 && fi_shown(id) < until);
    if (err == EINTR && rest && !(flags & TIMER_ABSTIME)) *rest = fi_timespec(until - fi_shown(id));
    return err;
}

EXPORT int nanosleep(const struct timespec *t, struct timespec *rest) {
    if (fi_area == NULL) return NEXT(nanosleep)(t, rest);
    int err = clock_nanosleep(CLOCK_MONOTONIC, 0, t, rest);
    if (err) errno = err;
    return err ? -1 : 0;
}

EXPORT int usleep(useconds_t us) {
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    return nanosleep(&t, NULL);
}

EXPORT unsigned sleep(unsigned seconds) {
    struct timespec t = {.tv_sec = seconds}, rest = {0};
    return nanosleep(&t, &rest) == 0 ? 0 : (unsigned)rest.tv_sec + (rest.tv_nsec > 0);
}

// What is left of a part, for calls that take a length.
static struct timespec left(const struct timespec *part) {
    int64_t at = (int64_t)part->tv_sec * 1000000000 + part->tv_nsec;
    return fi_timespec(at - fi_real(CLOCK_MONOTONIC));
}

static int left_ms(const struct timespec *part) {
    struct timespec t = left(part);
    return (int)(t.tv_sec * 1000 + (t.tv_nsec + 999999) / 1000000); // up: never too early
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask) {
    int64_t until;
    if (fi_area == NULL || t == NULL || !fi_ns(t, &until) || until == 0) return NEXT(ppoll)(fds, n, t, mask);
    until += fi_shown(CLOCK_MONOTONIC);
    return FI_IN_PARTS(CLOCK_MONOTONIC, until, part, ({ part = left(&part); NEXT(ppoll)(fds, n, &part, mask); }), r_ == 0);
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int ms) {
    if (fi_area == NULL || ms <= 0) return NEXT(poll)(fds, n, ms);
    int64_t until = fi_shown(CLOCK_MONOTONIC) + (int64_t)ms * 1000000;
    return FI_IN_PARTS(CLOCK_MONOTONIC, until, part, NEXT(poll)(fds, n, left_ms(&part)), r_ == 0);
}

// Fortified programs call these instead.
EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t size) {
    if (size / sizeof *fds < n) __builtin_trap();
    return poll(fds, n, ms);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask, size_t size) {
    if (size / sizeof *fds < n) __builtin_trap();
    return ppoll(fds, n, t, mask);
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int most, int ms, const sigset_t *mask) {
    if (fi_area == NULL || ms <= 0) return NEXT(epoll_pwait)(fd, events, most, ms, mask);
    int64_t until = fi_shown(CLOCK_MONOTONIC) + (int64_t)ms * 1000000;
    return FI_IN_PARTS(CLOCK_MONOTONIC, until, part, NEXT(epoll_pwait)(fd, events, most, left_ms(&part), mask), r_ == 0);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int ms) {
    return epoll_pwait(fd, events, most, ms, NULL);
}

EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *t, const sigset_t *mask) {
    int64_t until;
    if (fi_area == NULL || t == NULL || !fi_ns(t, &until) || until == 0) return NEXT(epoll_pwait2)(fd, events, most, t, mask);
    until += fi_shown(CLOCK_MONOTONIC);
    return FI_IN_PARTS(CLOCK_MONOTONIC, until, part, ({ part = left(&part); NEXT(epoll_pwait2)(fd, events, most, &part, mask); }), r_ == 0);
}

// select empties the sets when the time is up, so each part starts from a copy.
static int select_until(int n, fd_set *sets[3], int64_t until, const sigset_t *mask) {
    size_t size = (size_t)(n + 63) / 64 * 8;
    unsigned char *copy = alloca(3 * size + 1);
    for (int k = 0; k < 3; k++)
        if (sets[k]) memcpy(copy + k * size, sets[k], size);
    return FI_IN_PARTS(CLOCK_MONOTONIC, until, part, ({
        for (int k = 0; k < 3; k++)
            if (sets[k]) memcpy(sets[k], copy + k * size, size);
        part = left(&part);
        NEXT(pselect)(n, sets[0], sets[1], sets[2], &part, mask);
    }), r_ == 0);
}

EXPORT int pselect(int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const sigset_t *mask) {
    int64_t until;
    if (fi_area == NULL || n < 0 || t == NULL || !fi_ns(t, &until) || until == 0) return NEXT(pselect)(n, r, w, e, t, mask);
    return select_until(n, (fd_set *[]){r, w, e}, until + fi_shown(CLOCK_MONOTONIC), mask);
}

EXPORT int select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t) {
    int64_t until;
    if (fi_area == NULL || n < 0 || t == NULL || t->tv_usec < 0 || t->tv_usec > 999999 ||
        !fi_ns(&(struct timespec){t->tv_sec, t->tv_usec * 1000}, &until) || until == 0)
        return NEXT(select)(n, r, w, e, t);
    until += fi_shown(CLOCK_MONOTONIC);
    int got = select_until(n, (fd_set *[]){r, w, e}, until, NULL);
    struct timespec rest = fi_timespec(until - fi_shown(CLOCK_MONOTONIC)); // as Linux does
    *t = (struct timeval){.tv_sec = rest.tv_sec, .tv_usec = rest.tv_nsec / 1000};
    return got;
}
