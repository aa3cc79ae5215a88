/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_repl.c -- what master and replicas tell one another about durability.
 *
 *   replica to master                     REPLCONF ACK <applied> FACK <persisted> CAD <id>:<others>
 *   master to replica, in the stream      REPLCONF GETACK cad1:flush      sync, then report
 *                                         REPLCONF GETACK cad1:nodes:<id> <id> ...
 *
 * A stock master ignores what follows FACK, a stock replica the argument of GETACK, so
 * mixed versions replicate as ever; but a replica that did not name itself never
 * counts: the FACK of stock claims what is not on disk. As every report carries the
 * name, CAD may be switched on at either end while they are connected.
 *
 * A node counts once, with its newest connection, and only if it is one of the recorded
 * data nodes (cad_nodes.c). <others> is how many fellow nodes the replica knows: a master
 * that knows none, because its disk was lost, does not start a new set with them.
 */
#include "server.h"
#include "cad_state.h"

void replicationSendAck(void); /* Declared in replication.c only. */

#define PREFIX "cad1:"
#define FLUSH "flush"
#define NODES "nodes:"

/* ------------------------------------------------------------ at a replica */

/* 1: a report grows by two words, its name (REPLCONF takes pairs only). */
int cadReplNames(void) { return cad_config.durability != CAD_OFF; }

void cadReplAddName(client *master) {
    addReplyBulkCString(master, "CAD");
    addReplyBulkSds(master, sdscatfmt(sdsempty(), "%s:%i", cadNodesOwnId(), cadNodesOthers()));
}

/* REPLCONF GETACK arrived. 1: it is ours, and asks for no answer now. Anybody may send one, but
 * only the master is believed. */
int cadReplAsked(client *master) {
    if (cad_config.durability == CAD_OFF || !(master->flags & CLIENT_MASTER) || master->argc < 3) return 0;
    const char *argument = master->argv[2]->ptr;
    if (strncmp(argument, PREFIX, strlen(PREFIX))) return 0;
    argument += strlen(PREFIX);
    if (!strcmp(argument, FLUSH)) cadFlushAsk();
    else if (!strncmp(argument, NODES, strlen(NODES))) cadNodesRecord(argument + strlen(NODES));
    return 1;
}

void cadReplAnswer(void) {
    if (server.aof_state == AOF_ON && server.fsynced_reploff != -1) server.fsynced_reploff = cadAofFsyncedOffset();
    if (server.master) replicationSendAck();
}

/* ----------------------------------------------------------- at the master */

static void announce(sds payload) {
    robj *argv[3] = {shared.replconf, shared.getack, createObject(OBJ_STRING, payload)};
    replicationFeedSlaves(server.slaves, -1, argv, 3);
    decrRefCount(argv[2]);
}

static void sendNodes(void) {
    sds text = cadNodesText(" ");
    announce(sdscatfmt(sdsempty(), PREFIX NODES "%S", text));
    sdsfree(text);
}

/* Connected, in step, and the newest connection of a node that is not this one. */
static int isNode(client *replica) {
    return replica->replstate == SLAVE_STATE_ONLINE && *replica->cad.node &&
           strcmp(replica->cad.node, cadNodesOwnId());
}

static int counts(client *replica) { return isNode(replica) && cadNodesContain(replica->cad.node); }

/* Nobody is recorded yet: as soon as cad-nodes of them are here, they are. Replicas that
 * belong to a set already are no new ones; `forced` is the operator's word against that. */
int cadReplBootstrap(int wanted, int forced, const char **err) {
    static int warned = 0;
    listIter li;
    listNode *ln;
    int found = 1;
    if (cadNodesCount()) {
        *err = "the data nodes are recorded: change them with CAD NODES ADD, REMOVE or REPLACE";
        return 0;
    }
    sds set = sdsnew(cadNodesOwnId());
    listRewind(server.slaves, &li);
    while (found < wanted && (ln = listNext(&li))) {
        client *replica = listNodeValue(ln);
        if (!isNode(replica)) continue;
        if (replica->cad.others && !forced) {
            if (!warned)
                serverLog(LL_WARNING,
                          "Replica %s belongs to recorded data nodes, of which this node knows nothing: it has lost its "
                          "disk, or is the wrong master. Nothing is durable until it is told by CAD BOOTSTRAP FORCE.",
                          replica->cad.node);
            warned = 1;
            *err = "an attached replica belongs to other data nodes; CAD BOOTSTRAP FORCE gives up what only they know";
            sdsfree(set);
            return 0;
        }
        set = sdscatfmt(set, " %s", replica->cad.node);
        found++;
    }
    if (found == wanted) {
        cadNodesRecord(set);
        sendNodes();
        cadDurableAdvance();
    } else {
        *err = "too few data nodes are connected and in step; see cad_nodes_connected and cad-nodes";
    }
    sdsfree(set);
    return found == wanted;
}

/* The replica says who it is. The older connection of a node never counts again. */
static void named(client *replica, const char *id, int others) {
    listIter li;
    listNode *ln;
    listRewind(server.slaves, &li);
    while ((ln = listNext(&li))) {
        client *other = listNodeValue(ln);
        if (other == replica || strcmp(other->cad.node, id)) continue;
        if (other->id > replica->id) return;
        other->cad.node[0] = '\0';
    }
    replica->cad.others = others;
    if (*replica->cad.node) return;
    memcpy(replica->cad.node, id, CAD_ID + 1);
    /* What it knows of the set may be old. */
    if (cadNodesCount()) sendNodes();
}

