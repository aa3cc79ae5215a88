// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.InvariantViolation;
import io.cad.zookeeper.core.Quorum;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What the vectors cannot say: refusals, bounds and stops. */
class LeaseRefusalsTest {
    private static final long MS = 1_000_000;
    private static final LeaseSettings LAN = LeaseSettings.lan();
    private static final Quorum ONE = new Quorum() {
        @Override
        public boolean votes(long server) {
            return server == 1;
        }

        @Override
        public boolean containsQuorum(Set<Long> servers) {
            return !servers.isEmpty();
        }
    };

    private final Promise promise = new Promise(LAN, 0, LAN.promise(), 0, nanos -> { });
    private final LeaderLease lease =
            new LeaderLease(2, 1, LAN, promise, new StuckLeader(1000 * MS), 0, 0, work -> { });

    @Test
    void anEpochThatIsEstablishedTooEarlyStopsTheServer() {
        lease.configurations(List.of(ONE));
        assertThrows(IllegalStateException.class, lease::elected);
        lease.promised(1, 9 * MS, 0);
        assertEquals("AtMostOneServingEpoch",
                assertThrows(InvariantViolation.class, () -> lease.established(100 * MS)).invariant());
        lease.elected();
        assertEquals("AtMostOneServingEpoch",
                assertThrows(InvariantViolation.class, () -> lease.established(10 * MS)).invariant());
        lease.established(11 * MS);
    }

    @Test
    void nonsenseIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> lease.configurations(List.of()));
        assertThrows(IllegalArgumentException.class, () -> lease.promised(1, -1, 0));
        assertThrows(IllegalArgumentException.class, () -> lease.promised(1, Long.MAX_VALUE, 0));
        assertThrows(IllegalArgumentException.class, () -> new StuckLeader(0));
        assertThrows(IllegalArgumentException.class, () -> promise.promise(0, 0));
        assertThrows(IllegalArgumentException.class, () -> new Promise(LAN, 0, -7, 0, nanos -> { }));
        ActiveSet set = new ActiveSet(2, LAN, ActiveSetRules.everybody(LAN), lease, promise, null, null);
        set.connected(20, 2, 7, 1, 0);
        assertThrows(IllegalArgumentException.class, () -> set.connected(20, 2, 7, 2, 0));
        assertNull(set.heartbeat(99, 1, 0, 0));
        assertFalse(set.answered(new HeartbeatAnswer(3, 20, 1, new Ticket(7, 20, 1), 0, 0, 0, 0, 7), 0, 0),
                "an answer of another epoch");
    }

    /** The table has a bound: an echo of an answer that fell out of it grants nothing. */
    @Test
    void anEchoThatComesAfterAThousandAnswersGrantsNothing() {
        List<Ticket> tickets = new ArrayList<>();
        ReadLease follower = new ReadLease(7, LAN, promise, 0, 0, new ReadLease.Actions() {
            @Override
            public void answer(Heartbeat heartbeat, Ticket ticket, long left) {
                tickets.add(ticket);
            }

            @Override
            public void markedOut(ReadLease.MarkOut why) {
            }

            @Override
            public void refuse(String why) {
                throw new AssertionError(why);
            }
        });
        follower.connected(2, 20);
        for (int n = 1; n <= 3000; n++) {
            follower.heartbeat(heartbeat(n, null), n, n);
        }
        follower.heartbeat(heartbeat(3001, tickets.get(1000)), 3001, 3001);
        assertFalse(follower.holds(3001, 3001));
        follower.heartbeat(heartbeat(3002, tickets.get(2900)), 3002, 3002);
        assertTrue(follower.holds(3002, 3002));
        assertEquals(LAN.readLease() + 2901 - 3002, follower.remaining(3002));
        assertEquals(0, follower.remaining(3002 + LAN.readLease()));
    }

    private static Heartbeat heartbeat(long number, Ticket echo) {
        return new Heartbeat(2, 20, number, -1, LAN.readLease(), LAN.promise(), LAN.driftPpm(), echo, 0);
    }
}
