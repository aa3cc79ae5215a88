/* SPDX-License-Identifier: Apache-2.0
 *
 * cad.h -- everything that the hooks in Redis' own files call. Included at the end of server.h.
 */
#ifndef CAD_H
#define CAD_H

#include "cad_persist.h"

/* Durability modes, in rising order of what they promise. */
enum { CAD_OFF, CAD_EVENTUAL, CAD_CAD, CAD_IMMEDIATE };
enum { CAD_FSYNC_EXIT, CAD_FSYNC_DEGRADE };
/* cad-write-reads: what a write that returns state waits for. */
enum { CAD_WRITES_DURABLE, CAD_WRITES_PRIOR, CAD_WRITES_ACK };
enum { CAD_SCAN_STRICT, CAD_SCAN_RELAXED };
/* cad-replication: what an acknowledgement that does not wait for disks waits for. */
enum { CAD_REPL_ASYNC, CAD_REPL_SYNC };

/* The settings; names without the prefix `cad-`. Times in ms. */
struct cadConfig {
    int durability;
    int fsync_error;
    int write_reads;
    int scan_reads;
    int replication;
    int nodes;
    int flush_interval;
    unsigned long long flush_bytes;
    int hold_timeout;
    unsigned long long hold_bytes;
    unsigned long long max_dirty_keys;
    int window_ms;
    unsigned long long window_bytes;
    char *immediate_prefix;
    unsigned long long disk_reserve;
};
extern struct cadConfig cad_config;
extern struct configEnum cad_durability_enum[], cad_fsync_error_enum[], cad_write_reads_enum[], cad_scan_reads_enum[],
    cad_replication_enum[];

/* cad.c */
void cadStart(void);
void cadBeforeSleep(void);
int cadSettingsFit(const char **err);
int cadModeChanged(const char **err);
#define CAD_DISK_ERROR 100 /* Beside stock's DISK_ERROR_TYPE_... */
extern int cad_disk_low; /* Less than cad-disk-reserve is free. */
char *cadDiskMessage(void);
int cadNodesChanged(const char **err);
char *cadInfo(char *info);
void cadBootstrapCommand(struct client *c);
void cadClassCommand(struct client *c);
void cadHelpCommand(struct client *c);
void cadKeyindexCommand(struct client *c);
void cadModeCommand(struct client *c);
void cadModeForget(struct client *c);
void cadNodesCommand(struct client *c);
void cadPersistCommand(struct client *c);
void cadStatusCommand(struct client *c);

/* cad_aof.c */
void cadAofSyncLoaded(void);
void cadAofManifestUncertain(void);
void cadAofRewriteDone(void);
void cadAofActOnError(void);
long long cadAofFsyncedOffset(void);

/* cad_read.c */
void cadStampUpdate(int db, struct redisObject **argv, int argc, int target);
int cadRefusesReadNow(struct client *c);
extern int cad_watching; /* Some connection's replies may have to wait: commands are looked at. */
void cadFindBefore(struct client *c, cadExecution *x);
void cadHoldAfter(struct client *c, cadExecution *x);
void cadAfterUnblock(struct client *c);

/* Each command passes these; off must cost nothing. */
static inline int cadIsOff(void) { return cad_config.durability == CAD_OFF; }
static inline void cadStamp(int db, struct redisObject **argv, int argc, int target) {
    if (!cadIsOff()) cadStampUpdate(db, argv, argc, target);
}
static inline int cadRefusesRead(struct client *c) { return server.masterhost && !cadIsOff() && cadRefusesReadNow(c); }
static inline void cadBeforeCommand(struct client *c, cadExecution *x) {
    x->active = 0;
    if (cad_watching) cadFindBefore(c, x);
}
static inline void cadAfterCommand(struct client *c, cadExecution *x) {
    if (x->active) cadHoldAfter(c, x);
}

static inline int cadDiskLow(void) { return cad_disk_low && !cadIsOff(); }

/* cad_debug.c */
int cadRefusesDebugNow(struct client *c);
void cadReloadFailed(void);
static inline int cadRefusesDebug(struct client *c) { return !cadIsOff() && cadRefusesDebugNow(c); }

/* cad_hold.c */
void cadHoldForget(struct client *c);
char *cadHoldInfo(char *info, struct client *c);
void cadHoldCloseAll(void);

/* cad_repl.c */
int cadReplNames(void);
void cadReplAddName(struct client *master);
void cadReplReported(struct client *replica, int at);
int cadReplAsked(struct client *master);

#endif
