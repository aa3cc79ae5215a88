// SPDX-License-Identifier: Apache-2.0
//
// waits KIND MILLISECONDS TIMES: waits by one function of the C library and
// prints for each wait how long it was in ns: by the machine's clock, which no
// shared object answers for, and by the process' own.
// waits show: what each clock is, and what it shows.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t ns(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }
static struct timespec ts(int64_t n) { return (struct timespec){n / 1000000000, n % 1000000000}; }

static int64_t own(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return ns(t);
}

static int64_t machine(clockid_t id) {
    struct timespec t;
    syscall(SYS_clock_gettime, id, &t);
    return ns(t);
}

static void *hold(void *m) { // a lock that somebody else has
    pthread_mutex_lock(m);
    sleep(1000000);
    return NULL;
}

static void *hold_rw(void *l) {
    pthread_rwlock_wrlock(l);
    sleep(1000000);
    return NULL;
}

static void cond(clockid_t of, clockid_t by, struct timespec until) {
    pthread_condattr_t attr;
    pthread_cond_t c;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, of);
    pthread_cond_init(&c, &attr);
    pthread_mutex_lock(&m);
    while ((by < 0 ? pthread_cond_timedwait(&c, &m, &until) : pthread_cond_clockwait(&c, &m, by, &until)) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&m);
}

static void timer(clockid_t id, int flags, struct timespec t, struct timespec every) {
    int fd = timerfd_create(id, 0);
    struct itimerspec s = {.it_value = t, .it_interval = every};
    uint64_t n;
    if (timerfd_settime(fd, flags, &s, NULL) != 0 || read(fd, &n, sizeof n) != sizeof n) exit(1);
    close(fd);
}

// The signal is blocked in all threads, and taken here.
static void await_alarm(void) {
    sigset_t alarm;
    int got;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigwait(&alarm, &got);
}

static void signal_timer(clockid_t id, int flags, struct timespec t) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec s = {.it_value = t};
    timer_t name;
    if (timer_create(id, &event, &name) != 0 || timer_settime(name, flags, &s, NULL) != 0) exit(1);
    await_alarm();
    timer_delete(name);
}

static void fired(union sigval v) { sem_post(v.sival_ptr); }

static void thread_timer(struct timespec t) {
    sem_t done;
    sem_init(&done, 0, 0);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = fired, .sigev_value.sival_ptr = &done};
    struct itimerspec s = {.it_value = t};
    timer_t name;
    if (timer_create(CLOCK_MONOTONIC, &event, &name) != 0 || timer_settime(name, 0, &s, NULL) != 0) exit(1);
    while (sem_wait(&done) != 0);
    timer_delete(name);
}

