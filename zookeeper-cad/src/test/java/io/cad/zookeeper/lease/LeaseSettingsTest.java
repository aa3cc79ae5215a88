// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.Seeds;
import java.math.BigInteger;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LeaseSettingsTest {
    private static final long MS = 1_000_000;

    @Test
    void theDefaultsAreThoseOfTheTable() {
        LeaseSettings lan = LeaseSettings.lan();
        assertEquals("heartbeat 50 ms, lease 150 ms, removal 194 ms, leader lease 300 ms, promise 560 ms, drift 0.1",
                lan.toString());
        assertEquals(194 * MS, lan.removal());
        assertEquals(560 * MS, lan.promise());
        assertEquals("heartbeat 100 ms, lease 600 ms, removal 744 ms, leader lease 1000 ms, promise 1966 ms, drift 0.1",
                LeaseSettings.wan().toString());
        LeaseSettings redis = LeaseSettings.derived(100 * MS, 750 * MS, 1500 * MS, 100_000);
        assertEquals(927 * MS, redis.removal());
        assertEquals(2760 * MS, redis.promise());
    }

    @Test
    void eachInequalityIsRefusedWithItsArithmetic() {
        refused("cad.lease: 149 ms is less than 3 * cad.heartbeat 50 ms = 150 ms; set it to 150 ms or more",
                50, 149, 400, 300, 900, 100_000);
        refused("cad.removal: 183 ms * (1 - 0.1) = 164.7 ms is less than cad.lease 150 ms * (1 + 0.1) = 165 ms:"
                + " a member would be removed while its lease may last; set it to 184 ms or more, or remove it",
                50, 150, 183, 300, 900, 100_000);
        refused("cad.promise: 549 ms * (1 - 0.1) = 494.1 ms is less than (cad.leader.lease 300 ms + cad.lease 150 ms)"
                + " * (1 + 0.1) = 495 ms: a new leader would serve while old leases may last;"
                + " set it to 550 ms or more, or remove it", 50, 150, 194, 300, 549, 100_000);
        refused("cad.leader.lease: 50 ms is not more than cad.heartbeat 50 ms, so it would always be over before the"
                + " next answer; set it to 150 ms or more", 50, 150, 194, 50, 900, 100_000);
        refused("cad.heartbeat: 0 ms is out of range; set it to more than 0 and at most 600000 ms",
                0, 150, 194, 300, 560, 100_000);
        refused("cad.clock.drift: 500001 parts per million are out of range; set it between 0 and 0.5",
                50, 150, 194, 300, 560, 500_001);
        assertDoesNotThrow(() -> settings(50, 150, 184, 300, 550, 100_000));
    }

    @Test
    void theLeaderLeaseFitsTheWindow() {
        LeaseSettings.lan().checkWindow(300 * MS);
        assertEquals("cad.leader.lease: 300 ms is more than cad.window.ms 299 ms, and a leader that lost its quorum"
                + " acknowledges early for that long; lower cad.leader.lease or raise cad.window.ms",
                assertThrows(IllegalArgumentException.class, () -> LeaseSettings.lan().checkWindow(299 * MS))
                        .getMessage());
    }

    @Test
    void theRulesForTheActiveSetAreChecked() {
        assertTrue(assertThrows(IllegalArgumentException.class, () -> new ActiveSetRules(0, List.of(), 1, 1))
                .getMessage().startsWith("cad.active.set.max: 0 leaves no place for the leader"));
        assertTrue(assertThrows(IllegalArgumentException.class, () -> new ActiveSetRules(2, List.of(3L, 3L), 1, 1))
                .getMessage().startsWith("cad.active.set.servers"));
        assertThrows(IllegalArgumentException.class, () -> new ActiveSetRules(2, List.of(), 0, 1));
    }

    /** Whatever is accepted satisfies the inequalities, and what is derived is always accepted. */
    @Test
    void noRoundingAndNoOverflowHidesAViolation() {
        Seeds.each("lease settings", 2000, random -> {
            long heartbeat = some(random, LeaseSettings.MAX_NANOS / 40);
            long lease = heartbeat * 3 + some(random, LeaseSettings.MAX_NANOS / 40);
            long leaderLease = heartbeat + some(random, LeaseSettings.MAX_NANOS / 40);
            int drift = random.nextInt(LeaseSettings.MAX_DRIFT_PPM + 1);
            LeaseSettings derived = LeaseSettings.derived(heartbeat, lease, leaderLease, drift);
            long removal = derived.removal() - random.nextInt(12_000_000);
            long promise = derived.promise() - random.nextInt(12_000_000);
            boolean holds = covers(removal, lease, drift) && covers(promise, lease + leaderLease, drift);
            try {
                new LeaseSettings(heartbeat, lease, removal, leaderLease, promise, drift);
                assertTrue(holds);
            } catch (IllegalArgumentException e) {
                assertTrue(!holds, e.getMessage());
            }
            assertTrue(covers(derived.stretch(lease), lease, drift));
        });
    }

    private static boolean covers(long longer, long shorter, int drift) {
        return BigInteger.valueOf(longer).multiply(BigInteger.valueOf(1_000_000 - drift))
                .compareTo(BigInteger.valueOf(shorter).multiply(BigInteger.valueOf(1_000_000 + drift))) >= 0;
    }

    private static long some(Random random, long max) {
        return 1 + (long) (random.nextDouble() * max);
    }

    private static LeaseSettings settings(long... times) {
        return new LeaseSettings(times[0] * MS, times[1] * MS, times[2] * MS, times[3] * MS, times[4] * MS,
                (int) times[5]);
    }

    private static void refused(String message, long... times) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, () -> settings(times)).getMessage());
    }
}
