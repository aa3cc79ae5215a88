// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.jepsen.checker.Operation.Kind;
import io.cad.jepsen.checker.Verdict.Violation;
import io.cad.jepsen.checker.Verdict.Wrong;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random histories against the rules word by word, and good ones of which one read is made to go back. */
class CheckerTest {
    private static final int SEEDS = 3_000;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void agreesWithTheRulesWordByWord(boolean chain) {
        int bad = 0;
        int[] classes = new int[Wrong.values().length];
        for (int seed = 0; seed < SEEDS; seed++) {
            History history = new RandomHistories(seed, chain, false, 2).make(10 + seed % 40);
            BruteForce wanted = new BruteForce(history);
            Verdict verdict = Checker.check(history);
            assertAgree("seed " + seed, wanted, verdict);
            bad += verdict.isValid() ? 0 : 1;
            verdict.violations().forEach(violation -> classes[violation.wrong().ordinal()]++);
        }
        assertTrue(bad > SEEDS / 4 && bad < SEEDS, bad + " of " + SEEDS + " are bad");
        assertTrue(classes[Wrong.KEY.ordinal()] > 100 && classes[Wrong.STATE.ordinal()] > 100);
        assertTrue(classes[(chain ? Wrong.FORK : Wrong.OVERWRITTEN).ordinal()] > 100);
    }

    private static void assertAgree(String where, BruteForce wanted, Verdict verdict) {
        assertEquals(BruteForce.badReads(wanted.violations),
                verdict.violations().stream().map(violation -> violation.later().position()).sorted().toList(), where);
        for (Violation found : verdict.violations()) {
            assertEquals(wanted.violations.get(List.of(found.earlier().position(), found.later().position())),
                    found.wrong(), where + ": " + found);
        }
        assertEquals(wanted.undecided, verdict.undecided(), where);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void acceptsWhatNeverGoesBack(boolean chain) {
        long comparable = 0;
        for (int seed = 0; seed < 1_000; seed++) {
            Verdict verdict = Checker.check(new RandomHistories(seed, chain, true, 4).make(200));
            assertTrue(verdict.isValid(), "seed " + seed + ": " + new Report(verdict).text());
            comparable += verdict.comparable();
        }
        assertTrue(comparable > 50_000, "only " + comparable + " reads were compared");
    }

    @Test
    void convictsAReadThatGoesBack() {
        int convicted = 0;
        for (int seed = 0; seed < 1_000; seed++) {
            History good = new RandomHistories(seed, false, true, 3).make(60);
            Operation[] pair = pairOf(good, new Random(seed));
            Index lacks = pair == null ? null : newestContained(good, pair[0], pair[1].key());
            if (lacks != null) {
                History bad = RandomHistories.with(good, pair[1], olderThan(lacks, good, pair[1].key()));
                assertConvicts("seed " + seed, bad, pair[1]);
                convicted++;
            }
        }
        assertTrue(convicted > 500, "only " + convicted + " mutants");
    }

    @Test
    void convictsAnOverwrittenUpdate() {
        int convicted = 0;
        for (int seed = 0; seed < 1_000; seed++) {
            History good = new RandomHistories(seed, false, true, 2).make(60);
            Operation[] pair = pairOf(good, new Random(seed));
            boolean deletes = good.operations().stream().anyMatch(op -> op.kind() == Kind.DELETE);
            if (pair == null || deletes || pair[0].key() != pair[1].key() || !pair[0].got().present()
                    || !pair[0].got().version().isBelow(pair[1].got().version())) {
                continue;
            }
            Facts got = pair[1].got();
            Facts again = Facts.present(got.payload(), got.version(), pair[0].got().number(), got.created());
            assertConvicts("seed " + seed, RandomHistories.with(good, pair[1], again), pair[1]);
            convicted++;
        }
        assertTrue(convicted > 50, "only " + convicted + " mutants");
    }

    @Test
    void convictsABranch() {
        int convicted = 0;
        for (int seed = 0; seed < 1_000; seed++) {
            History good = new RandomHistories(seed, true, true, 3).make(60);
            Operation[] pair = pairOf(good, new Random(seed));
            if (pair != null) {
                Facts seen = pair[0].got();
                Facts branch = Facts.link("branch", "branch", seen.previous(), seen.number());
                assertConvicts("seed " + seed, RandomHistories.with(good, pair[1], branch), pair[1]);
                convicted++;
            }
        }
        assertTrue(convicted > 500, "only " + convicted + " mutants");
    }

    private static void assertConvicts(String where, History bad, Operation read) {
        Verdict verdict = Checker.check(bad);
        assertFalse(verdict.isValid(), where);
        assertTrue(verdict.violations().stream().anyMatch(one -> one.later().position() == read.position()), where);
        assertAgree(where, new BruteForce(bad), verdict);
    }

    /** Two reads of something, the second one after the first. */
    private static Operation[] pairOf(History history, Random random) {
        List<Operation[]> pairs = new ArrayList<>();
        for (Operation one : history.operations()) {
            for (Operation other : history.operations()) {
                if (knows(one) && knows(other) && other.kind() == Kind.READ && one.returned() < other.invoked()) {
                    pairs.add(new Operation[] {one, other});
                }
            }
        }
        return pairs.isEmpty() ? null : pairs.get(random.nextInt(pairs.size()));
    }

    private static boolean knows(Operation op) {
        Facts got = op.got();
        return op.saw() && (got.uid() != null || got.version() != null && Index.NEVER.isBelow(got.version()));
    }

    private static Index newestContained(History history, Operation read, int key) {
        Index newest = null;
        for (Operation op : history.operations()) {
            Index at = op.got().version();
            if (op.key() == key && at != null && at.epoch() == read.got().version().epoch()
                    && at.compareTo(read.got().version()) <= 0 && (newest == null || newest.isBelow(at))) {
                newest = at;
            }
        }
        return newest;
    }

    private static Facts olderThan(Index index, History history, int key) {
        for (Operation op : history.operations()) {
            if (op.key() == key && op.saw() && op.got().version() != null && op.got().version().isBelow(index)) {
                return op.got();
            }
        }
        return Facts.absent(Index.NEVER);
    }
}
