// SPDX-License-Identifier: Apache-2.0
//
// The libc functions that are replaced. Each does its work by a raw system
// call, so nothing here depends on the order in which libraries are loaded;
// only the stdio functions need the originals.
#include "disk.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#define EXPORT __attribute__((visibility("default")))
#define ALIAS(of) __attribute__((visibility("default"), alias(#of)))

static int fail(int err) {
    errno = err;
    return -1;
}

static struct fi_inode *inode(uint32_t id) {
    return &fi_state->inode[id];
}

static uint64_t size_of(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

// ---------------------------------------------------------------- open, close

// What O_TRUNC does, also through a descriptor that only reads.
static int empty(int fd, int flags) {
    if ((flags & O_ACCMODE) != O_RDONLY) return (int)syscall(SYS_ftruncate, fd, 0);
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return (int)syscall(SYS_truncate, self, 0);
}

// Empties an existing file under its lock, so that what was there counts as
// changed before it is gone.
static int open_truncating(int at, const char *path, int flags) {
    int fd = (int)syscall(SYS_openat, at, path, flags & ~(O_TRUNC | O_CREAT | O_EXCL), 0);
    if (fd < 0) return fd;
    fi_fd_track(fd, flags);
    unsigned f;
    uint32_t id = fi_fd(fd, &f);
    if (id == 0 || inode(id)->kind != FI_FILE || !fi_inode_lock(inode(id), fd)) {
        syscall(SYS_close, fd);
        fi_fd_forget(fd);
        return (int)syscall(SYS_openat, at, path, flags & ~(O_CREAT | O_EXCL), 0);
    }
    fi_mark(&inode(id)->fresh, 0, size_of(fd));
    int err = fi_dead();
    if (err == 0 && empty(fd, flags) != 0) err = errno;
    if (err == 0) fi_trace_data('T', id, 0, NULL, 0, 0);
    fi_inode_unlock(inode(id));
    if (err == 0) return fd;
    syscall(SYS_close, fd);
    fi_fd_forget(fd);
    return fail(err);
}

static int create_locked(struct fi_place *p, int flags, mode_t mode) {
    struct statx sx;
    if (fi_dead()) return fail(EIO);
    fi_intend_locked(FI_REC_ADD, p, NULL, 0, NULL);
    int fd = (int)syscall(SYS_openat, p->dir, p->name, flags | O_CREAT | O_EXCL, mode);
    int err = fd < 0 ? errno : 0;
    if (err == 0 && fi_statx(fd, "", AT_EMPTY_PATH, &sx) == 0) {
        uint32_t id = fi_inode_new_locked(&sx);
        err = id ? fi_done_locked(FI_REC_ADD, p, NULL, id, 0) : ENOSPC;
        if (err == 0) fi_trace_name('C', p, NULL, id);
        if (err) {
            syscall(SYS_unlinkat, p->dir, p->name, 0);
            syscall(SYS_close, fd);
        }
    }
    fi_undone_locked();
    return err ? fail(err) : fd;
}

static int create(struct fi_place *p, int flags, mode_t mode) {
    int err = fi_gate_space(FI_OP_OPEN);
    if (err) return fail(err);
    if (!fi_names_lock()) return (int)syscall(SYS_openat, p->dir, p->name, flags, mode);
    int fd = create_locked(p, flags, mode);
    err = errno;
    fi_names_unlock();
    errno = err;
    return fd;
}

static int do_open(int at, const char *path, int flags, mode_t mode) {
    if (fi_state == NULL || (flags & O_PATH)) return (int)syscall(SYS_openat, at, path, flags, mode);
    int fd;
    struct fi_place p;
    bool ours = fi_place(at, path, &p);
    if (ours) {
        int err = fi_gate(FI_OP_OPEN, 0, NULL);
        if (err) {
            fi_place_close(&p);
            return fail(err);
        }
    }
    bool may_create = ours && (flags & O_CREAT) && !(flags & O_DIRECTORY);
    // Each turn sees the file either there or not; another process may change
    // that in between, hence a few turns before the plain call decides.
    for (int turn = 0;; turn++) {
        if (turn == 8) {
            fd = (int)syscall(SYS_openat, at, path, flags, mode);
            break;
        }
        if (may_create && (flags & O_EXCL)) {
            fd = create(&p, flags, mode);
            break;
        }
        fd = flags & O_TRUNC ? open_truncating(at, path, flags)
                             : (int)syscall(SYS_openat, at, path, flags & ~O_CREAT, mode);
        if (fd < 0 && errno == ENOENT && !ours && (flags & O_CREAT)) {
            fd = (int)syscall(SYS_openat, at, path, flags, mode);
            break;
        }
        if (fd >= 0 || errno != ENOENT || !may_create) break;
        fd = create(&p, flags & ~O_TRUNC, mode);
        if (fd >= 0 || errno != EEXIST) break;
    }
    if (fd >= 0) fi_fd_track(fd, flags);
    int err = errno;
    fi_place_close(&p);
    errno = err;
    return fd;
}

static mode_t mode_of(int flags, va_list ap) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return do_open(AT_FDCWD, path, flags, mode);
}
EXPORT int openat(int at, const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return do_open(at, path, flags, mode);
}
EXPORT int open64(const char *path, int flags, ...) ALIAS(open);
EXPORT int openat64(int at, const char *path, int flags, ...) ALIAS(openat);
EXPORT int __open_2(const char *path, int flags) {
    return do_open(AT_FDCWD, path, flags, 0);
}
EXPORT int __open64_2(const char *path, int flags) ALIAS(__open_2);
EXPORT int __openat_2(int at, const char *path, int flags) {
    return do_open(at, path, flags, 0);
}
EXPORT int __openat64_2(int at, const char *path, int flags) ALIAS(__openat_2);
EXPORT int creat(const char *path, mode_t mode) {
    return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
EXPORT int creat64(const char *path, mode_t mode) ALIAS(creat);

static void *next(const char *name) {
    void *f = dlsym(RTLD_NEXT, name);
    if (f == NULL) {
        fi_complain("missing in the C library", name);
        abort();
    }
    return f;
}

// Temporary files get their name from libc, which opens them unseen; they are
// taken up like a file made outside.
#define MAKE_TEMP(name, params, args)                                  \
    EXPORT int name params {                                           \
        static int(*_Atomic real) params;                              \
        if (real == NULL) real = (int(*) params)next(#name);           \
        int fd = real args;                                            \
        if (fi_state && fd >= 0) fi_fd_track(fd, (int)syscall(SYS_fcntl, fd, F_GETFL)); \
        return fd;                                                     \
    }
MAKE_TEMP(mkstemp, (char *t), (t))
MAKE_TEMP(mkstemp64, (char *t), (t))
MAKE_TEMP(mkostemp, (char *t, int f), (t, f))
MAKE_TEMP(mkostemp64, (char *t, int f), (t, f))
MAKE_TEMP(mkstemps, (char *t, int n), (t, n))
MAKE_TEMP(mkstemps64, (char *t, int n), (t, n))
MAKE_TEMP(mkostemps, (char *t, int n, int f), (t, n, f))
MAKE_TEMP(mkostemps64, (char *t, int n, int f), (t, n, f))

EXPORT int close(int fd) {
    if (fd >= 0 && fd == fi_user_fd) return fail(EBADF);
    fi_fd_forget(fd);
    return (int)syscall(SYS_close, fd);
}

EXPORT int close_range(unsigned first, unsigned last, int flags) {
    unsigned own = fi_user_fd >= 0 ? (unsigned)fi_user_fd : UINT_MAX;
    if (!(flags & (int)CLOSE_RANGE_CLOEXEC))
        for (unsigned fd = first; fd <= last && fd < 1u << 20; fd++) fi_fd_forget((int)fd);
    if (own < first || own > last) return (int)syscall(SYS_close_range, first, last, flags);
    int err = own > first ? (int)syscall(SYS_close_range, first, own - 1, flags) : 0;
    if (err == 0 && own < last) err = (int)syscall(SYS_close_range, own + 1, last, flags);
    return err;
}
EXPORT void closefrom(int first) {
    close_range(first < 0 ? 0 : (unsigned)first, ~0u, 0);
}

EXPORT int dup(int fd) {
    int to = (int)syscall(SYS_dup, fd);
    if (to >= 0) fi_fd_copy(fd, to);
    return to;
}
EXPORT int dup3(int fd, int to, int flags) {
    if (to >= 0 && to == fi_user_fd) return fail(EBADF);
    int got = (int)syscall(SYS_dup3, fd, to, flags);
    if (got >= 0) fi_fd_copy(fd, to);
    return got;
}
EXPORT int dup2(int fd, int to) {
    if (fd == to) return (int)syscall(SYS_fcntl, fd, F_GETFD) < 0 ? -1 : to;
    return dup3(fd, to, 0);
}

EXPORT int fcntl(int fd, int cmd, ...) {
    va_list ap;
    va_start(ap, cmd);
    long arg = va_arg(ap, long);
    va_end(ap);
    int got = (int)syscall(SYS_fcntl, fd, cmd, arg);
    if (got < 0) return got;
    unsigned flags;
    if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC) fi_fd_copy(fd, got);
    if (cmd == F_SETFL && fi_fd(fd, &flags)) fi_fd_track(fd, (int)syscall(SYS_fcntl, fd, F_GETFL));
    return got;
}
EXPORT int fcntl64(int fd, int cmd, ...) ALIAS(fcntl);

// ---------------------------------------------------------------------- stdio

// stdio writes by calls that cannot be replaced: a file that was opened for
// writing this way is copied as a whole when it is synced.
static void before_stdio(const char *path, const char *mode) {
    struct statx sx;
    uint32_t id;
    if (mode[0] != 'r' || strchr(mode, '+'))
        if (fi_statx(AT_FDCWD, path, 0, &sx) == 0 && (id = fi_lookup(&sx)) != 0) {
            fi_finish_copy(id, AT_FDCWD, path);
            atomic_fetch_or(&inode(id)->flags, FI_OPAQUE);
        }
}

static void after_stdio(FILE *f, const char *mode) {
    if (f == NULL) return;
    int fd = fileno(f);
    fi_fd_track(fd, 0);
    uint32_t id = fi_fd(fd, NULL);
    if (id && (mode[0] != 'r' || strchr(mode, '+'))) {
        atomic_fetch_or(&inode(id)->flags, FI_OPAQUE);
        fi_trace_data('?', id, 0, NULL, 0, 0);
    }
}

static FILE *do_fopen(FILE *(*real)(const char *, const char *), const char *path, const char *mode) {
    if (fi_state == NULL) return real(path, mode);
    struct fi_place p;
    if (fi_place(AT_FDCWD, path, &p)) {
        fi_place_close(&p);
        int err = fi_gate(FI_OP_OPEN, 0, NULL);
        if (err) {
            errno = err;
            return NULL;
        }
    }
    before_stdio(path, mode);
    FILE *f = real(path, mode);
    after_stdio(f, mode);
    return f;
}

EXPORT FILE *fopen(const char *path, const char *mode) {
    static FILE *(*_Atomic real)(const char *, const char *);
    if (real == NULL) real = (FILE * (*)(const char *, const char *)) next("fopen");
    return do_fopen(real, path, mode);
}
EXPORT FILE *fopen64(const char *path, const char *mode) ALIAS(fopen);

EXPORT FILE *freopen(const char *path, const char *mode, FILE *f) {
    static FILE *(*_Atomic real)(const char *, const char *, FILE *);
    if (real == NULL) real = (FILE * (*)(const char *, const char *, FILE *)) next("freopen");
    if (fi_state && path) {
        fi_fd_forget(fileno(f));
        before_stdio(path, mode);
    }
    f = real(path, mode, f);
    if (fi_state && path) after_stdio(f, mode);
    return f;
}
EXPORT FILE *freopen64(const char *path, const char *mode, FILE *f) ALIAS(freopen);

EXPORT FILE *fdopen(int fd, const char *mode) {
    static FILE *(*_Atomic real)(int, const char *);
    if (real == NULL) real = (FILE * (*)(int, const char *)) next("fdopen");
    FILE *f = real(fd, mode);
    uint32_t id = f ? fi_fd(fd, NULL) : 0;
    if (id && (mode[0] != 'r' || strchr(mode, '+'))) {
        fi_finish_copy(id, fd, NULL);
        atomic_fetch_or(&inode(id)->flags, FI_OPAQUE);
        fi_trace_data('?', id, 0, NULL, 0, 0);
    }
    return f;
}

EXPORT int fclose(FILE *f) {
    static int (*_Atomic real)(FILE *);
    if (real == NULL) real = (int (*)(FILE *))next("fclose");
    if (fi_state && f) {
        int fd = fileno(f);
        if (fd >= 0) fi_fd_forget(fd);
    }
    return real(f);
}

// ---------------------------------------------------------------------- write

static ssize_t total(const struct iovec *v, int n) {
    ssize_t sum = 0;
    for (int i = 0; i < n; i++) sum += (ssize_t)v[i].iov_len;
    return sum;
}

static ssize_t raw_writev(int fd, const struct iovec *v, int n, off_t at, int flags) {
    return syscall(SYS_pwritev2, fd, v, n, (unsigned long)at, (unsigned long)((uint64_t)at >> 32), flags);
}

// at == -1: at the descriptor's position.
static ssize_t tracked_write(uint32_t id, int fd, unsigned f, const struct iovec *v, int n, off_t at,
                             int flags) {
    ssize_t len = total(v, n);
    int err = fi_gate(FI_OP_WRITE, (uint64_t)len, NULL);
    if (err == 0) err = fi_gate_space(FI_OP_WRITE);
    if (err) return fail(err);
    struct iovec half;
    if (fi_gate_short() && len > 1) {
        half = (struct iovec){v[0].iov_base, (v[0].iov_len + 1) / 2};
        v = &half, n = 1, len = (ssize_t)half.iov_len;
    }
    struct fi_inode *i = inode(id);
    bool locked = fi_inode_lock(i, fd);
    ssize_t done;
    if (fi_dead()) {
        done = fail(EIO);
    } else {
        uint64_t start = (f & FI_FD_APPEND) || (flags & RWF_APPEND) ? size_of(fd)
                         : at >= 0 ? (uint64_t)at
                                   : (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
        fi_bug_note(id, fd, start, start + (uint64_t)len);
        if (fi_bug(7) && (f & FI_FD_APPEND)) {
            static uint64_t appended; // starts again at 0 in every life
            start = appended;
            appended += (uint64_t)len;
        }
        fi_mark(&i->fresh, start, start + (uint64_t)len);
        done = raw_writev(fd, v, n, at, flags & ~(RWF_SYNC | RWF_DSYNC));
        if (done > 0) fi_trace_data('W', id, start, v, n, (uint64_t)done);
    }
    err = errno;
    if (locked) fi_inode_unlock(i);
    if (done > 0 && ((f & FI_FD_SYNC) || (flags & (RWF_SYNC | RWF_DSYNC)))) {
        int failed = fi_sync_inode(id, fd, true);
        if (failed) return fail(failed);
    }
    errno = err;
    return done;
}

EXPORT ssize_t write(int fd, const void *buf, size_t n) {
    unsigned f;
    uint32_t id = fi_fd(fd, &f);
    if (id == 0) return syscall(SYS_write, fd, buf, n);
    struct iovec v = {(void *)buf, n < SSIZE_MAX ? n : SSIZE_MAX};
    return tracked_write(id, fd, f, &v, 1, -1, 0);
}
EXPORT ssize_t pwrite(int fd, const void *buf, size_t n, off_t at) {
    unsigned f;
    uint32_t id = fi_fd(fd, &f);
    if (id == 0 || at < 0) return syscall(SYS_pwrite64, fd, buf, n, at);
    struct iovec v = {(void *)buf, n < SSIZE_MAX ? n : SSIZE_MAX};
    return tracked_write(id, fd, f, &v, 1, at, 0);
}
EXPORT ssize_t pwrite64(int fd, const void *buf, size_t n, off_t at) ALIAS(pwrite);
EXPORT ssize_t writev(int fd, const struct iovec *v, int n) {
    unsigned f;
    uint32_t id = fi_fd(fd, &f);
    if (id == 0 || n < 1) return syscall(SYS_writev, fd, v, n);
    return tracked_write(id, fd, f, v, n, -1, 0);
}
EXPORT ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t at, int flags) {
    unsigned f;
    uint32_t id = fi_fd(fd, &f);
    if (id == 0 || n < 1) return raw_writev(fd, v, n, at, flags);
    return tracked_write(id, fd, f, v, n, at, flags);
}
EXPORT ssize_t pwritev64v2(int fd, const struct iovec *v, int n, off_t at, int flags) ALIAS(pwritev2);
EXPORT ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at) {
    return at < 0 ? fail(EINVAL) : pwritev2(fd, v, n, at, 0);
}
EXPORT ssize_t pwritev64(int fd, const struct iovec *v, int n, off_t at) ALIAS(pwritev);

