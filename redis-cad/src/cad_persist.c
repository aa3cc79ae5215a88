/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_persist.c -- up to which replication offset the append only file is on disk.
 *
 * Redis answers WAITAOF, and reports to its master (FACK), from one number: the
 * replication offset up to which everything is synced. Here that number is the
 * outcome of events in the life of the log, never a side effect of asking for a sync:
 *
 *   written(o)        write(2) of the whole buffer returned; o was the offset then
 *   submit -> done(e) a sync job of one file, made then, ended with error e (0: none)
 *   new file          the current INCR file was replaced; a last job syncs the old one
 *   rewrite start/done a BASE file with everything up to the fork is complete, synced
 *                     and named by the synced manifest: older files no longer matter
 *
 * Files have sequence numbers. Three of them describe the state:
 *
 *   file   the INCR file that is written now
 *   base   files below this one are superseded by the BASE file
 *   bad    the highest file of which a sync failed, or whose history is unknown
 *
 * The log vouches for anything only while bad < base. A failed sync is final for its
 * file, because Linux reports a write-back error once and may then call the lost pages
 * clean: a later successful sync of the same file proves nothing. Only a rewrite that
 * began after the failure moves base above bad. Jobs of one worker end in the order
 * in which they were made, hence a job's success covers all files before its own too.
 *
 * Pure logic: no I/O, no clock, no Redis types. The main thread and the worker share
 * it, under a mutex that is held for a few instructions. */
#include "cad_persist.h"
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    unsigned long file, base, bad;
    unsigned long first;    /* Files below: the log was stopped since; ignore their jobs. */
    unsigned long inflight; /* Jobs that were made and have not ended. */
    int dirty;              /* Bytes were written that no job covers yet. */
    int error;              /* errno of the failure of `bad`, 0 when none. */
    long long written;
    long long persisted;    /* What may be told, -1: nothing. */
    long long resume;       /* What may be told once base > bad, -1: nothing. */
    unsigned long rewrite_file;
    long long rewrite_offset;
} log_state = {.file = 1, .base = 1, .bad = 1, .first = 1, .persisted = -1, .resume = -1};

static void raise(long long *what, long long offset) {
    if (*what < offset) *what = offset;
}

/* What is asked for at each turn of the event loop is published for readers without a lock. */
static long long published_offset = -1;
static int published_error;

