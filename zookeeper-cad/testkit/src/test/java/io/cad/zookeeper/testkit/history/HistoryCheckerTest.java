// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Histories made by hand. Times are in ms; the power goes at 10,000 and the restart begins at 10,500. */
class HistoryCheckerTest {
    private static final long MS = 1_000_000L;
    private static final long LOSS = 10_000 * MS;
    private static final long RESTART = 10_500 * MS;
    private static final long EPOCH_1 = 1L << 32;
    private static final long EPOCH_2 = 2L << 32;

    private final List<Op> ops = new ArrayList<>();

    /** The value is named after the zxid, so that equal zxids have equal values unless a test says otherwise. */
    private void read(String key, long from, long to, int version, long mzxid) {
        ops.add(new Op(Op.Kind.READ, 1, 1, key, from * MS, to * MS, mzxid, version, mzxid, null));
    }

    private void write(String key, long from, long to, int version, long mzxid) {
        ops.add(new Op(Op.Kind.WRITE, 2, 1, key, from * MS, to * MS, mzxid, version, mzxid, null));
    }

    private Findings check() {
        return HistoryChecker.check(ops, LOSS, RESTART);
    }

    @Test
    void aHistoryThatKeepsEverythingIsClean() {
        write("/a", 0, 1, 1, EPOCH_1 + 1);
        read("/a", 2, 3, 1, EPOCH_1 + 1);
        write("/a", 9_500, 9_501, 2, EPOCH_1 + 2);
        read("/a", 9_502, 9_503, 2, EPOCH_1 + 2);
        read("/a", 11_000, 11_001, 2, EPOCH_1 + 2);
        Findings findings = check();
        assertTrue(findings.readsHold());
        assertEquals(0, findings.ackedWritesLost());
        assertEquals(2, findings.ackedWrites());
        assertEquals(1, findings.freshValuesRead(), "only the second value is of the last second");
        assertEquals(List.of(), findings.examples());
    }

    /** Reads of one key show that a second one had been written; where indices order one key only, they show nothing. */
    @Test
    void statesOfDifferentKeysAreComparedOnlyIfTheyHaveAnOrder() {
        read("/a", 0, 1, 2, EPOCH_1 + 9);
        read("/b", 2, 3, 1, EPOCH_1 + 5);
        read("/b", 8, 9, 2, EPOCH_1 + 7);
        read("/a", 11_000, 11_001, 2, EPOCH_1 + 9);
        read("/b", 11_000, 11_001, 2, EPOCH_1 + 7);
        assertTrue(check().readsBackwards() > 0);
        assertTrue(HistoryChecker.checkKeys(ops, LOSS, RESTART).readsHold());
        read("/b", 11_002, 11_003, 1, EPOCH_1 + 5);
        assertFalse(HistoryChecker.checkKeys(ops, LOSS, RESTART).readsHold());
    }

    @Test
    void overlappingReadsMayReturnEitherState() {
        read("/a", 0, 5, 2, EPOCH_1 + 2);
        read("/a", 1, 4, 1, EPOCH_1 + 1);
        read("/a", 5, 6, 1, EPOCH_1 + 1);
        read("/a", 11_000, 11_001, 2, EPOCH_1 + 2);
        assertTrue(check().readsHold());
    }

    @Test
    void aReadAfterANewerOneWentBackwards() {
        read("/a", 0, 1, 2, EPOCH_1 + 2);
        read("/a", 2, 3, 1, EPOCH_1 + 1);
        read("/a", 11_000, 11_001, 2, EPOCH_1 + 2);
        Findings findings = check();
        assertEquals(1, findings.readsBackwardsBefore());
        assertEquals(0, findings.readsBackwardsAcross());
        assertFalse(findings.readsHold());
    }

    @Test
    void aLongReadDoesNotHideALaterRegress() {
        read("/a", 0, 9_000, 1, EPOCH_1 + 1);
        read("/a", 1, 2, 3, EPOCH_1 + 3);
        read("/a", 3, 4, 2, EPOCH_1 + 2);
        read("/a", 11_000, 11_001, 3, EPOCH_1 + 3);
        assertEquals(1, check().readsBackwards());
    }