// Data that the kernel moves into the file: at is NULL for the position.
static bool begin_move(uint32_t id, unsigned f, int fd, const off_t *at, size_t n, int *err) {
    *err = fi_gate(FI_OP_WRITE, n, NULL);
    if (*err == 0) *err = fi_gate_space(FI_OP_WRITE);
    if (*err) return false;
    bool locked = fi_inode_lock(inode(id), fd);
    if ((*err = fi_dead())) return locked;
    uint64_t start = f & FI_FD_APPEND ? size_of(fd)
                     : at             ? (uint64_t)*at
                                      : (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
    fi_mark(&inode(id)->fresh, start, start + n);
    fi_trace_data('?', id, start, NULL, 0, 0);
    return locked;
}

#define MOVE(raw, out, at, n)                              \
    unsigned f;                                            \
    int err;                                               \
    uint32_t id = fi_fd(out, &f);                          \
    if (id == 0) return raw;                               \
    bool locked = begin_move(id, f, out, at, n, &err);     \
    ssize_t done = err ? fail(err) : raw;                  \
    err = errno;                                           \
    if (locked) fi_inode_unlock(inode(id));                \
    if (done > 0 && (f & FI_FD_SYNC)) {                    \
        int failed = fi_sync_inode(id, out, true);         \
        if (failed) return fail(failed);                   \
    }                                                      \
    errno = err;                                           \
    return done;

EXPORT ssize_t sendfile(int out, int in, off_t *from, size_t n) {
    MOVE(syscall(SYS_sendfile, out, in, from, n), out, NULL, n)
}
EXPORT ssize_t sendfile64(int out, int in, off_t *from, size_t n) ALIAS(sendfile);
EXPORT ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t n, unsigned flags) {
    MOVE(syscall(SYS_copy_file_range, in, from, out, to, n, flags), out, to, n)
}
EXPORT ssize_t splice(int in, off_t *from, int out, off_t *to, size_t n, unsigned flags) {
    MOVE(syscall(SYS_splice, in, from, out, to, n, flags), out, to, n)
}

