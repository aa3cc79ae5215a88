// SPDX-License-Identifier: Apache-2.0
//
// What a file has not synced yet, and how a sync makes it durable.
//
// A sync has two halves with the injected latency in between: begin() notes
// what was written so far, end() copies exactly that to the durable blob. A
// power cut between the two loses the data, as on a disk whose flush was still
// under way; bytes appended while the flush runs are not covered by it.
//
// A copy is redone to its end by the next owner of the lock (or by `fi disk
// crash`) if its process is killed inside it: a sync happens whole or not. The
// copy of a file without a name cannot be redone, so it replaces the old one
// at once, or is not needed.
#include "disk.h"

#include <stdio.h>
#include <stdlib.h>

bool fi_lock(pthread_mutex_t *m, void (*recover)(void *), void *arg) {
    int err = pthread_mutex_lock(m);
    if (err == EDEADLK) return false;
    if (err == EOWNERDEAD) {
        recover(arg);
        pthread_mutex_consistent(m);
        return true;
    }
    if (err != 0) {
        fi_complain("broken lock in the disk's state", "destroy the disk and create it again");
        abort();
    }
    return true;
}

void fi_mark(struct fi_extents *list, uint64_t start, uint64_t end) {
    if (start >= end) return;
    uint32_t n = atomic_load(&list->n), nearest = 0;
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t s = atomic_load(&list->at[i].start), e = atomic_load(&list->at[i].end);
        uint64_t gap = start > e ? start - e : s > end ? s - end : 0;
        if (gap < best) best = gap, nearest = i;
    }
    if (n > 0 && (best == 0 || n == FI_EXTENTS)) { // grow the nearest range to cover this one
        if (start < atomic_load(&list->at[nearest].start)) atomic_store(&list->at[nearest].start, start);
        if (end > atomic_load(&list->at[nearest].end)) atomic_store(&list->at[nearest].end, end);
        return;
    }
    atomic_store(&list->at[n].start, start);
    atomic_store(&list->at[n].end, end);
    atomic_store(&list->n, n + 1);
}

static void fold(struct fi_extents *into, struct fi_extents *from) {
    for (uint32_t i = 0, n = atomic_load(&from->n); i < n; i++)
        fi_mark(into, atomic_load(&from->at[i].start), atomic_load(&from->at[i].end));
}

// A descriptor of the live file that can read it whatever fd was opened for.
static int open_for_reading(int fd) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return (int)syscall(SYS_openat, AT_FDCWD, self, O_RDONLY | O_CLOEXEC);
}

static int copy_range(int from, int to, uint64_t start, uint64_t end) {
    char buf[16384]; // stays in the processor's cache; threads may have little stack
    int err = 0;
    while (err == 0 && start < end) {
        size_t want = end - start < sizeof buf ? (size_t)(end - start) : sizeof buf;
        ssize_t got = syscall(SYS_pread64, from, buf, want, start);
        if (got <= 0) {
            err = got < 0 ? errno : 0;
            break;
        }
        for (ssize_t put = 0; put < got;) {
            ssize_t k = syscall(SYS_pwrite64, to, buf + put, got - put, start + put);
            if (k < 0) {
                err = errno;
                break;
            }
            put += k;
        }
        start += (uint64_t)got;
    }
    return err;
}

// Copies the holes of a long range as holes.
static int copy_data(int from, int to, uint64_t start, uint64_t end) {
    if (end - start < 65536) return copy_range(from, to, start, end);
    int err = 0;
    while (err == 0 && start < end) {
        off_t data = syscall(SYS_lseek, from, start, SEEK_DATA);
        uint64_t next = data < 0 || (uint64_t)data > end ? end : (uint64_t)data;
        if (next > start && // a hole: it must read as zeros, whatever the blob had there
            syscall(SYS_fallocate, to, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start,
                    next - start) != 0)
            err = copy_range(from, to, start, next);
        if (err || next >= end) break;
        off_t hole = syscall(SYS_lseek, from, next, SEEK_HOLE);
        uint64_t stop = hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
        err = copy_range(from, to, next, stop);
        start = stop;
    }
    return err;
}

