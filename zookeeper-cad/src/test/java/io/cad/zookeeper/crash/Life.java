// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.crash;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.testing.LogFiles;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.PurgeTxnLog;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.persistence.CadStorage;
import org.apache.zookeeper.server.persistence.FilePadding;

/**
 * Lives a script on a traced disk and says, between its calls, what it has promised. A process of its
 * own, because a traced disk holds one. The steps are those of a server that leads, follows, falls
 * behind and is restarted; one letter each:
 *
 * <pre>
 *   A3  append 3 changes and hand them to the operating system     S  sync the log
 *   E   promise and record a new epoch                             R  finish the log file
 *   P   take a snapshot                                            G  purge old snapshots and logs
 *   D4  a leader's DIFF of 4 changes, then its epoch               T2 a leader's TRUNC of the last 2 changes
 *   N2  a leader's SNAP that lacks the last 2 changes and has 3 of its own
 *   X   stop and start again                                       K  start again over a torn record
 *   Z   be killed and start again
 * </pre>
 */
final class Life {

    /** Small, so that a script has many files of few sectors. */
    static final int PREALLOCATED = 1024;

    private final Path disk;
    private final OutputStream marks;
    private Server server;
    private long epoch;

    private Life(Path disk) throws IOException {
        this.disk = disk;
        marks = Files.newOutputStream(disk.resolve(Trace.MARKS));
        for (String directory : new String[] {"data", "log"}) {
            Files.createDirectory(disk.resolve(directory));
        }
        // Whoever installs a server makes its directories; they are older than the first crash.
        try (FileChannel root = FileChannel.open(disk, StandardOpenOption.READ)) {
            root.force(true);
        }
    }

    /** Arguments: a directory of the disk, and the script. */
    public static void main(String[] args) throws Exception {
        configure();
        Life life = new Life(Path.of(args[0]));
        life.start();
        for (String step : args[1].split(" ")) {
            life.step(step.charAt(0), step.length() > 1 ? Integer.parseInt(step.substring(1)) : 0);
        }
        life.say("end");
    }

    /** Settings of the program that lives and of the one that recovers. */
    static void configure() {
        System.setProperty("zookeeper.cad.durability", "cad");
        System.setProperty("zookeeper.admin.enableServer", "false");
        FilePadding.setPreallocSize(PREALLOCATED);
    }

    private void say(String words) throws IOException {
        marks.write((words + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private void start() throws IOException {
        say("starting");
        server = new Server(disk);
        epoch = server.epoch("currentEpoch");
        gate();
        say("started");
        // From here its peers count on all that it has.
        say("durable " + server.last());
    }

    /** What a snapshot may hold is what may be rolled back: here D is what this server has synced. */
    private void gate() throws IOException {
        Store.of(server.files.getSnapDir()).gateSnapshots(new Store.SnapshotGate() {
            @Override
            public boolean awaitDurable(long index) {
                CadStorage.log(server.files).write();
                return sync() >= index;
            }

            @Override
            public long applying() {
                return server.last();
            }
        });
    }

    private long sync() {
        try {
            long persisted = CadStorage.log(server.files).sync();
            say("durable " + persisted);
            return persisted;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void step(char letter, int n) throws IOException {
        switch (letter) {
            case 'A' -> append(n);
            case 'S' -> sync();
            case 'R' -> {
                say("rolling");
                server.files.rollLog();
                say("durable " + server.last());
            }
            case 'P' -> {
                say("snapshot");
                server.files.save(server.database.getDataTree(), new ConcurrentHashMap<>(), false);
            }
            case 'G' -> PurgeTxnLog.purge(disk.resolve("log").toFile(), disk.resolve("data").toFile(), 3);
            case 'E' -> newEpoch();
            case 'D' -> {
                accept();
                append(n);
                record();
                epoch++;
            }
            case 'T' -> truncate(n);
            case 'N' -> adopt(n);
            case 'X' -> restart();
            case 'Z' -> killed();
            case 'K' -> tear();
            default -> throw new IllegalArgumentException("no step " + letter);
        }
    }

    private void append(int n) throws IOException {
        long after = Math.max(server.last(), Indices.first(epoch));
        for (long index = after + 1; index <= after + n; index++) {
            say("append " + index);
            server.append(index);
        }
        CadStorage.log(server.files).write();
    }

    private void newEpoch() throws IOException {
        accept();
        record();
        epoch++;
    }

    private void accept() throws IOException {
        say("accepting " + (epoch + 1));
        server.peer.setAcceptedEpoch(epoch + 1);
        say("accepted " + (epoch + 1));
    }

    /** Records the epoch after the accepted one's history is here. */
    private void record() throws IOException {
        long next = epoch + 1;
        say("epoch-begin " + next + " " + server.last());
        server.peer.setCurrentEpoch(next);
        say("epoch-end " + next);
    }

    private void truncate(int n) throws IOException {
        TreeSet<Long> history = server.history();
        for (int i = 0; i < n; i++) {
            history.pollLast();
        }
        accept();
        say("cut-begin " + history.last());
        if (!server.database.truncateLog(history.last())) {
            throw new IllegalStateException("not cut at " + history.last());
        }
        say("cut-end " + history.last());
        record();
        epoch++;
    }

    /** As CadPeer.takeSnapshot does it during a SNAP. */
    private void adopt(int without) throws IOException {
        TreeSet<Long> history = server.history();
        for (int i = 0; i < without; i++) {
            history.pollLast();
        }
        accept();
        long common = history.last();
        for (int i = 1; i <= 3; i++) {
            history.add(Indices.of(epoch + 1, i));
        }
        DataTree tree = new DataTree();
        for (long index : history) {
            Request request = LogFiles.txn(index, Server.size(index));
            tree.processTxn(request.getHdr(), request.getTxn());
        }
        say("adopt-begin " + history.stream().map(String::valueOf).collect(Collectors.joining(",")));
        Store store = Store.of(server.files.getSnapDir());
        store.gateSnapshots(null);
        server.files.rollLog();
        store.adoptFor(server.files.getDataLogDir());
        store.commonHistory(common);
        server.files.save(tree, new ConcurrentHashMap<>(), true);
        store.adoptFor(null);
        say("adopt-end");
        server.database.clear();
        server.database.loadDataBase();
        record();
        epoch++;
        gate();
    }

    private void restart() throws IOException {
        server.close();
        start();
    }

    /** What was handed to the operating system is there, and nothing of it was synced. */
    private void killed() throws IOException {
        Store.forget(server.files.getDataLogDir());
        Store.forget(server.files.getSnapDir());
        start();
    }

    /** What an earlier crash may have left behind the last record; it is durable, as after a reboot. */
    private void tear() throws IOException {
        File log = newest(server.files.getDataLogDir());
        server.close();
        long at = LogFiles.positions(log).get(Long.MAX_VALUE);
        try (FileChannel channel = FileChannel.open(log.toPath(), StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[] {0, 0, 0, 0, 9, 9, 9, 9, 0, 0, 0, 90, 7, 7}), at);
            channel.force(true);
        }
        start();
    }

    private static File newest(File directory) {
        File found = null;
        for (File file : directory.listFiles((dir, name) -> name.startsWith("log."))) {
            if (found == null || Long.parseLong(file.getName().substring(4), 16)
                > Long.parseLong(found.getName().substring(4), 16)) {
                found = file;
            }
        }
        return found;
    }
}
