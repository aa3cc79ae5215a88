/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_index.c -- u(key): the offset of a key's last update, while that is not durable.
 *
 * One entry for each key whose last update may not be durable yet, deleted keys included:
 * this is not the keyspace. Two structures share the entries:
 *
 *   a hash table    finds the entry of (database, key)
 *   a FIFO          orders them by offset: a stamped entry moves to the tail, so the
 *                   head is the oldest and entries leave there as durability advances
 *
 * Every write makes an entry and every sync removes some, so they are small: a key is
 * known by a hash of 64 bits, places are numbers of 32 bits, and entries live in blocks
 * that are used again. Keys whose hashes agree share an entry, which holds the later
 * offset: one reply may wait for the other's update, and no answer is wrong.
 *
 * A key without an entry has u = barrier. The barrier is the newest offset below which
 * the index does not know every update: the end of what was loaded, the offset of a
 * command that named no keys, the offset of an entry that had to go for lack of room.
 * So a forgotten case costs latency and never a wrong answer.
 *
 * The floor is the offset below which entries may be missing: barrier or what is durable.
 *
 * A stamp first waits in a ring, since most become durable before anybody asks for a key:
 * a load of writes alone makes no entries. Who asks has all that wait entered first.
 *
 * The table grows by linear hashing, one bucket an insertion, because a rehash of a
 * million entries would stop the server for tens of milliseconds.
 *
 * Pure: no clock, no I/O, no Redis types; zmalloc only so that INFO memory counts it. */
#include "cad_index.h"
#include <assert.h>
#include <string.h>
#if __has_include("zmalloc.h")
#include "zmalloc.h"
#else
#include <stdlib.h>
#define zmalloc malloc
#define zrealloc realloc
#define zfree free
#endif

#define MIN_BUCKETS 64u /* A power of two. */
#define BLOCK 1024u     /* Entries that are allocated together; a power of two. */
#define KEPT_BLOCKS 32u /* They stay when the index is empty. */
#define ROOM_MADE_AT_ONCE 1000 /* Entries that one raise of the barrier removes. */
#define WAITING 8192u   /* Stamps that wait at most, some hundred us of work; a power of two. */

typedef uint32_t place; /* Of an entry, from 1; 0: none. */

typedef struct entry {
    uint64_t id;           /* Of the key. */
    long long offset;
    place older, newer;
    place chain;           /* Next in the bucket; of a free entry, the next free one. */
} entry;

typedef struct update {
    uint64_t id;
    long long offset;
} update;

struct cadIndex {
    place *buckets;
    size_t level;    /* Buckets below `split` are addressed with level*2, others with level. */
    size_t split;
    size_t room;     /* Allocated buckets. */
    entry **blocks;
    size_t blocks_made, blocks_room;
    place unused;    /* First free entry. */
    place fresh;     /* Entries from here on have never been used. */
    place oldest, newest;
    size_t size;
    long long barrier, floor;
    update waiting[WAITING];         /* Younger than every entry. */
    unsigned first_waiting, waiters; /* The first of them, and how many. */
    size_t max;                      /* Entries to keep. */
};

static entry *at(const cadIndex *index, place p) { return &index->blocks[p / BLOCK][p % BLOCK]; }

static update *waiter(cadIndex *index, unsigned n) { return &index->waiting[(index->first_waiting + n) % WAITING]; }

cadIndex *cadIndexNew(void) {
    cadIndex *index = zmalloc(sizeof(*index));
    memset(index, 0, sizeof(*index));
    index->level = index->room = MIN_BUCKETS;
    index->buckets = zmalloc(index->room * sizeof(place));
    memset(index->buckets, 0, index->room * sizeof(place));
    index->fresh = 1;
    return index;
}

void cadIndexFree(cadIndex *index) {
    while (index->blocks_made) zfree(index->blocks[--index->blocks_made]);
    zfree(index->blocks);
    zfree(index->buckets);
    zfree(index);
}

static place take(cadIndex *index) {
    place p = index->unused;
    if (p) {
        index->unused = at(index, p)->chain;
        return p;
    }
    p = index->fresh++;
    if (p / BLOCK >= index->blocks_made) {
        if (index->blocks_made == index->blocks_room) {
            index->blocks_room = index->blocks_room ? index->blocks_room * 2 : 8;
            index->blocks = zrealloc(index->blocks, index->blocks_room * sizeof(entry *));
        }
        index->blocks[index->blocks_made++] = zmalloc(BLOCK * sizeof(entry));
    }
    return p;
}

static void giveBack(cadIndex *index, place p) {
    at(index, p)->chain = index->unused;
    index->unused = p;
    if (index->size || index->blocks_made <= KEPT_BLOCKS) return;
    while (index->blocks_made > KEPT_BLOCKS) zfree(index->blocks[--index->blocks_made]);
    index->unused = 0;
    index->fresh = 1;
}

static uint64_t idOf(int db, uint64_t hash) { return hash + (uint64_t)db * 0x9e3779b97f4a7c15u; }

static place *bucketOf(const cadIndex *index, uint64_t id) {
    size_t bucket = id & (index->level - 1);
    return &index->buckets[bucket < index->split ? id & (index->level * 2 - 1) : bucket];
}

