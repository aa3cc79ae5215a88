/* SPDX-License-Identifier: Apache-2.0
 *
 * cad.c -- settings of CAD, its command, its INFO, and where the event loop meets it.
 */
#include "server.h"
#include "cad_state.h"

struct cadConfig cad_config;
struct cadState cad;
int cad_watching;

configEnum cad_durability_enum[] = {
    {"off", CAD_OFF}, {"eventual", CAD_EVENTUAL}, {"cad", CAD_CAD}, {"immediate", CAD_IMMEDIATE}, {NULL, 0},
};
configEnum cad_fsync_error_enum[] = {{"exit", CAD_FSYNC_EXIT}, {"degrade", CAD_FSYNC_DEGRADE}, {NULL, 0}};
configEnum cad_write_reads_enum[] = {
    {"durable", CAD_WRITES_DURABLE}, {"prior", CAD_WRITES_PRIOR}, {"ack", CAD_WRITES_ACK}, {NULL, 0},
};
configEnum cad_scan_reads_enum[] = {{"strict", CAD_SCAN_STRICT}, {"relaxed", CAD_SCAN_RELAXED}, {NULL, 0}};
configEnum cad_replication_enum[] = {{"async", CAD_REPL_ASYNC}, {"sync", CAD_REPL_SYNC}, {NULL, 0}};

static const char *modeName(int mode) { return cad_durability_enum[mode].name; }

/* --------------------------------------------------------------- settings */

/* What stands in the way of the durability mode that is set: setting and remedy, or NULL. */
static const char *missingRequirement(void) {
    if (cad_config.durability == CAD_OFF) return NULL;
    if (!server.aof_enabled)
        return "cad-durability needs the append only file: set appendonly yes, or cad-durability off";
    if (server.cluster_enabled)
        return "cad-durability does not work with Redis Cluster yet: set cluster-enabled no, or cad-durability off";
    if (!server.repl_slave_ro)
        return "cad-durability forbids writable replicas: set replica-read-only yes, or cad-durability off";
    if (cad_config.durability == CAD_IMMEDIATE && cad_config.replication == CAD_REPL_ASYNC)
        return "cad-durability immediate acknowledges nothing early: set cad-replication sync, or another durability";
    return NULL;
}

/* CONFIG SET: do the settings, the new values included, fit one another? */
int cadSettingsFit(const char **err) {
    const char *missing = missingRequirement();
    if (missing) *err = missing;
    return missing == NULL;
}

/* The index is kept while a reply may depend on it. What happened without it is unknown. */
void cadStampingChanged(void) {
    int now = cad_config.durability >= CAD_CAD || (cad_config.durability != CAD_OFF && cad.strict_clients > 0);
    if (now && !cad.stamping && cad.mastering) cadBeginHistory();
    cad.stamping = now;
    cad_watching = now || (cad_config.durability != CAD_OFF && cad_config.replication == CAD_REPL_SYNC);
}

/* cad-durability or cad-replication has a new value. Replies that are held stay held until they are durable;
 * when nothing is left to make them so, their connections are closed. */
int cadModeChanged(const char **err) {
    UNUSED(err);
    if (cad_config.durability != CAD_OFF) cadNodesStart();
    else cadHoldCloseAll();
    cadStampingChanged();
    return 1;
}

/* From here on tail, index and D speak of the history that this node leads. Of earlier
 * updates only the end is known: the barrier. */
void cadBeginHistory(void) {
    serverAssert(!server.masterhost);
    if (cad.index) cadIndexFree(cad.index);
    cad.index = cadIndexNew();
    if (!cad.db_tail) cad.db_tail = zmalloc(sizeof(*cad.db_tail) * server.dbnum);
    cad.tail = server.master_repl_offset;
    for (int j = 0; j < server.dbnum; j++) cad.db_tail[j] = cad.tail;
    cadIndexRaiseBarrier(cad.index, cad.tail);
    cadWindowReset(cad.tail);
    if (!cad.mastering) {
        cad.durable = -1;
        cad.copied = 0;
    }
    cad.mastering = 1;
    cadDurableAdvance();
}

/* ------------------------------------------------------------- event loop */

static long long turn; /* When this turn of the event loop first asked for the time; 0: not yet. */

/* Monotonic us, read once a turn, in which no reply leaves: commands are too short for a clock each. */
long long cadTurnTime(void) {
    if (!turn) turn = getMonotonicUs();
    return turn;
}

/* The settings are read, nothing is loaded yet. */
void cadStart(void) {
    const char *missing = missingRequirement();
    if (missing) {
        serverLog(LL_WARNING, "Exiting: %s", missing);
        exit(1);
    }
    if (cad_config.durability != CAD_OFF) cadNodesStart();
    cadStampingChanged();
}

/* What may be a little late, once for each serverCron: it must not wake an idle server. */
static void housekeeping(void) {
    static int seen = -1;
    if (seen == server.cronloops) return;
    seen = server.cronloops;
    cadDiskLook();
    cadHoldCheckLimits();
    /* What the last advance of D has left over. */
    if (cad.mastering) cadIndexPrune(cad.index, cad.durable, PRUNED_AT_ONCE);
}

