// SPDX-License-Identifier: Apache-2.0
//
// Makes everything that is below the live tree durable as it is now, also what
// processes outside of the disk wrote there. Used by sync(2), syncfs(2) and by
// the program `fi-disk-sync` (compiled with FI_PROGRAM).
#include "disk.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct linux_dirent64 {
    uint64_t d_ino;
    int64_t d_off;
    unsigned short d_reclen;
    unsigned char d_type;
    char d_name[];
};

static int sync_file(uint32_t id, const char *path) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return errno;
    // Somebody outside may have written any of it.
    uint32_t old = atomic_fetch_or(&fi_state->inode[id].flags, FI_OPAQUE);
    int err = fi_sync_inode(id, fd, false);
    if (!(old & FI_OPAQUE)) atomic_fetch_and(&fi_state->inode[id].flags, ~FI_OPAQUE);
    syscall(SYS_close, fd);
    return err;
}

static int walk(uint32_t dir, const char *path, bool record);

static int visit(uint32_t dir, const char *path, const char *name, bool record) {
    char child[FI_PATH];
    struct statx sx;
    if (snprintf(child, sizeof child, "%s/%s", path, name) >= (int)sizeof child) return ENAMETOOLONG;
    if (fi_statx(AT_FDCWD, child, AT_SYMLINK_NOFOLLOW, &sx) != 0) return errno == ENOENT ? 0 : errno;
    bool file = S_ISREG(sx.stx_mode), folder = S_ISDIR(sx.stx_mode), link = S_ISLNK(sx.stx_mode);
    if (!file && !folder && !link) return 0;
    errno = 0;
    uint32_t id = record ? fi_lookup(&sx) : fi_adopt_locked(child);
    if (id == 0) return record || errno == ENOENT ? 0 : ENOSPC; // what came after the first walk is not covered
    int err = 0;
    if (record) {
        fi_state->inode[id].mode = sx.stx_mode & 07777;
        err = fi_record_add_locked(dir, name, id, AT_FDCWD, child);
        if (err == 0 && file) err = sync_file(id, child);
    }
    if (err == 0 && folder) err = walk(id, child, record);
    return err;
}

static int walk(uint32_t dir, const char *path, bool record) {
    char buf[8192];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno;
    int err = 0;
    for (long n; err == 0 && (n = syscall(SYS_getdents64, fd, buf, sizeof buf)) != 0;) {
        if (n < 0) {
            err = errno;
            break;
        }
        for (long at = 0; err == 0 && at < n;) {
            struct linux_dirent64 *e = (void *)(buf + at);
            at += e->d_reclen;
            if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) err = visit(dir, path, e->d_name, record);
        }
    }
    syscall(SYS_close, fd);
    return err;
}

int fi_sync_all(void) {
    if (fi_dead()) return EIO;
    if (!fi_names_lock()) return EDEADLK;
    // Everything gets its id and its record first: a scan that is cut short is void.
    int err = walk(1, fi_state->live, false);
    if (err) {
        fi_names_unlock();
        return err;
    }
    fi_intend_locked(FI_REC_SCAN, NULL, NULL, 0, NULL);
    err = fi_record_locked(FI_REC_SCAN, 0, "", 0, "", 0, 0);
    if (err == 0) err = walk(1, fi_state->live, true);
    fi_record_locked(err ? FI_REC_ABORT : FI_REC_END, 0, "", 0, "", 0, 0);
    if (err == 0) fi_commit(atomic_load(&fi_state->journal));
    fi_undone_locked();
    fi_names_unlock();
    return err;
}

#ifdef FI_PROGRAM
int main(void) {
    if (fi_state == NULL) {
        fi_complain("FI_DISK is not set", "give the directory of the disk");
        return 254;
    }
    int err = fi_sync_all();
    if (err) fi_complain("sync failed", strerror(err));
    return err ? 255 : 0;
}
#endif
