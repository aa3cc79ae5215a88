// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.cad.zookeeper.testkit.history.Findings;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Test;

class DemoAttemptsTest {
    private static DemoRow loss(long dropped, long readLost, long fresh) {
        return loss(dropped, 50, readLost, fresh);
    }

    private static DemoRow loss(long dropped, long held, long readLost, long fresh) {
        return new DemoRow(Mode.CAD, Mode.CAD.describe(), 1, 1, 1, 1, 1, 1, dropped, held, 1,
                new Findings(0, 0, readLost, 0, 100, fresh, List.of()));
    }

    /** The row that these losses make, and how many of them were needed. */
    private static String outcome(DemoRow... losses) throws Exception {
        Deque<DemoRow> left = new ArrayDeque<>(List.of(losses));
        DemoRow row = DemoAttempts.of(attempt -> {
            assertEquals(losses.length - left.size() + 1, attempt);
            return left.remove();
        });
        return row.losses() + " losses, " + row.findings().freshValuesRead() + " fresh, doubts "
                + DemoVerdict.doubts(row).size() + ", violations " + DemoVerdict.violations(row).size() + ", left " + left.size();
    }

    @Test
    void oneLossThatShowsEnoughIsEnough() throws Exception {
        assertEquals("1 losses, 1000 fresh, doubts 0, violations 0, left 1", outcome(loss(9, 0, 1_000), loss(9, 0, 1_000)));
    }

    @Test
    void whatWasAtStakeAddsUp() throws Exception {
        assertEquals("2 losses, 1000 fresh, doubts 0, violations 0, left 1",
                outcome(loss(9, 0, 600), loss(9, 0, 400), loss(9, 0, 400)));
    }

    @Test
    void aLossThatDroppedNothingDoesNotCount() throws Exception {
        assertEquals("1 losses, 1000 fresh, doubts 0, violations 0, left 0", outcome(loss(0, 0, 999), loss(9, 0, 1_000)));
        assertEquals("2 losses, 1100 fresh, doubts 0, violations 0, left 0",
                outcome(loss(9, 0, 700), loss(0, 0, 999), loss(9, 0, 400)));
    }

    @Test
    void neitherDoesOneBeforeWhichNoReadWaited() throws Exception {
        assertEquals("1 losses, 1000 fresh, doubts 0, violations 0, left 0", outcome(loss(9, 0, 0, 999), loss(9, 0, 1_000)));
        assertEquals("2 losses, 1100 fresh, doubts 0, violations 0, left 0",
                outcome(loss(9, 0, 700), loss(9, 0, 0, 999), loss(9, 0, 400)));
    }

    @Test
    void aViolationStandsAndEndsIt() throws Exception {
        assertEquals("2 losses, 1100 fresh, doubts 0, violations 1, left 1",
                outcome(loss(9, 0, 700), loss(9, 1, 400), loss(9, 0, 400)));
        assertEquals("2 losses, 1100 fresh, doubts 0, violations 1, left 0", outcome(loss(9, 0, 700), loss(0, 1, 400)));
    }

    @Test
    void itGivesUp() throws Exception {
        assertEquals("4 losses, 40 fresh, doubts 1, violations 0, left 1",
                outcome(loss(9, 0, 10), loss(9, 0, 10), loss(9, 0, 10), loss(9, 0, 10), loss(9, 0, 10)));
    }
}
