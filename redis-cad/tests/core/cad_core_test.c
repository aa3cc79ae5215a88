/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_core_test.c -- the pure parts of src/, without a server: the order of events.
 * Every check that does not hold is printed; the exit code is 1 then.
 */
#include "../../src/cad_persist.c"
#include <stdio.h>
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

int main(void) {
    moves_only_on_success();
    failure_is_sticky();
    rewrite_after_failure_heals();
    rewrite_before_failure_does_not();
    replaced_file_is_waited_for();
    late_failure_of_a_superseded_file_is_nothing();
    stop_forgets_everything();
    short_write_is_not_covered();
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
