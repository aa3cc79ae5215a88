// SPDX-License-Identifier: Apache-2.0
//
// Which inodes are on the disk, and the journal of directory operations.
//
// The journal holds what happened to names, in order; which prefix (ext4) or
// which directories (strict) are durable is worked out by `fi disk crash`.
// Every operation runs under the names lock and states its intent first, so
// that the next owner of the lock can finish the record of a killed process.
//
// Inodes are known by number and birth time, so a reused number is not
// mistaken for the file that had it before.
#include "disk.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

int fi_statx(int at, const char *path, int flags, struct statx *sx) {
    return (int)syscall(SYS_statx, at, path, flags,
                        STATX_INO | STATX_BTIME | STATX_TYPE | STATX_MODE | STATX_SIZE, sx);
}

static uint64_t birth(const struct statx *sx) {
    if (!(sx->stx_mask & STATX_BTIME)) return 0;
    return (uint64_t)sx->stx_btime.tv_sec * 1000000000u + sx->stx_btime.tv_nsec;
}

static uint32_t bucket(uint64_t ino) {
    return (uint32_t)((ino * 0x9e3779b97f4a7c15u) >> 48) % FI_BUCKETS;
}

static bool same(const struct statx *sx, uint64_t ino, uint64_t btime) {
    return sx->stx_ino == ino && birth(sx) == btime;
}

uint32_t fi_lookup(const struct statx *sx) {
    if (makedev(sx->stx_dev_major, sx->stx_dev_minor) != fi_state->dev) return 0;
    uint32_t id = atomic_load(&fi_state->bucket[bucket(sx->stx_ino)]);
    while (id != 0 && !same(sx, fi_state->inode[id].ino, fi_state->inode[id].btime))
        id = fi_state->inode[id].next;
    return id;
}

uint32_t fi_inode_new_locked(const struct statx *sx) {
    uint32_t id = atomic_load(&fi_state->inodes) + 1;
    if (id >= FI_INODES) {
        fi_complain("inode table full", "`fi disk crash` or a new disk makes room");
        return 0;
    }
    struct fi_inode *i = &fi_state->inode[id];
    memset(i, 0, sizeof *i);
    i->ino = sx->stx_ino;
    i->btime = birth(sx);
    i->kind = S_ISDIR(sx->stx_mode) ? FI_DIR : S_ISLNK(sx->stx_mode) ? FI_SYMLINK : FI_FILE;
    i->mode = sx->stx_mode & 07777;
    fi_mutex_init(&i->lock);
    // What somebody outside wrote before it was found is not synced.
    if (i->kind == FI_FILE) fi_mark(&i->fresh, 0, sx->stx_size);
    _Atomic uint32_t *head = &fi_state->bucket[bucket(i->ino)];
    i->next = atomic_load(head);
    atomic_store(&fi_state->inodes, id); // a slot may leak in a kill here, never be shared
    atomic_store(head, id);
    return id;
}

int fi_record_locked(enum fi_record type, uint32_t dir1, const char *name1, uint32_t dir2,
                     const char *name2, uint32_t id, uint32_t id2) {
    size_t n1 = strlen(name1), n2 = strlen(name2);
    uint64_t at = atomic_load(&fi_state->journal);
    struct fi_rec r = {.type = type, .dir1 = dir1, .dir2 = dir2, .id = id, .id2 = id2,
                       .name1 = (uint16_t)n1, .name2 = (uint16_t)n2};
    r.len = (uint32_t)((sizeof r + n1 + n2 + 7) & ~(size_t)7);
    if (at + r.len > FI_JOURNAL) {
        fi_complain("directory journal full", "`fi disk crash` or a new disk makes room");
        return ENOSPC;
    }
    memcpy(fi_state->log + at, &r, sizeof r);
    memcpy(fi_state->log + at + sizeof r, name1, n1);
    memcpy(fi_state->log + at + sizeof r + n1, name2, n2);
    atomic_store(&fi_state->journal, at + r.len); // now it is there, whole
    return 0;
}

// A name now is id; path (from at) leads to the object.
int fi_record_add_locked(uint32_t dir, const char *name, uint32_t id, int at, const char *path) {
    char target[FI_PATH] = "";
    if (fi_state->inode[id].kind == FI_SYMLINK) {
        ssize_t n = syscall(SYS_readlinkat, at, path, target, sizeof target - 1);
        if (n < 0) return errno;
        target[n] = 0;
    }
    return fi_record_locked(FI_REC_ADD, dir, name, 0, target, id, 0);
}

