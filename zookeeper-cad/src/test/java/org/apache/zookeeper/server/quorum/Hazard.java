// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.testing.LogFiles;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.jute.BinaryInputArchive;
import org.apache.jute.BinaryOutputArchive;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.persistence.FilePadding;
import org.apache.zookeeper.server.persistence.FileSnap;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.apache.zookeeper.server.persistence.Util;
import org.apache.zookeeper.server.quorum.QuorumPeer.QuorumServer;

/**
 * What goes wrong when changes are acknowledged before they are durable, each as one scenario on files or
 * with a leader that follows a script. It uses upstream's classes alone, so the same scenario runs on the
 * stock jar ({@link StockHazards}), where it must go wrong, and on ours, where it must not.
 */
enum Hazard {

    EPOCH_AHEAD_OF_LOG("H1", "log not synced before the epoch is recorded, then a power loss") {
        @Override
        String outcome(Path directory) throws Exception {
            PowerLossDisk disk = new PowerLossDisk(directory);
            disk.live(EpochRecorder.class, mode(NO_SYNC));
            disk.losePower();
            String epoch = Files.readString(disk.path.resolve("version-2/currentEpoch")).trim();
            long last = restored(disk.path).lastProcessedZxid;
            return epoch.equals("2") && last < at(10)
                ? "currentEpoch is 2, the log that it begins with ended at 1:10 and now ends at " + Indices.format(last)
                : null;
        }
    },

    CUT_BELOW_A_SNAPSHOT("H2", "TRUNC to 1:10 with a snapshot at 1:15") {
        @Override
        String outcome(Path directory) throws Exception {
            FileTxnSnapLog files = open(directory);
            files.save(new DataTree(), new ConcurrentHashMap<>(), true);
            DataTree tree = new DataTree();
            append(files, tree, 1, 15);
            files.save(tree, new ConcurrentHashMap<>(), true);
            return cut(files, directory, 10);
        }
    },

    CUT_INTO_A_SNAPPED_RANGE("H2", "TRUNC to 1:12 of a server that got a snapshot at 1:15 and logged 1:16 to 1:20") {
        @Override
        String outcome(Path directory) throws Exception {
            FileTxnSnapLog files = open(directory);
            DataTree tree = new DataTree();
            for (long counter = 1; counter <= 15; counter++) {
                apply(tree, LogFiles.txn(at(counter)));
            }
            files.save(tree, new ConcurrentHashMap<>(), true);
            append(files, tree, 16, 20);
            return cut(files, directory, 12);
        }
    },

    TORN_RECORD("H3", "the body of the last, unsynced record did not reach the disk") {
        @Override
        String outcome(Path directory) throws Exception {
            File log = write(directory, at(1), at(10));
            Map<Long, Long> positions = LogFiles.positions(log);
            LogFiles.zero(log, positions.get(at(10)) + 20, positions.get(Long.MAX_VALUE) - 1);
            return endsAt(directory, at(9));
        }
    },

    HOLE_BEFORE_THE_NEXT_FILE("H3", "the unsynced tail of a file did not reach the disk, the next file did") {
        @Override
        String outcome(Path directory) throws Exception {
            File log = write(directory, at(1), at(10));
            write(directory, at(11), at(20));
            LogFiles.zero(log, LogFiles.positions(log).get(at(8)), log.length());
            return endsAt(directory, at(7));
        }
    },

    HOLE_BEFORE_A_NEW_EPOCH("H3", "the same, and the next file begins a new epoch") {
        @Override
        String outcome(Path directory) throws Exception {
            File log = write(directory, at(1), at(10));
            write(directory, Indices.of(2, 1), Indices.of(2, 3));
            // What a server that syncs before it opens the next file has recorded of the first one.
            Path side = Files.createDirectories(directory.resolve("cad/v1"));
            Files.writeString(side.resolve("segments"), log.getName() + " " + Long.toHexString(at(10)) + "\n");
            LogFiles.zero(log, LogFiles.positions(log).get(at(8)), log.length());
            try {
                DataTree tree = restored(directory);
                return tree.getNode(LogFiles.path(at(8))) == null && tree.lastProcessedZxid == Indices.of(2, 3)
                    ? "loaded without 1:8 to 1:10, and claims 2:3" : null;
            } catch (IOException refused) {
                return null;
            }
        }
    },

