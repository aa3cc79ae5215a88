// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

#include <string.h>

static const clockid_t base[FI_CLOCKS] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW};

int fi_class(clockid_t id) {
    switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI:
        return FI_REALTIME;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
        return FI_MONOTONIC;
    case CLOCK_MONOTONIC_RAW:
        return FI_RAW;
    }
    return -1;
}

static struct fi_line line(int class, uint32_t *generation) {
    struct fi_line l;
    uint32_t g;
    do {
        g = atomic_load_explicit(&fi_area->generation, memory_order_acquire);
        const volatile struct fi_line *from = &fi_area->lines[g % 2][class];
        l = (struct fi_line){from->real, from->shown, from->drift};
        atomic_thread_fence(memory_order_acquire);
    } while (atomic_load_explicit(&fi_area->generation, memory_order_relaxed) != g);
    if (generation) *generation = g;
    return l;
}

// Monotonic in real, whatever is rounded: a nanosecond loses less than one.
static int64_t show(const struct fi_line *l, int64_t real) {
    int64_t passed = real - l->real;
    return l->shown + passed + (int64_t)(l->drift * (double)passed);
}

int64_t fi_shown(clockid_t id) {
    int class = fi_class(id);
    struct fi_line l = line(class, NULL);
    int64_t now = fi_real(base[class]);
    int64_t gain = show(&l, now) - now;
    return (id == base[class] ? now : fi_real(id)) + gain;
}

// The first nanosecond of the machine's clock at which the process' one shows
// at least this.
int64_t fi_real_at(clockid_t id, int64_t shown, uint32_t *generation) {
    int class = fi_class(id);
    struct fi_line l = line(class, generation);
    int64_t apart = id == base[class] ? 0 : fi_real(id) - fi_real(base[class]);
    int64_t to_come = shown - apart - l.shown;
    int64_t real = l.real + (l.drift == 0 ? to_come : (int64_t)((double)to_come / (1 + l.drift)));
    while (show(&l, real) < shown - apart) real++;
    return real + apart;
}

int64_t fi_real_length(clockid_t id, int64_t shown) {
    struct fi_line l = line(fi_class(id), NULL);
    return l.drift == 0 || shown == 0 ? shown : (int64_t)((double)shown / (1 + l.drift)) + 1;
}

bool fi_ns(const struct timespec *t, int64_t *ns) {
    const int64_t most = INT64_C(8000000000); // seconds: beyond, nobody waits for it
    if (t->tv_nsec < 0 || t->tv_nsec > 999999999 || t->tv_sec < 0 || t->tv_sec > most) return false;
    *ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
    return true;
}

struct timespec fi_timespec(int64_t ns) {
    if (ns < 0) ns = 0; // long past
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

void fi_part(clockid_t id, int64_t until, struct timespec *part) {
    const int64_t longest = 100 * 1000000; // ns until a change is noticed
    int64_t at = fi_real_at(id, until, NULL), soon = fi_real(id) + longest;
    *part = fi_timespec(at < soon ? at : soon);
}
