// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.machine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cad.fi.Fi;
import io.cad.zookeeper.testkit.disk.Disk;
import io.cad.zookeeper.testkit.disk.FiDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Hosts of the failure-injector, one a server: each has a network of its own that can be cut, a disk, and if wanted a
 * clock. Their power loss is silent. This machine reaches all of them, whatever is cut between them.
 */
public final class NetnsHosts implements Machines, AutoCloseable {
    private static final Machine.Ports PORTS = new Machine.Ports(2181, 2888, 3888, 0);
    private static final Machine.Ports PORTS_WITH_ADMIN = new Machine.Ports(2181, 2888, 3888, 8080);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Fi fi;
    private final Path injectorRun;
    private final boolean torn;
    private long seed;
    private boolean clocks;
    private String network = "lan";

    /**
     * Makes no host yet; {@link #close} ends all of them.
     *
     * @param directory for the state of the injector; made by it
     * @param torn whether a power loss may keep a prefix of what was written and not synced, cut at a sector
     * @param seed of latencies and torn writes
     */
    public NetnsHosts(Path directory, boolean torn, long seed) {
        this(null, directory, torn, seed);
    }

    /**
     * The same with a program of one's choice.
     *
     * @param program path of {@code fi}, or null for the system property testkit.fi
     */
    public NetnsHosts(String program, Path directory, boolean torn, long seed) {
        this.injectorRun = directory;
        this.fi = new Fi(FiDisk.program(program), directory);
        this.torn = torn;
        this.seed = seed;
    }

    /** Why this machine cannot have such hosts; empty if it can. */
    public static Optional<String> missing() throws IOException {
        return missing(null);
    }

    /** @param program path of {@code fi}, or null for the system property testkit.fi */
    public static Optional<String> missing(String program) throws IOException {
        return missing(program, "namespaces", "no hosts with a network of their own here: ");
    }

    /**
     * Why this machine cannot have such hosts, or cannot limit what their processes get of its CPUs; empty if it can.
     *
     * @param program path of {@code fi}, or null for the system property testkit.fi
     */
    public static Optional<String> missingForLimits(String program) throws IOException {
        Optional<String> missing = missing(program);
        return missing.isPresent() ? missing : missing(program, "control groups", "no quota of CPU time can be set here: ");
    }

    /** Why this machine cannot have hosts {@link #withLinks}; empty if it can. */
    public static Optional<String> missingForLinks() throws IOException {
        Optional<String> missing = missing();
        return missing.isPresent() ? missing : missing(null, "tun", "no links that can be slow here: ");
    }

    private static Optional<String> missing(String program, String wanted, String what) throws IOException {
        Path nowhere = Files.createTempDirectory("injector");
        try {
            for (JsonNode check : json(new Fi(FiDisk.program(program), nowhere).call("doctor")).get("checks")) {
                if (check.get("name").asText().equals(wanted) && !check.get("ok").asBoolean()) {
                    return Optional.of(what + check.get("detail").asText());
                }
            }
            return Optional.empty();
        } finally {
            Files.deleteIfExists(nowhere);
        }
    }

    private static JsonNode json(String text) throws IOException {
        return JSON.readTree(text);
    }

    private static String host(int id) {
        return "zk" + id;
    }

    /** Gives each server that is made from now on a clock that {@link #setClockRate} can set wrong. */
    public NetnsHosts withClocks() {
        clocks = true;
        return this;
    }

    /** Lets the links between servers that are made from now on be slow; every packet passes through a program for it. */
    public NetnsHosts withLinks() {
        network = "wan";
        return this;
    }

    /**
     * What two servers send to one another is late, in both directions, and so many bits leave in a second; clients are
     * as near as before. Until {@link #heal}.
     */
    public void slowDown(int one, int other, Duration delay, long bitsPerSecond) {
        fi.call("net", "link", "--from", host(one), "--to", host(other), "--both", "--delay", delay.toMillis() + "ms",
                "--rate", Long.toString(bitsPerSecond));
    }

    /** How many seconds all clocks of a server show in one, from now on. */
    public void setClockRate(int id, double rate) {
        fi.call("clock", "set", host(id), "--clock", "all", "--rate", Double.toString(rate));
    }

