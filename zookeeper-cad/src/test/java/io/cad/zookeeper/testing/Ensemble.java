// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testing;

import io.cad.zookeeper.role.Role;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.zookeeper.server.CadConnections;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.zookeeper.server.persistence.FilePadding;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.apache.zookeeper.server.quorum.QuorumPeer.LearnerType;
import org.apache.zookeeper.server.quorum.QuorumPeer.QuorumServer;

/**
 * Real peers in this JVM, with real sockets and files below a temporary
 * directory. Settings are read by each role as it begins, so peers that start
 * later may see other ones.
 */
public final class Ensemble implements AutoCloseable {

    /** Client transports by the class that upstream's property names. */
    public enum Transport {
        NIO("org.apache.zookeeper.server.NIOServerCnxnFactory"),
        NETTY("org.apache.zookeeper.server.NettyServerCnxnFactory");

        private final String factory;

        Transport(String factory) {
            this.factory = factory;
        }
    }

    private static final int TICK = 1000;
    /** Session time-outs that clients may ask for, ms. */
    private static final int SHORTEST = 500;
    private static final int LONGEST = 600_000;
    private static final Random PORTS = new Random();
    private static final Set<Integer> TAKEN = new HashSet<>();

    static {
        // Read once, when upstream's classes are loaded.
        System.setProperty("zookeeper.4lw.commands.whitelist", "*");
        FilePadding.setPreallocSize(64 * 1024);
    }

    private final Path directory;
    private final Transport transport;
    private final Map<Long, QuorumServer> servers = new HashMap<>();
    private final Map<Long, Integer> clientPorts = new TreeMap<>();
    private final Map<Long, QuorumPeer> peers = new TreeMap<>();

    /** Describes voters 1..n and observers n+1.. without starting any. */
    public Ensemble(Transport transport, int voters, int observers) {
        this.transport = transport;
        try {
            directory = Files.createTempDirectory("ensemble");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        for (long id = 1; id <= voters + observers; id++) {
            int clientPort = freePort();
            clientPorts.put(id, clientPort);
            servers.put(id, new QuorumServer(id, local(freePort()), local(freePort()), local(clientPort),
                id <= voters ? LearnerType.PARTICIPANT : LearnerType.OBSERVER));
        }
    }

    /** One server, started and serving. */
    public static Ensemble one(Transport transport) {
        return new Ensemble(transport, 1, 0).startAll();
    }

    /** Below the range from which the system takes ports for outgoing connections. */
    private static int freePort() {
        synchronized (TAKEN) {
            while (true) {
                int port = 11_000 + PORTS.nextInt(20_000);
                if (TAKEN.add(port)) {
                    try (ServerSocket probe = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                        return probe.getLocalPort();
                    } catch (IOException e) {
                        // Somebody else has it.
                        continue;
                    }
                }
            }
        }
    }

    private static InetSocketAddress local(int port) {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    }

    /**
     * Starts every server and waits until all serve. A bare majority first: when more start at once, some may elect
     * one that the others do not follow, and wait for it.
     */
    public Ensemble startAll() {
        long voters = servers.values().stream().filter(server -> server.type == LearnerType.PARTICIPANT).count();
        start(LongStream.rangeClosed(1, voters / 2 + 1).toArray());
        return start(LongStream.rangeClosed(voters / 2 + 2, servers.size()).toArray());
    }

    /** Starts some servers, at least a quorum, and waits until they serve. */
    public Ensemble start(long... ids) {
        for (long id : ids) {
            launch(id);
        }
        for (long id : ids) {
            awaitServing(id);
        }
        return this;
    }

    /** Starts one server without waiting for anything. */
    public QuorumPeer launch(long id) {
        try {
            System.setProperty(ServerCnxnFactory.ZOOKEEPER_SERVER_CNXN_FACTORY, transport.factory);
            System.setProperty("zookeeper.admin.enableServer",
                System.getProperty("zookeeper.admin.serverPort") == null ? "false" : "true");
            QuorumPeer peer = new QuorumPeer(new HashMap<>(servers), data(id), data(id), clientPort(id), 3, id, TICK,
                20, 20, 20);
            peer.setLearnerType(servers.get(id).type);
            peer.setSyncEnabled(true);
            peer.setMinSessionTimeout(SHORTEST);
            peer.setMaxSessionTimeout(LONGEST);
            peers.put(id, peer);
            peer.start();
            return peer;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The data directory of a server, which stays when the server ends. */
    public File data(long id) {
        File data = directory.resolve("server" + id).toFile();
        data.mkdirs();
        return data;
    }

    /** Waits until a server answers clients. */
    public void awaitServing(long id) {
        Await.until("server " + id + " serves", () -> {
            ZooKeeperServer server = server(id);
            return server != null && server.isRunning() && isEstablished(server) && command(id, "isro").equals("rw");
        });
    }

    private static boolean isEstablished(ZooKeeperServer server) {
        Role role = role(server);
        return role == null || !role.mode.acknowledgesBeforeDurable() || role.durable() >= 0;
    }

    /** The running server of a peer, or null. */
    public ZooKeeperServer server(long id) {
        QuorumPeer peer = peers.get(id);
        return peer == null ? null : peer.getActiveServer();
    }

    public QuorumPeer peer(long id) {
        return peers.get(id);
    }

    /** The role of a server, or null if it is a stock one. */
    public Role role(long id) {
        return role(server(id));
    }

    private static Role role(ZooKeeperServer server) {
        return server instanceof CadConnections.RoleHolder ? ((CadConnections.RoleHolder) server).role() : null;
    }

    /** Id of the server that leads. */
    public long leader() {
        for (Map.Entry<Long, QuorumPeer> entry : peers.entrySet()) {
            if (entry.getValue().leader != null && entry.getValue().getPeerState() == QuorumPeer.ServerState.LEADING) {
                return entry.getKey();
            }
        }
        throw new IllegalStateException("nobody leads");
    }

    /** Id of a voter that follows. */
    public long follower() {
        for (Map.Entry<Long, QuorumPeer> entry : peers.entrySet()) {
            if (entry.getValue().getPeerState() == QuorumPeer.ServerState.FOLLOWING) {
                return entry.getKey();
            }
        }
        throw new IllegalStateException("nobody follows");
    }

    public int clientPort(long id) {
        return clientPorts.get(id);
    }

    /** The answer to a four letter command. */
    public String command(long id, String command) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), clientPort(id))) {
            socket.getOutputStream().write(command.getBytes(StandardCharsets.US_ASCII));
            socket.getOutputStream().flush();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A new session at a server, long enough for any test. */
    public RawClient client(long id) {
        return RawClient.open(clientPort(id), LONGEST);
    }

    /** Ends a server in order, as a planned stop without its drain does. */
    public void stop(long id) {
        QuorumPeer peer = peers.remove(id);
        if (peer == null) {
            return;
        }
        peer.shutdown();
        try {
            peer.join(60_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (peer.isAlive()) {
            throw new AssertionError("server " + id + " did not end");
        }
    }

    @Override
    public void close() {
        new ArrayList<>(peers.keySet()).forEach(this::stop);
        try (Stream<Path> all = Files.walk(directory)) {
            List<Path> paths = all.sorted(Comparator.reverseOrder()).toList();
            for (Path path : paths) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