/* Splits the next bucket: its entries divide between it and a new one at the end. */
static void grow(cadIndex *index) {
    size_t from = index->split, to = index->level + index->split;
    if (to >= index->room) {
        index->buckets = zrealloc(index->buckets, index->room * 2 * sizeof(place));
        memset(index->buckets + index->room, 0, index->room * sizeof(place));
        index->room *= 2;
    }
    place p = index->buckets[from];
    index->buckets[from] = 0;
    while (p) {
        entry *e = at(index, p);
        place next = e->chain;
        size_t bucket = e->id & (index->level * 2 - 1);
        assert(bucket == from || bucket == to);
        e->chain = index->buckets[bucket];
        index->buckets[bucket] = p;
        p = next;
    }
    if (++index->split == index->level) {
        index->level *= 2;
        index->split = 0;
    }
}

static place findIn(const cadIndex *index, place first, uint64_t id) {
    place p = first;
    while (p && at(index, p)->id != id) p = at(index, p)->chain;
    return p;
}

static place find(const cadIndex *index, uint64_t id) { return findIn(index, *bucketOf(index, id), id); }

static void unqueue(cadIndex *index, const entry *e) {
    if (e->older) at(index, e->older)->newer = e->newer; else index->oldest = e->newer;
    if (e->newer) at(index, e->newer)->older = e->older; else index->newest = e->older;
}

static void enqueue(cadIndex *index, place p) {
    entry *e = at(index, p);
    e->newer = 0;
    e->older = index->newest;
    if (index->newest) at(index, index->newest)->newer = p; else index->oldest = p;
    index->newest = p;
}

static void dropOldest(cadIndex *index) {
    place p = index->oldest;
    entry *e = at(index, p);
    place *link = bucketOf(index, e->id);
    while (*link != p) link = &at(index, *link)->chain;
    *link = e->chain;
    unqueue(index, e);
    index->size--;
    giveBack(index, p);
}

/* Drops at most `limit` entries up to the offset; what is left over goes later. */
static void dropUpTo(cadIndex *index, long long offset, size_t limit) {
    if (index->floor < offset) index->floor = offset;
    while (limit-- && index->oldest && at(index, index->oldest)->offset <= offset) dropOldest(index);
}

static void raiseBarrier(cadIndex *index, long long offset) {
    if (index->barrier < offset) index->barrier = offset;
    dropUpTo(index, index->barrier, ROOM_MADE_AT_ONCE);
}

static void enter(cadIndex *index, uint64_t id, long long offset) {
    assert(!index->newest || offset >= at(index, index->newest)->offset);
    if (offset <= index->floor) return;
    place *bucket = bucketOf(index, id);
    place p = findIn(index, *bucket, id);
    if (p) {
        at(index, p)->offset = offset;
        if (p != index->newest) {
            unqueue(index, at(index, p));
            enqueue(index, p);
        }
        return;
    }
    if (index->size >= index->max) {
        while (index->size && index->size >= index->max) raiseBarrier(index, at(index, index->oldest)->offset);
        if (index->max == 0) raiseBarrier(index, offset);
        /* The barrier that rose for lack of room may cover the key already. */
        if (offset <= index->floor) return;
    }
    p = take(index);
    entry *e = at(index, p);
    e->id = id;
    e->offset = offset;
    e->chain = *bucket;
    *bucket = p;
    enqueue(index, p);
    index->size++;
    if (index->size > index->level + index->split) grow(index);
}

static void enterWaiting(cadIndex *index) {
    for (; index->waiters; index->waiters--) {
        update *w = waiter(index, 0);
        enter(index, w->id, w->offset);
        index->first_waiting++;
    }
}

/* Those need no entry any more. */
static void forgetWaiting(cadIndex *index) {
    while (index->waiters && waiter(index, 0)->offset <= index->floor) {
        index->first_waiting++;
        index->waiters--;
    }
}

/* The key was updated at `offset`, which is not below any earlier one. At most `max`
 * entries are kept; the oldest gives way and the barrier takes its place. */
void cadIndexStamp(cadIndex *index, int db, uint64_t hash, long long offset, size_t max) {
    assert(!index->waiters || offset >= waiter(index, index->waiters - 1)->offset);
    index->max = max;
    if (index->waiters == WAITING) enterWaiting(index);
    *waiter(index, index->waiters++) = (update){idOf(db, hash), offset};
    /* Each may need an entry of its own. */
    if (index->size + index->waiters >= max) enterWaiting(index);
}

/* u(key): no later update of the key is known, and none can be unknown. */
long long cadIndexLookup(cadIndex *index, int db, uint64_t hash) {
    enterWaiting(index);
    place p = find(index, idOf(db, hash));
    long long offset = p ? at(index, p)->offset : 0;
    return offset > index->barrier ? offset : index->barrier;
}

/* Whatever was updated up to `offset` need not have an entry. */
void cadIndexRaiseBarrier(cadIndex *index, long long offset) {
    raiseBarrier(index, offset);
    forgetWaiting(index);
}

/* Drops at most `limit` entries that are durable, or that the barrier covers. */
void cadIndexPrune(cadIndex *index, long long durable, size_t limit) {
    dropUpTo(index, durable > index->barrier ? durable : index->barrier, limit);
    forgetWaiting(index);
}

long long cadIndexFloor(const cadIndex *index) { return index->floor; }
long long cadIndexBarrier(const cadIndex *index) { return index->barrier; }
size_t cadIndexSize(cadIndex *index) {
    enterWaiting(index);
    return index->size;
}
size_t cadIndexBytes(const cadIndex *index) {
    return sizeof(*index) + index->room * sizeof(place) + index->blocks_room * sizeof(entry *) +
           index->blocks_made * BLOCK * sizeof(entry);
}