// ----------------------------------------------------------------------- read

static int before_read(int fd, size_t n) {
    uint32_t id = fi_fd(fd, NULL);
    return id ? fi_gate(FI_OP_READ, n, NULL) : 0;
}
#define READ(n, raw)                     \
    int err = before_read(fd, n);        \
    if (err) return fail(err);           \
    return raw;

EXPORT ssize_t read(int fd, void *buf, size_t n) {
    READ(n, syscall(SYS_read, fd, buf, n))
}
EXPORT ssize_t __read_chk(int fd, void *buf, size_t n, size_t room) {
    if (n > room) abort();
    READ(n, syscall(SYS_read, fd, buf, n))
}
EXPORT ssize_t pread(int fd, void *buf, size_t n, off_t at) {
    READ(n, syscall(SYS_pread64, fd, buf, n, at))
}
EXPORT ssize_t pread64(int fd, void *buf, size_t n, off_t at) ALIAS(pread);
EXPORT ssize_t readv(int fd, const struct iovec *v, int n) {
    READ((size_t)total(v, n), syscall(SYS_readv, fd, v, n))
}
EXPORT ssize_t preadv(int fd, const struct iovec *v, int n, off_t at) {
    READ((size_t)total(v, n), syscall(SYS_preadv, fd, v, n, (unsigned long)at,
                                      (unsigned long)((uint64_t)at >> 32)))
}
EXPORT ssize_t preadv64(int fd, const struct iovec *v, int n, off_t at) ALIAS(preadv);