    @Test
    void anUpdateReadBeforeTheLossAndGoneAfterItIsLostOnceHoweverOftenItWasRead() {
        write("/a", 0, 1, 1, EPOCH_1 + 1);
        write("/a", 9_900, 9_901, 2, EPOCH_1 + 2);
        read("/a", 9_902, 9_903, 2, EPOCH_1 + 2);
        read("/a", 9_904, 9_905, 2, EPOCH_1 + 2);
        read("/a", 11_000, 11_001, 1, EPOCH_1 + 1);
        read("/a", 11_002, 11_003, 1, EPOCH_1 + 1);
        Findings findings = check();
        assertEquals(2, findings.readsBackwardsAcross());
        assertEquals(1, findings.readUpdatesLost());
        assertEquals(1, findings.ackedWritesLost());
        assertFalse(findings.examples().isEmpty());
    }

    @Test
    void anAcknowledgedWriteThatNobodyReadMayBeLostWithoutHarmToReads() {
        read("/a", 0, 1, 1, EPOCH_1 + 1);
        write("/a", 9_900, 9_901, 2, EPOCH_1 + 2);
        read("/a", 11_000, 11_001, 1, EPOCH_1 + 1);
        Findings findings = check();
        assertTrue(findings.readsHold());
        assertEquals(1, findings.ackedWritesLost());
    }

    @Test
    void aKeyThatWasReadAndIsAbsentLaterIsLost() {
        read("/a", 0, 1, 0, EPOCH_1 + 1);
        ops.add(new Op(Op.Kind.READ, 1, 1, "/a", 11_000 * MS, 11_001 * MS, Op.NO_VALUE, -1, 0, null));
        Findings findings = check();
        assertEquals(1, findings.readsBackwardsAcross());
        assertEquals(1, findings.readUpdatesLost());
    }

    @Test
    void aHigherEpochDoesNotHideABranchThatWasTakenBack() {
        read("/a", 9_000, 9_001, 7, EPOCH_1 + 7);
        read("/a", 11_000, 11_001, 6, EPOCH_2 + 1);
        Findings findings = check();
        assertEquals(1, findings.readsBackwardsAcross());
        assertEquals(1, findings.readUpdatesLost());
    }

    @Test
    void aFailedWriteThatSurvivesIsFine() {
        ops.add(new Op(Op.Kind.WRITE, 2, 1, "/a", 9_990 * MS, 10_001 * MS, 42, -1, -1, "CONNECTIONLOSS"));
        read("/a", 11_000, 11_001, 3, EPOCH_1 + 9);
        Findings findings = check();
        assertTrue(findings.readsHold());
        assertEquals(0, findings.ackedWrites());
    }

    @Test
    void oneZxidWithTwoValuesIsFound() {
        read("/a", 0, 1, 1, EPOCH_1 + 1);
        ops.add(new Op(Op.Kind.READ, 1, 1, "/a", 11_000 * MS, 11_001 * MS, 99, 1, EPOCH_1 + 1, null));
        assertFalse(check().readsHold());
    }

    @Test
    void aHistoryThatCannotTellIsRefused() {
        read("/a", 0, 1, 1, EPOCH_1 + 1);
        assertThrows(IllegalArgumentException.class, this::check, "never read after the restart");
        read("/a", 11_000, 11_001, 1, EPOCH_1 + 1);
        check();
        write("/a", 11_002, 11_003, 2, EPOCH_2 + 1);
        assertThrows(IllegalArgumentException.class, this::check, "written after the restart");
    }

    @Test
    void historiesSurviveTheirFile(@TempDir Path directory) throws Exception {
        read("/a", 0, 1, 1, EPOCH_1 + 1);
        ops.add(new Op(Op.Kind.WRITE, 2, 3, "/b", 5, 6, 42, -1, -1, "CONNECTIONLOSS"));
        Path file = directory.resolve("history.jsonl");
        HistoryFile.write(file, ops);
        assertEquals(ops, HistoryFile.read(file));
    }
}
