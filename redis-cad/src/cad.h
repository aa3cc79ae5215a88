/* SPDX-License-Identifier: Apache-2.0
 *
 * cad.h -- everything that the hooks in Redis' own files call. Included by server.h.
 */
#ifndef CAD_H
#define CAD_H

#include "cad_persist.h"

/* cad-durability, in rising order of what is promised to a reader. */
enum { CAD_OFF, CAD_EVENTUAL };
/* cad-fsync-error */
enum { CAD_FSYNC_EXIT, CAD_FSYNC_DEGRADE };

/* The settings; names without the prefix `cad-`. */
struct cadConfig {
    int durability;
    int fsync_error;
};
extern struct cadConfig cad_config;
extern struct configEnum cad_durability_enum[], cad_fsync_error_enum[];

/* cad.c */
void cadStart(void);
void cadBeforeSleep(void);
int cadSettingsFit(const char **err);

/* cad_aof.c */
void cadAofSyncLoaded(void);
void cadAofManifestUncertain(void);
void cadAofRewriteDone(void);
void cadAofActOnError(void);
long long cadAofFsyncedOffset(void);

#endif
