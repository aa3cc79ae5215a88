// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

#include <sys/time.h>

EXPORT int clock_gettime(clockid_t id, struct timespec *t) {
    if (fi_area == NULL || fi_class(id) < 0) return fi_real_gettime(id, t);
    *t = fi_timespec(fi_shown(id));
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    if (zone) *(struct timezone *)zone = (struct timezone){0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

EXPORT time_t time(time_t *t) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}

EXPORT int timespec_get(struct timespec *t, int what) {
    if (what != TIME_UTC) return 0;
    clock_gettime(CLOCK_REALTIME, t);
    return what;
}
