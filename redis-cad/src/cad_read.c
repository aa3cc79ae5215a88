/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_read.c -- what a command's reply shows, and hence what it waits for.
 *
 * Every update passes cadStamp with its keys, once, after it was given its offset. A
 * command that runs passes cadBeforeCommand and cadAfterCommand. Its class decides R,
 * the offset that must be durable before the reply leaves:
 *
 *   NONE      shows no data                          -1
 *   KEYS      reads the keys that it names           largest u(key)
 *   DATABASE  reads a whole database                 last update of that database
 *   ACK       writes, and says only that it did      -1; in mode immediate its own offset
 *   STATE     writes, and shows what was or became   its own offset (cad-write-reads durable)
 *   TAIL      may read anything                      last update of all
 *
 * A write that changed nothing showed that there was nothing to change: it counts as
 * KEYS. So does a write that ended in an error. Whatever is not known is TAIL, which
 * costs latency and never a wrong answer.
 */
#include "server.h"
#include "cad_state.h"

enum { UNDECIDED, NONE, KEYS, DATABASE, ACK, STATE, TAIL };
static const char *const class_names[] = {"undecided", "none", "keys", "database", "ack", "state", "tail"};

/* ------------------------------------------------------------------ keys */

typedef void keyFn(int db, sds key, void *context);

/* The place of the key among the arguments, when the command has one, always there; else 0. */
static int placeOfOnlyKey(const struct redisCommand *command) {
    const keySpec *spec = command->key_specs;
    if (command->key_specs_num != 1 || spec->flags & (CMD_KEY_NOT_KEY | CMD_KEY_INCOMPLETE)) return 0;
    if (spec->begin_search_type != KSPEC_BS_INDEX || spec->find_keys_type != KSPEC_FK_RANGE) return 0;
    return spec->fk.range.lastkey == 0 ? spec->bs.index.pos : 0;
}

static int classify(struct redisCommand *command);

/* What all calls of a command have in common. */
typedef struct {
    unsigned char class; /* UNDECIDED: not asked for yet. */
    unsigned char place; /* placeOfOnlyKey. */
} commandFacts;

/* By command id, found when first asked for. Of a module's commands nothing is remembered:
 * it may be loaded again with other commands of the same names. */
#define IDS 4096u
static commandFacts facts_by_id[IDS];

static commandFacts findFacts(struct redisCommand *command) {
    int place = placeOfOnlyKey(command);
    commandFacts facts = {classify(command), place > 0 && place <= UCHAR_MAX ? place : 0};
    if (!(command->flags & CMD_MODULE) && (unsigned)command->id < IDS) facts_by_id[command->id] = facts;
    return facts;
}

static inline commandFacts factsOf(struct redisCommand *command) {
    unsigned id = command->id;
    if (id < IDS && facts_by_id[id].class != UNDECIDED) return facts_by_id[id];
    return findFacts(command);
}

static int classOf(struct redisCommand *command) { return factsOf(command).class; }

/* The key of a command that has one, always at the same place, and whose argument it is now; else NULL. */
static sds onlyKey(struct redisCommand *command, robj **argv, int argc) {
    int place = factsOf(command).place;
    return place && place < argc && sdsEncodedObject(argv[place]) ? argv[place]->ptr : NULL;
}

/* The functions that find keys read strings; arguments may be integers inside. */
static int forEachFoundKey(struct redisCommand *command, int db, robj **argv, int argc, uint64_t but, keyFn *fn,
                           void *context) {
    getKeysResult keys = GETKEYS_RESULT_INIT;
    robj **plain = argv;
    int known = 0;

    if (!doesCommandHaveKeys(command)) return 0;
    for (int j = 0; j < argc && plain == argv; j++)
        if (!sdsEncodedObject(argv[j])) {
            plain = zmalloc(sizeof(robj *) * argc);
            for (int k = 0; k < argc; k++) plain[k] = getDecodedObject(argv[k]);
        }
    if (getKeysFromCommandWithSpecs(command, plain, argc, GET_KEYSPEC_DEFAULT, &keys) > 0) {
        known = 1;
        for (int j = 0; j < keys.numkeys; j++)
            if (!(keys.keys[j].flags & but)) fn(db, plain[keys.keys[j].pos]->ptr, context);
    }
    getKeysFreeResult(&keys);
    if (plain != argv) {
        for (int j = 0; j < argc; j++) decrRefCount(plain[j]);
        zfree(plain);
    }
    return known;
}