// ----------------------------------------------------------------------- size

EXPORT int ftruncate(int fd, off_t size) {
    uint32_t id = fi_fd(fd, NULL);
    if (id == 0 || size < 0) return (int)syscall(SYS_ftruncate, fd, size);
    int err = fi_gate(FI_OP_TRUNC, 0, NULL);
    if (err) return fail(err);
    bool locked = fi_inode_lock(inode(id), fd);
    if (!fi_bug(6)) fi_mark(&inode(id)->fresh, (uint64_t)size, size_of(fd)); // nothing if it grows
    int got = fi_dead() ? fail(EIO) : (int)syscall(SYS_ftruncate, fd, size);
    err = errno;
    if (got == 0) fi_trace_data('T', id, (uint64_t)size, NULL, 0, 0);
    if (locked) fi_inode_unlock(inode(id));
    errno = err;
    return got;
}
EXPORT int ftruncate64(int fd, off_t size) ALIAS(ftruncate);
EXPORT int truncate(const char *path, off_t size) {
    if (fi_state == NULL) return (int)syscall(SYS_truncate, path, size);
    int fd = do_open(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0) return -1;
    int got = ftruncate(fd, size), err = errno;
    close(fd);
    errno = err;
    return got;
}
EXPORT int truncate64(const char *path, off_t size) ALIAS(truncate);

