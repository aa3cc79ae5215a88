/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_persist.h -- up to which replication offset the append only file is on disk.
 */
#ifndef CAD_PERSIST_H
#define CAD_PERSIST_H

/* What one sync job vouches for when it succeeds. */
typedef struct cadPersistJob {
    unsigned long file; /* Sequence number of the file that the job syncs. */
    long long offset;   /* Everything up to here was written when the job was made. */
    int counts;         /* 0: the file had nothing unsynced, success proves nothing new. */
} cadPersistJob;

/* The history of files. */
void cadPersistOpened(long long offset);
void cadPersistStopped(void);
void cadPersistNewFile(void);
void cadPersistRewriteStarted(long long offset);
void cadPersistRewriteDone(void);

/* The life of the bytes. */
void cadPersistWritten(long long offset);
cadPersistJob cadPersistSubmit(void);
int cadPersistDone(cadPersistJob job, int err);
void cadPersistSyncedInPlace(void);
void cadPersistIdle(long long offset);

/* Questions. */
long long cadPersistedOffset(void);
int cadPersistError(void);
int cadPersistDirty(void);
int cadPersistPending(void);

#endif
