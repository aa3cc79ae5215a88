// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/** Makes connected ZooKeeper clients. */
public final class Clients {
    private Clients() {
    }

    /**
     * Connects a stock client and waits for its session, which is a write that a quorum has committed.
     *
     * @throws TimeoutException when there is no session within {@code limit}; nothing is left open
     */
    public static ZooKeeper connect(String connectString, Duration sessionTimeout, Duration limit)
            throws IOException, InterruptedException, TimeoutException {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper client = new ZooKeeper(connectString, Math.toIntExact(sessionTimeout.toMillis()), (WatchedEvent event) -> {
            if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        boolean inTime = false;
        try {
            inTime = connected.await(limit.toMillis(), TimeUnit.MILLISECONDS);
        } finally {
            if (!inTime) {
                client.close((int) sessionTimeout.toMillis());
            }
        }
        if (!inTime) {
            throw new TimeoutException("no session at " + connectString + " within " + limit.toMillis() + " ms");
        }
        return client;
    }
}