EXPORT int fallocate(int fd, int mode, off_t at, off_t len) {
    uint32_t id = fi_fd(fd, NULL);
    if (id == 0) return (int)syscall(SYS_fallocate, fd, mode, at, len);
    int err = fi_gate(FI_OP_TRUNC, 0, NULL);
    if (err == 0 && !(mode & FALLOC_FL_PUNCH_HOLE)) err = fi_gate_space(FI_OP_TRUNC);
    if (err) return fail(err);
    bool locked = fi_inode_lock(inode(id), fd);
    if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
        fi_mark(&inode(id)->fresh, (uint64_t)at, size_of(fd) + (uint64_t)len);
    else if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        fi_mark(&inode(id)->fresh, (uint64_t)at, (uint64_t)(at + len));
    int got = fi_dead() ? fail(EIO) : (int)syscall(SYS_fallocate, fd, mode, at, len);
    err = errno;
    if (got == 0) fi_trace_data('?', id, (uint64_t)at, NULL, 0, 0);
    if (locked) fi_inode_unlock(inode(id));
    errno = err;
    return got;
}
EXPORT int fallocate64(int fd, int mode, off_t at, off_t len) ALIAS(fallocate);
EXPORT int posix_fallocate(int fd, off_t at, off_t len) {
    int saved = errno, err = fallocate(fd, 0, at, len) == 0 ? 0 : errno;
    errno = saved;
    return err;
}
EXPORT int posix_fallocate64(int fd, off_t at, off_t len) ALIAS(posix_fallocate);