    /**
     * What a running server gets of this machine's CPUs from now on.
     *
     * @param processors 0.2 for a fifth of one, 0 for all of them
     */
    public void limitProcessors(int id, double processors) {
        fi.call("proc", "cpu", host(id), "--limit", processors == 0 ? "none" : Double.toString(processors));
    }

    /** {@code to} receives nothing from {@code from} any more; nobody is told. */
    public void block(int from, int to) {
        fi.call("net", "block", "--from", host(from), "--to", host(to));
    }

    /** Cuts both directions. */
    public void cut(int one, int other) {
        fi.call("net", "block", "--from", host(one), "--to", host(other), "--both");
    }

    /** Cuts one server off from all others. */
    public void isolate(int id) {
        fi.call("net", "partition", "isolate", "--host", host(id));
    }

    /** Takes every block back, and makes all links quick again. */
    public void heal() {
        fi.call("net", "heal");
    }

    @Override
    public Machine create(int id, Path home) throws IOException {
        JsonNode added = json(fi.call("host", "add", host(id), "--kind", "netns", "--net", network));
        if (clocks) {
            fi.call("clock", "create", host(id));
        }
        return new Host(host(id), added.get("address").asText(),
                FiDisk.create(fi, host(id), home.resolve("data"), torn, seed++), clocks);
    }

    @Override
    public boolean endProcesses() {
        return true;
    }

    @Override
    public Disk.Loss powerLoss(Collection<Machine> some) throws IOException {
        List<String> words = new ArrayList<>(List.of("host", "crash"));
        for (Machine machine : some) {
            Host host = (Host) machine;
            words.add(host.name);
            host.on = false;
        }
        words.addAll(List.of(torn ? "--torn" : "--torn=false", "--seed", Long.toString(seed++)));
        Disk.Loss loss = new Disk.Loss(0, 0);
        for (JsonNode disk : json(fi.call(words.toArray(String[]::new))).get("disks")) {
            loss = loss.plus(FiDisk.loss(disk));
        }
        return loss;
    }

    @Override
    public void close() {
        if (Files.exists(injectorRun)) {
            fi.down();
        }
    }

    private final class Host implements Machine {
        private final String name;
        private final String address;
        private final Disk disk;
        private final boolean clock;
        private boolean on = true;
        private boolean started;

        Host(String name, String address, Disk disk, boolean clock) {
            this.name = name;
            this.address = address;
            this.disk = disk;
            this.clock = clock;
        }

        @Override
        public String address() {
            return address;
        }

        @Override
        public Ports ports(boolean admin) {
            return admin ? PORTS_WITH_ADMIN : PORTS;
        }

        @Override
        public Disk disk() {
            return disk;
        }

        /** Forgets the process of the life before first: the command may be another one now. */
        @Override
        public Running start(List<String> command, Path directory, Path log) throws IOException {
            if (started) {
                fi.call("proc", "remove", name);
            }
            if (!on) {
                fi.call("host", "restart", name);
                on = true;
            }
            started = true;
            List<String> words = new ArrayList<>(List.of("proc", "start", name, "--host", name, "--disk", name,
                    "--dir", directory.toString()));
            if (clock) {
                words.addAll(List.of("--clock", name));
            }
            words.addAll(List.of("--", "sh", "-c", "log=$1; shift; exec \"$@\" >>\"$log\" 2>&1", "sh", log.toString()));
            words.addAll(command);
            long pid = json(fi.call(words.toArray(String[]::new))).get("pid").asLong();
            return new Guest(pid, ProcessHandle.of(pid));
        }
    }

    private record Guest(long pid, Optional<ProcessHandle> handle) implements Running {

        @Override
        public boolean isAlive() {
            return handle.map(ProcessHandle::isAlive).orElse(false);
        }

        @Override
        public void terminate() {
            handle.ifPresent(ProcessHandle::destroy);
        }

        @Override
        public void kill() {
            handle.ifPresent(ProcessHandle::destroyForcibly);
        }

        @Override
        public boolean awaitEnd(Duration limit) throws InterruptedException {
            if (handle.isEmpty()) {
                return true;
            }
            try {
                handle.get().onExit().get(limit.toMillis(), TimeUnit.MILLISECONDS);
                return true;
            } catch (TimeoutException e) {
                return false;
            } catch (ExecutionException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public int exitStatus() {
            return UNKNOWN_STATUS;
        }
    }
}