// The second of two times that a repeated timer is due, half the time apart.
static void repeated_timer(int64_t length) {
    struct itimerval t = {.it_value = {length / 2 / 1000000000, length / 2 % 1000000000 / 1000}};
    t.it_interval = t.it_value;
    setitimer(ITIMER_REAL, &t, NULL);
    await_alarm();
    await_alarm();
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t held_rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_t holder, holder_rw;

static void wait_by(const char *kind, int64_t length) {
    struct timespec len = ts(length), mono = ts(own(CLOCK_MONOTONIC) + length), real = ts(own(CLOCK_REALTIME) + length);
    int ms = (int)(length / 1000000);
    int ep = epoll_create1(0), word = 0;
    struct epoll_event event;
    sem_t sem;
    sem_init(&sem, 0, 0);
#define KIND(name) else if (strcmp(kind, name) == 0)
    if (0) {}
    KIND("nanosleep") while (nanosleep(&len, &len) != 0);
    KIND("usleep") usleep((useconds_t)(length / 1000));
    KIND("clock_nanosleep") clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &mono, NULL);
    KIND("clock_nanosleep_realtime") clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &real, NULL);
    KIND("poll") poll(NULL, 0, ms);
    KIND("ppoll") ppoll(NULL, 0, &len, NULL);
    KIND("select") select(0, NULL, NULL, NULL, &(struct timeval){len.tv_sec, len.tv_nsec / 1000});
    KIND("pselect") pselect(0, NULL, NULL, NULL, &len, NULL);
    KIND("epoll_wait") epoll_wait(ep, &event, 1, ms);
    KIND("epoll_pwait2") epoll_pwait2(ep, &event, 1, &len, NULL);
    KIND("cond_realtime") cond(CLOCK_REALTIME, -1, real);
    KIND("cond_monotonic") cond(CLOCK_MONOTONIC, -1, mono);
    KIND("cond_clockwait") cond(CLOCK_REALTIME, CLOCK_MONOTONIC, mono);
    KIND("sem_timedwait") while (sem_timedwait(&sem, &real) != 0 && errno != ETIMEDOUT);
    KIND("sem_clockwait") while (sem_clockwait(&sem, CLOCK_MONOTONIC, &mono) != 0 && errno != ETIMEDOUT);
    KIND("mutex_timedlock") pthread_mutex_timedlock(&held, &real);
    KIND("mutex_clocklock") pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, &mono);
    KIND("rwlock_timedrdlock") pthread_rwlock_timedrdlock(&held_rw, &real);
    KIND("rwlock_clockwrlock") pthread_rwlock_clockwrlock(&held_rw, CLOCK_MONOTONIC, &mono);
    KIND("timedjoin") pthread_timedjoin_np(holder, NULL, &real);
    KIND("futex") syscall(SYS_futex, &word, FUTEX_WAIT, 0, &len, NULL, 0);
    KIND("futex_monotonic") syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &mono, NULL, FUTEX_BITSET_MATCH_ANY);
    KIND("futex_realtime") syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &real, NULL, FUTEX_BITSET_MATCH_ANY);
    KIND("timerfd") timer(CLOCK_MONOTONIC, 0, len, (struct timespec){0});
    KIND("timerfd_realtime") timer(CLOCK_REALTIME, 0, len, (struct timespec){0});
    KIND("timerfd_at_monotonic") timer(CLOCK_MONOTONIC, TFD_TIMER_ABSTIME, mono, (struct timespec){0});
    KIND("timerfd_at_realtime") timer(CLOCK_REALTIME, TFD_TIMER_ABSTIME, real, (struct timespec){0});
    KIND("timerfd_every") timer(CLOCK_MONOTONIC, 0, len, len);
    KIND("timer") signal_timer(CLOCK_REALTIME, 0, len);
    KIND("timer_at_monotonic") signal_timer(CLOCK_MONOTONIC, TIMER_ABSTIME, mono);
    KIND("timer_at_realtime") signal_timer(CLOCK_REALTIME, TIMER_ABSTIME, real);
    KIND("timer_thread") thread_timer(len);
    KIND("setitimer") {
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {len.tv_sec, len.tv_nsec / 1000}}, NULL);
        await_alarm();
    }
    KIND("setitimer_every") {
        struct timeval t = {len.tv_sec, len.tv_nsec / 1000};
        setitimer(ITIMER_REAL, &(struct itimerval){t, t}, NULL);
        await_alarm();
        setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    }
    KIND("setitimer_repeated") repeated_timer(length);
    KIND("alarm") {
        alarm((unsigned)((length + 999999999) / 1000000000));
        await_alarm();
    }
    else exit(2);
    close(ep);
}

static void show(const char *name, int64_t own, int64_t machine) {
    printf("%s %lld %lld\n", name, (long long)machine, (long long)own);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "show") == 0) {
        struct timeval v;
        struct timespec t;
        gettimeofday(&v, NULL);
        show("gettimeofday", v.tv_sec * 1000000000ll + v.tv_usec * 1000, machine(CLOCK_REALTIME));
        show("time", time(NULL) * 1000000000ll, machine(CLOCK_REALTIME));
        timespec_get(&t, TIME_UTC);
        show("timespec_get", ns(t), machine(CLOCK_REALTIME));
        show("realtime", own(CLOCK_REALTIME), machine(CLOCK_REALTIME));
        show("realtime_coarse", own(CLOCK_REALTIME_COARSE), machine(CLOCK_REALTIME_COARSE));
        show("monotonic", own(CLOCK_MONOTONIC), machine(CLOCK_MONOTONIC));
        show("boottime", own(CLOCK_BOOTTIME), machine(CLOCK_BOOTTIME));
        show("raw", own(CLOCK_MONOTONIC_RAW), machine(CLOCK_MONOTONIC_RAW));
        show("process", own(CLOCK_PROCESS_CPUTIME_ID), machine(CLOCK_PROCESS_CPUTIME_ID));
        return 0;
    }
    if (argc != 4) return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    int64_t length = atoll(argv[2]) * 1000000;
    if (strncmp(argv[1], "forked_", 7) == 0) { // the same in a child
        wait_by(argv[1] + 7, 1000000);
        int status;
        pid_t child = fork();
        if (child != 0) return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
        argv[1] += 7;
    }
    pthread_create(&holder, NULL, hold, &held);
    pthread_create(&holder_rw, NULL, hold_rw, &held_rw);
    while (pthread_mutex_trylock(&held) == 0) pthread_mutex_unlock(&held);
    while (pthread_rwlock_tryrdlock(&held_rw) == 0) pthread_rwlock_unlock(&held_rw);
    for (int k = 0; k < atoi(argv[3]); k++) {
        printf("waiting\n");
        int64_t before = machine(CLOCK_MONOTONIC), before_own = own(CLOCK_MONOTONIC);
        wait_by(argv[1], length);
        int64_t own_length = own(CLOCK_MONOTONIC) - before_own;
        printf("waited %lld %lld\n", (long long)(machine(CLOCK_MONOTONIC) - before), (long long)own_length);
    }
    return 0;
}
