// SPDX-License-Identifier: Apache-2.0
#include "disk.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct fi_state *fi_state;
struct fi_control *fi_control;
int fi_user_fd = -1;
static char disk_dir[FI_PATH];

void fi_complain(const char *what, const char *detail) {
    char line[FI_PATH + 256];
    int n = snprintf(line, sizeof line, "fi-disk: %s: %s\n", what, detail);
    if (n > 0) (void)!syscall(SYS_write, 2, line, n < (int)sizeof line ? n : (int)sizeof line);
}

const char *fi_blob_path(uint32_t id, char *buf, size_t size) {
    int n = snprintf(buf, size, "%s/blobs/%u", disk_dir, id);
    return n > 0 && (size_t)n < size ? buf : NULL;
}

static void *map(const char *name, size_t size) {
    char path[FI_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", disk_dir, name);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return NULL;
    void *p = NULL;
    struct stat st;
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size >= size) {
        p = (void *)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED) p = NULL;
        // Most of it is a hole: to read ahead there is to fill memory with zeros.
        if (p) (void)madvise(p, size, MADV_RANDOM);
    }
    syscall(SYS_close, fd);
    return p;
}

// The user lock tells `fi` that the disk is in use. The kernel drops it with
// the last descriptor, so with the last process, however it ended; a forked
// child shares it. It is taken before the state is mapped: a crash under way
// holds it exclusively, and a process that starts meanwhile waits.
static int lock_as_user(void) {
    char path[FI_PATH + 32];
    snprintf(path, sizeof path, "%s/users", disk_dir);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return -1;
    int high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
    if (high >= 0) {
        syscall(SYS_close, fd);
        fd = high;
    }
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    while (syscall(SYS_fcntl, fd, F_OFD_SETLKW, &whole) != 0)
        if (errno != EINTR) return -1;
    return fd;
}

void fi_mutex_init(pthread_mutex_t *m) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(m, &attr);
    pthread_mutexattr_destroy(&attr);
}

// A process that was told to live on a disk and cannot must not go on as if
// its writes could be lost: it ends here.
static void refuse(const char *why) {
    fi_complain(why, disk_dir);
    _exit(255);
}

void fi_attach(void) {
    const char *dir = getenv("FI_DISK");
    if (dir == NULL || *dir == 0) return;
    if (strlen(dir) >= sizeof disk_dir - 64) refuse("FI_DISK is too long");
    strcpy(disk_dir, dir);
    fi_user_fd = lock_as_user();
    if (fi_user_fd < 0) refuse("cannot lock the disk named by FI_DISK (was it destroyed?)");
    struct fi_control *control = map("control", sizeof *control);
    struct fi_state *state = map("state", sizeof *state);
    if (control == NULL || state == NULL) refuse("cannot map the disk named by FI_DISK");
    if (control->magic != FI_CONTROL_MAGIC || control->version != FI_LAYOUT_VERSION ||
        control->size != sizeof *control || state->magic != FI_STATE_MAGIC ||
        state->version != FI_LAYOUT_VERSION || state->inode_size != sizeof state->inode[0])
        refuse("the disk was made by another version of fi; destroy and create it again");
    // `fi` makes locks without the C library: they must be what this one makes.
    pthread_mutex_t own;
    fi_mutex_init(&own);
    if ((uint32_t)own.__data.__kind != state->mutex_kind ||
        offsetof(pthread_mutex_t, __data.__kind) != 16)
        refuse("this C library's locks differ from glibc's; the preload backend cannot be used here");
    fi_trace_open();
    fi_control = control;
    fi_fd_own();
    pthread_atfork(NULL, NULL, fi_fd_own);
    fi_state = state;
}

__attribute__((constructor)) static void start(void) {
    int saved = errno;
    fi_attach();
    errno = saved;
}

#ifdef FI_SEEDED_BUGS
bool fi_bug(int n) {
    static int chosen = -1;
    if (chosen < 0) chosen = getenv("FI_BUG") ? atoi(getenv("FI_BUG")) : 0;
    return chosen == n;
}

void fi_point(void) {
    static _Atomic long passed;
    static long last = -1;
    if (fi_state == NULL) return;
    if (last < 0) last = getenv("FI_KILL_AT") ? atol(getenv("FI_KILL_AT")) : 0;
    if (atomic_fetch_add(&passed, 1) + 1 == last) kill(getpid(), SIGKILL);
}

// Which handle wrote what, for the bug that syncs by handle.
static struct {
    uint32_t id;
    int fd;
    uint64_t start, end;
} noted[65536];
static _Atomic uint32_t notes;

void fi_bug_note(uint32_t id, int fd, uint64_t start, uint64_t end) {
    uint32_t k = atomic_fetch_add(&notes, 1);
    if (k < 65536) noted[k].id = id, noted[k].fd = fd, noted[k].start = start, noted[k].end = end;
}

void fi_bug_ranges(uint32_t id, int fd, struct fi_extents *out) {
    for (uint32_t k = 0; k < atomic_load(&notes) && k < 65536; k++)
        if (noted[k].id == id && noted[k].fd == fd) fi_mark(out, noted[k].start, noted[k].end);
}
#endif
