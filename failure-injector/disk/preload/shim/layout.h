// SPDX-License-Identifier: Apache-2.0
//
// Memory layout shared by every process that lives on a preload disk and by
// `fi` (Go mirrors it in ../layout.go and ../../control/control.go; both sides
// check magic, version and sizes when they attach).
//
// Two files are mapped:
//   control  settings and counters; survives a crash of the disk
//   state    one life of the disk: inode table and journal; replaced by a crash
//
// Everything that must outlive a SIGKILL is here, never in process memory.

#ifndef FI_LAYOUT_H
#define FI_LAYOUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define FI_CONTROL_MAGIC 0x4c5254434b534446ull /* "FDSKCTRL" */
#define FI_STATE_MAGIC 0x54415453534b4446ull   /* "FDKSSTAT" */
#define FI_LAYOUT_VERSION 2u

// Operation classes: each has its own latency, faults and counters.
enum fi_op {
    FI_OP_READ,
    FI_OP_WRITE,
    FI_OP_FSYNC,
    FI_OP_OPEN,
    FI_OP_META, // create, rename, unlink, link, mkdir, rmdir
    FI_OP_TRUNC, // ftruncate, fallocate
    FI_OPS
};

#define FI_QUANTILES 257

struct fi_fault {
    _Atomic uint64_t first; // ordinal of the first failing operation, 0 = none
    _Atomic uint64_t last;  // ordinal of the last one
    _Atomic uint32_t error; // errno; for writes 0 means "write half of it"
    uint32_t reserved;
};

struct fi_opctl {
    _Atomic uint64_t count;       // operations seen
    _Atomic uint64_t bytes;       // bytes moved by them
    _Atomic uint64_t injected_ns; // delay added
    _Atomic uint64_t failed;      // operations failed on purpose
    struct fi_fault fault;
    _Atomic uint32_t latency_on;
    uint32_t reserved;
    // Inverse cumulative distribution of the latency in ns, linear in between.
    _Atomic uint64_t quantile[FI_QUANTILES];
};

struct fi_control {
    uint64_t magic;
    uint32_t version;
    uint32_t size;
    _Atomic uint32_t freeze; // futex word: 1 = every operation waits
    _Atomic uint32_t enospc; // 1 = every operation that needs space fails
    _Atomic uint32_t real_fsync; // 1 = also flush the device below
    uint32_t reserved;
    uint64_t seed; // of the latency samples
    struct fi_opctl op[FI_OPS];
};

// Extents: at most FI_EXTENTS ranges that cover everything not yet synced.
// A cover may be too large (ranges are merged when the list is full): a sync
// makes the whole file durable, so copying a byte too many is harmless.
#define FI_EXTENTS 16

struct fi_extents {
    _Atomic uint32_t n;
    uint32_t reserved;
    struct {
        _Atomic uint64_t start, end;
    } at[FI_EXTENTS];
};

enum fi_kind { FI_FREE, FI_FILE, FI_DIR, FI_SYMLINK };

#define FI_OPAQUE 1u  // written in ways not seen (stdio, mmap): sync copies all of it
#define FI_DROPPED 2u // a flush failed on purpose: the blob lacks what it dropped

// One inode. Its number is its id and the name of its durable blob.
struct fi_inode {
    uint64_t ino, btime; // identity of the live inode (birth time in ns)
    uint32_t next;       // next in the hash chain, 0 = end
    uint32_t kind;
    _Atomic uint32_t mode;
    _Atomic uint32_t flags;
    pthread_mutex_t lock; // robust, shared: guards everything below and writes to the file
    _Atomic uint32_t copying; // 1 = redo describes a copy to finish before anything else
    uint32_t reserved;
    _Atomic uint64_t ticket; // number of syncs begun
    _Atomic uint64_t redo_size;
    _Atomic uint64_t redo_commit; // journal length that this sync commits (ext4 mode)
    // Modification time in ns of the live file when the blob was made equal to
    // it but for `fresh`; 0 = they may differ. A power loss compares the two
    // files unless nothing is unsynced and the file still has this time.
    _Atomic uint64_t equal_at;
    struct fi_extents fresh;  // written since the last sync began
    struct fi_extents taken;  // taken by a sync that has not ended
    struct fi_extents redo;   // being copied
};

#define FI_INODES 65536u
#define FI_BUCKETS 65536u
#define FI_JOURNAL (64u << 20)
#define FI_PATH 4096

enum fi_record {
    FI_REC_ADD = 1, // dir1/name1 now is id (create, mkdir, link, symlink)
    FI_REC_DEL,     // dir1/name1 is gone
    FI_REC_MOVE,    // dir1/name1 (id) became dir2/name2
    FI_REC_SWAP,    // dir1/name1 (id) and dir2/name2 (id2) changed places
    FI_REC_DIRSYNC, // directory dir1 was synced (strict mode)
    FI_REC_SCAN,    // a scan of the whole tree begins: only ADDs until END or ABORT
    FI_REC_END,     // the scan is complete: what it found replaces everything, durably
    FI_REC_ABORT,   // the scan was interrupted: what it found is void
};

struct fi_rec {
    uint32_t len; // whole record, a multiple of 8
    uint32_t type;
    uint32_t dir1, dir2;
    uint32_t id, id2;
    uint16_t name1, name2; // lengths of the names that follow
    uint32_t reserved;
};

// Intent of the directory operation under way, for whoever finds its owner dead.
struct fi_pending {
    _Atomic uint32_t type;  // 0 = none
    uint32_t id;
    uint64_t journal; // journal length before it: a longer journal means "recorded"
    uint32_t dir1, dir2;
    uint64_t reserved;
    uint64_t ino, btime; // of the object that is moved or removed
    char path1[FI_PATH], path2[FI_PATH];
};

#define FI_MODE_EXT4 0u
#define FI_MODE_STRICT 1u

struct fi_state {
    uint64_t magic;
    uint32_t version;
    uint32_t inode_size;
    uint32_t mode;
    _Atomic uint32_t dead; // 1 = this life of the disk is over: EIO for ever
    uint64_t dev;          // st_dev of the live tree
    char live[FI_PATH];    // canonical path of the live tree
    pthread_mutex_t names; // robust, shared: guards everything below
    _Atomic uint32_t inodes; // ids in use are 1..inodes; 1 is the root
    uint32_t mutex_kind;     // what `fi` wrote into the locks it made
    _Atomic uint64_t journal;   // bytes used
    _Atomic uint64_t committed; // journal bytes made durable (ext4 mode)
    struct fi_pending pending;
    _Atomic uint32_t bucket[FI_BUCKETS];
    struct fi_inode inode[FI_INODES];
    unsigned char log[FI_JOURNAL];
};

#endif
