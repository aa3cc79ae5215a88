/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_repl.c -- what master and replicas tell one another about durability.
 *
 *   replica to master, in the handshake   REPLCONF capa cad1:<node id>
 *   master to replica, in the stream      REPLCONF GETACK cad1:<offset>
 *   replica to master, when synced        REPLCONF ACK <applied> FACK <persisted>
 *
 * A stock master ignores the capability, a stock replica the argument of GETACK, so
 * mixed versions replicate as ever; but a replica that did not name itself never
 * counts: the FACK of stock claims what is not on disk.
 *
 * The node id is random, made with the file cad.state in the data directory. A node
 * counts once, with its newest connection.
 */
#include "server.h"
#include "cad_state.h"
#include <fcntl.h>

void replicationSendAck(void); /* Declared in replication.c only. */

#define CAPABILITY "cad1:"
#define STATE_FILE "cad.state"
#define MAX_NODES 31

static char node_id[CONFIG_RUN_ID_SIZE + 1];

/* ----------------------------------------------------------------- the id */

static void stateFailed(const char *what) {
    serverLog(LL_WARNING, "Exiting: can't %s %s in the data directory: %s. It holds this node's identity.", what,
              STATE_FILE, strerror(errno));
    exit(1);
}

/* Written whole under another name, synced, renamed, and the directory synced. */
static void writeState(void) {
    char text[128];
    int len = snprintf(text, sizeof(text), "cad-state 1\nid %s\n", node_id);
    int fd = open(STATE_FILE ".tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd == -1 || write(fd, text, len) != len || fsync(fd) == -1) stateFailed("write");
    close(fd);
    if (rename(STATE_FILE ".tmp", STATE_FILE) == -1 || fsyncFileDir(STATE_FILE) == -1) stateFailed("rename");
}

const char *cadReplNodeId(void) {
    if (*node_id) return node_id;
    FILE *f = fopen(STATE_FILE, "re");
    if (!f && errno != ENOENT) stateFailed("read");
    if (!f) {
        getRandomHexChars(node_id, CONFIG_RUN_ID_SIZE);
        writeState();
        return node_id;
    }
    if (fscanf(f, "cad-state 1\nid %40[0-9a-f]", node_id) != 1 || strlen(node_id) != CONFIG_RUN_ID_SIZE) {
        errno = EINVAL;
        stateFailed("understand");
    }
    fclose(f);
    return node_id;
}

/* ------------------------------------------------------------ at a replica */

/* One more capability for the handshake; when CAD is off, one that was sent already. */
const char *cadReplHello(void) {
    static char hello[sizeof(CAPABILITY) + CONFIG_RUN_ID_SIZE];
    if (cad_config.durability == CAD_OFF) return "eof";
    snprintf(hello, sizeof(hello), CAPABILITY "%s", cadReplNodeId());
    return hello;
}

/* REPLCONF GETACK arrived. 1: it asks for a flush, the answer comes when that is done. */
int cadReplFlushAsked(client *master) {
    if (cad_config.durability == CAD_OFF || master->argc < 3) return 0;
    sds argument = master->argv[2]->ptr;
    if (strncmp(argument, CAPABILITY, strlen(CAPABILITY))) return 0;
    cadFlushAsk();
    return 1;
}

void cadReplAnswer(void) {
    if (server.aof_state == AOF_ON && server.fsynced_reploff != -1) server.fsynced_reploff = cadAofFsyncedOffset();
    if (server.master) replicationSendAck();
}

/* ----------------------------------------------------------- at the master */

/* REPLCONF capa: the replica names itself. Its older connection no longer counts. */
void cadReplCapability(client *replica, const char *capability) {
    listIter li;
    listNode *ln;
    if (strncmp(capability, CAPABILITY, strlen(CAPABILITY))) return;
    const char *id = capability + strlen(CAPABILITY);
    if (strlen(id) != CONFIG_RUN_ID_SIZE || cad_config.durability == CAD_OFF) return;
    listRewind(server.slaves, &li);
    while ((ln = listNext(&li))) {
        client *other = listNodeValue(ln);
        if (other != replica && !strcmp(other->cad.node, id)) other->cad.node[0] = '\0';
    }
    memcpy(replica->cad.node, id, CONFIG_RUN_ID_SIZE + 1);
}

/* REPLCONF ACK arrived. */
void cadReplReported(client *replica) {
    if (cad_config.durability != CAD_OFF && *replica->cad.node) cadDurableAdvance();
}

static int counts(client *replica) {
    return replica->replstate == SLAVE_STATE_ONLINE && *replica->cad.node &&
           strcmp(replica->cad.node, cadReplNodeId());
}

int cadReplDataNodes(void) {
    int nodes = 1;
    listIter li;
    listNode *ln;
    listRewind(server.slaves, &li);
    while ((ln = listNext(&li))) nodes += counts(listNodeValue(ln));
    return nodes;
}

/* The offset that a majority of cad-nodes, this node among them, has persisted. */
long long cadQuorumPersisted(long long own) {
    long long reports[MAX_NODES]; /* In falling order. */
    int others = 0, needed = cad_config.nodes / 2;
    listIter li;
    listNode *ln;

    if (needed == 0) return own;
    listRewind(server.slaves, &li);
    while ((ln = listNext(&li))) {
        client *replica = listNodeValue(ln);
        if (!counts(replica) || others == MAX_NODES) continue;
        int at = others++;
        while (at > 0 && reports[at - 1] < replica->repl_aof_off) {
            reports[at] = reports[at - 1];
            at--;
        }
        reports[at] = replica->repl_aof_off;
    }
    if (others < needed) return -1;
    return own < reports[needed - 1] ? own : reports[needed - 1];
}

/* Asks the replicas to flush what precedes in the stream. 0: there is nobody to ask. */
int cadReplAskFlush(void) {
    if (listLength(server.slaves) == 0 || isPausedActionsWithUpdate(PAUSE_ACTION_REPLICA)) return 0;
    sds payload = sdscatprintf(sdsempty(), CAPABILITY "%lld", cad.tail);
    robj *argv[3] = {shared.replconf, shared.getack, createObject(OBJ_STRING, payload)};
    replicationFeedSlaves(server.slaves, -1, argv, 3);
    decrRefCount(argv[2]);
    return 1;
}
