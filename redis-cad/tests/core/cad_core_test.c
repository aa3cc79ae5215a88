/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_core_test.c -- the pure parts of src/, without a server: the order of events.
 * Every check that does not hold is printed; the exit code is 1 then.
 */
#include "../../src/cad_index.c"
#include "../../src/cad_persist.c"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;
#define EXPECT(expected, actual)                                                              \
    do {                                                                                      \
        long long e_ = (expected), a_ = (actual);                                             \
        if (e_ == a_) passed++;                                                               \
        else {                                                                                \
            failed++;                                                                         \
            printf("%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #actual, a_, e_); \
        }                                                                                     \
    } while (0)

static void restart(long long offset) {
    memset(&log_state, 0, sizeof(log_state));
    log_state.file = log_state.base = log_state.bad = log_state.first = 1;
    log_state.persisted = log_state.resume = -1;
    cadPersistOpened(offset);
}

static void moves_only_on_success(void) {
    restart(10);
    cadPersistWritten(20);
    cadPersistJob job = cadPersistSubmit();
    cadPersistWritten(30);
    EXPECT(10, cadPersistedOffset());
    EXPECT(0, cadPersistDone(job, 0));
    EXPECT(20, cadPersistedOffset());
    cadPersistIdle(31); /* 20..30 is written, not synced */
    EXPECT(20, cadPersistedOffset());
    EXPECT(0, cadPersistDone(cadPersistSubmit(), 0));
    cadPersistIdle(31);
    EXPECT(31, cadPersistedOffset());
}

static void failure_is_sticky(void) {
    restart(10);
    cadPersistWritten(20);
    EXPECT(1, cadPersistDone(cadPersistSubmit(), 5));
    EXPECT(5, cadPersistError());
    cadPersistIdle(21);
    cadPersistWritten(30);
    EXPECT(0, cadPersistDone(cadPersistSubmit(), 0));
    cadPersistSyncedInPlace();
    EXPECT(10, cadPersistedOffset());
}

static void rewrite_after_failure_heals(void) {
    restart(10);
    cadPersistWritten(20);
    cadPersistDone(cadPersistSubmit(), 5);
    cadPersistNewFile();
    cadPersistRewriteStarted(20);
    cadPersistWritten(30);
    cadPersistDone(cadPersistSubmit(), 0);
    EXPECT(10, cadPersistedOffset());
    cadPersistRewriteDone();
    EXPECT(0, cadPersistError());
    EXPECT(30, cadPersistedOffset());
}

static void rewrite_before_failure_does_not(void) {
    restart(10);
    cadPersistNewFile();
    cadPersistRewriteStarted(10);
    cadPersistWritten(20);
    cadPersistDone(cadPersistSubmit(), 5);
    cadPersistRewriteDone();
    EXPECT(5, cadPersistError());
    EXPECT(10, cadPersistedOffset());
}

static void replaced_file_is_waited_for(void) {
    restart(10);
    cadPersistWritten(20);
    cadPersistJob last_of_old = cadPersistSubmit();
    cadPersistNewFile();
    cadPersistRewriteStarted(20);
    cadPersistIdle(21);
    EXPECT(10, cadPersistedOffset());
    cadPersistDone(last_of_old, 0);
    EXPECT(20, cadPersistedOffset());
    cadPersistIdle(21);
    EXPECT(21, cadPersistedOffset());
}

static void late_failure_of_a_superseded_file_is_nothing(void) {
    restart(10);
    cadPersistWritten(20);
    cadPersistJob last_of_old = cadPersistSubmit();
    cadPersistNewFile();
    cadPersistRewriteStarted(20);
    cadPersistRewriteDone();
    EXPECT(20, cadPersistedOffset());
    EXPECT(0, cadPersistDone(last_of_old, 5));
    EXPECT(0, cadPersistError());
}

static void stop_forgets_everything(void) {
    restart(10);
    cadPersistWritten(20);
    cadPersistJob old = cadPersistSubmit();
    cadPersistStopped();
    EXPECT(-1, cadPersistedOffset());
    EXPECT(0, cadPersistDone(old, 9)); /* EBADF of a closed file */
    EXPECT(0, cadPersistError());
    /* AOF_WAIT_REWRITE: nothing counts before BASE is there. */
    cadPersistNewFile();
    cadPersistRewriteStarted(100);
    cadPersistWritten(120);
    cadPersistDone(cadPersistSubmit(), 0);
    EXPECT(-1, cadPersistedOffset());
    cadPersistRewriteDone();
    EXPECT(120, cadPersistedOffset());
}

static void short_write_is_not_covered(void) {
    restart(10);
    cadPersistWritten(20);
    /* The next buffer is written in part: no event. A rewrite swaps the file meanwhile. */
    cadPersistJob job = cadPersistSubmit();
    cadPersistNewFile();
    cadPersistDone(job, 0);
    EXPECT(20, cadPersistedOffset());
}

/* ------------------------------------------------------------------ index */

static uint64_t hash(const char *key, size_t len) {
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t j = 0; j < len; j++) h = (h ^ (unsigned char)key[j]) * 1099511628211u;
    return h;
}
static void stamp(cadIndex *index, int db, const char *key, long long offset, size_t max) {
    cadIndexStamp(index, db, hash(key, strlen(key)), offset, max);
}
static long long u(cadIndex *index, int db, const char *key) {
    return cadIndexLookup(index, db, hash(key, strlen(key)));
}

static void last_update_counts(void) {
    cadIndex *index = cadIndexNew();
    stamp(index, 0, "a", 10, 100);
    stamp(index, 0, "b", 20, 100);
    stamp(index, 1, "a", 30, 100);
    EXPECT(10, u(index, 0, "a"));
    EXPECT(20, u(index, 0, "b"));
    EXPECT(30, u(index, 1, "a"));
    EXPECT(0, u(index, 2, "a"));
    stamp(index, 0, "a", 40, 100);
    EXPECT(40, u(index, 0, "a"));
    EXPECT(3, cadIndexSize(index));
    cadIndexPrune(index, 30, 100); /* "a" of 0 moved to the tail and stays. */
    EXPECT(1, cadIndexSize(index));
    EXPECT(40, u(index, 0, "a"));
    EXPECT(0, u(index, 0, "b"));
    cadIndexFree(index);
}

static void barrier_replaces_entries(void) {
    cadIndex *index = cadIndexNew();
    stamp(index, 0, "a", 10, 2);
    stamp(index, 0, "b", 20, 2);
    stamp(index, 0, "c", 30, 2);
    EXPECT(2, cadIndexSize(index));
    EXPECT(10, cadIndexBarrier(index));
    EXPECT(10, u(index, 0, "a"));
    EXPECT(10, u(index, 0, "never seen"));
    EXPECT(20, u(index, 0, "b"));
    cadIndexRaiseBarrier(index, 25);
    EXPECT(25, u(index, 0, "b"));
    EXPECT(30, u(index, 0, "c"));
    stamp(index, 0, "e", 35, 2);
    stamp(index, 0, "f", 38, 100);
    cadIndexRaiseBarrier(index, 36); /* While both wait to be entered. */
    EXPECT(36, u(index, 0, "e"));
    EXPECT(38, u(index, 0, "f"));
    stamp(index, 0, "d", 40, 0);
    EXPECT(0, cadIndexSize(index));
    EXPECT(40, u(index, 0, "anything"));
    cadIndexFree(index);
}

/* Against a plain table, through growth and pruning; some keys are asked for after every `pause` updates. */
static void agrees_with_a_table(unsigned seed, int pause) {
    enum { KEYS = 5000 };
    static long long expected[KEYS];
    cadIndex *index = cadIndexNew();
    long long offset = 0, durable = 0;
    int wrong = 0;
    memset(expected, 0, sizeof(expected));
    for (int step = 0; step < 100000; step++) {
        seed = seed * 1103515245 + 12345;
        int k = (seed >> 8) % KEYS;
        char key[32];
        snprintf(key, sizeof(key), "key:%d", k);
        for (int asked = k; step % pause == 0 && asked < k + 20 && asked < KEYS; asked++) {
            char other[32];
            snprintf(other, sizeof(other), "key:%d", asked);
            if (u(index, asked % 3, other) < (expected[asked] > durable ? expected[asked] : 0)) wrong++;
            if (u(index, asked % 3, other) > expected[asked]) wrong++;
        }
        stamp(index, k % 3, key, ++offset, KEYS);
        expected[k] = offset;
        if (step % 1000 == 999) cadIndexPrune(index, durable = offset - 300, 2000);
    }
    EXPECT(0, wrong);
    EXPECT(0, cadIndexBarrier(index));
    cadIndexPrune(index, offset, KEYS);
    EXPECT(0, cadIndexSize(index));
    cadIndexFree(index);
}

static void keys_of_one_hash_wait_for_the_later_update(void) {
    cadIndex *index = cadIndexNew();
    cadIndexStamp(index, 0, 7, 10, 100); /* One key, */
    cadIndexStamp(index, 0, 7, 20, 100); /* and another. */
    cadIndexStamp(index, 0, 8, 30, 100);
    EXPECT(20, cadIndexLookup(index, 0, 7));
    cadIndexPrune(index, 10, 100); /* The first is durable; the second must not be forgotten. */
    EXPECT(20, cadIndexLookup(index, 0, 7));
    cadIndexFree(index);
}

static void memory_comes_back_when_all_is_durable(void) {
    enum { KEYS = 200000 };
    cadIndex *index = cadIndexNew();
    for (int round = 1; round <= 2; round++) {
        for (int k = 0; k < KEYS; k++) cadIndexStamp(index, 0, hash((char *)&k, sizeof(k)), (long long)round * KEYS + k, KEYS);
        EXPECT(KEYS, cadIndexSize(index));
        size_t full = cadIndexBytes(index);
        cadIndexPrune(index, (long long)round * KEYS + KEYS - 1, KEYS);
        EXPECT(0, cadIndexSize(index));
        EXPECT(1, full <= 48 * KEYS); /* The README's figure: 32 for the entry, 4 to 8 for its bucket, and room to grow. */
        EXPECT(1, cadIndexBytes(index) < full / 3);
    }
    cadIndexFree(index);
}

int main(int argc, char **argv) {
    unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 20261121;
    printf("seed %u\n", seed);
    moves_only_on_success();
    failure_is_sticky();
    rewrite_after_failure_heals();
    rewrite_before_failure_does_not();
    replaced_file_is_waited_for();
    late_failure_of_a_superseded_file_is_nothing();
    stop_forgets_everything();
    short_write_is_not_covered();
    last_update_counts();
    barrier_replaces_entries();
    agrees_with_a_table(seed, 1);
    agrees_with_a_table(seed, 777);
    agrees_with_a_table(seed, 9999); /* More than wait for being asked for. */
    keys_of_one_hash_wait_for_the_later_update();
    memory_comes_back_when_all_is_durable();
    printf("seed %u\n", seed);
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
