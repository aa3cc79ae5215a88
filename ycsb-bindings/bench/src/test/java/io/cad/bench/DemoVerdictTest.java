// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.ExitCode;
import io.cad.zookeeper.testkit.history.Findings;
import java.util.List;
import org.junit.jupiter.api.Test;

class DemoVerdictTest {
    private static final DemoRow WEAK = row(Mode.WEAK, 100, 0, 5, 3, 9, 2_000);
    private static final DemoRow STRONG = row(Mode.STRONG, 100, 0, 0, 0, 0, 900);
    private static final DemoRow CAD = row(Mode.CAD, 100, 50, 0, 0, 7, 1_000);

    private static DemoRow row(Mode mode, long dropped, long held, long backwards, long readLost, long ackedLost, long fresh) {
        return new DemoRow(mode, mode.describe(), 1, 1, 1, 1, 1, 1, dropped, held, 1,
                new Findings(0, backwards, readLost, ackedLost, 100, fresh, List.of()));
    }

    private static DemoVerdict judge(DemoRow... rows) {
        return DemoVerdict.of(List.of(rows), true);
    }

    @Test
    void holdsWhenWeakWentBackAndTheOthersDidNot() {
        DemoVerdict verdict = judge(WEAK, STRONG, CAD);
        assertEquals(ExitCode.HOLDS, verdict.code(), verdict.reasons().toString());
        assertEquals(List.of(), verdict.reasons());
        assertEquals("holds: strong, cad took back nothing that clients had read; weak did",
                verdict.summary(List.of(WEAK, STRONG, CAD)));
    }

    @Test
    void everyLossOfWhatWasReadIsAViolation() {
        assertEquals(ExitCode.VIOLATED, judge(WEAK, STRONG, row(Mode.CAD, 100, 50, 0, 1, 0, 2_000)).code());
        assertEquals(ExitCode.VIOLATED, judge(WEAK, STRONG, row(Mode.CAD, 100, 50, 1, 0, 0, 2_000)).code());
        assertEquals(ExitCode.VIOLATED, judge(WEAK, row(Mode.STRONG, 100, 0, 0, 1, 0, 900), CAD).code());
        assertEquals(ExitCode.VIOLATED, judge(WEAK, row(Mode.STRONG, 100, 0, 0, 0, 1, 900), CAD).code(), "immediate acknowledges what is durable");
    }

    @Test
    void aViolationIsNotHiddenByADoubt() {
        assertEquals(ExitCode.VIOLATED, judge(WEAK, STRONG, row(Mode.CAD, 0, 0, 1, 0, 0, 0)).code());
    }

    @Test
    void aRowThatMeansNothingIsUndecided() {
        assertEquals(ExitCode.UNDECIDED, judge(WEAK, STRONG, row(Mode.CAD, 0, 50, 0, 0, 7, 1_000)).code(), "no bytes");
        assertEquals(ExitCode.UNDECIDED, judge(WEAK, STRONG, row(Mode.CAD, 100, 0, 0, 0, 7, 1_000)).code(), "none held");
        assertEquals(ExitCode.UNDECIDED, judge(WEAK, STRONG, row(Mode.CAD, 100, 50, 0, 0, 7, 999)).code(), "few read");
        assertEquals(ExitCode.UNDECIDED, judge(row(Mode.WEAK, 100, 0, 0, 0, 9, 2_000), STRONG, CAD).code(), "weak held");
        assertEquals(ExitCode.UNDECIDED, DemoVerdict.of(List.of(WEAK), false).code(), "product missing");
    }

    @Test
    void theTableHasARowForEachMode() {
        String table = DemoRow.table(List.of(WEAK, STRONG, CAD));
        for (DemoRow row : List.of(WEAK, STRONG, CAD)) {
            assertTrue(table.lines().filter(line -> line.startsWith(row.mode().label() + " ")).count() == 2, table);
        }
        assertTrue(table.contains("7 of 100"), table);
    }
}
