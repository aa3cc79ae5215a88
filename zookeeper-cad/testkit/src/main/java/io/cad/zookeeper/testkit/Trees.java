// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** Compares what the servers of an ensemble that nobody writes to hold, node by node, statistics included. */
public final class Trees {
    private static final Duration SESSION = Duration.ofSeconds(30);
    /** Upstream's own nodes: quota and configuration change without a transaction. */
    private static final String SYSTEM = "/zookeeper";

    private Trees() {
    }

    /**
     * Reads every server's tree.
     *
     * @return the paths that differ, with what each server has; empty if all are equal
     */
    public static List<String> differences(List<ServerProcess> servers)
            throws IOException, InterruptedException, TimeoutException, KeeperException {
        List<Map<String, String>> trees = new ArrayList<>();
        TreeSet<String> paths = new TreeSet<>();
        for (ServerProcess server : servers) {
            Map<String, String> tree = read(server);
            trees.add(tree);
            paths.addAll(tree.keySet());
        }
        List<String> differences = new ArrayList<>();
        for (String path : paths) {
            List<String> found = trees.stream().map(tree -> tree.getOrDefault(path, "absent")).toList();
            if (found.stream().distinct().count() > 1) {
                differences.add(path + ": " + found);
            }
        }
        return differences;
    }

    private static Map<String, String> read(ServerProcess server)
            throws IOException, InterruptedException, TimeoutException, KeeperException {
        Map<String, String> tree = new TreeMap<>();
        ZooKeeper client = Clients.connect(server.connectString(), SESSION, SESSION);
        try {
            again(() -> sync(client));
            Deque<String> open = new ArrayDeque<>(List.of("/"));
            while (!open.isEmpty()) {
                String path = open.poll();
                Stat stat = new Stat();
                byte[] data = again(() -> client.getData(path, false, stat));
                tree.put(path, stat.getCzxid() + " " + stat.getMzxid() + " " + stat.getPzxid() + " " + stat.getVersion() + " "
                        + stat.getCversion() + " " + stat.getAversion() + " " + stat.getEphemeralOwner() + " "
                        + Arrays.hashCode(data));
                for (String child : again(() -> client.getChildren(path, false))) {
                    String below = (path.equals("/") ? "" : path) + "/" + child;
                    if (!below.equals(SYSTEM)) {
                        open.add(below);
                    }
                }
            }
        } finally {
            client.close();
        }
        return tree;
    }

    @FunctionalInterface
    private interface Read<T> {
        T now() throws KeeperException, InterruptedException, TimeoutException;
    }

    /** A server without a lease closes connections, also for a moment on a busy machine; a client comes back and asks again. */
    private static <T> T again(Read<T> read) throws KeeperException, InterruptedException, TimeoutException {
        long end = System.nanoTime() + SESSION.toNanos();
        while (true) {
            try {
                return read.now();
            } catch (KeeperException.ConnectionLossException e) {
                if (System.nanoTime() - end >= 0) {
                    throw e;
                }
            }
        }
    }

    private static Void sync(ZooKeeper client) throws InterruptedException, TimeoutException, KeeperException {
        CompletableFuture<Integer> reply = new CompletableFuture<>();
        client.sync("/", (code, path, context) -> reply.complete(code), null);
        try {
            int code = reply.get(SESSION.toMillis(), TimeUnit.MILLISECONDS);
            if (code != 0) {
                throw KeeperException.create(KeeperException.Code.get(code), "/");
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
        return null;
    }
}
