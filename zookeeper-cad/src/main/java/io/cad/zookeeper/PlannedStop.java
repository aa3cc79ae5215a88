// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import io.cad.zookeeper.config.CadConfig;
import org.apache.zookeeper.server.quorum.CadPeer;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * SIGTERM drains: new requests are refused, what was acknowledged is
 * replicated and made durable, then the process ends. At most
 * {@code cad.drain} goes by.
 */
final class PlannedStop {

    private static final Logger LOG = LoggerFactory.getLogger(PlannedStop.class);

    private PlannedStop() {
    }

    static void register(QuorumPeer peer, CadConfig config) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> drain(peer, config), "cad-drain"));
    }

    private static void drain(QuorumPeer peer, CadConfig config) {
        long start = System.nanoTime();
        try {
            boolean durable = CadPeer.drain(peer, start + config.drain);
            long millis = (System.nanoTime() - start) / 1_000_000;
            if (durable) {
                LOG.info("Drained in {} ms: every acknowledged write is durable", millis);
            } else {
                LOG.warn("Not drained within cad.drain ({} ms): writes that only this server holds may be lost",
                    config.drain / 1_000_000);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            LOG.error("The drain failed: writes that only this server holds may be lost", e);
        }
    }
}