static void publishAndUnlock(void) {
    __atomic_store_n(&published_offset, log_state.persisted, __ATOMIC_RELEASE);
    __atomic_store_n(&published_error, log_state.error, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

/* Record that everything up to `offset` is synced in the files after `bad`. */
static void vouch(long long offset) {
    raise(log_state.bad < log_state.base ? &log_state.persisted : &log_state.resume, offset);
}

/* The server start is over: all files that the manifest names were synced, and so was
 * their directory, with the data up to `offset` in them. */
void cadPersistOpened(long long offset) {
    pthread_mutex_lock(&lock);
    assert(log_state.persisted == -1 && log_state.inflight == 0);
    log_state.file++;
    log_state.base = log_state.first = log_state.file;
    log_state.bad = log_state.file - 1;
    log_state.error = 0;
    log_state.dirty = 0;
    log_state.written = log_state.persisted = offset;
    publishAndUnlock();
}

/* The append only file was switched off. What comes next is another history. */
void cadPersistStopped(void) {
    pthread_mutex_lock(&lock);
    log_state.bad = log_state.file;
    log_state.file++;
    log_state.first = log_state.file;
    log_state.inflight = 0;
    log_state.dirty = 0;
    log_state.error = 0;
    log_state.persisted = log_state.resume = -1;
    log_state.rewrite_file = 0;
    publishAndUnlock();
}

/* Writes go to a new file from now on. The job that syncs the old one was submitted. */
void cadPersistNewFile(void) {
    pthread_mutex_lock(&lock);
    assert(!log_state.dirty);
    log_state.file++;
    publishAndUnlock();
}

/* A rewrite forks now: its BASE will hold the data up to `offset`. The current file
 * has to be the first that is not in it. */
void cadPersistRewriteStarted(long long offset) {
    pthread_mutex_lock(&lock);
    log_state.rewrite_file = log_state.file;
    log_state.rewrite_offset = offset;
    publishAndUnlock();
}

/* BASE and manifest of the rewrite are synced, their directory too. */
void cadPersistRewriteDone(void) {
    pthread_mutex_lock(&lock);
    if (log_state.rewrite_file) {
        assert(log_state.rewrite_file >= log_state.base);
        log_state.base = log_state.rewrite_file;
        log_state.rewrite_file = 0;
        if (log_state.bad < log_state.base) {
            log_state.error = 0;
            raise(&log_state.persisted, log_state.rewrite_offset);
            raise(&log_state.persisted, log_state.resume);
            log_state.resume = -1;
        }
    }
    publishAndUnlock();
}

/* write(2) of everything buffered succeeded; `offset` is the replication offset now. */
void cadPersistWritten(long long offset) {
    pthread_mutex_lock(&lock);
    raise(&log_state.written, offset);
    log_state.dirty = 1;
    publishAndUnlock();
}

/* A sync job of the current file is made now. The caller hands the result to
 * cadPersistDone together with what the sync returned. */
cadPersistJob cadPersistSubmit(void) {
    pthread_mutex_lock(&lock);
    cadPersistJob job = {log_state.file, log_state.written, log_state.dirty};
    log_state.dirty = 0;
    if (job.counts) log_state.inflight++;
    publishAndUnlock();
    return job;
}

/* A sync job ended. Returns 1 when its failure breaks the log. */
int cadPersistDone(cadPersistJob job, int err) {
    int broken = 0;
    pthread_mutex_lock(&lock);
    if (job.file >= log_state.first) {
        assert(job.file <= log_state.file);
        if (job.counts) {
            assert(log_state.inflight > 0);
            log_state.inflight--;
        }
        if (err) {
            if (log_state.bad < job.file) log_state.bad = job.file;
            log_state.error = log_state.bad >= log_state.base ? err : 0;
            log_state.resume = -1;
            broken = log_state.error != 0;
        } else if (job.counts && job.file > log_state.bad) {
            vouch(job.offset);
        }
    }
    publishAndUnlock();
    return broken;
}

/* The main thread itself synced the current file (appendfsync always). */
void cadPersistSyncedInPlace(void) {
    pthread_mutex_lock(&lock);
    log_state.dirty = 0;
    if (log_state.inflight == 0 && log_state.file > log_state.bad) vouch(log_state.written);
    publishAndUnlock();
}

/* Nothing is buffered, and the offset may have moved by bytes that never enter the
 * file (PING, PUBLISH, module calls without AOF): nothing is missing on disk then. */
void cadPersistIdle(long long offset) {
    if (cadPersistedOffset() == offset) return;
    pthread_mutex_lock(&lock);
    if (log_state.inflight == 0 && !log_state.dirty && log_state.file > log_state.bad) {
        raise(&log_state.written, offset);
        vouch(offset);
    }
    publishAndUnlock();
}

/* Everything up to the returned offset is on disk; -1: nothing is known to be. */
long long cadPersistedOffset(void) {
    return __atomic_load_n(&published_offset, __ATOMIC_ACQUIRE);
}

/* errno of the sync that broke the log, 0 while it is whole. */
int cadPersistError(void) {
    return __atomic_load_n(&published_error, __ATOMIC_ACQUIRE);
}

/* 1 when bytes were written that no sync job covers yet. */
int cadPersistDirty(void) {
    pthread_mutex_lock(&lock);
    int dirty = log_state.dirty;
    pthread_mutex_unlock(&lock);
    return dirty;
}

/* 1 when bytes were written whose sync has not ended, or not begun. */
int cadPersistPending(void) {
    pthread_mutex_lock(&lock);
    int pending = log_state.dirty || log_state.inflight;
    pthread_mutex_unlock(&lock);
    return pending;
}