/* REPLCONF ACK with FACK arrived; what follows begins at argument `at`. */
void cadReplReported(client *replica, int at) {
    char id[CAD_ID + 1];
    int others;
    if (cad_config.durability == CAD_OFF) return;
    if (replica->argc < at + 2 || strcasecmp(replica->argv[at]->ptr, "cad") ||
        sscanf(replica->argv[at + 1]->ptr, "%40[0-9a-f]:%d", id, &others) != 2 || !cadNodesIsId(id)) {
        replica->cad.node[0] = '\0';
        return;
    }
    named(replica, id, others);
    cadDurableAdvance();
}

/* How many data nodes are here, this one included. */
int cadReplDataNodes(void) {
    int nodes = cadNodesCount() ? cadNodesContain(cadNodesOwnId()) : 1;
    listIter li;
    listNode *ln;
    listRewind(server.slaves, &li);
    while ((ln = listNext(&li))) {
        client *replica = listNodeValue(ln);
        nodes += cadNodesCount() ? counts(replica) : isNode(replica);
    }
    return nodes;
}

/* The connection on which the node counts, or NULL. */
client *cadReplConnection(const char *id) {
    listIter li;
    listNode *ln;
    listRewind(server.slaves, &li);
    while ((ln = listNext(&li))) {
        client *replica = listNodeValue(ln);
        if (isNode(replica) && !strcmp(replica->cad.node, id)) return replica;
    }
    return NULL;
}

static long long persistedBy(client *replica) { return replica->repl_aof_off; }
static long long copiedBy(client *replica) { return replica->repl_ack_off; }

/* The offset up to which a majority of the set has reported, this node with `own` among
 * them; -1: no majority, or the set is not recorded. */
static long long majority(long long own, long long (*reported)(client *)) {
    long long reports[CAD_MAX_NODES]; /* In falling order. */
    int others = 0, needed = cadNodesCount() / 2;
    listIter li;
    listNode *ln;

    if (!cadNodesContain(cadNodesOwnId())) return -1;
    if (needed == 0) return own;
    listRewind(server.slaves, &li);
    while ((ln = listNext(&li))) {
        client *replica = listNodeValue(ln);
        if (!counts(replica)) continue;
        serverAssert(others < CAD_MAX_NODES);
        int at = others++;
        while (at > 0 && reports[at - 1] < reported(replica)) {
            reports[at] = reports[at - 1];
            at--;
        }
        reports[at] = reported(replica);
    }
    if (others < needed) return -1;
    return own < reports[needed - 1] ? own : reports[needed - 1];
}

/* On the disks of a majority. */
long long cadReplPersisted(long long own) { return majority(own, persistedBy); }

/* In the memory of a majority. */
long long cadReplCopied(long long own) { return majority(own, copiedBy); }

static int canSend(void) {
    return listLength(server.slaves) > 0 && !isPausedActionsWithUpdate(PAUSE_ACTION_REPLICA);
}

/* Asks the replicas to flush what precedes in the stream. 0: there is nobody to ask. */
int cadReplAskFlush(void) {
    if (!canSend()) return 0;
    announce(sdsnew(PREFIX FLUSH));
    return 1;
}

/* Asks them how far they are, as WAIT does. */
int cadReplAskCopied(void) {
    if (!canSend()) return 0;
    announce(sdsnew("*"));
    return 1;
}

/* The node has on its disk whatever is durable. */
static int holdsDurable(const char *id) {
    if (!strcmp(id, cadNodesOwnId())) return cadPersistedOffset() >= cad.durable;
    client *replica = cadReplConnection(id);
    return replica && replica->repl_aof_off >= cad.durable;
}

/* Records the set with one change, if everything durable is durable for the new set as
 * well: on the disks of a majority of it. 0 with a reason otherwise. */
static int replaceNodes(const char *gone, const char *come, const char **err) {
    sds set = sdsempty();
    int holders = 0, size = 0;
    for (int j = 0; j < cadNodesCount() + (come && !gone); j++) {
        const char *id = j < cadNodesCount() ? cadNodesAt(j) : come;
        if (gone && !strcmp(id, gone)) {
            if (!come) continue;
            id = come;
        }
        set = sdscatfmt(set, "%s%s", size ? " " : "", id);
        size++;
        holders += holdsDurable(id);
    }
    int fits = size <= CAD_MAX_NODES && holders > size / 2;
    if (fits) {
        cadNodesRecord(set);
        sendNodes();
        cadDurableAdvance();
    } else {
        *err = "a majority of the new data nodes does not hold yet what is durable: connect them and try again";
    }
    sdsfree(set);
    return fits;
}

/* CAD NODES ADD id | REMOVE id | REPLACE old new. One change at a time. */
int cadReplChangeNodes(const char *gone, const char *come, const char **err) {
    if (server.masterhost) *err = "the data nodes are changed at the master";
    else if (!cadNodesCount()) *err = "no data nodes are recorded yet: connect cad-nodes of them";
    else if (gone && !cadNodesContain(gone)) *err = "that node is none of the data nodes";
    else if (gone && !strcmp(gone, cadNodesOwnId())) *err = "the master cannot be removed";
    else if (come && cadNodesContain(come)) *err = "that node is a data node already";
    else if (come && strcmp(come, cadNodesOwnId()) && !cadReplConnection(come)) *err = "the new node is not connected and in step";
    else if (!come && cadNodesCount() == 1) *err = "the last data node cannot be removed";
    else return replaceNodes(gone, come, err);
    return 0;
}
