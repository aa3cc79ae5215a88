// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import io.cad.zookeeper.testkit.disk.Disk;
import io.cad.zookeeper.testkit.machine.Machine;
import io.cad.zookeeper.testkit.machine.Running;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** One ZooKeeper server as a process of its own, with its configuration, disk and log file. */
public final class ServerProcess implements AutoCloseable {
    private static final String MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
    private static final Duration END_LIMIT = Duration.ofSeconds(30);
    private static final String CAUSE = "Caused by: ";
    /** A line of a stack trace that names what was thrown. */
    private static final Pattern THROWN = Pattern.compile("(" + CAUSE + ")?(\\w+\\.)+\\w*(Exception|Error)(: .*)?");

    private final int id;
    private final Machine machine;
    private final Machine.Ports ports;
    private final Path directory;
    private final Disk disk;
    private final List<String> jvmFlags;
    private ServerBuild build;
    private Map<String, String> cfg = Map.of();
    private List<String> serverLines = List.of();
    private Running process;
    private boolean paused;
    /** Whether the server was started and not ended by us since. */
    private boolean expected;

    ServerProcess(int id, Machine machine, Path directory, EnsembleConfig config) throws IOException {
        this.id = id;
        this.machine = machine;
        this.ports = machine.ports(config.adminServer());
        this.directory = directory;
        this.disk = machine.disk();
        this.jvmFlags = config.jvmFlags();
        this.build = config.build();
    }

    /** The Java that servers run on: the one of the system property testkit.java, otherwise the one of this process. */
    public static Path javaHome() {
        return Path.of(System.getProperty("testkit.java", System.getProperty("java.home")));
    }

    private List<String> command() {
        List<String> words = new ArrayList<>();
        words.add(javaHome().resolve("bin/java").toString());
        words.addAll(jvmFlags);
        words.add("-Dlogback.configurationFile=" + directory.resolve("logback.xml"));
        // A server whose files are gone must not vote as if it were new; the marker below allows the first start.
        words.add("-Dzookeeper.db.autocreate=false");
        words.add("-cp");
        words.add(build.classPath());
        words.add(MAIN_CLASS);
        words.add(configFile().toString());
        return List.copyOf(words);
    }

    /** Writes zoo.cfg, myid and the marker of a new server, and makes them durable. */
    void prepare(Map<String, String> settings, List<String> ensemble) throws IOException, InterruptedException {
        cfg = Map.copyOf(settings);
        serverLines = List.copyOf(ensemble);
        writeConfig();
        Files.write(directory.resolve("logback.xml"), resource("server-logback.xml"));
        Files.writeString(disk.directory().resolve("myid"), id + "\n");
        Files.writeString(disk.directory().resolve("initialize"), "");
        disk.sync();
    }

    /**
     * Replaces the server's jars and its {@code cad.*} lines, as an operator does between a stop and a start.
     *
     * @param cad lines of zoo.cfg that begin with {@code cad.}; the earlier ones are taken out
     */
    public synchronized void reinstall(ServerBuild newBuild, Map<String, String> cad) throws IOException {
        if (isRunning()) {
            throw new IllegalStateException("server " + id + " runs; stop it first");
        }
        build = newBuild;
        Map<String, String> settings = new LinkedHashMap<>(cfg);
        settings.keySet().removeIf(key -> key.startsWith("cad."));
        settings.putAll(cad);
        cfg = settings;
        writeConfig();
    }

    private void writeConfig() throws IOException {
        List<String> lines = new ArrayList<>();
        cfg.forEach((key, value) -> lines.add(key + "=" + value));
        lines.add("dataDir=" + disk.directory());
        lines.add("clientPort=" + ports.client());
        lines.add("clientPortAddress=" + machine.address());
        lines.add("admin.enableServer=" + (ports.admin() != 0));
        if (ports.admin() != 0) {
            lines.add("admin.serverPort=" + ports.admin());
            lines.add("admin.serverAddress=" + machine.address());
        }
        lines.addAll(serverLines);
        Files.write(configFile(), lines);
    }

    private static byte[] resource(String name) throws IOException {
        try (var in = ServerProcess.class.getResourceAsStream(name)) {
            return in.readAllBytes();
        }
    }

    String serverLine() {
        return "server." + id + "=" + machine.address() + ":" + ports.quorum() + ":" + ports.election();
    }

    public int id() {
        return id;
    }

    public int clientPort() {
        return ports.client();
    }

    /** Port of the HTTP admin server, 0 when it is off. */
    public int adminPort() {
        return ports.admin();
    }

    /** Connect string of this server alone. */
    public String connectString() {
        return machine.address() + ":" + ports.client();
    }

    public Disk disk() {
        return disk;
    }

    Machine machine() {
        return machine;
    }

    public Path configFile() {
        return directory.resolve("zoo.cfg");
    }

    public Path logFile() {
        return directory.resolve("server.log");
    }

    /** Process id of the running server. */
    public synchronized long pid() {
        requireRunning();
        return process.pid();
    }

    public synchronized boolean isRunning() {
        return process != null && process.isAlive();
    }

    /** Whether the server was started and neither stopped nor killed since; if it does not run, it ended by itself. */
    synchronized boolean isExpected() {
        return expected;
    }

    /** Starts the process and returns at once; the log file is appended to. */
    public synchronized void start() throws IOException, InterruptedException {
        if (isRunning()) {
            throw new IllegalStateException("server " + id + " already runs");
        }
        process = machine.start(command(), directory, logFile());
        paused = false;
        expected = true;
    }

