/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_state.h -- what the files of CAD share among themselves.
 */
#ifndef CAD_STATE_H
#define CAD_STATE_H

#include "cad_index.h"
#include "cad_window.h"

/* Why a reply was held: the counters of INFO cad. */
enum { CAD_BY_KEY, CAD_BY_BARRIER, CAD_BY_DATABASE, CAD_BY_TAIL, CAD_BY_WRITE, CAD_BY_WINDOW, CAD_BY_COPIES, CAD_CAUSES };

#define CAD_MAX_NODES 31
/* An offset that is known when the commands of this turn of the event loop have been propagated. */
#define CAD_NOT_YET LLONG_MAX

struct cadState {
    long long tail;      /* Offset after the last data byte. */
    long long durable;   /* D; -1: not even what the history began with, be that offset 0. */
    long long copied;    /* In the memory of a majority. */
    int mastering;       /* tail, durable and index describe the present history. */
    cadIndex *index;
    long long *db_tail;  /* For each database the offset of its last update. */
    int stamping;        /* The index is kept: some reply may depend on it. */
    int strict_clients;  /* Connections whose CAD MODE needs the index. */
    /* Counters since start or CONFIG RESETSTAT. */
    long long holds[CAD_CAUSES], hold_us, hold_timeouts, hold_overflows, refusals;
    long long flush_rounds, flush_syncs;
};
extern struct cadState cad;

/* cad.c */
void cadBeginHistory(void);
void cadStampingChanged(void);
long long cadTurnTime(void);

/* cad_hold.c */
void cadHold(struct client *c, long long need, int cause);
void cadHoldCopied(struct client *c, long long offset);
int cadHoldNeedsDurable(void);
int cadHoldNeedsCopies(void);
void cadHoldBeforeSleep(void);
void cadHoldRelease(void);
void cadHoldCheckLimits(void);
size_t cadHeldNow(void);

#define PRUNED_AT_ONCE 10000 /* Entries of the index: others wait for this turn. */

/* cad_flush.c */
void cadFlushBeforeSleep(void);
void cadFlushAsk(void);
void cadDurableAdvance(void);

/* cad_repl.c */
long long cadReplPersisted(long long own);
long long cadReplCopied(long long own);
int cadReplAskFlush(void);
int cadReplAskCopied(void);
int cadReplDataNodes(void);
struct client *cadReplConnection(const char *id);
void cadReplAnswer(void);
int cadReplBootstrap(int wanted, int forced, const char **err);
int cadReplChangeNodes(const char *gone, const char *come, const char **err);

/* cad_nodes.c */
void cadNodesStart(void);
int cadNodesIsId(const char *text);
const char *cadNodesOwnId(void);
int cadNodesCount(void);
const char *cadNodesAt(int place);
int cadNodesContain(const char *id);
int cadNodesOthers(void);
char *cadNodesText(const char *separator);
void cadNodesRecord(const char *text);

/* cad_disk.c */
void cadDiskLook(void);

/* cad_read.c */
const char *cadClassName(struct redisCommand *command);
long long cadOwnOffset(void);

#endif
