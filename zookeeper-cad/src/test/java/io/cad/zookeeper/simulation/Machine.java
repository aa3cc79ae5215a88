// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.zookeeper.node.Clock;
import java.util.function.LongSupplier;

/** The clocks of one machine: both run at a wrong rate, the monotonic one stands still while it is suspended. */
final class Machine implements Clock {
    private final LongSupplier time;
    private double rate = 1;
    private double monotonic;
    private double wallAhead = 1e15;
    private long since;
    private boolean suspended;

    Machine(LongSupplier time) {
        this.time = time;
    }

    @Override
    public long now() {
        return (long) (suspended ? monotonic : monotonic + elapsed());
    }

    long wall() {
        return (long) (wallAhead + monotonic + elapsed());
    }

    @Override
    public void read(Use use) {
        use.at(now(), wall());
    }

    @Override
    public boolean holds(Lease lease) {
        return lease.holds(now(), wall());
    }

    /** How long the machine's clock takes for so much, in true time. */
    long trueTime(long duration) {
        return (long) (duration / rate);
    }

    void boot(long monotonicAtStart) {
        settle();
        monotonic = monotonicAtStart;
    }

    void runAt(double newRate) {
        settle();
        rate = newRate;
    }

    boolean isSuspended() {
        return suspended;
    }

    void suspend(boolean now) {
        settle();
        suspended = now;
    }

    private double elapsed() {
        return (time.getAsLong() - since) * rate;
    }

    private void settle() {
        if (suspended) {
            wallAhead += elapsed();
        } else {
            monotonic += elapsed();
        }
        since = time.getAsLong();
    }
}