static int copy_to_blob(struct fi_inode *i, int fd) {
    char path[FI_PATH + 64];
    uint32_t id = (uint32_t)(i - fi_state->inode);
    int from = open_for_reading(fd), own = from;
    if (from < 0) from = fd;
    int to = (int)syscall(SYS_openat, AT_FDCWD, fi_blob_path(id, path, sizeof path),
                          O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int err = to < 0 ? errno : 0;
    uint64_t size = atomic_load(&i->redo_size);
    uint32_t n = atomic_load(&i->redo.n);
    for (uint32_t k = fi_bug(1) && n ? n - 1 : 0; err == 0 && k < n; k++) {
        uint64_t s = atomic_load(&i->redo.at[k].start), e = atomic_load(&i->redo.at[k].end);
        if (e > size) e = size;
        if (s < e) err = copy_data(from, to, s, e);
    }
    if (err == 0 && !(fi_bug(3) && n == 0) && syscall(SYS_ftruncate, to, size) != 0) err = errno;
    if (to >= 0) syscall(SYS_close, to);
    if (own >= 0) syscall(SYS_close, own);
    if (err) fi_complain("cannot write the durable copy; the sync fails", path);
    return err;
}

struct recovery {
    struct fi_inode *i;
    int fd;
};

static void recover(void *arg) {
    struct recovery *r = arg;
    if (!atomic_load(&r->i->copying)) return;
    if (copy_to_blob(r->i, r->fd) != 0) return;
    fi_commit(atomic_load(&r->i->redo_commit));
    atomic_store(&r->i->copying, 0);
}

bool fi_inode_lock(struct fi_inode *i, int fd) {
    struct recovery r = {i, fd};
    return fi_lock(&i->lock, recover, &r);
}

// A copy whose process was killed can only be finished while the file is there
// and is what it was.
void fi_finish_copy(uint32_t id, int at, const char *path) {
    struct fi_inode *i = &fi_state->inode[id];
    if (i->kind != FI_FILE || !atomic_load(&i->copying)) return;
    int fd = path ? (int)syscall(SYS_openat, at, path, O_RDONLY | O_CLOEXEC) : at;
    if (fd < 0) return;
    if (fi_inode_lock(i, fd)) fi_inode_unlock(i);
    if (path) syscall(SYS_close, fd);
}

void fi_inode_unlock(struct fi_inode *i) {
    pthread_mutex_unlock(&i->lock);
}

struct snapshot {
    struct fi_extents ranges;
    uint64_t size, ticket;
};

static uint64_t size_of(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void begin(struct fi_inode *i, int fd, struct snapshot *s) {
    fold(&i->taken, &i->fresh);
    atomic_store(&i->fresh.n, 0);
    s->ticket = atomic_fetch_add(&i->ticket, 1) + 1;
    s->size = size_of(fd);
    s->ranges.n = 0;
    if (fi_bug(2) && !(atomic_load(&i->flags) & FI_OPAQUE))
        fi_bug_ranges((uint32_t)(i - fi_state->inode), fd, &s->ranges);
    else if (atomic_load(&i->flags) & FI_OPAQUE)
        fi_mark(&s->ranges, 0, s->size);
    else
        fold(&s->ranges, &i->taken);
}

// Nobody can open the file again. In ext4 mode this sync makes the loss of its
// last name durable, so nobody can see its content after a crash either.
static int end_nameless(struct fi_inode *i, int fd, uint64_t size) {
    if (fi_state->mode == FI_MODE_EXT4) {
        if (fi_names_lock()) fi_names_unlock(); // whoever took the name has recorded it
        fi_commit(atomic_load(&fi_state->journal));
        return 0;
    }
    char path[FI_PATH + 64], next[FI_PATH + 72];
    fi_blob_path((uint32_t)(i - fi_state->inode), path, sizeof path);
    snprintf(next, sizeof next, "%s.new", path);
    int from = open_for_reading(fd), own = from;
    if (from < 0) from = fd;
    int to = (int)syscall(SYS_openat, AT_FDCWD, next, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int err = to < 0 ? errno : copy_data(from, to, 0, size);
    if (err == 0 && syscall(SYS_ftruncate, to, size) != 0) err = errno;
    if (to >= 0) syscall(SYS_close, to);
    if (own >= 0) syscall(SYS_close, own);
    if (err == 0 && syscall(SYS_renameat2, AT_FDCWD, next, AT_FDCWD, path, 0) != 0) err = errno;
    if (err) fi_complain("cannot write the durable copy; the sync fails", next);
    return err;
}

static int end(struct fi_inode *i, int fd, struct snapshot *s, uint64_t commit) {
    struct stat st = {0};
    fstat(fd, &st);
    uint64_t live = (uint64_t)st.st_size;
    atomic_store(&i->equal_at, 0);
    if (st.st_nlink == 0) return end_nameless(i, fd, s->size < live ? s->size : live);
    i->redo.n = 0;
    fold(&i->redo, &s->ranges);
    atomic_store(&i->redo_size, s->size < live ? s->size : live);
    atomic_store(&i->redo_commit, commit);
    atomic_store(&i->copying, 1);
    int err = copy_to_blob(i, fd);
    if (err == 0) fi_commit(commit);
    atomic_store(&i->copying, 0);
    if (err == 0 && !(atomic_load(&i->flags) & FI_DROPPED)) // the time is older than the copy
        atomic_store(&i->equal_at, (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec);
    return err;
}

// Syncs one inode through fd. With latency == false (the sync program) no
// fault and no delay applies. A sync that fails on purpose forgets what it was
// to write, as Linux does: the pages count as clean, and a later sync that
// succeeds does not bring them back.
int fi_sync_inode(uint32_t id, int fd, bool latency) {
    struct fi_inode *i = &fi_state->inode[id];
    struct snapshot s;
    // What a killed process had done and not recorded comes before this sync.
    if (atomic_load(&fi_state->pending.type) != 0 && fi_names_lock()) fi_names_unlock();
    uint64_t deadline = 0, upto = atomic_load(&fi_state->journal);
    int err = latency ? fi_gate(FI_OP_FSYNC, 0, &deadline) : 0;
    if (fi_dead()) return EIO;
    if (i->kind == FI_FILE) {
        if (!fi_inode_lock(i, fd)) return 0;
        begin(i, fd, &s);
        fi_inode_unlock(i);
    }
    if (latency && atomic_load(&fi_control->real_fsync) && syscall(SYS_fsync, fd) != 0 && err == 0)
        err = errno;
    fi_sleep_until(deadline);
    if (fi_dead()) return EIO;
    if (i->kind == FI_FILE) {
        if (!fi_inode_lock(i, fd)) return 0;
        bool dead = fi_dead(), copied = false;
        if (!dead && err == 0) copied = (err = end(i, fd, &s, fi_state->mode == FI_MODE_EXT4 ? upto : 0)) == 0;
        else if (!dead) { // dropped on purpose
            atomic_fetch_or(&i->flags, FI_DROPPED);
            copied = true;
        }
        // A sync that began later has all of this in its own list.
        if (!dead && copied && s.ticket == atomic_load(&i->ticket)) atomic_store(&i->taken.n, 0);
        fi_inode_unlock(i);
        if (dead) return EIO;
    }
    if (err) return err;
    if (latency) fi_trace_data('S', id, 0, NULL, 0, 0);
    if (fi_bug(10) && i->kind == FI_DIR) return 0;
    if (fi_state->mode == FI_MODE_EXT4) {
        fi_commit(upto); // for a directory; a file's sync has done it
    } else if (i->kind == FI_DIR) {
        if (!fi_names_lock()) return 0;
        err = fi_record_locked(FI_REC_DIRSYNC, id, "", 0, "", 0, 0);
        fi_names_unlock();
    }
    return err;
}
