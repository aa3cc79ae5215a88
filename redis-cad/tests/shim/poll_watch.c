/* SPDX-License-Identifier: Apache-2.0
 *
 * poll_watch.c -- LD_PRELOAD object that sees a thread meddle with the event loop of another one.
 *
 * An event loop of Redis belongs to its thread; others change it only while that thread is
 * paused, which it never is inside epoll_wait. Each change of an epoll descriptor in which
 * another thread waits at that moment is appended to the file named by CAD_POLL_WATCH. The
 * descriptors by which threads wake one another are written to, not changed. The file is made
 * when anybody waits for the first time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define DESCRIPTORS 4096

static pid_t waiting[DESCRIPTORS]; /* Which thread waits at the descriptor; 0: none. */

static pid_t *waiter(int epfd) { return &waiting[epfd >= 0 && epfd < DESCRIPTORS ? epfd : 0]; }

static int openReport(void) {
    const char *name = getenv("CAD_POLL_WATCH");
    return name ? open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
}

int epoll_wait(int epfd, struct epoll_event *events, int room, int timeout) {
    static int (*real)(int, struct epoll_event *, int, int);
    if (!real) {
        real = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
        close(openReport());
    }
    __atomic_store_n(waiter(epfd), gettid(), __ATOMIC_SEQ_CST);
    int found = real(epfd, events, room, timeout);
    __atomic_store_n(waiter(epfd), 0, __ATOMIC_SEQ_CST);
    return found;
}

int epoll_ctl(int epfd, int operation, int fd, struct epoll_event *event) {
    static int (*real)(int, int, int, struct epoll_event *);
    if (!real) real = (int (*)(int, int, int, struct epoll_event *))dlsym(RTLD_NEXT, "epoll_ctl");
    pid_t owner = __atomic_load_n(waiter(epfd), __ATOMIC_SEQ_CST);
    if (owner && owner != gettid()) {
        int out = openReport();
        dprintf(out, "thread %d changed descriptor %d where thread %d waits\n", gettid(), fd, owner);
        close(out);
    }
    return real(epfd, operation, fd, event);
}
