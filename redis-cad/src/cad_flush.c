/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_flush.c -- makes data durable, on demand and in the background, and keeps D.
 *
 * A round asks everybody at once: here the buffer is written and a sync job made, with
 * a completion request behind it in the same worker's queue, which wakes the event
 * loop; the replicas get the offset with a GETACK and report when they have synced. One
 * round is under way at a time; the next one covers all that arrived meanwhile, so the
 * slower the disk, the larger the groups.
 *
 * Our jobs do not look at no-appendfsync-on-rewrite: somebody waits for them.
 */
#include "server.h"
#include "bio.h"
#include "cad_state.h"

static int wanted;          /* A flush was asked for, */
static long long asked_at;  /* the last time then, monotonic us. */
static int syncing;         /* The local part of a round has not ended. */
static long long sync_began; /* When it began, monotonic us. */
static int in_background;   /* The timer asks for one. */
static long long timer = AE_DELETED_EVENT_ID; /* Runs while something is undurable: an idle server sleeps. */
static int timer_period;    /* ms */
static struct {
    long long upto;  /* It covers what precedes this offset. */
    long long began; /* Monotonic us. */
    int others;      /* Replicas were asked. */
} flush_round;       /* The last one that this master began. */
static long long advanced_from = -1; /* D takes account of this much persisted here. */
static long long copies_asked, copies_asked_at; /* The same for copies in memory. */
#define ROUND_LOST_US 100000 /* A replica may be gone; ask again after that. */
#define MASTER_ASKS_US 1000000 /* A master that has been silent for that long does not ask. */

/* The master asks for a round. */
void cadFlushAsk(void) {
    wanted = 1;
    asked_at = getMonotonicUs();
}

/* D follows what is persisted here and on the replicas. It never moves back, nor does the
 * offset that a majority has in memory. */
void cadDurableAdvance(void) {
    if (!cad.mastering || server.aof_state != AOF_ON) return;
    advanced_from = cadPersistedOffset();
    long long durable = cadReplPersisted(advanced_from);
    cadWindowDurable(durable);
    /* A switch to async leaves those waiting that began before it. */
    int counted = cad_config.replication == CAD_REPL_SYNC || cadHoldNeedsCopies();
    long long copied = counted ? cadReplCopied(cad.tail) : -1;
    if (durable <= cad.durable && copied <= cad.copied) return;
    if (cad.copied < copied) cad.copied = copied;
    if (cad.durable < durable) {
        cad.durable = durable;
        cadIndexPrune(cad.index, cad.durable, PRUNED_AT_ONCE);
    }
    cadHoldRelease();
}

/* In the main thread, after the worker has ended the sync job queued before. */
static void syncEnded(uint64_t unused, void *ignored) {
    UNUSED(unused);
    UNUSED(ignored);
    syncing = 0;
    latencyAddSampleIfNeeded("cad-sync", (getMonotonicUs() - sync_began) / 1000);
    if (server.masterhost) {
        cadReplAnswer();
    } else {
        cadDurableAdvance();
    }
}

static void syncHere(void) {
    if (syncing || server.aof_fd == -1) return;
    /* Forced: with everysec the plain call leaves data in memory while a sync runs. */
    flushAppendOnlyFile(1);
    if (server.aof_last_write_status == C_ERR) return;
    if (cadPersistDirty()) {
        cad.flush_syncs++;
        bioCreateFsyncJob(server.aof_fd, server.master_repl_offset, 0);
        server.aof_last_incr_fsync_offset = server.aof_last_incr_size;
        server.aof_last_fsync = server.mstime;
    }
    /* Also when a job of stock's is the one to wait for. */
    syncing = 1;
    sync_began = getMonotonicUs();
    bioCreateCompRq(BIO_WORKER_AOF_FSYNC, syncEnded, 0, NULL);
}

/* Something of this node's own log is not on disk. */
static int pendingHere(void) { return cadPersistPending() || sdslen(server.aof_buf) > 0; }

static int undurable(void) { return server.masterhost ? pendingHere() : cad.tail > cad.durable; }

/* Acknowledgements wait for copies: ask for reports, one round at a time. */
static void askForCopies(void) {
    if (server.masterhost || !cadHoldNeedsCopies()) return;
    long long now = getMonotonicUs();
    if (copies_asked > cad.copied && now - copies_asked_at <= ROUND_LOST_US) return;
    if (!cadReplAskCopied()) return;
    copies_asked = cad.tail;
    copies_asked_at = now;
}

/* What began last has not ended. A replica knows only of its own disk. */
static int underWay(long long now) {
    return syncing || (!server.masterhost && flush_round.others && flush_round.upto > cad.durable &&
                       now - flush_round.began <= ROUND_LOST_US);
}

static int inBackgroundNow(void) {
    int ticked = in_background;
    in_background = 0;
    if (ticked) return 1;
    return !server.masterhost && cad_config.durability >= CAD_CAD && undurable() &&
           (cad_config.flush_interval == 0 || cad.tail - flush_round.upto > (long long)cad_config.flush_bytes);
}

static void beginRound(long long now) {
    wanted = 0;
    if (pendingHere()) {
        cad.flush_rounds++;
        syncHere();
    }
    if (server.masterhost) return;
    flush_round.upto = cad.tail;
    flush_round.began = now;
    flush_round.others = cad_config.nodes > 1 && cadReplAskFlush();
}

static int period(void) { return cad_config.flush_interval > 0 ? cad_config.flush_interval : 10; }

/* A replica whose master asks has no need of rounds of its own: they would only make the
 * master's wait for them. */
static int tick(struct aeEventLoop *el, long long id, void *data) {
    UNUSED(el);
    UNUSED(id);
    UNUSED(data);
    if (cad_config.durability != CAD_OFF) {
        cadDurableAdvance();
        if (undurable()) {
            int asked = server.masterhost && (long long)getMonotonicUs() - asked_at < MASTER_ASKS_US;
            if (cad_config.durability >= CAD_CAD && !asked) in_background = 1;
            return timer_period = period();
        }
    }
    timer = AE_DELETED_EVENT_ID;
    return AE_NOMORE;
}

/* The timer runs while it has work, and at the pace that is set now. */
static void keepTicking(void) {
    int running = timer != AE_DELETED_EVENT_ID;
    if (running ? timer_period == period() : !undurable()) return;
    if (running) aeDeleteTimeEvent(server.el, timer);
    timer = aeCreateTimeEvent(server.el, timer_period = period(), tick, NULL, NULL);
    if (timer == AE_ERR) serverPanic("Can't create the CAD timer.");
}

/* Before the append only file is written, and hence before replies are. */
void cadFlushBeforeSleep(void) {
    /* After a failed sync nothing helps but a rewrite, see cadAofActOnError. */
    if (server.aof_state == AOF_OFF || cadPersistError()) return;
    /* What the replicas report moves D when it arrives. */
    if (cadPersistedOffset() != advanced_from || cad_config.replication == CAD_REPL_SYNC) cadDurableAdvance();
    askForCopies();
    keepTicking();
    int now = inBackgroundNow() || wanted || cadHoldNeedsDurable();
    if (!now) return;
    if (undurable()) {
        long long time = getMonotonicUs();
        if (!underWay(time)) beginRound(time);
    } else if (wanted && server.masterhost) {
        /* All that was asked for is on disk: say so. */
        wanted = 0;
        flushAppendOnlyFile(1);
        cadReplAnswer();
    }
}
