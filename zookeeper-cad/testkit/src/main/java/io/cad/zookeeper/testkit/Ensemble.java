// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import io.cad.zookeeper.testkit.disk.Disk;
import io.cad.zookeeper.testkit.machine.Machines;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.zookeeper.ZooKeeper;

/** ZooKeeper servers that form one quorum, each a process of its own. */
public final class Ensemble implements AutoCloseable {
    /** Generous, because a loaded two-core machine starts five JVMs slowly. */
    public static final Duration START_LIMIT = Duration.ofSeconds(90);
    private static final Duration PROBE_SESSION = Duration.ofSeconds(10);

    private final Path directory;
    private final Machines machines;
    private final List<ServerProcess> servers;

    private Ensemble(Path directory, Machines machines, List<ServerProcess> servers) {
        this.directory = directory;
        this.machines = machines;
        this.servers = List.copyOf(servers);
    }

    /** Lays out an ensemble below the run directory, which closes it at the end; starts nothing. */
    public static Ensemble create(RunDirectory run, EnsembleConfig config) throws IOException, InterruptedException {
        Path directory = Files.createDirectory(run.path().resolve(config.name()));
        List<ServerProcess> servers = new ArrayList<>();
        Ensemble ensemble = null;
        try {
            for (int id = 1; id <= config.servers(); id++) {
                Path home = Files.createDirectory(directory.resolve("server" + id));
                servers.add(new ServerProcess(id, config.machines().create(id, home), home, config));
            }
            List<String> lines = servers.stream().map(ServerProcess::serverLine).collect(Collectors.toList());
            for (ServerProcess server : servers) {
                server.prepare(config.cfg(), lines);
            }
            ensemble = new Ensemble(directory, config.machines(), servers);
            run.onClose(ensemble);
            return ensemble;
        } finally {
            if (ensemble == null) {
                for (ServerProcess server : servers) {
                    server.close();
                }
            }
        }
    }

    /** Lays out an ensemble, starts all servers and waits until each serves. */
    public static Ensemble start(RunDirectory run, EnsembleConfig config)
            throws IOException, InterruptedException, TimeoutException {
        Ensemble ensemble = create(run, config);
        ensemble.startAll();
        return ensemble;
    }

    /**
     * Starts the servers that are down, waits until all serve, and lets the operating system write back what the start
     * left in its cache: a stock server does not sync its first snapshot, and a power loss in the first seconds would
     * make it refuse to start (lab finding, not what the tests are about).
     */
    public void startAll() throws IOException, InterruptedException, TimeoutException {
        for (ServerProcess server : servers) {
            if (!server.isRunning()) {
                server.start();
            }
        }
        awaitServing(START_LIMIT);
        for (ServerProcess server : servers) {
            server.disk().sync();
        }
    }

    public List<ServerProcess> servers() {
        return servers;
    }

    /** The server with this id, from 1. */
    public ServerProcess server(int id) {
        return servers.get(id - 1);
    }

    /** All servers but this one. */
    public List<ServerProcess> others(ServerProcess one) {
        return servers.stream().filter(server -> server != one).collect(Collectors.toList());
    }

    public Path directory() {
        return directory;
    }

    /** Connect string with every server, up or down. */
    public String connectString() {
        return servers.stream().map(ServerProcess::connectString).collect(Collectors.joining(","));
    }

    /** The server that calls itself leader now, if one does. */
    public Optional<ServerProcess> leader() {
        return servers.stream().filter(ServerProcess::isRunning).filter(server -> server.mode().equals("leader")).findFirst();
    }

    /** Waits until a server calls itself leader. */
    public ServerProcess awaitLeader(Duration limit) throws InterruptedException, TimeoutException {
        Await.until("a leader", limit, () -> {
            if (servers.stream().noneMatch(ServerProcess::isRunning)) {
                throw new Await.Hopeless("no server runs; see the log files below " + directory);
            }
            return leader().isPresent();
        }, this::toString);
        return leader().orElseThrow(() -> new TimeoutException("the leader went away again; " + this));
    }

