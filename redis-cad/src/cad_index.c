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
 * A key without an entry has u = barrier. The barrier is the newest offset below which
 * the index does not know every update: the end of what was loaded, the offset of a
 * command that named no keys, the offset of an entry that had to go for lack of room.
 * So a forgotten case costs latency and never a wrong answer.
 *
 * The floor is the offset below which entries may be missing: barrier or what is durable.
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

typedef struct entry {
    struct entry *chain;       /* Next in the bucket. */
    struct entry *older, *newer;
    long long offset;
    uint64_t hash;
    uint32_t len;
    int db;
    char key[];
} entry;

struct cadIndex {
    entry **buckets;
    size_t level;    /* Buckets below `split` are addressed with level*2, others with level. */
    size_t split;
    size_t room;     /* Allocated buckets. */
    entry *oldest, *newest;
    size_t size, bytes;
    long long barrier, floor;
};

#define ROOM_MADE_AT_ONCE 1000 /* Entries that one raise of the barrier removes. */

cadIndex *cadIndexNew(void) {
    cadIndex *index = zmalloc(sizeof(*index));
    memset(index, 0, sizeof(*index));
    index->level = index->room = MIN_BUCKETS;
    index->buckets = zmalloc(index->room * sizeof(entry *));
    memset(index->buckets, 0, index->room * sizeof(entry *));
    return index;
}

static size_t bucketOf(const cadIndex *index, uint64_t hash) {
    size_t bucket = hash & (index->level - 1);
    return bucket < index->split ? hash & (index->level * 2 - 1) : bucket;
}

/* Splits the next bucket: its entries divide between it and a new one at the end. */
static void grow(cadIndex *index) {
    size_t from = index->split, to = index->level + index->split;
    if (to >= index->room) {
        index->buckets = zrealloc(index->buckets, index->room * 2 * sizeof(entry *));
        memset(index->buckets + index->room, 0, index->room * sizeof(entry *));
        index->room *= 2;
    }
    entry *e = index->buckets[from];
    index->buckets[from] = NULL;
    while (e) {
        entry *next = e->chain;
        size_t bucket = e->hash & (index->level * 2 - 1);
        assert(bucket == from || bucket == to);
        e->chain = index->buckets[bucket];
        index->buckets[bucket] = e;
        e = next;
    }
    if (++index->split == index->level) {
        index->level *= 2;
        index->split = 0;
    }
}

/* The place that points to the entry of the key, or to NULL at the end of its bucket. */
static entry **find(const cadIndex *index, int db, const char *key, size_t len, uint64_t hash) {
    entry **at = &index->buckets[bucketOf(index, hash)];
    while (*at) {
        entry *e = *at;
        if (e->hash == hash && e->db == db && e->len == len && memcmp(e->key, key, len) == 0) break;
        at = &e->chain;
    }
    return at;
}

static void unqueue(cadIndex *index, entry *e) {
    if (e->older) e->older->newer = e->newer; else index->oldest = e->newer;
    if (e->newer) e->newer->older = e->older; else index->newest = e->older;
}

static void enqueue(cadIndex *index, entry *e) {
    e->newer = NULL;
    e->older = index->newest;
    if (index->newest) index->newest->newer = e; else index->oldest = e;
    index->newest = e;
}

static void dropOldest(cadIndex *index) {
    entry *e = index->oldest;
    entry **at = find(index, e->db, e->key, e->len, e->hash);
    assert(*at == e);
    *at = e->chain;
    unqueue(index, e);
    index->size--;
    index->bytes -= sizeof(entry) + e->len;
    zfree(e);
}

void cadIndexFree(cadIndex *index) {
    while (index->oldest) dropOldest(index);
    zfree(index->buckets);
    zfree(index);
}

/* The key was updated at `offset`, which is not below any earlier one. At most `max`
 * entries are kept; the oldest gives way and the barrier takes its place. */
void cadIndexStamp(cadIndex *index, int db, const char *key, size_t len, uint64_t hash, long long offset, size_t max) {
    assert(!index->newest || offset >= index->newest->offset);
    if (offset <= index->floor) return;
    entry **at = find(index, db, key, len, hash);
    if (*at) {
        entry *e = *at;
        e->offset = offset;
        if (e != index->newest) {
            unqueue(index, e);
            enqueue(index, e);
        }
        return;
    }
    while (index->size && index->size >= max) {
        cadIndexRaiseBarrier(index, index->oldest->offset);
    }
    if (max == 0) cadIndexRaiseBarrier(index, offset);
    /* The barrier that rose for lack of room may cover the key already. */
    if (offset <= index->floor) return;
    entry *e = zmalloc(sizeof(*e) + len);
    e->offset = offset;
    e->hash = hash;
    e->len = len;
    e->db = db;
    memcpy(e->key, key, len);
    /* The removals above may have changed the bucket. */
    at = &index->buckets[bucketOf(index, hash)];
    e->chain = *at;
    *at = e;
    enqueue(index, e);
    index->size++;
    index->bytes += sizeof(entry) + len;
    if (index->size > index->level + index->split) grow(index);
}

/* u(key): no later update of the key is known, and none can be unknown. */
long long cadIndexLookup(const cadIndex *index, int db, const char *key, size_t len, uint64_t hash) {
    const entry *e = *find(index, db, key, len, hash);
    return e && e->offset > index->barrier ? e->offset : index->barrier;
}

/* Drops at most `limit` entries up to the offset; what is left over goes later. */
static void dropUpTo(cadIndex *index, long long offset, size_t limit) {
    if (index->floor < offset) index->floor = offset;
    while (limit-- && index->oldest && index->oldest->offset <= offset) dropOldest(index);
}

/* Whatever was updated up to `offset` need not have an entry. */
void cadIndexRaiseBarrier(cadIndex *index, long long offset) {
    if (index->barrier < offset) index->barrier = offset;
    dropUpTo(index, index->barrier, ROOM_MADE_AT_ONCE);
}

/* Drops at most `limit` entries that are durable, or that the barrier covers. */
void cadIndexPrune(cadIndex *index, long long durable, size_t limit) {
    dropUpTo(index, durable > index->barrier ? durable : index->barrier, limit);
}

long long cadIndexFloor(const cadIndex *index) { return index->floor; }
long long cadIndexBarrier(const cadIndex *index) { return index->barrier; }
size_t cadIndexSize(const cadIndex *index) { return index->size; }
size_t cadIndexBytes(const cadIndex *index) {
    return sizeof(*index) + index->room * sizeof(entry *) + index->bytes;
}
