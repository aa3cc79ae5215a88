// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What the vectors cannot say: refusals, actions that call back, the edges of the clock. */
class LeaderCoreTest {
    private static final long E = Indices.first(3);

    private final List<String> actions = new ArrayList<>();

    private class Recorder implements LeaderCore.Actions {
        @Override
        public void durable(long index) {
            actions.add("durable " + Indices.format(index));
        }

        @Override
        public void flush(long target) {
            actions.add("flush " + Indices.format(target));
        }

        @Override
        public void flushRoundEnded(long target, boolean reached) {
            actions.add("ended " + Indices.format(target) + " " + reached);
        }
    }

    private static List<Quorum> majority(Long... servers) {
        return List.of(VectorQuorum.majority(Set.of(servers)));
    }

    private LeaderCore leader(Long... servers) {
        LeaderCore leader = new LeaderCore(3, 1, 100, new Recorder());
        leader.configurations(majority(servers));
        return leader;
    }

    @Test
    void aSingleServerIsAQuorum() {
        LeaderCore leader = leader(1L);
        leader.established(0);
        leader.appended(E + 1, 0);
        leader.applied(E + 1, 0);
        leader.persisted(E + 1, 0);
        assertEquals(List.of("durable 3:0", "durable 3:1"), actions);
    }

    @Test
    void withoutAMembershipNothingIsAQuorum() {
        LeaderCore leader = new LeaderCore(3, 1, 100, new Recorder());
        leader.established(0);
        assertEquals(Indices.NONE, leader.durable());
        assertThrows(IllegalArgumentException.class, () -> leader.configurations(List.of()));
    }

    @Test
    void aStrangerUnderTheLeadersIdNeverCounts() {
        LeaderCore leader = leader(1L, 2L, 3L);
        leader.established(0);
        leader.memberConnected(10, 1);
        leader.report(10, 3, E + 9, E + 9, 0);
        leader.memberLost(10);
        leader.memberConnected(20, 2);
        leader.report(20, 3, E, E, 0);
        assertEquals(E, leader.durable());
        assertEquals(E, leader.quorumPersisted());
    }

    @Test
    void nonsenseIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> new LeaderCore(3, 1, 0, new Recorder()));
        assertThrows(IllegalArgumentException.class, () -> new LeaderCore(1L << 31, 1, 100, new Recorder()));
        LeaderCore leader = leader(1L, 2L, 3L);
        leader.memberConnected(20, 2);
        assertThrows(IllegalArgumentException.class, () -> leader.memberConnected(20, 3));
        assertThrows(IllegalArgumentException.class, () -> leader.needDurable(Indices.first(4), 0));
        leader.report(99, 3, E, E, 0); // from nobody
        leader.memberLost(99);
        assertEquals(List.of(), actions);
    }

    @Test
    void anActionMayCallBack() {
        LeaderCore[] leader = new LeaderCore[1];
        leader[0] = new LeaderCore(3, 1, 100, new Recorder() {
            @Override
            public void flush(long target) {
                super.flush(target);
                leader[0].persisted(target, 0); // a disk that is done at once
            }

            @Override
            public void flushRoundEnded(long target, boolean reached) {
                super.flushRoundEnded(target, reached);
                if (target == E + 1) {
                    leader[0].appended(E + 2, 0);
                    leader[0].applied(E + 2, 0);
                    leader[0].needDurable(E + 2, 0);
                }
            }
        });
        leader[0].configurations(majority(1L));
        leader[0].established(0);
        leader[0].appended(E + 1, 0);
        leader[0].applied(E + 1, 0);
        leader[0].needDurable(E + 1, 0);
        assertEquals(List.of("durable 3:0", "flush 3:1", "durable 3:1", "ended 3:1 true",
                "flush 3:2", "durable 3:2", "ended 3:2 true"), actions);
    }

    @Test
    void theClockMayWrap() {
        LeaderCore leader = leader(1L, 2L, 3L);
        leader.established(0);
        leader.memberConnected(20, 2);
        leader.report(20, 3, E, E, Long.MAX_VALUE - 10);
        leader.needDurable(E + 1, Long.MAX_VALUE - 10);
        leader.tick(Long.MIN_VALUE + 80);
        assertEquals(List.of("durable 3:0", "flush 3:1"), actions);
        leader.tick(Long.MIN_VALUE + 89);
        assertEquals(List.of("durable 3:0", "flush 3:1", "ended 3:1 false", "flush 3:1"), actions);
    }

    @Test
    void aWrongDecisionStopsTheServer() {
        assertViolates("DurableImpliesPersistedByQuorum", Variant.DURABLE_IGNORES_PERSISTED);
        assertViolates("DurableImpliesAppliedByActiveSet", Variant.DURABLE_IGNORES_APPLIED);
        assertViolates("DurableIndexMonotonic", Variant.DURABLE_RECOMPUTED_FROM_CURRENT_REPORTS);
    }

    /** The first entry is durable; the second one is applied and not persisted, the third one the other way round. */
    private void assertViolates(String invariant, Variant variant) {
        LeaderCore leader = variant.cores.leader(3, 1, 100, new Recorder());
        leader.configurations(majority(1L, 2L, 3L));
        leader.memberConnected(20, 2);
        leader.established(0);
        leader.report(20, 3, E + 1, E + 1, 0);
        InvariantViolation violation = assertThrows(InvariantViolation.class, () -> {
            leader.applied(E + 1, 0);
            leader.persisted(E + 1, 0);
            leader.applied(E + 2, 0);
            leader.memberLost(20);
            leader.tick(0);
            leader.memberConnected(21, 2);
            leader.report(21, 3, E + 3, E + 3, 0);
            leader.persisted(E + 3, 0);
        });
        assertEquals(invariant, violation.invariant());
    }
}