// ----------------------------------------------------------------------- sync

EXPORT int fsync(int fd) {
    uint32_t id = fi_fd(fd, NULL);
    if (id == 0) return (int)syscall(SYS_fsync, fd);
    int err = fi_sync_inode(id, fd, true);
    return err ? fail(err) : 0;
}
EXPORT int fdatasync(int fd) {
    uint32_t id = fi_fd(fd, NULL);
    if (id == 0) return (int)syscall(SYS_fdatasync, fd);
    int err = fi_sync_inode(id, fd, true);
    return err ? fail(err) : 0;
}
EXPORT void sync(void) {
    if (fi_state) fi_sync_all();
    syscall(SYS_sync);
}
EXPORT int syncfs(int fd) {
    if (fi_fd(fd, NULL) == 0) return (int)syscall(SYS_syncfs, fd);
    int err = fi_sync_all();
    return err ? fail(err) : 0;
}

// Shared writable mappings change a file unseen: it is copied as a whole when
// it is synced. msync needs the file of an address, so mappings are kept.
#define MAPPINGS 256
static struct mapping {
    char *from, *to;
    int fd;
} mapping[MAPPINGS];
static pthread_mutex_t mappings = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int mapped; // how many; none is the usual case, and costs no lock

static void lock_mappings(void) {
    pthread_mutex_lock(&mappings);
}
static void unlock_mappings(void) {
    pthread_mutex_unlock(&mappings);
}

// A child of fork must not find the lock held by a thread that it does not have.
static void keep_mappings_over_fork(void) {
    pthread_atfork(lock_mappings, unlock_mappings, unlock_mappings);
}

static void note_mapping(char *from, size_t len, int fd) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, keep_mappings_over_fork);
    pthread_mutex_lock(&mappings);
    int k = 0;
    while (k < MAPPINGS && mapping[k].from) k++;
    if (k < MAPPINGS) {
        int own = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
        if (own < 0) own = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);
        fi_fd_copy(fd, own);
        mapping[k] = (struct mapping){from, from + len, own};
        atomic_fetch_add(&mapped, 1);
    } else {
        fi_complain("too many shared mappings", "msync of further ones is not seen");
    }
    pthread_mutex_unlock(&mappings);
}

EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t at) {
    void *p = (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, at);
    if (fi_state == NULL || p == MAP_FAILED || (flags & MAP_ANONYMOUS) || !(prot & PROT_WRITE) ||
        (flags & MAP_TYPE) == MAP_PRIVATE)
        return p;
    uint32_t id = fi_fd(fd, NULL);
    if (id == 0) return p;
    fi_finish_copy(id, fd, NULL);
    atomic_fetch_or(&inode(id)->flags, FI_OPAQUE);
    fi_trace_data('?', id, 0, NULL, 0, 0);
    note_mapping(p, len, fd);
    return p;
}
EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t at) ALIAS(mmap);

EXPORT int munmap(void *addr, size_t len) {
    if (atomic_load(&mapped) > 0) {
        pthread_mutex_lock(&mappings);
        for (int k = 0; k < MAPPINGS; k++)
            if (mapping[k].from && mapping[k].from >= (char *)addr && mapping[k].to <= (char *)addr + len) {
                fi_fd_forget(mapping[k].fd);
                syscall(SYS_close, mapping[k].fd);
                mapping[k].from = NULL;
                atomic_fetch_sub(&mapped, 1);
            }
        pthread_mutex_unlock(&mappings);
    }
    return (int)syscall(SYS_munmap, addr, len);
}

