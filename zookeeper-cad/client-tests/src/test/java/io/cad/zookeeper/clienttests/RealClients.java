// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import io.cad.zookeeper.testkit.Clients;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** What all tests here do with clients. */
final class RealClients {
    /** How long a test waits for anything; generous, because the machine may be slow. */
    static final Duration LIMIT = Duration.ofSeconds(60);
    static final Duration SESSION = Duration.ofSeconds(15);

    private RealClients() {
    }

    static ZooKeeper zooKeeper(String connectString) throws Exception {
        return Clients.connect(connectString, SESSION, LIMIT);
    }

    static CuratorFramework curator(String connectString) throws Exception {
        CuratorFramework curator = CuratorFrameworkFactory.newClient(connectString, (int) SESSION.toMillis(), 15_000,
                new RetryNTimes(100, 100));
        curator.start();
        if (!curator.blockUntilConnected((int) LIMIT.toSeconds(), TimeUnit.SECONDS)) {
            curator.close();
            throw new TimeoutException("no session at " + connectString);
        }
        return curator;
    }

    static void create(ZooKeeper client, String path, String value) throws KeeperException, InterruptedException {
        client.create(path, bytes(value), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** A client that can vanish without closing its session, as a crashed process does. */
    static final class MortalClient extends ZooKeeper {
        MortalClient(String connectString, Duration session) throws java.io.IOException {
            super(connectString, (int) session.toMillis(), (Watcher) event -> { });
        }

        void die() {
            cnxn.disconnect();
        }
    }
}
