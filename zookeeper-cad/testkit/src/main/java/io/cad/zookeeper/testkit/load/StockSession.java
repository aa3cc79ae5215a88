// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import io.cad.zookeeper.testkit.Clients;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** A session of upstream's Java client, which connects again by itself. */
final class StockSession implements Session {
    private static final int CLOSE_LIMIT_MILLIS = 2_000;

    private final ZooKeeper zooKeeper;

    StockSession(String connectString, Duration timeout, Duration limit) throws IOException, InterruptedException, TimeoutException {
        zooKeeper = Clients.connect(connectString, timeout, limit);
    }

    @Override
    public byte[] get(String path, Stat stat) throws KeeperException, InterruptedException {
        return zooKeeper.getData(path, false, stat);
    }

    @Override
    public Stat set(String path, byte[] value) throws KeeperException, InterruptedException {
        return zooKeeper.setData(path, value, -1);
    }

    @Override
    public void sync(String path) throws KeeperException, InterruptedException {
        CompletableFuture<Integer> reply = new CompletableFuture<>();
        zooKeeper.sync(path, (code, synced, context) -> reply.complete(code), null);
        int code;
        try {
            code = reply.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
        if (code != 0) {
            throw KeeperException.create(KeeperException.Code.get(code), path);
        }
    }

    @Override
    public void close() throws InterruptedException {
        zooKeeper.close(CLOSE_LIMIT_MILLIS);
    }
}
