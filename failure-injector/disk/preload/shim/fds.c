// SPDX-License-Identifier: Apache-2.0
//
// Descriptor -> inode, per process. A descriptor that was not opened through a
// wrapper (inherited over exec) is looked up at its first use.
#include "disk.h"

#include <stdio.h>
#include <sys/mman.h>

#define PAGE 1024
#define PAGES 1024
#define UNKNOWN 0u
#define OUTSIDE 1u // not on the disk; ids start at 2 + 4 * 1

static _Atomic(_Atomic uint32_t *) page[PAGES];

static _Atomic uint32_t *slot(int fd, bool make) {
    if (fd < 0 || fd >= PAGE * PAGES) return NULL;
    _Atomic uint32_t *p = atomic_load(&page[fd / PAGE]);
    if (p == NULL && make) {
        p = (void *)syscall(SYS_mmap, NULL, PAGE * sizeof *p, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return NULL;
        _Atomic uint32_t *none = NULL;
        if (!atomic_compare_exchange_strong(&page[fd / PAGE], &none, p)) {
            syscall(SYS_munmap, p, PAGE * sizeof *p);
            p = none;
        }
    }
    return p ? &p[fd % PAGE] : NULL;
}

void fi_fd_set(int fd, uint32_t id, unsigned flags) {
    _Atomic uint32_t *s = slot(fd, true);
    if (s) atomic_store(s, id ? 2 + id * 4 + flags : OUTSIDE);
}

// A vfork child closes and moves descriptors of its own while it shares our
// memory: the table is not its.
static _Atomic pid_t owner;

static bool borrowed(void) {
    return atomic_load(&owner) != (pid_t)syscall(SYS_getpid);
}

void fi_fd_own(void) {
    atomic_store(&owner, (pid_t)syscall(SYS_getpid));
}

void fi_fd_forget(int fd) {
    if (fi_state == NULL || borrowed()) return;
    _Atomic uint32_t *s = slot(fd, false);
    if (s) atomic_store(s, UNKNOWN);
}

void fi_fd_copy(int from, int to) {
    if (fi_state == NULL || borrowed()) return;
    _Atomic uint32_t *a = slot(from, false), *b = slot(to, true);
    if (b) atomic_store(b, a ? atomic_load(a) : UNKNOWN);
}

// What fd refers to, by the kernel's word; adopts a file made outside.
static uint32_t resolve(int fd) {
    struct statx sx;
    if (fi_statx(fd, "", AT_EMPTY_PATH, &sx) != 0) return 0;
    if (!S_ISREG(sx.stx_mode) && !S_ISDIR(sx.stx_mode)) return 0;
    uint32_t id = fi_lookup(&sx);
    if (id != 0) return id;
    char self[64], path[FI_PATH];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, self, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    if (!fi_below_live(path)) return 0;
    fi_adopt(path);
    return fi_lookup(&sx); // 0 if the path now means another file
}

void fi_fd_track(int fd, int open_flags) {
    int saved = errno;
    uint32_t id = open_flags & O_PATH ? 0 : resolve(fd);
    unsigned flags = (open_flags & (O_SYNC | O_DSYNC) ? FI_FD_SYNC : 0) |
                     (open_flags & O_APPEND ? FI_FD_APPEND : 0);
    fi_fd_set(fd, id, flags);
    errno = saved;
}

uint32_t fi_fd(int fd, unsigned *flags) {
    if (fi_state == NULL) return 0;
    _Atomic uint32_t *s = slot(fd, true);
    if (s == NULL) return 0;
    uint32_t v = atomic_load(s);
    if (v == UNKNOWN) {
        int saved = errno, open_flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
        if (open_flags < 0) {
            errno = saved;
            return 0;
        }
        fi_fd_track(fd, open_flags);
        errno = saved;
        v = atomic_load(s);
    }
    if (v == OUTSIDE) return 0;
    if (flags) *flags = (v - 2) & 3;
    return (v - 2) / 4;
}
