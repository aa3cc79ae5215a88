/* SPDX-License-Identifier: Apache-2.0
 *
 * cad.c -- settings of CAD and the places where the event loop meets it.
 */
#include "server.h"

struct cadConfig cad_config;

configEnum cad_durability_enum[] = {
    {"off", CAD_OFF},
    {"eventual", CAD_EVENTUAL},
    {NULL, 0},
};
configEnum cad_fsync_error_enum[] = {
    {"exit", CAD_FSYNC_EXIT},
    {"degrade", CAD_FSYNC_DEGRADE},
    {NULL, 0},
};

/* What stands in the way of the durability mode that is set: setting and remedy, or NULL. */
static const char *missingRequirement(void) {
    if (cad_config.durability == CAD_OFF) return NULL;
    if (!server.aof_enabled)
        return "cad-durability needs the append only file: set appendonly yes, or cad-durability off";
    if (server.cluster_enabled)
        return "cad-durability does not work with Redis Cluster yet: set cluster-enabled no, or cad-durability off";
    if (!server.repl_slave_ro)
        return "cad-durability forbids writable replicas: set replica-read-only yes, or cad-durability off";
    return NULL;
}

/* CONFIG SET: do the settings, the new values included, fit one another? */
int cadSettingsFit(const char **err) {
    const char *missing = missingRequirement();
    if (missing) *err = missing;
    return missing == NULL;
}

/* The settings are read, nothing is loaded yet. */
void cadStart(void) {
    const char *missing = missingRequirement();
    if (missing) {
        serverLog(LL_WARNING, "Exiting: %s", missing);
        exit(1);
    }
}

/* Once per turn of the event loop, before the append only file is written. */
void cadBeforeSleep(void) {
    if (cad_config.durability == CAD_OFF) return;
    cadAofActOnError();
}