/* Calls `fn` for every key of the command that has no flag of `but`. Returns 0 when they cannot be known. */
static inline int forEachKey(struct redisCommand *command, int db, robj **argv, int argc, uint64_t but, keyFn *fn,
                             void *context) {
    sds only = onlyKey(command, argv, argc);
    if (!only) return forEachFoundKey(command, db, argv, argc, but, fn, context);
    fn(db, only, context);
    return 1;
}

/* The flag of keys that a write leaves alone: SUNIONSTORE has some. A module's word is not taken. */
static uint64_t untouched(struct redisCommand *command) { return command->flags & CMD_MODULE ? 0 : CMD_KEY_RO; }

static void stampKey(int db, sds key, void *context) {
    UNUSED(context);
    cadIndexStamp(cad.index, db, dictGenHashFunction(key, sdslen(key)), cad.tail, cad_config.max_dirty_keys);
}

static void largestUpdate(int db, sds key, void *context) {
    long long offset = cadIndexLookup(cad.index, db, dictGenHashFunction(key, sdslen(key)));
    if (*(long long *)context < offset) *(long long *)context = offset;
}

static void matchPrefix(int db, sds key, void *context) {
    UNUSED(db);
    size_t len = strlen(cad_config.immediate_prefix);
    if (sdslen(key) >= len && memcmp(key, cad_config.immediate_prefix, len) == 0) *(int *)context = 1;
}

/* ---------------------------------------------------------------- stamps */

/* These reach a key that their key specification does not place in their own database. */
static int leavesDatabase(struct redisCommand *command) {
    return command->proc == moveCommand || command->proc == copyCommand;
}

/* The command that was propagated: mostly the very one that is executed, which spares the search. */
static struct redisCommand *commandOf(robj **argv, int argc) {
    const client *c = server.executing_client;
    if (c && c->cmd && !c->cmd->parent && c->argc > 0 && c->argv[0] == argv[0]) return c->cmd;
    return lookupCommand(argv, argc);
}

/* A command went to the append only file and the replicas; its offset is the present one. */
void cadStampUpdate(int db, robj **argv, int argc, int target) {
    if (server.masterhost) return;
    /* What is not logged can never be durable: PUBLISH, module calls without AOF. */
    if (!(target & PROPAGATE_AOF)) return;
    if (argc == 1 && (argv[0] == shared.multi || argv[0] == shared.exec)) {
        cad.tail = server.master_repl_offset;
        return;
    }
    if (!cad.mastering) return;
    cad.tail = server.master_repl_offset;
    if (!cad.stamping) return;
    cadWindowWritten(cad.tail, cad.durable, cadTurnTime(), cad_config.window_ms * 1000LL);

    struct redisCommand *command = commandOf(argv, argc);
    if (!command || leavesDatabase(command) || !forEachKey(command, db, argv, argc, untouched(command), stampKey, NULL))
        cadIndexRaiseBarrier(cad.index, cad.tail);
    else if (db >= 0)
        cad.db_tail[db] = cad.tail;
}

/* --------------------------------------------------------------- classes */

static int hasFlaggedKey(struct redisCommand *command, uint64_t flag) {
    for (int j = 0; j < command->key_specs_num; j++)
        if (command->key_specs[j].flags & flag) return 1;
    return 0;
}

static int oneOf(const char *name, const char *const *names) {
    for (; *names; names++)
        if (!strcasecmp(name, *names)) return 1;
    return 0;
}

/* Commands whose flags do not tell what their reply shows. */
static int classByName(const char *name) {
    /* Success or count says what was there before. */
    static const char *const state[] = {"setnx", "msetnx", "hsetnx", "renamenx", "move", "smove", "xclaim", "xautoclaim",
                                        "copy", "hsetex", "xadd", NULL};
    /* They copy between keys and reply a count, or nothing. */
    static const char *const ack[] = {"sdiffstore", "sinterstore", "sunionstore", "zdiffstore", "zinterstore",
                                      "zunionstore", "zrangestore", "geosearchstore", "bitop", "pfmerge", "rename", NULL};
    static const char *const database[] = {"keys", "scan", "dbsize", "randomkey", NULL};
    /* They show data without naming it. */
    static const char *const tail[] = {"exec", "eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro",
                                       "function|list", "function|dump", "migrate", "pfdebug",
                                       /* A thread of its own, whose reply comes past the hook of the command. */
                                       "vsim", NULL};
    static const char *const none[] = {"wait", "waitaof", "publish", "spublish", "watch", "unwatch",
                                       "cad|keyindex", "lolwut", NULL};

    if (oneOf(name, state)) return STATE;
    if (oneOf(name, ack)) return ACK;
    if (oneOf(name, database)) return DATABASE;
    if (oneOf(name, tail)) return TAIL;
    if (oneOf(name, none)) return NONE;
    return UNDECIDED;
}