void fi_commit(uint64_t upto) {
    uint64_t old = atomic_load(&fi_state->committed);
    while (old < upto && !atomic_compare_exchange_weak(&fi_state->committed, &old, upto))
        ;
}

bool fi_below_live(const char *path) {
    size_t n = strlen(fi_state->live);
    return strncmp(path, fi_state->live, n) == 0 && (path[n] == '/' || path[n] == 0);
}

static uint32_t add_found(uint32_t dir, const char *path, const char *name, const struct statx *sx) {
    if (!S_ISLNK(sx->stx_mode) && !S_ISDIR(sx->stx_mode) && !S_ISREG(sx->stx_mode))
        return 0; // sockets and fifos are not on the disk
    uint32_t id = fi_inode_new_locked(sx);
    if (id == 0) return 0;
    return fi_record_add_locked(dir, name, id, AT_FDCWD, path) == 0 ? id : 0;
}

// The same, stating the intent first: an inode in the table has a name in the journal.
static uint32_t adopt_found(uint32_t dir, const char *path, const char *name, const struct statx *sx) {
    struct fi_pending *p = &fi_state->pending;
    p->id = 0;
    p->journal = atomic_load(&fi_state->journal);
    p->dir1 = dir;
    p->dir2 = 0;
    strcpy(p->path1, path);
    p->path2[0] = 0;
    atomic_store(&p->type, FI_REC_ADD);
    uint32_t id = add_found(dir, path, name, sx);
    atomic_store(&p->type, 0);
    return id;
}

// Takes up what a process outside made: each component of the path that is not
// known yet enters the journal as created now, with all its data unsynced.
uint32_t fi_adopt_locked(const char *path) {
    if (!fi_below_live(path)) return 0;
    char part[FI_PATH];
    size_t at = strlen(fi_state->live);
    uint32_t id = 1;
    while (id != 0 && path[at] == '/') {
        size_t end = at + 1 + strcspn(path + at + 1, "/");
        struct statx sx;
        memcpy(part, path, end);
        part[end] = 0;
        if (end == at + 1 || fi_statx(AT_FDCWD, part, AT_SYMLINK_NOFOLLOW, &sx) != 0) return 0;
        uint32_t child = fi_lookup(&sx);
        if (child == 0 && makedev(sx.stx_dev_major, sx.stx_dev_minor) == fi_state->dev)
            child = adopt_found(id, part, part + at + 1, &sx);
        id = child;
        at = end;
    }
    return id;
}

uint32_t fi_adopt(const char *path) {
    if (!fi_below_live(path) || !fi_names_lock()) return 0;
    uint32_t id = fi_adopt_locked(path);
    fi_names_unlock();
    return id;
}

static void recover(void *unused) {
    (void)unused;
    struct fi_pending *p = &fi_state->pending;
    uint32_t type = atomic_load(&p->type);
    if (type == 0) return;
    const char *slash1 = strrchr(p->path1, '/'), *slash2 = strrchr(p->path2, '/');
    const char *name1 = slash1 ? slash1 + 1 : "", *name2 = slash2 ? slash2 + 1 : "";
    struct statx sx;
    bool recorded = atomic_load(&fi_state->journal) != p->journal;
    bool there1 = fi_statx(AT_FDCWD, p->path1, AT_SYMLINK_NOFOLLOW, &sx) == 0;
    bool same1 = there1 && same(&sx, p->ino, p->btime);
    if (type == FI_REC_SCAN) {
        fi_record_locked(FI_REC_ABORT, 0, "", 0, "", 0, 0);
    } else if (!recorded && type == FI_REC_ADD && there1) {
        // A link may have been refused because the name was taken: by another file.
        uint32_t id = fi_lookup(&sx);
        if (id && (p->id == 0 || p->id == id))
            fi_record_add_locked(p->dir1, name1, id, AT_FDCWD, p->path1);
        else if (id == 0)
            add_found(p->dir1, p->path1, name1, &sx);
    } else if (!recorded && type == FI_REC_DEL && !same1) {
        fi_record_locked(FI_REC_DEL, p->dir1, name1, 0, "", p->id, 0);
    } else if (!recorded && (type == FI_REC_MOVE || type == FI_REC_SWAP)) {
        struct statx to;
        if (fi_statx(AT_FDCWD, p->path2, AT_SYMLINK_NOFOLLOW, &to) == 0 &&
            same(&to, p->ino, p->btime) && !same1)
            fi_record_locked(type, p->dir1, name1, p->dir2, name2, p->id, there1 ? fi_lookup(&sx) : 0);
    }
    atomic_store(&p->type, 0);
}