    /**
     * Planned stop: SIGTERM, then waits for the end.
     *
     * @return the exit status
     * @throws TimeoutException when the server is still there after {@code limit}
     */
    public synchronized int stop(Duration limit) throws InterruptedException, TimeoutException, IOException {
        requireRunning();
        if (paused) {
            resume();
        }
        expected = false;
        process.terminate();
        if (!process.awaitEnd(limit)) {
            throw new TimeoutException("server " + id + " still runs " + limit.toMillis() + " ms after SIGTERM; see " + logFile());
        }
        return process.exitStatus();
    }

    /** Its power is about to go: that it ends is not its own doing. */
    synchronized void expectEnd() {
        expected = false;
    }

    /**
     * Deletes all data of a server that does not run, as an operator does with one that refuses to start: it will copy
     * its peers' state. Without the marker of a new server its vote does not count before it has.
     */
    public synchronized void wipe() throws IOException, InterruptedException {
        if (isRunning()) {
            throw new IllegalStateException("server " + id + " runs; stop it first");
        }
        expected = false;
        Path data = disk.directory();
        try (Stream<Path> all = Files.walk(data)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                if (!path.equals(data) && !path.equals(data.resolve("myid"))) {
                    Files.delete(path);
                }
            }
        }
        disk.sync();
    }

    /** The exception that the server logged last, or what caused it; empty if it logged none. */
    public Optional<String> lastException() throws IOException {
        return lastException(Files.readAllLines(logFile()));
    }

    static Optional<String> lastException(List<String> log) {
        return log.stream().filter(line -> THROWN.matcher(line).matches()).reduce((earlier, later) -> later)
                .map(line -> line.startsWith(CAUSE) ? line.substring(CAUSE.length()) : line);
    }

    /** SIGKILL, without waiting; see {@link #awaitEnd}. */
    public synchronized void kill() {
        expected = false;
        if (process != null) {
            process.kill();
        }
    }

    /** Waits until the process has ended, by whatever cause, and returns its exit status. */
    public int awaitEnd() throws InterruptedException, TimeoutException {
        Running ending;
        synchronized (this) {
            ending = process;
        }
        if (!ending.awaitEnd(END_LIMIT)) {
            throw new TimeoutException("server " + id + " did not end; see " + logFile());
        }
        return ending.exitStatus();
    }

    /**
     * SIGSTOP: the server answers nobody, and its sockets stay open. One of its threads takes the signal, when it gets
     * a processor; until then the others go on, so this waits for all.
     */
    public synchronized void pause() throws IOException, InterruptedException, TimeoutException {
        signal("STOP");
        Await.until("all threads of server " + id + " to stop", END_LIMIT, this::isStopped, () -> "see " + logFile());
        paused = true;
    }

    private boolean isStopped() throws IOException {
        try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
            for (Path thread : threads.toList()) {
                String stat = Files.readString(thread.resolve("stat"));
                // "TID (NAME) STATE ...", where the name may hold anything.
                if (stat.charAt(stat.lastIndexOf(')') + 2) != 'T') {
                    return false;
                }
            }
        }
        return true;
    }

    /** SIGCONT. */
    public synchronized void resume() throws IOException, InterruptedException {
        signal("CONT");
        paused = false;
    }

    private void signal(String signal) throws IOException, InterruptedException {
        requireRunning();
        Commands.run("kill", "-" + signal, Long.toString(process.pid()));
    }

    /** Sends a four-letter command and returns the reply. */
    public String fourLetterWord(String word) throws IOException {
        return FourLetterWord.send(machine.address(), ports.client(), word);
    }

    /** The metrics of {@code mntr}, without their prefix zk_. */
    public Map<String, String> metrics() throws IOException {
        return FourLetterWord.parseMntr(fourLetterWord("mntr"));
    }

    /** What the command {@code cad} answers, by field. */
    public Map<String, String> cad() throws IOException {
        return FourLetterWord.parseMntr(fourLetterWord("cad\n"));
    }

    /** The servers that a field of {@code cad} lists; none while the field is absent. */
    public Set<Integer> cadServers(String field) throws IOException {
        return Arrays.stream(cad().getOrDefault(field, "").split("[^0-9]+")).filter(id -> !id.isEmpty())
                .map(Integer::valueOf).collect(Collectors.toCollection(TreeSet::new));
    }

    Map<String, String> metricsUnchecked() {
        try {
            return metrics();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What the server calls itself: leader, follower, observer; empty when it does not serve. */
    public String mode() {
        try {
            for (String line : fourLetterWord("srvr").split("\n")) {
                if (line.startsWith("Mode: ")) {
                    return line.substring("Mode: ".length()).trim();
                }
            }
            return "";
        } catch (IOException e) {
            return "";
        }
    }

    private void requireRunning() {
        if (!isRunning()) {
            throw new IllegalStateException("server " + id + " does not run; see " + logFile());
        }
    }

    /** Kills the process if there is one, and releases the disk. */
    @Override
    public void close() throws IOException {
        Running last;
        synchronized (this) {
            kill();
            last = process;
        }
        try {
            if (last != null) {
                last.awaitEnd(END_LIMIT);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        disk.close();
    }

    @Override
    public String toString() {
        return "server " + id + " (" + connectString() + (isRunning() ? ", " + mode() : ", down") + ")";
    }
}