static int classify(struct redisCommand *command) {
    int named = classByName(command->fullname);
    if (named != UNDECIDED) return named;
    if (command->flags & CMD_WRITE) {
        if (!doesCommandHaveKeys(command)) return command->flags & CMD_MODULE ? TAIL : ACK;
        return hasFlaggedKey(command, CMD_KEY_ACCESS) || command->flags & CMD_MODULE ? STATE : ACK;
    }
    if (command->flags & CMD_READONLY) return doesCommandHaveKeys(command) ? KEYS : TAIL;
    /* Neither reads nor writes data by its own account. A module's word is not taken. */
    return command->flags & CMD_MODULE && !(command->flags & CMD_ADMIN) ? TAIL : NONE;
}

static int hasOption(client *c, int from, const char *const *options) {
    for (int j = from; j < c->argc; j++)
        if (sdsEncodedObject(c->argv[j]) && oneOf(c->argv[j]->ptr, options)) return 1;
    return 0;
}

/* The class of this very call: some options change it. */
static int classOfCall(client *c) {
    static const char *const set_options[] = {"nx", "xx", "get", NULL};
    static const char *const zadd_options[] = {"nx", "xx", "gt", "lt", "incr", NULL};
    static const char *const sort_options[] = {"by", "get", NULL};
    int what = classOf(c->cmd);
    redisCommandProc *proc = c->cmd->proc;
    if (proc == setCommand) return c->argc > 3 && hasOption(c, 3, set_options) ? STATE : ACK;
    if (proc == zaddCommand) return hasOption(c, 2, zadd_options) ? STATE : ACK;
    /* The patterns of SORT name keys that no specification can. */
    if ((proc == sortCommand || proc == sortroCommand) && hasOption(c, 2, sort_options)) return DATABASE;
    return what;
}

const char *cadClassName(struct redisCommand *command) { return class_names[classOf(command)]; }

/* ----------------------------------------------------------- one command */

/* The mode that binds a connection: what it asked for, never less than the server's. */
static int modeOf(client *c) {
    return c->cad.mode > cad_config.durability ? c->cad.mode : cad_config.durability;
}

static int showsData(struct redisCommand *command) {
    int what = classOf(command);
    return what != NONE && what != ACK;
}

/* A node that is not the master cannot know what is durable: it has no lease. A transaction
 * shows what its commands show; some may have been queued while this node was the master. */
int cadRefusesReadNow(client *c) {
    if (modeOf(c) < CAD_CAD || !server.masterhost || c->flags & (CLIENT_MASTER | CLIENT_SLAVE)) return 0;
    int shows = showsData(c->cmd);
    if (c->cmd->proc == execCommand) {
        shows = 0;
        for (int j = 0; j < c->mstate.count && !shows; j++) shows = showsData(c->mstate.commands[j].cmd);
    }
    if (!shows) return 0;
    cad.refusals++;
    return 1;
}

/* R of what the command can see now; -1: nothing. */
static long long requiredNow(client *c, int what, int *cause) {
    long long need = cad.tail;
    *cause = CAD_BY_TAIL;
    if (what == NONE) return -1;
    if (what == DATABASE) {
        if (cad_config.scan_reads == CAD_SCAN_RELAXED && c->cmd->proc != sortCommand && c->cmd->proc != sortroCommand)
            return -1;
        need = cad.db_tail[c->db->id];
        *cause = CAD_BY_DATABASE;
    } else if (what != TAIL) {
        long long keys = 0;
        if (!forEachKey(c->cmd, c->db->id, c->argv, c->argc, 0, largestUpdate, &keys)) return need;
        need = keys;
        *cause = CAD_BY_KEY;
    }
    long long barrier = cadIndexBarrier(cad.index);
    if (need <= barrier) {
        need = barrier;
        *cause = CAD_BY_BARRIER;
    }
    return need;
}