/* Once per turn of the event loop, before the append only file is written. */
void cadBeforeSleep(void) {
    if (cad_config.durability == CAD_OFF) return;
    cadAofActOnError();
    if (server.masterhost) cad.mastering = 0;
    else if (!cad.mastering) cadBeginHistory();
    if (cad.mastering && !cadNodesCount() && cadReplDataNodes() >= cad_config.nodes)
        cadReplBootstrap(cad_config.nodes, 0, &(const char *){NULL});
    housekeeping();
    cadHoldBeforeSleep();
    cadFlushBeforeSleep();
    turn = 0;
}

/* ---------------------------------------------------------------- command */

static const char *const cause_names[CAD_CAUSES] = {"key", "barrier", "database", "tail", "write", "window", "copies"};

/* The section `cad` of INFO, appended to `info`. */
char *cadInfo(char *info) {
    long long holds = 0;
    for (int j = 0; j < CAD_CAUSES; j++) holds += cad.holds[j];
    info = sdscatprintf(info,
                        "# CAD\r\ncad_enabled:%d\r\ncad_durability:%s\r\n", cad_config.durability != CAD_OFF,
                        modeName(cad_config.durability));
    if (cad_config.durability == CAD_OFF) return info;
    info = sdscatprintf(info,
                        "cad_replication:%s\r\ncad_node_id:%s\r\ncad_nodes:%d\r\ncad_nodes_recorded:%d\r\ncad_nodes_connected:%d\r\n"
                        "cad_last_index:%lld\r\ncad_persisted_index:%lld\r\ncad_durable_index:%lld\r\ncad_fsync_error:%d\r\n"
                        "cad_dirty_keys:%zu\r\ncad_dirty_bytes:%zu\r\ncad_barrier:%lld\r\ncad_held_now:%zu\r\n"
                        "cad_holds:%lld\r\n",
                        cad_replication_enum[cad_config.replication].name, cadNodesOwnId(), cad_config.nodes, cadNodesCount(), server.masterhost ? 1 : cadReplDataNodes(),
                        server.masterhost ? server.master_repl_offset : cad.tail, cadPersistedOffset(),
                        server.masterhost ? -1 : cad.durable, cadPersistError(),
                        cad.index ? cadIndexSize(cad.index) : 0, cad.index ? cadIndexBytes(cad.index) : 0,
                        cad.index ? cadIndexBarrier(cad.index) : 0, cadHeldNow(), holds);
    for (int j = 0; j < CAD_CAUSES; j++)
        info = sdscatprintf(info, "cad_holds_by_%s:%lld\r\n", cause_names[j], cad.holds[j]);
    return sdscatprintf(info,
                        "cad_hold_usec:%lld\r\ncad_hold_timeouts:%lld\r\ncad_hold_overflows:%lld\r\n"
                        "cad_refusals:%lld\r\ncad_disk_low:%d\r\ncad_flush_rounds:%lld\r\ncad_flush_syncs:%lld\r\n",
                        cad.hold_us, cad.hold_timeouts, cad.hold_overflows, cad.refusals, cadDiskLow(), cad.flush_rounds,
                        cad.flush_syncs);
}

static int offNow(client *c) {
    if (cad_config.durability != CAD_OFF) return 0;
    addReplyError(c, "CAD is off: set cad-durability to eventual, cad or immediate");
    return 1;
}

/* CAD STATUS: the section of INFO as a map. */
void cadStatusCommand(client *c) {
    sds text = cadInfo(sdsempty());
    int lines;
    sds *line = sdssplitlen(text, sdslen(text), "\r\n", 2, &lines);
    addReplyMapLen(c, lines - 2); /* Without the title and the empty end. */
    for (int j = 1; j < lines - 1; j++) {
        char *colon = strchr(line[j], ':');
        addReplyBulkCBuffer(c, line[j], colon - line[j]);
        addReplyBulkCString(c, colon + 1);
    }
    sdsfreesplitres(line, lines);
    sdsfree(text);
}

/* Nothing of a module's call can be held. */
static int withoutConnection(client *c) {
    if (c->conn) return 0;
    addReplyErrorFormat(c, "%s needs a client's connection", c->cmd->fullname);
    return 1;
}

/* CAD PERSIST [ms]: OK, when all updates executed so far are durable. */
void cadPersistCommand(client *c) {
    long patience = 0;
    if (offNow(c) || withoutConnection(c)) return;
    if (server.masterhost) {
        addReplyError(c, "CAD PERSIST works at the master only");
        return;
    }
    if (c->argc == 3 &&
        getRangeLongFromObjectOrReply(c, c->argv[2], 1, INT_MAX, &patience, "timeout is not a positive number of ms") != C_OK)
        return;
    if (!cad.mastering) cadBeginHistory();
    addReply(c, shared.ok);
    cadHold(c, cadOwnOffset(), CAD_BY_WRITE);
    if (c->cad.held) c->cad.patience = patience;
}