    KILLED_BEFORE_THE_SYNC("H3", "killed before the sync of 1:9, started, 1:10 to 1:20 synced in a new file; then a power loss") {
        @Override
        String outcome(Path directory) throws Exception {
            return afterTheNextServer(directory, 0, 8);
        }
    },

    UNSYNCED_SNAPSHOT("H3", "killed soon after a snapshot at 1:5, started, 1:10 to 1:20 synced; then a power loss") {
        @Override
        String outcome(Path directory) throws Exception {
            return afterTheNextServer(directory, 5, 9);
        }
    },

    BROKEN_OFF_TRUNC("H5", "the link breaks after TRUNC and a proposal, before NEWLEADER (ZOOKEEPER-5094)") {
        @Override
        String outcome(Path directory) throws Exception {
            return follow(directory, (in, out) -> {
                send(out, new QuorumPacket(Leader.TRUNC, at(5), null, null));
                Request proposal = LogFiles.txn(at(6));
                send(out, new QuorumPacket(Leader.PROPOSAL, at(6), proposal.getSerializeData(), null));
                send(out, new QuorumPacket(Leader.COMMIT, at(6), null, null));
            });
        }
    },

    /** Stock mends this itself. */
    BROKEN_OFF_SNAP("H5", "the link breaks inside a SNAP") {
        @Override
        String outcome(Path directory) throws Exception {
            return follow(directory, (in, out) -> {
                send(out, new QuorumPacket(Leader.SNAP, at(20), null, null));
                out.writeString("the first bytes of a tree", "tree");
            });
        }
    };

    private static final String MODE = "zookeeper.cad.durability";
    /** What is written and never synced is what a process leaves that is killed before its sync. */
    private static final String NO_SYNC = "-Dzookeeper.forceSync=no";

    final String number;
    final String scenario;

    Hazard(String number, String scenario) {
        this.number = number;
        this.scenario = scenario;
    }

    /** Null if the server does right, else what it does. */
    abstract String outcome(Path directory) throws Exception;

    static long at(long counter) {
        return Indices.of(1, counter);
    }

    /** Flags of a process: ours, or those for the stock jar. */
    private static List<String> mode(String... stock) {
        return System.getProperty(MODE) == null ? List.of(stock) : List.of("-D" + MODE + "=cad");
    }

    private static FileTxnSnapLog open(Path directory) throws IOException {
        FilePadding.setPreallocSize(64 * 1024);
        return new FileTxnSnapLog(directory.toFile(), directory.toFile());
    }

    private static void apply(DataTree tree, Request request) {
        tree.processTxn(request.getHdr(), request.getTxn());
    }

    static void append(FileTxnSnapLog files, DataTree tree, long from, long to) throws IOException {
        for (long counter = from; counter <= to; counter++) {
            Request request = LogFiles.txn(at(counter));
            files.append(request);
            apply(tree, request);
        }
        files.commit();
    }

    /** A log file that upstream wrote and of which nothing is recorded as synced, with the first snapshot. */
    private static File write(Path directory, long from, long to) throws IOException {
        FileTxnSnapLog files = open(directory);
        if (!new File(files.getSnapDir(), "snapshot.0").exists()) {
            files.save(new DataTree(), new ConcurrentHashMap<>(), true);
        }
        files.close();
        try (FileTxnLog log = new FileTxnLog(files.getDataLogDir())) {
            return LogFiles.write(log, files.getDataLogDir(), from, to);
        }
    }

    /** The tree of a start. */
    static DataTree restored(Path directory) throws IOException {
        FileTxnSnapLog files = open(directory);
        DataTree tree = new DataTree();
        try {
            files.restore(tree, new ConcurrentHashMap<>(), (header, record, digest) -> { });
        } finally {
            files.close();
        }
        return tree;
    }

    private static String endsAt(Path directory, long expected) {
        try {
            long last = restored(directory).lastProcessedZxid;
            return last == expected ? null : "the history ends at " + Indices.format(last);
        } catch (IOException | RuntimeException e) {
            return "refuses to start: " + e;
        }
    }

