// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import io.cad.zookeeper.testkit.Await;
import io.cad.zookeeper.testkit.Clients;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** Clients that own an ephemeral node each and want to keep session and node through whatever happens to servers. */
final class LastingSessions implements AutoCloseable {
    /** Longer than an election and a restart take. */
    private static final Duration SESSION = Duration.ofSeconds(40);

    private final List<ZooKeeper> clients = new ArrayList<>();
    private final List<Long> sessions = new ArrayList<>();

    LastingSessions(String connectString, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            ZooKeeper client = Clients.connect(connectString, SESSION, RealClients.LIMIT);
            clients.add(client);
            client.create(path(i), new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
            sessions.add(client.getSessionId());
        }
    }

    private static String path(int i) {
        return "/lasting-" + i;
    }

    /** How many sessions, or their nodes, are gone; waits until each client is answered or has given up. */
    int lost() throws Exception {
        int lost = 0;
        for (int i = 0; i < clients.size(); i++) {
            ZooKeeper client = clients.get(i);
            String path = path(i);
            long session = sessions.get(i);
            boolean[] kept = new boolean[1];
            Await.until("client " + i + " to be answered or expired", RealClients.LIMIT, () -> {
                if (client.getState().isAlive()) {
                    Stat stat = client.exists(path, false);
                    kept[0] = client.getSessionId() == session && stat != null && stat.getEphemeralOwner() == session;
                }
                return true;
            }, () -> client.getState().toString());
            lost += kept[0] ? 0 : 1;
        }
        return lost;
    }

    @Override
    public void close() throws InterruptedException {
        for (ZooKeeper client : clients) {
            client.close();
        }
    }
}