    /**
     * Waits until every server that was started serves: it says so, and a session opened through it, which is a write
     * committed by a quorum, succeeds.
     *
     * @throws Await.Hopeless when one of them has ended: a server that refused to start will not serve later
     */
    public void awaitServing(Duration limit) throws InterruptedException, TimeoutException {
        long end = System.nanoTime() + limit.toNanos();
        for (ServerProcess server : servers) {
            if (!server.isExpected()) {
                continue;
            }
            Duration rest = Duration.ofNanos(Math.max(0, end - System.nanoTime()));
            Await.until("server " + server.id() + " to serve", rest, () -> {
                for (ServerProcess one : servers) {
                    if (one.isExpected() && !one.isRunning()) {
                        throw new Await.Hopeless("server " + one.id() + " has ended by itself; see " + one.logFile());
                    }
                }
                return serves(server);
            }, this::toString);
        }
    }

    private static boolean serves(ServerProcess server) throws Exception {
        if (server.mode().isEmpty()) {
            return false;
        }
        ZooKeeper probe = Clients.connect(server.connectString(), PROBE_SESSION, Duration.ofSeconds(5));
        probe.close();
        return true;
    }

    /** SIGKILL to every server at once, the disks keep all that was written. */
    public void killAll() throws InterruptedException, TimeoutException {
        kill(servers);
    }

    /** SIGKILL to some servers at once. */
    public void kill(Collection<ServerProcess> some) throws InterruptedException, TimeoutException {
        some.forEach(ServerProcess::kill);
        for (ServerProcess server : some) {
            server.awaitEnd();
        }
    }

    /** Power loss of every server at once. */
    public Disk.Loss powerLoss() throws IOException, InterruptedException, TimeoutException {
        return powerLoss(servers);
    }

    /**
     * Power loss of some servers at once: all are dead before the first disk drops what was not synced.
     *
     * @return what the disks lost, summed
     */
    public Disk.Loss powerLoss(Collection<ServerProcess> some) throws IOException, InterruptedException, TimeoutException {
        some.forEach(ServerProcess::expectEnd);
        if (!machines.endProcesses()) {
            kill(some);
        }
        Disk.Loss loss = machines.powerLoss(some.stream().map(ServerProcess::machine).collect(Collectors.toList()));
        for (ServerProcess server : some) {
            server.awaitEnd();
        }
        return loss;
    }

    /** Planned stop of every running server, the leader last. */
    public void stopAll(Duration limitEach) throws IOException, InterruptedException, TimeoutException {
        Optional<ServerProcess> last = leader();
        for (ServerProcess server : servers) {
            if (server.isRunning() && !last.filter(leader -> leader == server).isPresent()) {
                server.stop(limitEach);
            }
        }
        if (last.isPresent()) {
            last.get().stop(limitEach);
        }
    }

    /** Sets how long each fsync takes on every disk; see {@link Disk#setSyncLatency}. */
    public void setSyncLatency(double millis) throws IOException, InterruptedException {
        for (ServerProcess server : servers) {
            server.disk().setSyncLatency(millis);
        }
    }

    /** Sums each numeric metric whose name has the prefix over all running servers. */
    public Map<String, Double> sumMetrics(String prefix) throws IOException {
        return sumMetrics(prefix, servers);
    }

    /** The same over those of some servers that run. */
    public static Map<String, Double> sumMetrics(String prefix, Collection<ServerProcess> some) throws IOException {
        Map<String, Double> sums = new TreeMap<>();
        try {
            // At once, because a server under load takes its time to answer.
            some.parallelStream().filter(ServerProcess::isRunning).map(ServerProcess::metricsUnchecked)
                    .collect(Collectors.toList()).forEach(metrics -> metrics.forEach((name, value) -> {
                        if (name.startsWith(prefix) && value.matches("-?[0-9.]+([eE]-?[0-9]+)?")) {
                            sums.merge(name, Double.valueOf(value), Double::sum);
                        }
                    }));
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return sums;
    }

    @Override
    public void close() throws IOException {
        servers.forEach(ServerProcess::kill);
        IOException first = null;
        for (ServerProcess server : servers) {
            try {
                server.close();
            } catch (IOException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }

    @Override
    public String toString() {
        return "ensemble in " + directory + ": " + servers;
    }
}