    /** A cut may be refused; if it is answered with true, nothing above it may be left. */
    private static String cut(FileTxnSnapLog files, Path directory, long counter) throws IOException {
        boolean answer;
        try {
            answer = files.truncateLog(at(counter));
        } catch (IllegalStateException refused) {
            return null;
        }
        files.close();
        DataTree tree = restored(directory);
        int nodes = (int) tree.getNode("/").getChildren().stream().filter(name -> name.startsWith("n")).count();
        return answer && (tree.lastProcessedZxid > at(counter) || nodes > counter)
            ? "truncateLog answers true, the tree then has " + nodes + " nodes and ends at "
                + Indices.format(tree.lastProcessedZxid) : null;
    }

    /** What a leader sends between the follower's promise and the end of the link. */
    interface Script {
        void run(BinaryInputArchive in, BinaryOutputArchive out) throws IOException;
    }

    /** A follower with the history 1:1 to 1:10 meets a scripted leader; memory and log must agree afterwards. */
    private static String follow(Path directory, Script script) throws Exception {
        FileTxnSnapLog files = open(directory);
        files.save(new DataTree(), new ConcurrentHashMap<>(), true);
        append(files, new DataTree(), 1, 10);
        files.close();
        Files.writeString(directory.resolve("version-2/currentEpoch"), "1");
        Files.writeString(directory.resolve("version-2/acceptedEpoch"), "1");
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
            InetSocketAddress leader = new InetSocketAddress(InetAddress.getLoopbackAddress(), listener.getLocalPort());
            QuorumPeer peer = new QuorumPeer(Map.of(1L, new QuorumServer(1, any, any, any),
                2L, new QuorumServer(2, leader, any, any)), directory.toFile(), directory.toFile(), 0, 3, 1, 1000, 5, 5, 5);
            peer.setCurrentVote(new Vote(2, at(5)));
            peer.getLastLoggedZxid();
            CompletableFuture<Void> conversation = CompletableFuture.runAsync(() -> lead(listener, script));
            Follower follower = peer.makeFollower(peer.getTxnFactory());
            peer.setFollower(follower);
            try {
                follower.followLeader();
            } finally {
                follower.shutdown();
                peer.setFollower(null);
            }
            conversation.get(30, TimeUnit.SECONDS);
            long memory = peer.getLastLoggedZxid();
            long log = peer.getTxnFactory().getLastLoggedZxid();
            peer.getTxnFactory().close();
            return memory == log ? null : "votes with " + Indices.format(memory) + " over a log that ends at "
                + Indices.format(log);
        }
    }

    private static void lead(ServerSocket listener, Script script) {
        try (Socket link = listener.accept()) {
            BinaryInputArchive in = BinaryInputArchive.getArchive(new BufferedInputStream(link.getInputStream()));
            BufferedOutputStream buffer = new BufferedOutputStream(link.getOutputStream());
            BinaryOutputArchive out = BinaryOutputArchive.getArchive(buffer);
            in.readRecord(new QuorumPacket(), "FOLLOWERINFO");
            send(out, new QuorumPacket(Leader.LEADERINFO, Indices.of(2, 0),
                ByteBuffer.allocate(4).putInt(0x10000).array(), null));
            buffer.flush();
            in.readRecord(new QuorumPacket(), "ACKEPOCH");
            script.run(in, out);
            buffer.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void send(BinaryOutputArchive out, QuorumPacket packet) throws IOException {
        out.writeRecord(packet, "packet");
    }

    /**
     * A stock server is killed with 1:9 as its last change, the next one goes on until 1:20, the power goes. What the
     * first one synced: its log, up to an index, and its first snapshot, unless that is not at 0.
     */
    private static String afterTheNextServer(Path directory, long snapshot, long synced) throws Exception {
        PowerLossDisk disk = new PowerLossDisk(directory);
        disk.live(KilledServer.class, List.of(NO_SYNC), Long.toString(snapshot), Long.toString(synced));
        disk.live(NextServer.class, mode());
        disk.losePower();
        ZKDatabase database = new ZKDatabase(open(disk.path));
        try {
            long last = database.loadDataBase();
            return last == at(20) ? null : "the history ends at " + Indices.format(last);
        } catch (IOException | RuntimeException e) {
            return "refuses to start: " + e;
        } finally {
            database.close();
        }
    }

    /** A disk of the failure-injector, on which processes live one after the other. */
    private static final class PowerLossDisk {
        private final String fi = System.getProperty("crash.fi");
        private final String injector;
        private final Map<String, String> environment = new ConcurrentHashMap<>();
        final Path path;

        PowerLossDisk(Path directory) throws IOException, InterruptedException {
            path = directory.resolve("disk");
            injector = directory.resolve("injector").toString();
            execute(Map.of(), fi, "disk", "create", "d", "--backend", "preload", "--dir", path.toString(), "--run", injector);
            execute(Map.of(), fi, "disk", "env", "d", "--run", injector).lines().map(line -> line.split("=", 2))
                .forEach(pair -> environment.put(pair[0], pair[1]));
        }

        /** Runs a program to its end; its arguments are the disk's directory and what else is given. */
        void live(Class<?> program, List<String> flags, String... arguments) throws IOException, InterruptedException {
            List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                "-Dzookeeper.admin.enableServer=false"));
            command.addAll(flags);
            command.addAll(List.of(program.getName(), path.toString()));
            command.addAll(List.of(arguments));
            execute(environment, command.toArray(String[]::new));
        }

        void losePower() throws IOException, InterruptedException {
            execute(Map.of(), fi, "disk", "crash", "d", "--run", injector);
        }
    }

    private static String execute(Map<String, String> environment, String... command)
        throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        String said;
        try (InputStream output = process.getInputStream()) {
            said = new String(output.readAllBytes(), StandardCharsets.UTF_8);
        }
        if (process.waitFor() != 0) {
            throw new IOException(String.join(" ", command) + " ended with " + process.exitValue() + ": " + said);
        }
        return said;
    }

    /** Logs ten changes as a follower that synchronises does, and records the new leader's epoch. */
    static final class EpochRecorder {

        private EpochRecorder() {
        }

        public static void main(String[] args) throws IOException {
            InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
            File directory = new File(args[0]);
            QuorumPeer peer = new QuorumPeer(Map.of(1L, new QuorumServer(1, any, any, any)), directory, directory, 0, 3, 1,
                1000, 5, 5, 5);
            FileTxnSnapLog files = peer.getTxnFactory();
            files.save(new DataTree(), new ConcurrentHashMap<>(), true);
            peer.setAcceptedEpoch(2);
            append(files, new DataTree(), 1, 10);
            peer.setCurrentEpoch(2);
            // Whoever syncs anything commits the renames of the whole file system, as ext4 does by itself after seconds.
            try (FileChannel neighbour = FileChannel.open(new File(directory, "neighbour").toPath(),
                StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                neighbour.force(true);
            }
            Runtime.getRuntime().halt(0);
        }
    }

    /** Stock's files, whatever the mode: a snapshot, changes, and the end before the last sync. */
    static final class KilledServer {

        private KilledServer() {
        }

        public static void main(String[] args) throws IOException {
            FileTxnSnapLog files = open(Path.of(args[0]));
            long snapshot = Long.parseLong(args[1]);
            DataTree tree = new DataTree();
            for (long counter = 1; counter <= snapshot; counter++) {
                apply(tree, LogFiles.txn(at(counter)));
            }
            long index = snapshot == 0 ? 0 : at(snapshot);
            new FileSnap(files.getSnapDir()).serialize(tree, new ConcurrentHashMap<>(),
                new File(files.getSnapDir(), Util.makeSnapshotName(index)), snapshot == 0);
            try (FileTxnLog log = new FileTxnLog(files.getDataLogDir())) {
                for (long counter = snapshot + 1; counter <= 9; counter++) {
                    log.append(LogFiles.txn(at(counter)));
                    log.commit();
                    if (counter == Long.parseLong(args[2])) {
                        sync(LogFiles.file(files.getDataLogDir(), at(snapshot + 1)));
                    }
                }
                Runtime.getRuntime().halt(0);
            }
        }

        private static void sync(File file) throws IOException {
            try (FileChannel channel = FileChannel.open(file.toPath(), StandardOpenOption.WRITE)) {
                channel.force(true);
            }
        }
    }

    /** Starts on what it finds, goes on, and syncs what it writes. */
    static final class NextServer {

        private NextServer() {
        }

        public static void main(String[] args) throws IOException {
            FileTxnSnapLog files = open(Path.of(args[0]));
            long last = new ZKDatabase(files).loadDataBase();
            if (last != at(9)) {
                throw new IOException("a killed process loses nothing, but the history ends at " + Indices.format(last));
            }
            append(files, new DataTree(), 10, 20);
            Runtime.getRuntime().halt(0);
        }
    }
}
