// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import java.math.BigDecimal;

/**
 * The times of the leases, in nanoseconds, and the bound on the rate error of the clocks. An object of this class
 * satisfies every inequality on which the lease rules rest; what would violate one is refused with the arithmetic.
 */
public final class LeaseSettings {
    /** Everything here is at most ten minutes, so that no product overflows. */
    public static final long MAX_NANOS = 600_000_000_000L;

    /** Clocks that may be off by half are no clocks. */
    public static final int MAX_DRIFT_PPM = 500_000;

    private static final long MILLI = 1_000_000;
    private static final long ONE = 1_000_000;
    /** What the derived times have beyond the least that is safe: it pays for suspensions too short to be noticed. */
    private static final long SLACK = 10 * MILLI;

    private final long heartbeat;
    private final long readLease;
    private final long removal;
    private final long leaderLease;
    private final long promise;
    private final int driftPpm;

    /**
     * Throws IllegalArgumentException, with setting, reason and remedy in one line, if the values violate a rule.
     *
     * @param heartbeat time between two heartbeats (hb)
     * @param readLease how long a follower may answer reads after it sent an echoed ticket (mt)
     * @param removal after that time without news the leader removes a member (rt)
     * @param leaderLease how long a heartbeat that a quorum answered lets the leader serve (Ll)
     * @param promise how long an answered heartbeat binds the one who answered (Lp)
     * @param driftPpm bound on the rate error of any clock, in parts per million (rho)
     */
    public LeaseSettings(long heartbeat, long readLease, long removal, long leaderLease, long promise, int driftPpm) {
        this.heartbeat = inRange("cad.heartbeat", heartbeat);
        this.readLease = inRange("cad.lease", readLease);
        this.removal = inRange("cad.removal", removal);
        this.leaderLease = inRange("cad.leader.lease", leaderLease);
        this.promise = inRange("cad.promise", promise);
        this.driftPpm = driftInRange(driftPpm);
        checkReadLease();
        checkRemoval();
        checkLeaderLease();
        checkPromise();
    }

    /** Heartbeat 50 ms, read lease 150 ms, leader lease 300 ms, drift 10 %, and what follows from them. */
    public static LeaseSettings lan() {
        return derived(50 * MILLI, 150 * MILLI, 300 * MILLI, 100_000);
    }

    /** For links of 100 ms and more: heartbeat 100 ms, read lease 600 ms, leader lease 1 s. */
    public static LeaseSettings wan() {
        return derived(100 * MILLI, 600 * MILLI, 1_000 * MILLI, 100_000);
    }

    /** Removal and promise as their defaults. */
    public static LeaseSettings derived(long heartbeat, long readLease, long leaderLease, int driftPpm) {
        return new LeaseSettings(heartbeat, readLease, defaultRemoval(readLease, driftPpm), leaderLease,
                defaultPromise(readLease, leaderLease, driftPpm), driftPpm);
    }

    /** {@code mt (1+rho)/(1-rho)} and 10 ms, in whole milliseconds. */
    public static long defaultRemoval(long readLease, int driftPpm) {
        return wholeMillis(stretch(inRange("cad.lease", readLease), driftInRange(driftPpm)) + SLACK);
    }

    /** {@code (Ll + mt)(1+rho)/(1-rho)} and 10 ms, in whole milliseconds. */
    public static long defaultPromise(long readLease, long leaderLease, int driftPpm) {
        long both = inRange("cad.lease", readLease) + inRange("cad.leader.lease", leaderLease);
        return wholeMillis(stretch(both, driftInRange(driftPpm)) + SLACK);
    }

    /** The leader lease lets a leader acknowledge early, so it may not outlast the window of what may be lost. */
    public void checkWindow(long windowNanos) {
        if (leaderLease > windowNanos) {
            throw refused("cad.leader.lease", millis(leaderLease) + " is more than cad.window.ms " + millis(windowNanos)
                    + ", and a leader that lost its quorum acknowledges early for that long",
                    "lower cad.leader.lease or raise cad.window.ms");
        }
    }

