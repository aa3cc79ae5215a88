// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.lease.Leases;
import io.cad.zookeeper.metrics.CadMetrics;
import io.cad.zookeeper.node.Leadership;
import io.cad.zookeeper.node.PeerLease;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread of one led epoch, which sends heartbeats; what there is to decide {@link Leadership} decides. */
public final class LeaderLeases {

    private static final Logger LOG = LoggerFactory.getLogger(LeaderLeases.class);
    /** The set of members is looked at several times per heartbeat interval. */
    private static final int TICKS = 4;

    /** Decides; its monitor is the lock of the epoch. */
    final Leadership leadership;
    private final CadConfig config;
    private final Runnable stepDown;
    private final Thread thread;
    private volatile Runnable beaten;
    private volatile boolean ended;

    /**
     * @param memberships every one that binds
     * @param stepDown ends the office; called by the thread of the heartbeats, without locks
     */
    public LeaderLeases(CadConfig config, long epoch, long self, PeerLease peer, List<Quorum> memberships,
                        Runnable stepDown) {
        this.config = config;
        this.stepDown = stepDown;
        this.thread = new Thread(this::beatUntilEnded, "cad-heartbeat-" + self);
        thread.setDaemon(true);
        // A record may rest for a whole flush interval without anything being stuck.
        this.leadership = new Leadership(config.leases, new Leases(), config.stuck + config.flushInterval, epoch, self,
            peer, SystemClock.INSTANCE, memberships);
    }

    /** A server, this one included, has promised the epoch and is bound by older ones for so long. */
    public void promised(long server, long owed) {
        leadership.promised(server, owed);
        CadMetrics.get().promiseWait(owed);
    }

    /** The office has begun: heartbeats start. {@code afterwards} is called after each round, without locks. */
    void start(Runnable afterwards) {
        beaten = afterwards;
        thread.start();
    }

    /** The office is over. */
    public void end() {
        ended = true;
        leadership.end();
        thread.interrupt();
    }

    private void beatUntilEnded() {
        long interval = Math.max(1, config.leases.heartbeat() / TICKS);
        for (long turn = 0; !ended; turn++) {
            leadership.tick();
            if (turn % TICKS == 0) {
                leadership.beat();
            }
            beaten.run();
            if (leadership.stuck() != null) {
                LOG.error("No {} has been done for {} ms (cad.stuck) although there is work: this leader steps down",
                    leadership.stuck(), config.stuck / 1_000_000);
                stepDown.run();
                return;
            }
            try {
                Thread.sleep(interval / 1_000_000, (int) (interval % 1_000_000));
            } catch (InterruptedException e) {
                LOG.debug("Interrupted; only end() ends this thread");
            }
        }
    }
}