EXPORT int msync(void *addr, size_t len, int flags) {
    int got = (int)syscall(SYS_msync, addr, len, flags);
    if (got != 0 || fi_state == NULL || !(flags & MS_SYNC)) return got;
    int fd = -1;
    pthread_mutex_lock(&mappings);
    for (int k = 0; k < MAPPINGS; k++)
        if (mapping[k].from && mapping[k].from <= (char *)addr && (char *)addr < mapping[k].to)
            fd = mapping[k].fd;
    pthread_mutex_unlock(&mappings);
    return fd < 0 ? 0 : fsync(fd);
}

// ---------------------------------------------------------------------- names

#define RAW_UNLESS(cond, raw) \
    if (!(cond)) return raw

// Each: gate, lock, intend, act, record.
EXPORT int unlinkat(int at, const char *path, int flags) {
    struct fi_place p;
    struct statx sx;
    RAW_UNLESS(fi_state && fi_place(at, path, &p), (int)syscall(SYS_unlinkat, at, path, flags));
    int got = -1, err = fi_gate(FI_OP_META, 0, NULL);
    if (err == 0 && fi_names_lock()) {
        uint32_t id = fi_place_child_locked(&p, &sx);
        err = fi_dead();
        if (err == 0) {
            if (id) fi_finish_copy(id, p.dir, p.name);
            if (id) fi_intend_locked(FI_REC_DEL, &p, NULL, id, &sx);
            got = (int)syscall(SYS_unlinkat, p.dir, p.name, flags);
            err = errno;
            if (got == 0 && id && !fi_bug(5)) fi_done_locked(FI_REC_DEL, &p, NULL, id, 0);
            if (got == 0) fi_trace_name('U', &p, NULL, id);
            fi_undone_locked();
        }
        fi_names_unlock();
    }
    fi_place_close(&p);
    errno = err;
    return got;
}
EXPORT int unlink(const char *path) {
    return unlinkat(AT_FDCWD, path, 0);
}
EXPORT int rmdir(const char *path) {
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}
EXPORT int remove(const char *path) {
    if (unlink(path) == 0) return 0;
    return errno == EISDIR || errno == EPERM ? rmdir(path) : -1;
}

// Makes a name by a call that returns 0, for mkdir and symlink.
static int make(int at, const char *path, const char *target, mode_t mode) {
    struct fi_place p;
    struct statx sx;
    RAW_UNLESS(fi_state && fi_place(at, path, &p),
               target ? (int)syscall(SYS_symlinkat, target, at, path)
                      : (int)syscall(SYS_mkdirat, at, path, mode));
    int got = -1, err = fi_gate(FI_OP_META, 0, NULL);
    if (err == 0) err = fi_gate_space(FI_OP_META);
    if (err == 0 && fi_names_lock()) {
        err = fi_dead();
        if (err == 0) {
            fi_intend_locked(FI_REC_ADD, &p, NULL, 0, NULL);
            got = target ? (int)syscall(SYS_symlinkat, target, p.dir, p.name)
                         : (int)syscall(SYS_mkdirat, p.dir, p.name, mode);
            err = errno;
            if (got == 0 && fi_statx(p.dir, p.name, AT_SYMLINK_NOFOLLOW, &sx) == 0) {
                uint32_t id = fi_inode_new_locked(&sx);
                if (id) fi_record_add_locked(p.id, p.name, id, p.dir, p.name);
                fi_trace_name(target ? '?' : 'M', &p, NULL, id);
            }
            fi_undone_locked();
        }
        fi_names_unlock();
    }
    fi_place_close(&p);
    errno = err;
    return got;
}
EXPORT int mkdirat(int at, const char *path, mode_t mode) {
    return make(at, path, NULL, mode);
}
EXPORT int mkdir(const char *path, mode_t mode) {
    return make(AT_FDCWD, path, NULL, mode);
}
EXPORT int symlinkat(const char *target, int at, const char *path) {
    return make(at, path, target, 0);
}
EXPORT int symlink(const char *target, const char *path) {
    return make(AT_FDCWD, path, target, 0);
}