    /** {@code nanos (1+rho)/(1-rho)}, rounded up: on this clock at least {@code nanos} of any other clock. */
    public long stretch(long nanos) {
        return stretch(nanos, driftPpm);
    }

    public long heartbeat() {
        return heartbeat;
    }

    public long readLease() {
        return readLease;
    }

    public long removal() {
        return removal;
    }

    public long leaderLease() {
        return leaderLease;
    }

    public long promise() {
        return promise;
    }

    public int driftPpm() {
        return driftPpm;
    }

    @Override
    public String toString() {
        return "heartbeat " + millis(heartbeat) + ", lease " + millis(readLease) + ", removal " + millis(removal)
                + ", leader lease " + millis(leaderLease) + ", promise " + millis(promise) + ", drift " + drift();
    }

    private void checkReadLease() {
        if (readLease < 3 * heartbeat) {
            throw refused("cad.lease", millis(readLease) + " is less than 3 * cad.heartbeat " + millis(heartbeat)
                    + " = " + millis(3 * heartbeat), "set it to " + millis(3 * heartbeat) + " or more");
        }
    }

    private void checkRemoval() {
        if (removal * (ONE - driftPpm) < readLease * (ONE + driftPpm)) {
            throw refused("cad.removal", slow(millis(removal), removal) + " is less than "
                    + fast("cad.lease " + millis(readLease), readLease)
                    + ": a member would be removed while its lease may last",
                    "set it to " + millis(leastMillis(readLease)) + " or more, or remove it");
        }
    }

    private void checkLeaderLease() {
        if (leaderLease <= heartbeat) {
            throw refused("cad.leader.lease", millis(leaderLease) + " is not more than cad.heartbeat "
                    + millis(heartbeat) + ", so it would always be over before the next answer",
                    "set it to " + millis(3 * heartbeat) + " or more");
        }
    }

    private void checkPromise() {
        long both = leaderLease + readLease;
        if (promise * (ONE - driftPpm) < both * (ONE + driftPpm)) {
            throw refused("cad.promise", slow(millis(promise), promise) + " is less than "
                    + fast("(cad.leader.lease " + millis(leaderLease) + " + cad.lease " + millis(readLease) + ")", both)
                    + ": a new leader would serve while old leases may last",
                    "set it to " + millis(leastMillis(both)) + " or more, or remove it");
        }
    }

    private long leastMillis(long nanos) {
        return wholeMillis(stretch(nanos));
    }

    private String slow(String what, long nanos) {
        return what + " * (1 - " + drift() + ") = " + millis(nanos * (ONE - driftPpm) / ONE);
    }

    private String fast(String what, long nanos) {
        return what + " * (1 + " + drift() + ") = " + millis(nanos * (ONE + driftPpm) / ONE);
    }

    private String drift() {
        return BigDecimal.valueOf(driftPpm, 6).stripTrailingZeros().toPlainString();
    }

    private static long stretch(long nanos, int driftPpm) {
        long slow = ONE - driftPpm;
        return Math.addExact(Math.multiplyExact(nanos, ONE + driftPpm), slow - 1) / slow;
    }

    private static long wholeMillis(long nanos) {
        return (nanos + MILLI - 1) / MILLI * MILLI;
    }

    private static long inRange(String setting, long nanos) {
        if (nanos < 1 || nanos > MAX_NANOS) {
            throw refused(setting, millis(nanos) + " is out of range",
                    "set it to more than 0 and at most " + millis(MAX_NANOS));
        }
        return nanos;
    }

    private static int driftInRange(int ppm) {
        if (ppm < 0 || ppm > MAX_DRIFT_PPM) {
            throw refused("cad.clock.drift", ppm + " parts per million are out of range", "set it between 0 and 0.5");
        }
        return ppm;
    }

    private static String millis(long nanos) {
        String digits = BigDecimal.valueOf(nanos, 6).stripTrailingZeros().toPlainString();
        return digits + " ms";
    }

    private static IllegalArgumentException refused(String setting, String reason, String remedy) {
        return new IllegalArgumentException(setting + ": " + reason + "; " + remedy);
    }
}
