// SPDX-License-Identifier: Apache-2.0
#include "disk.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <time.h>

static __thread bool exact_timers; // timer slack is a property of the thread
static __thread bool write_half;

static uint64_t now_ns(void) {
    struct timespec t; // by the machine's clock, whatever the process is told
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void fi_sleep_until(uint64_t ns) {
    if (ns == 0) return;
    if (!exact_timers) { // the default slack of 50 us would be added to every delay
        prctl(PR_SET_TIMERSLACK, 1);
        exact_timers = true;
    }
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    int saved = errno;
    while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0 && errno == EINTR)
        ;
    errno = saved;
}

static uint64_t mix(uint64_t x) { // splitmix64: the n-th sample depends on seed and n only
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t sample(struct fi_opctl *o, uint64_t n, uint64_t seed) {
    uint64_t u = mix(seed ^ mix(n));
    unsigned cell = (unsigned)(u >> 56);
    uint64_t low = atomic_load(&o->quantile[cell]), high = atomic_load(&o->quantile[cell + 1]);
    if (high <= low) return low;
    return low + (uint64_t)((double)(high - low) * (double)(uint32_t)u / 4294967296.0);
}

static void thaw(void) {
    // Bounded waits: a freeze that ends without a wake-up must not hang us.
    struct timespec slice = {.tv_nsec = 50 * 1000 * 1000};
    while (atomic_load(&fi_control->freeze) != 0 && !fi_dead())
        syscall(SYS_futex, &fi_control->freeze, FUTEX_WAIT, 1, &slice, NULL, 0);
}

int fi_dead(void) {
    return atomic_load(&fi_state->dead) && !fi_bug(9) ? EIO : 0;
}

int fi_gate(enum fi_op op, uint64_t bytes, uint64_t *deadline) {
    int saved = errno;
    struct fi_opctl *o = &fi_control->op[op];
    uint64_t n = atomic_fetch_add(&o->count, 1) + 1;
    if (bytes) atomic_fetch_add(&o->bytes, bytes);
    if (deadline) *deadline = 0;
    write_half = false;
    thaw();
    int err = fi_dead();
    if (err) return err;

    uint64_t first = atomic_load(&o->fault.first);
    if (first != 0 && n >= first && n <= atomic_load(&o->fault.last)) {
        atomic_fetch_add(&o->failed, 1);
        err = (int)atomic_load(&o->fault.error);
        if (err == 0) write_half = true;
    }
    if (atomic_load(&o->latency_on)) {
        uint64_t start = now_ns(), ns = sample(o, n, fi_control->seed);
        atomic_fetch_add(&o->injected_ns, ns);
        if (deadline)
            *deadline = start + ns;
        else
            fi_sleep_until(start + ns);
    }
    errno = saved;
    return err;
}

int fi_gate_space(enum fi_op op) {
    if (!atomic_load(&fi_control->enospc)) return 0;
    atomic_fetch_add(&fi_control->op[op].failed, 1);
    return ENOSPC;
}

bool fi_gate_short(void) {
    bool half = write_half;
    write_half = false;
    return half;
}
