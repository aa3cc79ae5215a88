/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_aof.c -- the append only file as the source of the persisted offset: the parts of
 * cad_persist.c that need the server.
 */
#include "server.h"
#include <fcntl.h>

static void syncOrExit(const char *name) {
    sds path = makePath(server.aof_dirname, (char *)name);
    int fd = open(path, O_RDONLY);
    if (fd == -1 || redis_fsync(fd) == -1) {
        serverLog(LL_WARNING,
                  "Can't sync the append only file %s at start: %s. Its data was loaded, but may be lost by a "
                  "power failure. Exiting: check the disk, then start again.",
                  path, strerror(errno));
        exit(1);
    }
    close(fd);
    sdsfree(path);
}

/* A process that starts after a crash reads from the page cache what its predecessor
 * wrote; none of it need be on disk, and a job of the predecessor that never ran may
 * concern any file. So every file of the manifest is synced once, then the directory
 * and the directory's own entry. Called when the log is open for appending. */
void cadAofSyncLoaded(void) {
    aofManifest *am = server.aof_manifest;
    listIter li;
    listNode *ln;

    if (am->base_aof_info) syncOrExit(am->base_aof_info->file_name);
    listRewind(am->incr_aof_list, &li);
    while ((ln = listNext(&li)) != NULL) {
        aofInfo *info = listNodeValue(ln);
        syncOrExit(info->file_name);
    }

    sds in_dir = makePath(server.aof_dirname, ".");
    if (fsyncFileDir(in_dir) == -1 || fsyncFileDir(server.aof_dirname) == -1) {
        serverLog(LL_WARNING, "Can't sync the append only directory %s at start: %s. Exiting: check the disk, then start again.",
                  server.aof_dirname, strerror(errno));
        exit(1);
    }
    sdsfree(in_dir);
    cadPersistOpened(server.master_repl_offset);
}

/* The new manifest has its name, but the directory's sync failed: after a power loss
 * either manifest may be there, so files of neither may be deleted. */
void cadAofManifestUncertain(void) {
    serverLog(LL_WARNING,
              "The append only manifest was renamed and its directory could not be synced. Exiting without deleting "
              "any file: after a restart the log is loaded from whichever manifest is there.");
    exit(1);
}

/* cad-fsync-error: a sync failed, so the log vouches for nothing new. Stock refuses
 * writes (MISCONF); with `exit` the process leaves, so that another node can take over;
 * with `degrade` it stays readable and writes a new log, which alone brings it back. */
void cadAofActOnError(void) {
    static int announced = 0;
    int error = cadPersistError();
    if (!error) {
        announced = 0;
        return;
    }
    if (cad_config.fsync_error == CAD_FSYNC_EXIT) {
        serverLog(LL_WARNING,
                  "A sync of the append only file failed: %s. Exiting, because what it covered may be lost and a "
                  "later success would not tell (cad-fsync-error exit).",
                  strerror(error));
        exit(1);
    }
    if (!announced) {
        serverLog(LL_WARNING,
                  "A sync of the append only file failed: %s. Writes are refused until a rewrite of the log "
                  "succeeds (cad-fsync-error degrade).",
                  strerror(error));
        announced = 1;
    }
    if (!hasActiveChildProcess()) server.aof_rewrite_scheduled = 1;
}

/* A rewrite is complete and named by a synced manifest. */
void cadAofRewriteDone(void) {
    int was_broken = cadPersistError();
    cadPersistRewriteDone();
    if (was_broken && !cadPersistError()) {
        serverLog(LL_NOTICE, "The append only file is whole again: the rewrite replaced the file whose sync had failed.");
        atomicSet(server.aof_bio_fsync_status, C_OK);
    }
}

/* What WAITAOF and FACK may claim. */
long long cadAofFsyncedOffset(void) {
    long long offset = cadPersistedOffset();
    return offset < 0 ? 0 : offset;
}
