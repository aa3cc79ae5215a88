// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.wire.Packets;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes a learner's reports and flush requests from a thread of its own, so
 * that a stuck link stops nobody who holds a lock. Only the newest of each
 * counts, so two slots are the whole queue.
 */
final class Outbox implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(Outbox.class);

    /** How the owner writes a packet. */
    interface Writer {
        void write(QuorumPacket packet) throws IOException;
    }

    private final Writer writer;
    private Thread thread;
    private boolean stopped;
    private long epoch;
    private boolean reportOwed;
    private long persisted;
    private long applied;
    private long wanted = Indices.NONE;

    Outbox(Writer writer) {
        this.writer = writer;
    }

    synchronized void start(String name) {
        if (!stopped) {
            thread = new Thread(this, name);
            thread.setDaemon(true);
            thread.start();
        }
    }

    synchronized void report(long ofEpoch, long persistedIndex, long appliedIndex) {
        epoch = ofEpoch;
        persisted = persistedIndex;
        applied = appliedIndex;
        reportOwed = true;
        notifyAll();
    }

    synchronized void requestFlush(long ofEpoch, long target) {
        epoch = ofEpoch;
        wanted = Math.max(wanted, target);
        notifyAll();
    }

    synchronized void stop() {
        stopped = true;
        notifyAll();
    }

    @Override
    public void run() {
        while (true) {
            QuorumPacket report;
            QuorumPacket request;
            synchronized (this) {
                while (!stopped && !reportOwed && wanted == Indices.NONE) {
                    try {
                        wait();
                    } catch (InterruptedException e) {
                        // Only stop() ends this thread.
                        LOG.debug("Interrupted while waiting for something to send");
                    }
                }
                if (stopped) {
                    return;
                }
                report = reportOwed ? Packets.report(epoch, persisted, applied) : null;
                request = wanted == Indices.NONE ? null : Packets.flushRequest(epoch, wanted);
                reportOwed = false;
                wanted = Indices.NONE;
            }
            try {
                if (request != null) {
                    writer.write(request);
                }
                if (report != null) {
                    writer.write(report);
                }
            } catch (IOException e) {
                // The reader of this connection meets the same failure and ends the role.
                LOG.debug("The leader did not take a packet: {}", e.toString());
                return;
            }
        }
    }
}
