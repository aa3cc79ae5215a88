/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_hold.c -- replies that wait in their connection's output buffer until D reaches R.
 *
 * A connection holds from the first reply with R > D; with cad-replication sync also from
 * the first write that a majority does not have in memory. Until it is released
 *
 *   nothing of it is written: writeToClient, through which all writes go, returns at
 *   once while `held` is set, and no write handler is installed;
 *   it may finish the commands that had arrived together (a pipeline raises `need` to
 *   the largest R and shares one flush), and then runs no more: else a stream of new
 *   updates could keep `need` ahead of D for ever.
 *
 * The connection is not CLIENT_BLOCKED. It can be blocked as well, by BLPOP in the same
 * pipeline, without either knowing of the other.
 */
#include "server.h"
#include "cad_state.h"

static list *held;         /* Connections that hold, in the order in which they began. */
static int unresolved;     /* Some of them wait for an offset that is not known yet. */
static long long most_need = -1, most_copied = -1; /* The largest offsets that any waits for. */

size_t cadHeldNow(void) { return held ? listLength(held) : 0; }

/* Somebody waits for the disks, or for copies in memory. */
int cadHoldNeedsDurable(void) { return most_need > cad.durable; }
int cadHoldNeedsCopies(void) { return most_copied > cad.copied; }

static void extend(long long *what, long long offset) {
    if (*what < offset) *what = offset;
}

/* `wanted`, a member of the connection, waits for the offset. */
static void waitFor(long long *wanted, long long *most, long long offset) {
    extend(wanted, offset);
    if (offset == CAD_NOT_YET) unresolved = 1;
    else extend(most, offset);
}

static void begin(client *c, int cause) {
    if (c->cad.held) return;
    c->cad.need = c->cad.copied = -1;
    if (!held) held = listCreate();
    cad.holds[cause]++;
    listAddNodeTail(held, c);
    c->cad.held = listLast(held);
    c->cad.since = getMonotonicUs();
    /* A handler that earlier output left behind would spin on a writable socket. One in the event
     * loop of an IO thread is removed when the main thread takes the connection over, with the
     * thread paused. */
    if (c->tid == IOTHREAD_MAIN_THREAD_ID) connSetWriteHandler(c->conn, NULL);
}

/* The replies of the connection leave when D >= need. */
void cadHold(client *c, long long need, int cause) {
    serverAssert(c->conn && need >= -1);
    if (need <= cad.durable) return;
    begin(c, cause);
    waitFor(&c->cad.need, &most_need, need);
}

/* They leave when a majority has everything up to `offset` in memory. */
void cadHoldCopied(client *c, long long offset) {
    serverAssert(c->conn && offset >= 0);
    if (offset <= cad.copied) return;
    begin(c, CAD_BY_COPIES);
    waitFor(&c->cad.copied, &most_copied, offset);
}

static int satisfied(client *c) { return c->cad.need <= cad.durable && c->cad.copied <= cad.copied; }

/* Of CLIENT LIST: how long the replies of the connection have been waiting. */
sds cadHoldInfo(sds info, client *c) {
    if (!c->cad.held) return info;
    return sdscatfmt(info, " cad-held-ms=%I", (long long)(getMonotonicUs() - c->cad.since) / 1000);
}

static void leaveList(client *c) {
    long long us = getMonotonicUs() - c->cad.since;
    cad.hold_us += us;
    latencyAddSampleIfNeeded("cad-hold", us / 1000);
    listDelNode(held, c->cad.held);
    c->cad.held = NULL;
}

/* The connection is gone. */
void cadHoldForget(client *c) {
    if (c->cad.held) leaveList(c);
    cadModeForget(c);
}

static void release(client *c) {
    serverAssert(satisfied(c));
    leaveList(c);
    c->cad.patience = 0;
    if (clientHasPendingReplies(c)) putClientInPendingWriteQueue(c);
    if (c->cad.stopped) {
        c->cad.stopped = 0;
        if (!(c->flags & CLIENT_BLOCKED)) queueClientForReprocessing(c);
    }
}

/* D moved, or what is copied. */
void cadHoldRelease(void) {
    listIter li;
    listNode *ln;
    if (!held) return;
    listRewind(held, &li);
    while ((ln = listNext(&li))) {
        client *c = listNodeValue(ln);
        if (satisfied(c)) release(c);
    }
}

/* All commands that arrived have run: offsets are known now, and connections that hold
 * stop until they are released. Connections that began to hold in this turn of the event
 * loop are at the end of the list. */
void cadHoldBeforeSleep(void) {
    listIter li;
    listNode *ln;
    if (!held) return;
    listRewindTail(held, &li);
    while ((ln = listNext(&li))) {
        client *c = listNodeValue(ln);
        if (c->cad.stopped && !unresolved) break;
        if (c->cad.need == CAD_NOT_YET) extend(&most_need, c->cad.need = cad.tail);
        if (c->cad.copied == CAD_NOT_YET) extend(&most_copied, c->cad.copied = cad.tail);
        c->cad.stopped = 1;
        /* What was propagated was no data: D need not move for it. */
        if (satisfied(c)) release(c);
    }
    unresolved = 0;
}

/* An undurable reply never leaves: the connection that waited too long, or keeps too
 * much, is closed instead. */
void cadHoldCheckLimits(void) {
    listIter li;
    listNode *ln;
    long long now = getMonotonicUs();
    if (!held) return;
    listRewind(held, &li);
    while ((ln = listNext(&li))) {
        client *c = listNodeValue(ln);
        int patience = c->cad.patience ? c->cad.patience : cad_config.hold_timeout;
        int late = now - c->cad.since > patience * 1000LL;
        int large = getClientOutputBufferMemoryUsage(c) > cad_config.hold_bytes;
        if (!late && !large) continue;
        if (late) cad.hold_timeouts++; else cad.hold_overflows++;
        sds info = catClientInfoString(sdsempty(), c);
        serverLog(LL_NOTICE, "Closing a connection whose reply could not be made durable (%s): %s",
                  late ? "cad-hold-timeout" : "cad-hold-bytes", info);
        sdsfree(info);
        freeClientAsync(c);
    }
}

/* This node stops being the master: what was executed here may not survive. */
void cadHoldCloseAll(void) {
    listIter li;
    listNode *ln;
    cad.mastering = 0;
    most_need = most_copied = -1;
    if (!held) return;
    listRewind(held, &li);
    while ((ln = listNext(&li))) freeClientAsync(listNodeValue(ln));
}
