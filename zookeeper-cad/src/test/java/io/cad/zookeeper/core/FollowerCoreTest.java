// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the vectors cannot say: refusals and actions that call back. */
class FollowerCoreTest {
    private static final long E = Indices.first(3);

    private final List<String> actions = new ArrayList<>();

    private class Recorder implements FollowerCore.Actions {
        @Override
        public void report(long persisted, long applied) {
            actions.add("report " + Indices.format(persisted) + " " + Indices.format(applied));
        }

        @Override
        public void flush(long target) {
            actions.add("flush " + Indices.format(target));
        }

        @Override
        public void flushRequest(long index) {
            actions.add("request " + Indices.format(index));
        }

        @Override
        public void durable(long index) {
            actions.add("durable " + Indices.format(index));
        }
    }

    @Test
    void nonsenseIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> new FollowerCore(3, 0, new Recorder()));
        assertThrows(IllegalArgumentException.class, () -> new FollowerCore(-1, new Recorder()));
        FollowerCore follower = new FollowerCore(3, new Recorder());
        follower.synchronised(E - 1, E - 1, 0);
        assertThrows(IllegalStateException.class, () -> follower.synchronised(E, E, 0));
    }

    @Test
    void anActionMayCallBack() {
        FollowerCore[] follower = new FollowerCore[1];
        follower[0] = new FollowerCore(3, new Recorder() {
            @Override
            public void flush(long target) {
                super.flush(target);
                follower[0].persisted(target, 0); // a disk that is done at once
            }

            @Override
            public void flushRequest(long index) {
                super.flushRequest(index);
                follower[0].durableAnnounced(3, index, 0);
            }
        });
        follower[0].synchronised(E, E, 0);
        follower[0].appended(E + 1, 0);
        follower[0].flushAsked(E + 1, 0);
        follower[0].needDurable(E + 1, 0);
        follower[0].needDurable(E + 2, 0);
        assertEquals(List.of("report 3:0 3:0", "flush 3:1", "report 3:1 3:0", "request 3:1", "durable 3:1",
                "request 3:2", "durable 3:2"), actions);
    }

    @Test
    void aFallingDurableIndexStopsTheServer() {
        FollowerCore follower = Variant.FOLLOWER_BELIEVES_THE_LAST_MESSAGE.cores.follower(3, 1, new Recorder());
        follower.synchronised(E, E, 0);
        follower.durableAnnounced(3, E + 2, 0);
        InvariantViolation violation =
                assertThrows(InvariantViolation.class, () -> follower.durableAnnounced(3, E + 1, 0));
        assertEquals("DurableIndexMonotonic", violation.invariant());
        assertEquals(E + 2, follower.durable());
    }
}
