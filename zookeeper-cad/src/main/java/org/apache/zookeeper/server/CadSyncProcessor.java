// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server;

import io.cad.zookeeper.durability.CadTxnLog;
import io.cad.zookeeper.durability.GroupFlusher;
import io.cad.zookeeper.role.Role;
import java.io.Flushable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.zookeeper.common.Time;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs proposals and passes them on once they have left the process, before
 * they are durable; a flusher of its own makes them durable. Upstream's
 * SyncRequestProcessor passes them on after the fsync. What it does beside
 * that, rolling the log and starting snapshots, is done here too.
 */
public final class CadSyncProcessor extends SyncRequestProcessor {

    private static final Logger LOG = LoggerFactory.getLogger(CadSyncProcessor.class);

    private final ZooKeeperServer server;
    private final RequestProcessor next;
    private final CadTxnLog log;
    private final Role role;
    private final GroupFlusher flusher;
    private final BlockingQueue<Request> queue = new LinkedBlockingQueue<>();
    private final Semaphore snapshotInProgress = new Semaphore(1);
    private int rollAfterTxns;
    private long rollAfterBytes;

    public CadSyncProcessor(ZooKeeperServer server, RequestProcessor next, CadTxnLog log, Role role) {
        super(server, next);
        this.server = server;
        this.next = next;
        this.log = log;
        this.role = role;
        this.flusher = role.flusher;
    }

    @Override
    public void processRequest(Request request) {
        request.syncQueueStartTime = Time.currentElapsedTime();
        queue.add(request);
        ServerMetrics.getMetrics().SYNC_PROCESSOR_QUEUED.add(1);
    }

    @Override
    public void run() {
        try {
            chooseRollPoint();
            int maxBatch = Math.max(1, server.getMaxBatchSize());
            List<Request> batch = new ArrayList<>(maxBatch);
            boolean running = true;
            while (running) {
                ServerMetrics.getMetrics().SYNC_PROCESSOR_QUEUE_SIZE.add(queue.size());
                batch.add(queue.take());
                queue.drainTo(batch, maxBatch - 1);
                if (batch.get(batch.size() - 1) == Request.requestOfDeath) {
                    batch.remove(batch.size() - 1);
                    running = false;
                }
                process(batch);
                batch.clear();
            }
        } catch (Throwable t) {
            handleException(getName(), t);
        }
        LOG.info("{} exited", getName());
    }

    private void process(List<Request> batch) throws IOException, RequestProcessorException {
        if (batch.isEmpty()) {
            return;
        }
        long start = Time.currentElapsedTime();
        int records = 0;
        long last = 0;
        for (Request request : batch) {
            ServerMetrics.getMetrics().SYNC_PROCESSOR_QUEUE_TIME.add(start - request.syncQueueStartTime);
            if (!request.isThrottled() && server.getZKDatabase().append(request)) {
                records++;
                last = request.getHdr().getZxid();
                if (mustRoll()) {
                    chooseRollPoint();
                    server.getZKDatabase().rollLog();
                    startSnapshot();
                }
            }
        }
        if (records > 0) {
            long before = log.unsyncedBytes();
            log.write();
            // First the flusher: a round that the role starts finds the records dirty.
            flusher.written(records, Math.max(0, log.unsyncedBytes() - before));
            role.written(last);
        }
        ServerMetrics.getMetrics().BATCH_SIZE.add(batch.size());
        for (Request request : batch) {
            ServerMetrics.getMetrics().SYNC_PROCESSOR_QUEUE_AND_FLUSH_TIME
                .add(Time.currentElapsedTime() - request.syncQueueStartTime);
            next.processRequest(request);
        }
        if (next instanceof Flushable) {
            ((Flushable) next).flush();
        }
        ServerMetrics.getMetrics().SYNC_PROCESS_TIME.add(Time.currentElapsedTime() - start);
    }

    private boolean mustRoll() {
        return server.getZKDatabase().getTxnCount() > rollAfterTxns
            || (rollAfterBytes > 0 && server.getZKDatabase().getTxnSize() > rollAfterBytes);
    }

    /** Spreads the snapshots of an ensemble: each server rolls somewhere in the second half of the limit. */
    private void chooseRollPoint() {
        int count = SyncRequestProcessor.getSnapCount();
        long bytes = ZooKeeperServer.getSnapSizeInBytes();
        ThreadLocalRandom random = ThreadLocalRandom.current();
        rollAfterTxns = count / 2 + random.nextInt(Math.max(1, count / 2));
        rollAfterBytes = bytes <= 0 ? 0 : bytes / 2 + random.nextLong(Math.max(1, bytes / 2));
    }

    private void startSnapshot() {
        if (!snapshotInProgress.tryAcquire()) {
            LOG.warn("A snapshot is still in progress, skipping this one");
            return;
        }
        Thread thread = new ZooKeeperThread("Snapshot Thread") {
            @Override
            public void run() {
                try {
                    server.takeSnapshot();
                } catch (Exception e) {
                    LOG.warn("Unexpected exception", e);
                } finally {
                    snapshotInProgress.release();
                }
            }
        };
        thread.start();
    }

    /**
     * Ends the thread after everything queued was logged and passed on, so that
     * memory, which upstream keeps across roles, is never ahead of the log.
     */
    @Override
    public void shutdown() {
        LOG.info("Shutting down");
        queue.add(Request.requestOfDeath);
        try {
            join();
        } catch (InterruptedException e) {
            LOG.warn("Interrupted while waiting for {} to finish", this);
            Thread.currentThread().interrupt();
        }
        role.stop();
        if (next != null) {
            next.shutdown();
        }
    }
}
