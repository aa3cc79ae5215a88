// SPDX-License-Identifier: Apache-2.0
//
// Clocks as a process sees them. Reading is the easy half; the other half is
// that every deadline which the process computed from what it read has to be
// translated back before the kernel gets it. Each file has one job:
//   attach.c   map the area, the machine's own clock
//   line.c     from the machine's time to the shown one, and back
//   read.c     the functions that read a clock
//   sleep.c    sleeping, poll, select, epoll: time-outs that only this thread waits for
//   lock.c     locks, semaphores and futexes with a deadline
//   condvar.c  condition variables with a deadline
//   timer.c    timers of the kernel that end in a signal
//   timerfd.c  timers of the kernel that are descriptors
//   change.c   who waits by the kernel's clock is told when the clocks change

#ifndef FI_CLOCK_H
#define FI_CLOCK_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "area.h"

#define EXPORT __attribute__((visibility("default")))

// The function that this one replaces.
#define NEXT(name)                                                            \
    ({                                                                        \
        static typeof(&name) next_;                                           \
        if (next_ == NULL) next_ = (typeof(&name))fi_symbol(#name);           \
        next_;                                                                \
    })

extern struct fi_area *fi_area; // NULL = the clocks are the machine's

// attach.c
void *fi_symbol(const char *name);
int fi_real_gettime(clockid_t id, struct timespec *t);
int64_t fi_real(clockid_t id);

// line.c: times are ns of the clock named by id.
int fi_class(clockid_t id); // which line it follows, -1 = none
int64_t fi_shown(clockid_t id);
int64_t fi_real_at(clockid_t id, int64_t shown, uint32_t *generation);
int64_t fi_real_length(clockid_t id, int64_t shown); // of a span
bool fi_ns(const struct timespec *t, int64_t *ns);   // false: not for us to judge
struct timespec fi_timespec(int64_t ns);

// A wait is cut into parts, so that a change of the clocks is noticed soon.
// part gets the machine's time at which to look again.
void fi_part(clockid_t id, int64_t until, struct timespec *part);

// Repeats a call with a deadline until it ends otherwise than by running into
// the deadline of a part, or the clock shows that the time has come.
#define FI_IN_PARTS(id, until, part, call, timed_out)                         \
    ({                                                                        \
        struct timespec part;                                                 \
        typeof(call) r_;                                                      \
        do {                                                                  \
            fi_part(id, until, &part);                                        \
            r_ = call;                                                        \
        } while ((timed_out) && fi_shown(id) < (until));                      \
        r_;                                                                   \
    })

// change.c
void fi_watch(void);      // from now on, the two below are called at each change
void fi_watch_fork(void); // this process is a copy

// timer.c: a timer that the kernel runs.
struct fi_timer {
    bool armed, absolute;
    clockid_t by;         // what until is of: a length is not moved by steps of the timer's clock
    int64_t until, every; // ns of that clock as it is shown
    int64_t fires, pause; // the same by the machine's clock, as the kernel was told
    uint32_t generation;  // of the clocks then
};
void fi_timer_set(struct fi_timer *t, clockid_t id, bool absolute, int64_t until, int64_t every);
struct itimerspec fi_timer_real(struct fi_timer *t);                   // what to set the kernel's to, now
void fi_timer_rest(const struct fi_timer *t, struct itimerspec *rest); // of what the kernel says is left
void fi_timer_change(void);
void fi_timer_fork(void);

// condvar.c, timerfd.c
bool fi_condvar_change(void); // true: not everybody has noticed yet
void fi_condvar_fork(void);
void fi_timerfd_change(void);
void fi_timerfd_fork(void);

#endif
