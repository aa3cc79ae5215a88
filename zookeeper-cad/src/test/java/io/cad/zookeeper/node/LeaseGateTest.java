// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Reads wait for a lease, their sessions stay in order, and those that wait too long are closed one after the other. */
class LeaseGateTest {

    private static final long MILLI = 1_000_000;
    private static final long WAIT = 200 * MILLI;
    private static final long SPREAD = 1_000 * MILLI;

    private final AtomicBoolean lease = new AtomicBoolean();
    private final List<String> passed = new ArrayList<>();
    private final List<String> late = new ArrayList<>();

    private LeaseGate<String> gate(long begin) {
        return new LeaseGate<>(lease::get, begin, WAIT, SPREAD, passed::add, late::add, System::nanoTime);
    }

    @Test
    void withALeaseEverythingPassesAtOnce() {
        lease.set(true);
        LeaseGate<String> gate = gate(System.nanoTime());
        gate.submit("read", 1, true);
        gate.submit("write", 1, false);
        assertEquals(List.of("read", "write"), passed);
    }

    @Test
    void withoutOneReadsWaitAndSoDoesWhatTheirSessionsSendNext() {
        LeaseGate<String> gate = gate(System.nanoTime());
        gate.submit("read 1", 1, true);
        gate.submit("write 1", 1, false);
        gate.submit("write 2", 2, false);
        assertEquals(List.of("write 2"), passed);
        lease.set(true);
        gate.submit("read 2", 2, true);
        gate.submit("read again 1", 1, true);
        gate.poll(System.nanoTime());
        assertEquals(List.of("write 2", "read 2", "read 1", "write 1", "read again 1"), passed);
        gate.submit("last 1", 1, true);
        assertEquals("last 1", passed.get(passed.size() - 1));
    }

    @Test
    void whatIsDiscardedIsNeverExecuted() {
        LeaseGate<String> gate = gate(System.nanoTime());
        gate.submit("read", 1, true);
        gate.discard();
        lease.set(true);
        gate.poll(System.nanoTime());
        assertEquals(List.of(), passed);
        assertEquals(List.of(), late);
    }

    @Test
    void aSessionThatWaitsTooLongIsHandedOverAsAWhole() {
        long now = System.nanoTime();
        LeaseGate<String> gate = gate(now);
        gate.submit("first", 1, true);
        gate.submit("second", 1, true);
        gate.poll(now + WAIT / 2);
        assertEquals(List.of(), late);
        gate.poll(now + 100 * WAIT);
        assertEquals(List.of("first", "second"), late);
        lease.set(true);
        gate.poll(now + 100 * WAIT);
        assertEquals(List.of(), passed);
    }

    @Test
    void whileTheEpochIsNewNobodyIsSentAway() {
        long now = System.nanoTime();
        LeaseGate<String> gate = gate(now + 50 * WAIT);
        gate.submit("read", 1, true);
        gate.poll(now + 49 * WAIT);
        assertFalse(gate.isLongWithout(now + 49 * WAIT));
        assertEquals(List.of(), late);
        gate.poll(now + 60 * WAIT);
        assertEquals(List.of("read"), late);
        assertTrue(gate.isLongWithout(now + 60 * WAIT));
    }

    /** A thousand clients of a server that lost its lease do not arrive elsewhere at once. */
    @Test
    void closingsAreSpread() {
        long now = System.nanoTime();
        LeaseGate<String> gate = gate(now);
        for (long session = 0; session < 1_000; session++) {
            gate.submit("read", 0x1000_0000_0000_0000L + session, true);
        }
        int most = 0;
        long end = now + WAIT + SPREAD + 100 * MILLI;
        for (long at = now; at < end; at += 20 * MILLI) {
            int before = late.size();
            gate.poll(at);
            most = Math.max(most, late.size() - before);
        }
        assertEquals(1_000, late.size());
        assertTrue(most <= 50, most + " clients were sent away within 20 ms");
    }
}
