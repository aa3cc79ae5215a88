// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.durability.FailStop;
import io.cad.zookeeper.durability.LeaseRecord;
import io.cad.zookeeper.lease.Leases;
import io.cad.zookeeper.lease.ReadLease;
import io.cad.zookeeper.metrics.CadMetrics;
import io.cad.zookeeper.node.PeerLease;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What this process owes and holds, by the clocks of this machine and with a record on its disk. */
public final class ProcessLease implements PeerLease.Shell {

    private static final Logger LOG = LoggerFactory.getLogger(ProcessLease.class);

    private final LeaseRecord record;

    private ProcessLease(LeaseRecord record) {
        this.record = record;
    }

    /**
     * The process starts.
     *
     * @param acceptedEpoch the newest epoch that it durably promised
     */
    public static PeerLease begin(CadConfig config, LeaseRecord record, long acceptedEpoch) throws IOException {
        long incarnation = record.nextProcess(System.currentTimeMillis());
        return new PeerLease(config.leases, new Leases(), incarnation, acceptedEpoch, record.promise(),
            SystemClock.INSTANCE, new ProcessLease(record));
    }

    @Override
    public void record(long nanos, Runnable done) {
        // One at a time, and rarely more than one in the life of a process.
        Thread recorder = new Thread(() -> {
            try {
                record.promise(nanos);
            } catch (IOException e) {
                throw FailStop.storage("Recording the longest promise", e);
            }
            done.run();
        }, "cad-lease-record");
        recorder.setDaemon(true);
        recorder.start();
    }

    @Override
    public void markedOut(ReadLease.MarkOut why) {
        CadMetrics.get().markedOut(why);
        LOG.debug("The read lease has ended: {}", why);
    }

    @Override
    public void refused(String why) {
        LOG.error("{}; this server does not follow that leader", why);
    }
}