/* CAD MODE [server|cad|immediate]: more durability for this connection than the server's. */
void cadModeCommand(client *c) {
    if (c->argc == 2) {
        int mode = c->cad.mode > cad_config.durability ? c->cad.mode : cad_config.durability;
        addReplyBulkCString(c, modeName(mode));
        return;
    }
    if (offNow(c) || withoutConnection(c)) return;
    const char *name = c->argv[2]->ptr;
    int mode = CAD_OFF;
    if (strcasecmp(name, "server")) {
        for (mode = CAD_CAD; mode <= CAD_IMMEDIATE && strcasecmp(name, modeName(mode)); mode++);
        if (mode > CAD_IMMEDIATE) {
            addReplyError(c, "CAD MODE takes server, cad or immediate");
            return;
        }
        if (mode < cad_config.durability) {
            addReplyErrorFormat(c, "CAD MODE %s is less than the server's cad-durability %s; a connection can only ask for more",
                                modeName(mode), modeName(cad_config.durability));
            return;
        }
    }
    cad.strict_clients += (mode != CAD_OFF) - (c->cad.mode != CAD_OFF);
    c->cad.mode = mode;
    cadStampingChanged();
    addReply(c, shared.ok);
}

/* The connection is gone, or as good as new (RESET). */
void cadModeForget(client *c) {
    if (c->cad.mode == CAD_OFF) return;
    c->cad.mode = CAD_OFF;
    cad.strict_clients--;
    cadStampingChanged();
}

/* CAD BOOTSTRAP n [FORCE]: record this node and n-1 replicas as the data nodes, now. */
void cadBootstrapCommand(client *c) {
    const char *err = NULL;
    long nodes;
    if (offNow(c)) return;
    if (getRangeLongFromObjectOrReply(c, c->argv[2], 1, CAD_MAX_NODES, &nodes, "the number of data nodes is 1 to 31") != C_OK)
        return;
    if (c->argc > 4 || (c->argc == 4 && strcasecmp(c->argv[3]->ptr, "force"))) addReplyErrorObject(c, shared.syntaxerr);
    else if (server.masterhost) addReplyError(c, "CAD BOOTSTRAP works at the master only");
    else if (!cadReplBootstrap(nodes, c->argc == 4, &err)) addReplyError(c, err);
    else addReply(c, shared.ok);
}

/* CAD NODES: the recorded data nodes, each as self, connected or away. With ADD id,
 * REMOVE id or REPLACE old new: changes them. */
void cadNodesCommand(client *c) {
    const char *verb = c->argc > 2 ? c->argv[2]->ptr : "", *err = NULL;
    if (offNow(c)) return;
    if (c->argc == 2) {
        addReplyMapLen(c, cadNodesCount());
        for (int j = 0; j < cadNodesCount(); j++) {
            const char *id = cadNodesAt(j);
            addReplyBulkCString(c, id);
            addReplyBulkCString(c, !strcmp(id, cadNodesOwnId()) ? "self" : cadReplConnection(id) ? "connected" : "away");
        }
        return;
    }
    int add = !strcasecmp(verb, "add"), replace = !strcasecmp(verb, "replace");
    if (c->argc != (replace ? 5 : 4) || (!add && !replace && strcasecmp(verb, "remove"))) {
        addReplyErrorObject(c, shared.syntaxerr);
        return;
    }
    const char *gone = add ? NULL : c->argv[3]->ptr, *come = add ? c->argv[3]->ptr : replace ? c->argv[4]->ptr : NULL;
    if (cadReplChangeNodes(gone, come, &err)) addReply(c, shared.ok);
    else addReplyError(c, err);
}

/* CAD KEYINDEX key: the offset of the key's last update and the durable one. */
void cadKeyindexCommand(client *c) {
    if (offNow(c)) return;
    sds key = c->argv[2]->ptr;
    addReplyArrayLen(c, 2);
    addReplyLongLong(c, cad.index ? cadIndexLookup(cad.index, c->db->id, dictGenHashFunction(key, sdslen(key))) : 0);
    addReplyLongLong(c, cad.durable);
}

/* CAD CLASS command [subcommand]: what its replies wait for. */
void cadClassCommand(client *c) {
    struct redisCommand *command = lookupCommand(c->argv + 2, c->argc - 2);
    if (!command) addReplyError(c, "Unknown command");
    else addReplyBulkCString(c, cadClassName(command));
}

void cadHelpCommand(client *c) {
    const char *help[] = {
        "BOOTSTRAP <n> [FORCE]",
        "    Record this node and n-1 connected replicas as the data nodes.",
        "CLASS <command> [<subcommand>]",
        "    What the replies of a command wait for: none, keys, database, ack, state, tail.",
        "KEYINDEX <key>",
        "    Offset of the key's last update, and the durable offset.",
        "MODE [server|cad|immediate]",
        "    More durability for this connection than the server's, or what it has now.",
        "NODES [ADD <id> | REMOVE <id> | REPLACE <old> <new>]",
        "    The recorded data nodes; or change them by one.",
        "PERSIST [<ms>]",
        "    OK, when everything executed so far is durable. After ms the connection is closed.",
        "STATUS",
        "    The section cad of INFO.",
        NULL,
    };
    addReplyHelp(c, help);
}