void cadFindBefore(client *c, cadExecution *x) {
    int mode = modeOf(c);
    x->durable = mode != CAD_EVENTUAL;
    x->copied = cad_config.replication == CAD_REPL_SYNC && mode != CAD_IMMEDIATE;
    if (!x->durable && !x->copied) return;
    if (server.masterhost || !c->conn || c->flags & (CLIENT_MASTER | CLIENT_SLAVE | CLIENT_MODULE)) return;
    if (!cad.mastering) cadBeginHistory();

    x->active = 1;
    x->tail = cad.tail;
    if (!x->durable) return;
    x->what = classOfCall(c);
    x->errors = server.stat_total_error_replies;
    x->before = -1;
    x->cause = CAD_BY_KEY;
    x->immediate = mode == CAD_IMMEDIATE;
    if (!x->immediate && cad_config.immediate_prefix && *cad_config.immediate_prefix && c->cmd->flags & CMD_WRITE)
        forEachKey(c->cmd, c->db->id, c->argv, c->argc, untouched(c->cmd), matchPrefix, &x->immediate);
    /* Arguments may be rewritten while the command runs, so reads look up their keys now. */
    if (cad.tail > cad.durable && x->what != ACK && x->what != NONE) x->before = requiredNow(c, x->what, &x->cause);
}

/* The offset after what has run. Inside an execution unit (a transaction, a blocked client that
 * is served) propagation comes later, so that it will be whatever the tail is then. */
long long cadOwnOffset(void) { return server.also_propagate.numops > 0 ? CAD_NOT_YET : cad.tail; }

/* 1: another acknowledgement now would exceed cad-window-ms or cad-window-bytes. */
static int windowFull(void) {
    return cadWindowFull(cad.tail, cad.durable, cadTurnTime(), cad_config.window_bytes, cad_config.window_ms * 1000LL);
}

/* The commonest case, told at the least cost: a write that may be acknowledged at once. */
static int acknowledgedAtOnce(const cadExecution *x) {
    return x->what == ACK && x->durable && !x->copied && !x->immediate && cad.tail != x->tail &&
           !server.also_propagate.numops && server.stat_total_error_replies == x->errors && !windowFull();
}

void cadHoldAfter(client *c, cadExecution *x) {
    if (acknowledgedAtOnce(x)) return;
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    /* FLUSHALL has run; its reply follows when memory is freed. Others start over later. */
    if (c->flags & CLIENT_BLOCKED ? c->bstate.btype != BLOCKED_LAZYFREE : !clientHasPendingReplies(c)) return;

    long long own = cadOwnOffset();
    /* PFCOUNT caches the count that it read in the key. */
    int changed = own != x->tail && c->cmd->proc != pfcountCommand;

    if (changed && x->copied) cadHoldCopied(c, own);
    if (!x->durable) return;
    if (x->what == NONE) {
        return;
    } else if (x->what == ACK || x->what == STATE) {
        if (!changed || server.stat_total_error_replies != x->errors) {
            /* The reply says what was found, and that may be a key that has just expired. */
            if (x->what == ACK && cad.tail > cad.durable) x->before = requiredNow(c, x->what, &x->cause);
            cadHold(c, changed ? own : x->before, x->cause);
        } else if (x->immediate || (x->what == STATE && cad_config.write_reads == CAD_WRITES_DURABLE)) {
            cadHold(c, own, CAD_BY_WRITE);
        } else if (windowFull()) {
            cadHold(c, own, CAD_BY_WINDOW);
        } else if (x->what == STATE && cad_config.write_reads == CAD_WRITES_PRIOR) {
            cadHold(c, x->before, x->cause);
        }
    } else if (changed) {
        /* A script or transaction that wrote, or a read that expired its key. */
        cadHold(c, own, x->what == TAIL ? CAD_BY_TAIL : CAD_BY_WRITE);
    } else {
        cadHold(c, x->before, x->cause);
    }
}

/* A blocked command gave up (time-out, error): its reply says that something is absent. */
void cadAfterUnblock(client *c) {
    if (cad_config.durability == CAD_OFF || modeOf(c) == CAD_EVENTUAL || server.masterhost || !c->conn) return;
    if (c->bstate.btype == BLOCKED_WAIT || c->bstate.btype == BLOCKED_WAITAOF) return;
    cadHold(c, cadOwnOffset(), CAD_BY_TAIL);
}