EXPORT int linkat(int from, const char *old, int at, const char *path, int flags) {
    struct fi_place p;
    struct statx sx;
    RAW_UNLESS(fi_state && fi_place(at, path, &p), (int)syscall(SYS_linkat, from, old, at, path, flags));
    int got = -1, err = fi_gate(FI_OP_META, 0, NULL);
    if (err == 0) err = fi_gate_space(FI_OP_META);
    struct fi_place o;
    uint32_t id = 0;
    if (err == 0 && fi_names_lock()) {
        int follow = flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW;
        if (fi_statx(from, old, follow | (flags & AT_EMPTY_PATH), &sx) == 0) id = fi_lookup(&sx);
        fi_names_unlock();
        if (id == 0 && fi_place(from, old, &o)) { // a file made outside
            if (fi_names_lock()) {
                id = fi_place_child_locked(&o, &sx);
                fi_names_unlock();
            }
            fi_place_close(&o);
        }
    }
    if (err == 0 && fi_names_lock()) {
        err = fi_dead();
        if (err == 0) {
            if (id) fi_intend_locked(FI_REC_ADD, &p, NULL, id, &sx);
            got = (int)syscall(SYS_linkat, from, old, p.dir, p.name, flags);
            err = errno;
            if (got == 0 && fi_bug(8)) id = fi_inode_new_locked(&sx);
            if (got == 0 && id) fi_record_add_locked(p.id, p.name, id, p.dir, p.name);
            if (got == 0) fi_trace_name(id ? 'L' : '?', &p, NULL, id);
            fi_undone_locked();
        }
        fi_names_unlock();
    }
    fi_place_close(&p);
    errno = err;
    return got;
}
EXPORT int link(const char *old, const char *path) {
    return linkat(AT_FDCWD, old, AT_FDCWD, path, 0);
}

// Both ends on the disk: one record. One end: it appears or it goes.
static int rename_locked(struct fi_place *a, bool in_a, struct fi_place *b, bool in_b, int at,
                         const char *old, int to, const char *path, unsigned flags) {
    struct statx sa, sb;
    if (fi_dead()) return fail(EIO);
    uint32_t ida = in_a ? fi_place_child_locked(a, &sa) : 0;
    uint32_t idb = in_b ? fi_place_child_locked(b, &sb) : 0;
    bool both = in_a && in_b && ida != 0;
    enum fi_record type = flags & RENAME_EXCHANGE ? FI_REC_SWAP : FI_REC_MOVE;
    bool nothing = both && ida == idb; // two links of one file: rename does nothing
    if (ida && !in_b) fi_finish_copy(ida, a->dir, a->name); // it leaves the disk
    if (idb && !nothing && type == FI_REC_MOVE) fi_finish_copy(idb, b->dir, b->name);
    if (both && !nothing)
        fi_intend_locked(type, a, b, ida, &sa);
    else if (in_a && ida && !in_b)
        fi_intend_locked(FI_REC_DEL, a, NULL, ida, &sa);
    int got = (int)syscall(SYS_renameat2, at, old, to, path, flags);
    int err = errno;
    if (got == 0 && !nothing) {
        if (both) {
            fi_done_locked(type, a, b, ida, idb);
            fi_trace_name(type == FI_REC_SWAP ? 'X' : 'R', a, b, ida);
            if (fi_bug(4)) fi_commit(atomic_load(&fi_state->journal));
        } else if (in_a && ida && !in_b) {
            fi_done_locked(FI_REC_DEL, a, NULL, ida, 0);
            fi_trace_name('U', a, NULL, ida);
        } else if (in_b) {
            fi_trace_name('?', b, NULL, 0);
            fi_place_child_locked(b, &sb); // adopts what arrived
        }
    }
    fi_undone_locked();
    errno = err;
    return got;
}

EXPORT int renameat2(int at, const char *old, int to, const char *path, unsigned flags) {
    struct fi_place *both = fi_state ? malloc(2 * sizeof *both) : NULL;
    if (both == NULL) return (int)syscall(SYS_renameat2, at, old, to, path, flags);
    bool in_a = fi_place(at, old, &both[0]), in_b = fi_place(to, path, &both[1]);
    int got = -1, err = 0;
    if (!in_a && !in_b) {
        got = (int)syscall(SYS_renameat2, at, old, to, path, flags);
        err = errno;
    } else if ((err = fi_gate(FI_OP_META, 0, NULL)) == 0 && fi_names_lock()) {
        got = rename_locked(&both[0], in_a, &both[1], in_b, at, old, to, path, flags);
        err = errno;
        fi_names_unlock();
    }
    if (in_a) fi_place_close(&both[0]);
    if (in_b) fi_place_close(&both[1]);
    free(both);
    errno = err;
    return got;
}
EXPORT int renameat(int at, const char *old, int to, const char *path) {
    return renameat2(at, old, to, path, 0);
}
EXPORT int rename(const char *old, const char *path) {
    return renameat2(AT_FDCWD, old, AT_FDCWD, path, 0);
}
