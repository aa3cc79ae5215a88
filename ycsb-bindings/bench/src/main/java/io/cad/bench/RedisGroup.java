// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.disk.Disk;
import io.cad.zookeeper.testkit.disk.DiskProvider;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeoutException;

/** A master and its replicas, each with a disk of its own. */
final class RedisGroup implements AutoCloseable {
    /** Of cad-flush-interval, ms. */
    static final long DEFAULT_FLUSH_INTERVAL = 10;

    private final RedisMode mode;
    private final List<RedisServer> servers = new ArrayList<>();

    private RedisGroup(RedisMode mode) {
        this.mode = mode;
    }

    /**
     * Starts them and waits until they replicate.
     *
     * @param program redis-server of the build that the mode needs
     * @param nodes the master counted
     * @param flushInterval cad-flush-interval where the mode has a background flush of its own, ms
     */
    static RedisGroup start(RunDirectory run, String name, RedisMode mode, Path program, int nodes, long flushInterval,
            DiskProvider disks) throws IOException, InterruptedException, TimeoutException {
        RedisGroup group = new RedisGroup(mode);
        run.onClose(group);
        Path directory = run.path().resolve(name);
        for (int node = 0; node < nodes; node++) {
            Path place = Files.createDirectories(directory.resolve("server" + node));
            List<String> arguments = new ArrayList<>(mode.arguments(nodes));
            if (mode == RedisMode.CAD) {
                arguments.addAll(List.of("--cad-flush-interval", Long.toString(flushInterval)));
            }
            if (node > 0) {
                arguments.addAll(List.of("--replicaof", "127.0.0.1", Integer.toString(group.master().port())));
            }
            group.servers.add(new RedisServer(program, disks.create("disk" + node, place), place.resolve("server.log"), arguments));
        }
        group.startAll();
        group.requireActive();
        return group;
    }

    RedisServer master() {
        return servers.get(0);
    }

    List<RedisServer> servers() {
        return servers;
    }

    /** Starts all servers; returns when the replicas are in step and, with CAD, everything there is is durable. */
    void startAll() throws IOException, InterruptedException, TimeoutException {
        for (RedisServer server : servers) {
            server.start();
        }
        for (RedisServer server : servers) {
            server.awaitServing();
        }
        for (RedisServer replica : servers.subList(1, servers.size())) {
            replica.awaitInfo("replication", "master_link_status", "up");
            replica.awaitInfo("persistence", "aof_rewrite_in_progress", "0");
            replica.awaitInfo("persistence", "aof_rewrite_scheduled", "0");
        }
        if (mode.holds()) {
            master().awaitInfo("cad", "cad_nodes_connected", Integer.toString(servers.size()));
        }
        persist();
    }

    /** With CAD: returns when all that was written is durable. */
    void persist() throws IOException {
        if (mode.holds()) {
            try (RespClient client = new RespClient(master().port())) {
                client.call("cad", "persist", "60000");
            }
        }
    }

    /** A server that runs another mode than the one it is measured for would make every figure a lie. */
    private void requireActive() throws IOException {
        for (RedisServer server : servers) {
            String durability = server.info("cad").get("cad_durability");
            if (!Objects.equals(durability, mode.durability())) {
                throw new IllegalStateException(server + " has cad-durability " + durability + ", not " + mode.durability());
            }
        }
    }

    /** Returns when the replicas have what the master has. */
    void awaitReplicas() throws IOException {
        try (RespClient client = new RespClient(master().port())) {
            client.call("set", "in-step", "x");
            long replicas = servers.size() - 1L;
            if (!Long.valueOf(replicas).equals(client.call("wait", Long.toString(replicas), "60000"))) {
                throw new IOException("the replicas of " + master() + " are not in step after 60 s");
            }
        }
    }

    /** Length of all servers' append-only files. */
    long logBytes() throws IOException {
        long sum = 0;
        for (RedisServer server : servers) {
            sum += Long.parseLong(server.info("persistence").get("aof_current_size"));
        }
        return sum;
    }

    /** How many replies waited because they showed keys that were not durable. */
    long readsHeld() throws IOException {
        Map<String, String> info = master().info("cad");
        return Long.parseLong(info.getOrDefault("cad_holds_by_key", "0"));
    }

    void setSyncLatency(double millis) throws IOException, InterruptedException {
        for (RedisServer server : servers) {
            server.disk().setSyncLatency(millis);
        }
    }

    /** Makes durable what is written so far, in every mode. */
    void syncDisks() throws IOException, InterruptedException {
        for (RedisServer server : servers) {
            server.disk().sync();
        }
    }

    /** All servers lose their power at once. */
    Disk.Loss powerLoss() throws IOException, InterruptedException {
        servers.forEach(RedisServer::kill);
        for (RedisServer server : servers) {
            server.awaitEnd();
        }
        Disk.Loss loss = new Disk.Loss(0, 0);
        for (RedisServer server : servers) {
            loss = loss.plus(server.disk().powerLoss());
        }
        return loss;
    }

    @Override
    public void close() throws IOException {
        for (RedisServer server : servers) {
            server.close();
        }
    }
}
