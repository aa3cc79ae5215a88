// SPDX-License-Identifier: Apache-2.0
//
// The disk as the wrappers see it. Each file beside this one has one job:
//   attach.c   map control and state, hold the user lock
//   gate.c     latency, faults and freeze, before an operation
//   data.c     unsynced extents and sync of one inode
//   names.c    inode table, directory journal, recovery of a half-done operation
//   fds.c      which descriptor belongs to which inode
//   wrap.c     the libc functions that are replaced
//   sync.c     a program that syncs the whole disk
//   trace.c    a record of every change, for those who replay it

#ifndef FI_DISK_H
#define FI_DISK_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "layout.h"

extern struct fi_state *fi_state;     // NULL = this process lives on no disk
extern struct fi_control *fi_control;
extern int fi_user_fd;                // holds the user lock; closed by nobody

// Seeded bugs: wrong on purpose, one at a time, in test builds only. The model
// test must find each (the numbers are those of ../../modeltest/bugs_test.go).
#ifdef FI_SEEDED_BUGS
bool fi_bug(int n);
void fi_bug_note(uint32_t id, int fd, uint64_t start, uint64_t end);
void fi_bug_ranges(uint32_t id, int fd, struct fi_extents *out);
// A point at which the process can be told to kill itself (FI_KILL_AT): behind
// every system call, and behind every store that another process may find.
void fi_point(void);
#define syscall(...) \
    __extension__({ \
        long fi_got = (syscall)(__VA_ARGS__); \
        int fi_errno = errno; \
        fi_point(); \
        errno = fi_errno; \
        fi_got; \
    })
#undef atomic_store
#define atomic_store(at, value) (atomic_store_explicit(at, value, memory_order_seq_cst), fi_point())
#else
#define fi_bug(n) false
#define fi_bug_note(id, fd, start, end) ((void)0)
#define fi_bug_ranges(id, fd, out) ((void)0)
#endif

// attach.c
void fi_attach(void);
void fi_mutex_init(pthread_mutex_t *m); // robust, shared, error checking
void fi_complain(const char *what, const char *detail);
const char *fi_blob_path(uint32_t id, char *buf, size_t size);

// gate.c: 0, or the errno the operation must fail with. *deadline, if not
// NULL, gets the monotonic time in ns before which the operation must not end
// instead of sleeping at once.
int fi_gate(enum fi_op op, uint64_t bytes, uint64_t *deadline);
int fi_gate_space(enum fi_op op); // 0 or ENOSPC, for operations that need space
bool fi_gate_short(void); // after fi_gate(WRITE): write only half
void fi_sleep_until(uint64_t monotonic_ns);
int fi_dead(void);

// data.c: the lock functions answer false when the calling thread already
// holds the lock (a signal handler): then the caller goes on without tracking.
bool fi_lock(pthread_mutex_t *m, void (*recover)(void *), void *arg);
bool fi_inode_lock(struct fi_inode *i, int fd);
void fi_inode_unlock(struct fi_inode *i);
void fi_mark(struct fi_extents *list, uint64_t start, uint64_t end);
int fi_sync_inode(uint32_t id, int fd, bool latency);
// Before a file goes out of reach, or changes unseen: path from at, or the descriptor at if it is NULL.
void fi_finish_copy(uint32_t id, int at, const char *path);

// names.c: what ends in _locked wants the names lock held.
bool fi_names_lock(void);
void fi_names_unlock(void);
uint32_t fi_lookup(const struct statx *sx);
uint32_t fi_adopt(const char *path); // id of a canonical path below the live tree, 0 = none
uint32_t fi_adopt_locked(const char *path);
uint32_t fi_inode_new_locked(const struct statx *sx);
int fi_record_locked(enum fi_record type, uint32_t dir1, const char *name1, uint32_t dir2,
                     const char *name2, uint32_t id, uint32_t id2);
int fi_record_add_locked(uint32_t dir, const char *name, uint32_t id, int at, const char *path);
void fi_commit(uint64_t upto);
bool fi_below_live(const char *path);

// The directory that holds a path, and the last component.
struct fi_place {
    int dir;            // O_PATH descriptor
    uint32_t id;        // of the directory, 0 = not on the disk
    char path[FI_PATH]; // canonical path of the directory
    char name[256];
};
bool fi_place(int at, const char *path, struct fi_place *p);
void fi_place_close(struct fi_place *p);
uint32_t fi_place_child_locked(const struct fi_place *p, struct statx *sx); // 0 = absent

// A directory operation: intend, do it, then done (recorded) or undone.
void fi_intend_locked(enum fi_record type, const struct fi_place *a, const struct fi_place *b,
                      uint32_t id, const struct statx *sx);
int fi_done_locked(enum fi_record type, const struct fi_place *a, const struct fi_place *b,
                   uint32_t id, uint32_t id2);
void fi_undone_locked(void);

// trace.c: nothing happens unless FI_TRACE names a file. Operations: (C)reate,
// (M)kdir, (L)ink, (U)nlink, (R)ename, (X)change, (W)rite, (T)runcate, (S)ync; '?' is what a trace cannot follow.
#define FI_TRACE_PIECES 16
void fi_trace_open(void);
void fi_trace_name(char op, const struct fi_place *a, const struct fi_place *b, uint32_t id);
void fi_trace_data(char op, uint32_t id, uint64_t at, const struct iovec *data, int n, uint64_t bytes);

// sync.c: makes the whole live tree durable, whoever wrote it.
int fi_sync_all(void);

// fds.c
#define FI_FD_SYNC 1u   // O_SYNC or O_DSYNC
#define FI_FD_APPEND 2u // O_APPEND
uint32_t fi_fd(int fd, unsigned *flags); // id, 0 = not on the disk
void fi_fd_set(int fd, uint32_t id, unsigned flags);
void fi_fd_forget(int fd);
void fi_fd_own(void); // this process has its own memory now (start, fork)
void fi_fd_copy(int from, int to);
void fi_fd_track(int fd, int open_flags);
int fi_statx(int at, const char *path, int flags, struct statx *sx);

#endif
