// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct fi_area *fi_area;

static int (*machine_gettime)(clockid_t, struct timespec *);

void *fi_symbol(const char *name) {
    // Condition variables have two generations of entry points in old C
    // libraries; without a version one would get the wrong one.
    void *f = strncmp(name, "pthread_cond_", 13) == 0 ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;
    return f ? f : dlsym(RTLD_NEXT, name);
}

// Until the C library's function is known, the kernel is asked: an allocator
// may read the clock while it is being asked for memory by the look-up.
int fi_real_gettime(clockid_t id, struct timespec *t) {
    return machine_gettime ? machine_gettime(id, t) : (int)syscall(SYS_clock_gettime, id, t);
}

int64_t fi_real(clockid_t id) {
    struct timespec t = {0};
    fi_real_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// A process that was told to have such clocks and cannot must not go on with
// the machine's.
static void refuse(const char *why, const char *path) {
    fprintf(stderr, "fi-clock: %s: %s\n", why, path);
    _exit(255);
}

// The clock of a condition variable is known to the C library only; the bit
// that says so is checked here, before anything relies on it.
static bool condvar_as_expected(void) {
    pthread_condattr_t attr;
    pthread_cond_t real, monotonic;
    pthread_condattr_init(&attr);
    pthread_cond_init(&real, &attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&monotonic, &attr);
    return (real.__data.__wrefs & 2) == 0 && (monotonic.__data.__wrefs & 2) == 2;
}

static void forked(void) {
    fi_watch_fork();
    fi_condvar_fork();
    fi_timer_fork();
    fi_timerfd_fork();
}

__attribute__((constructor)) static void attach(void) {
    int saved = errno;
    machine_gettime = (typeof(machine_gettime))fi_symbol("clock_gettime");
    const char *path = getenv("FI_CLOCK");
    if (path == NULL || *path == 0) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) refuse("cannot open what FI_CLOCK names (was it destroyed?)", path);
    struct stat st;
    struct fi_area *a = MAP_FAILED;
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size >= sizeof *a)
        a = mmap(NULL, sizeof *a, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (a == MAP_FAILED || a->magic != FI_CLOCK_MAGIC || a->version != FI_CLOCK_VERSION || a->size != sizeof *a)
        refuse("this was made by another version of fi; destroy and create it again", path);
    if (!condvar_as_expected()) refuse("this C library's condition variables are not as known", path);
    pthread_atfork(NULL, NULL, forked);
    fi_area = a;
    errno = saved;
}
