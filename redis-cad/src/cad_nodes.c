/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_nodes.c -- who this node is, and which nodes are the data nodes.
 *
 * Both are remembered in the file cad.state of the data directory:
 *
 *   cad-state 1
 *   id <40 hex digits>
 *   nodes <id> <id> ...
 *
 * The id is random and made with the file: a node whose disk was lost is a new node.
 * The set is recorded once, at the master, when the first `cad-nodes` of them are
 * connected, and only CAD NODES changes it afterwards. Majorities are of this set: a
 * replica that is attached and not in it never counts, however many there are. Replicas
 * take the set over from their master.
 */
#include "server.h"
#include "cad_state.h"
#include <fcntl.h>

#define STATE_FILE "cad.state"

static char own[CAD_ID + 1];
static char recorded[CAD_MAX_NODES][CAD_ID + 1];
static int recorded_count; /* 0: not recorded yet. */

static void fatal(const char *what) {
    serverLog(LL_WARNING, "Exiting: can't %s %s in the data directory: %s. It holds this node's identity.", what,
              STATE_FILE, strerror(errno));
    exit(1);
}

/* Written whole under another name, synced, renamed, and the directory synced. */
static void writeState(void) {
    sds text = sdscatprintf(sdsempty(), "cad-state 1\nid %s\n", own);
    if (recorded_count) text = sdscat(text, "nodes");
    for (int j = 0; j < recorded_count; j++) text = sdscatfmt(text, " %s", recorded[j]);
    if (recorded_count) text = sdscat(text, "\n");
    int fd = open(STATE_FILE ".tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd == -1 || write(fd, text, sdslen(text)) != (ssize_t)sdslen(text) || fsync(fd) == -1) fatal("write");
    close(fd);
    if (rename(STATE_FILE ".tmp", STATE_FILE) == -1 || fsyncFileDir(STATE_FILE) == -1) fatal("rename");
    sdsfree(text);
}

int cadNodesIsId(const char *text) {
    return strlen(text) == CAD_ID && strspn(text, "0123456789abcdef") == CAD_ID;
}

/* The words of a line `nodes` or of a message. 0: no set of nodes. */
static int parseNodes(sds *word, int words) {
    if (words < 1 || words > CAD_MAX_NODES) return 0;
    for (int j = 0; j < words; j++)
        if (!cadNodesIsId(word[j])) return 0;
    for (int j = 0; j < words; j++) memcpy(recorded[j], word[j], CAD_ID + 1);
    recorded_count = words;
    return 1;
}

/* The file as it was read; anything unexpected is not ours to ignore. */
static int parseState(char *text) {
    int lines, known = 0;
    sds *line = sdssplitlen(text, strlen(text), "\n", 1, &lines);
    for (int j = 0; j < lines; j++) {
        int words, good;
        sds *word = sdssplitlen(line[j], sdslen(line[j]), " ", 1, &words);
        if (j == 0) good = !strcmp(line[j], "cad-state 1");
        else if (words == 2 && !strcmp(word[0], "id") && cadNodesIsId(word[1])) good = !!memcpy(own, word[1], CAD_ID + 1);
        else if (words > 1 && !strcmp(word[0], "nodes")) good = parseNodes(word + 1, words - 1);
        else good = j == lines - 1 && sdslen(line[j]) == 0;
        sdsfreesplitres(word, words);
        known += good;
    }
    sdsfreesplitres(line, lines);
    return known == lines && *own;
}

/* Reads the file, or makes it. Called when CAD is switched on, before anything counts. */
void cadNodesStart(void) {
    char text[(CAD_MAX_NODES + 2) * (CAD_ID + 16)];
    if (*own) return;
    int fd = open(STATE_FILE, O_RDONLY | O_CLOEXEC);
    if (fd == -1 && errno != ENOENT) fatal("read");
    if (fd == -1) {
        getRandomHexChars(own, CAD_ID);
        writeState();
        return;
    }
    ssize_t len = read(fd, text, sizeof(text) - 1);
    if (len == -1) fatal("read");
    close(fd);
    text[len] = '\0';
    if (!parseState(text)) {
        errno = EINVAL;
        fatal("understand");
    }
    if (recorded_count && cad_config.nodes != recorded_count) {
        serverLog(LL_NOTICE, "%d data nodes are recorded; cad-nodes %d was of use before that only.", recorded_count,
                  cad_config.nodes);
        cad_config.nodes = recorded_count;
    }
}

const char *cadNodesOwnId(void) {
    serverAssert(*own);
    return own;
}

int cadNodesCount(void) { return recorded_count; }
const char *cadNodesAt(int place) { return recorded[place]; }

int cadNodesContain(const char *id) {
    for (int j = 0; j < recorded_count; j++)
        if (!strcmp(recorded[j], id)) return 1;
    return 0;
}

/* How many others this node knows as its fellow data nodes. */
int cadNodesOthers(void) { return recorded_count - cadNodesContain(own); }

sds cadNodesText(const char *separator) {
    sds text = sdsempty();
    for (int j = 0; j < recorded_count; j++) text = sdscatfmt(text, "%s%s", j ? separator : "", recorded[j]);
    return text;
}

/* Records the set `text`, ids with blanks between; durable when this returns. */
void cadNodesRecord(const char *text) {
    int words;
    sds before = cadNodesText(" ");
    sds *word = sdssplitlen(text, strlen(text), " ", 1, &words);
    if (!parseNodes(word, words)) serverLog(LL_WARNING, "No set of data nodes: %s", text);
    sdsfreesplitres(word, words);
    sds now = cadNodesText(" ");
    if (strcmp(before, now)) {
        writeState();
        serverLog(LL_NOTICE, "The data nodes are now: %s%s", now,
                  cadNodesContain(own) ? "" : ". This node is none of them and never counts");
    }
    cad_config.nodes = recorded_count;
    sdsfree(before);
    sdsfree(now);
}

/* CONFIG SET cad-nodes: its time is over when the set is recorded. */
int cadNodesChanged(const char **err) {
    if (!recorded_count || cad_config.nodes == recorded_count) return 1;
    *err = "the data nodes are recorded: change them with CAD NODES ADD, REMOVE or REPLACE";
    return 0;
}
