/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_debug.c -- DEBUG subcommands that come between the data in memory and its log.
 *
 * Offsets speak of what was propagated. A subcommand that brings data which no log has, takes
 * away data which the log has, or forgets which history the offsets belong to, would make
 * durable reads a lie. What loads the same data again stays: RELOAD as it is, MERGE included,
 * and LOADAOF while the log holds all that is in memory.
 */
#include "server.h"
#include "cad_state.h"

/* With everything written, the log gives what is in memory. Not in a transaction, whose updates
 * reach the log at its end; nor before the first rewrite is complete. */
static int logHoldsAll(void) {
    if (server.aof_state != AOF_ON || server.also_propagate.numops > 0 || cadPersistError()) return 0;
    flushAppendOnlyFile(1);
    return sdslen(server.aof_buf) == 0 && server.aof_last_write_status == C_OK;
}

static int hasOption(client *c, const char *option) {
    for (int j = 2; j < c->argc; j++)
        if (!strcasecmp(c->argv[j]->ptr, option)) return 1;
    return 0;
}

static const char *objection(client *c) {
    const char *verb = c->argv[1]->ptr;
    if (!strcasecmp(verb, "reload") && (hasOption(c, "nosave") || hasOption(c, "noflush")))
        return "loads data that no append only file has";
    if (!strcasecmp(verb, "loadaof") && !logHoldsAll())
        return "forgets what the append only file does not hold yet";
    if (!strcasecmp(verb, "populate")) return "makes keys that no append only file has";
    if (!strcasecmp(verb, "replicate")) return "sends replicas what the master does not have";
    if (!strcasecmp(verb, "change-repl-id")) return "forgets the history of which the replicas hold a part";
    return NULL;
}

int cadRefusesDebugNow(client *c) {
    const char *why = objection(c);
    if (why) addReplyErrorFormat(c, "DEBUG %s %s: set cad-durability off before it", (char *)c->argv[1]->ptr, why);
    return why != NULL;
}

/* Half of the data would be served as if it were all. The log has it, as far as it can be read. */
void cadReloadFailed(void) {
    if (cad_config.durability == CAD_OFF) return;
    serverLog(LL_WARNING, "The data could not be loaded again. Exiting: a start says what is wrong with the log.");
    exit(1);
}