bool fi_names_lock(void) {
    return fi_lock(&fi_state->names, recover, NULL);
}

void fi_names_unlock(void) {
    pthread_mutex_unlock(&fi_state->names);
}

bool fi_place(int at, const char *path, struct fi_place *p) {
    int saved = errno;
    size_t n = path ? strlen(path) : 0;
    p->dir = -1;
    p->id = 0;
    if (n == 0 || n >= FI_PATH) return false;
    char parent[FI_PATH];
    memcpy(parent, path, n + 1);
    while (n > 1 && parent[n - 1] == '/') parent[--n] = 0;
    char *slash = strrchr(parent, '/');
    const char *name = slash ? slash + 1 : parent;
    if (*name == 0 || strlen(name) >= sizeof p->name) return false;
    strcpy(p->name, name);
    if (slash == NULL)
        strcpy(parent, ".");
    else
        slash[slash == parent] = 0;

    struct statx sx;
    char self[64];
    p->dir = (int)syscall(SYS_openat, at, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (p->dir < 0) goto no;
    if (fi_statx(p->dir, "", AT_EMPTY_PATH, &sx) != 0 ||
        makedev(sx.stx_dev_major, sx.stx_dev_minor) != fi_state->dev)
        goto no;
    snprintf(self, sizeof self, "/proc/self/fd/%d", p->dir);
    ssize_t len = syscall(SYS_readlinkat, AT_FDCWD, self, p->path, sizeof p->path - 1);
    if (len < 0) goto no;
    p->path[len] = 0;
    if (!fi_below_live(p->path)) goto no;
    p->id = fi_lookup(&sx);
    if (p->id == 0) p->id = fi_adopt(p->path);
    if (p->id == 0) goto no;
    errno = saved;
    return true;
no:
    fi_place_close(p);
    errno = saved;
    return false;
}

void fi_place_close(struct fi_place *p) {
    int saved = errno;
    if (p->dir >= 0) syscall(SYS_close, p->dir);
    p->dir = -1;
    p->id = 0;
    errno = saved;
}

static void join(char *out, const struct fi_place *p) {
    size_t n = strlen(p->path), m = strlen(p->name);
    if (n + m + 2 > FI_PATH) {
        *out = 0;
        return;
    }
    memcpy(out, p->path, n);
    out[n] = '/';
    memcpy(out + n + 1, p->name, m + 1);
}

uint32_t fi_place_child_locked(const struct fi_place *p, struct statx *sx) {
    if (fi_statx(p->dir, p->name, AT_SYMLINK_NOFOLLOW, sx) != 0) return 0;
    uint32_t id = fi_lookup(sx);
    if (id == 0) {
        char path[FI_PATH];
        join(path, p);
        id = fi_adopt_locked(path);
    }
    return id;
}

void fi_intend_locked(enum fi_record type, const struct fi_place *a, const struct fi_place *b,
                      uint32_t id, const struct statx *sx) {
    struct fi_pending *p = &fi_state->pending;
    p->id = id;
    p->journal = atomic_load(&fi_state->journal);
    p->dir1 = a ? a->id : 0;
    p->dir2 = b ? b->id : 0;
    p->ino = sx ? sx->stx_ino : 0;
    p->btime = sx ? birth(sx) : 0;
    p->path1[0] = p->path2[0] = 0;
    if (a) join(p->path1, a);
    if (b) join(p->path2, b);
    atomic_store(&p->type, type);
}

int fi_done_locked(enum fi_record type, const struct fi_place *a, const struct fi_place *b,
                   uint32_t id, uint32_t id2) {
    int err = fi_record_locked(type, a ? a->id : 0, a ? a->name : "", b ? b->id : 0,
                               b ? b->name : "", id, id2);
    atomic_store(&fi_state->pending.type, 0);
    return err;
}

void fi_undone_locked(void) {
    atomic_store(&fi_state->pending.type, 0);
}
