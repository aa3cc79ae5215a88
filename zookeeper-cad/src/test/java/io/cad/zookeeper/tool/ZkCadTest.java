// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.testing.LogFiles;
import io.cad.zookeeper.testing.Settings;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FilePadding;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an operator sees and gets, on directories that real servers' classes wrote. */
class ZkCadTest {

    @TempDir
    Path temp;

    private Settings settings;
    private File directory;
    private String said;

    @BeforeEach
    void open() throws IOException {
        FilePadding.setPreallocSize(64 * 1024);
        settings = Settings.of("cad.durability", "cad");
        FileTxnSnapLog files = files();
        directory = files.getDataLogDir();
        Store.of(directory).listen(index -> { }, 0);
        files.save(new DataTree(), new ConcurrentHashMap<>(), true);
        Store.of(directory).recordEpoch(1);
        epoch(1);
        append(files, 1, 20);
        files.close();
    }

    @AfterEach
    void close() throws IOException {
        Store.forget(directory);
        settings.close();
    }

    private static long at(long counter) {
        return Indices.of(1, counter);
    }

    private FileTxnSnapLog files() throws IOException {
        return new FileTxnSnapLog(temp.toFile(), temp.toFile());
    }

    private static void append(FileTxnSnapLog files, long from, long to) throws IOException {
        for (long counter = from; counter <= to; counter++) {
            files.append(LogFiles.txn(at(counter)));
        }
        files.commit();
    }

    private void separateLog() throws IOException {
        Store.forget(directory);
        Files.createDirectories(temp.resolve("data"));
        Files.move(temp.resolve("version-2"), temp.resolve("data/version-2"));
        Files.createDirectories(temp.resolve("log/version-2"));
        for (File log : temp.resolve("data/version-2").toFile().listFiles((dir, name) -> name.startsWith("log."))) {
            Files.move(log.toPath(), temp.resolve("log/version-2").resolve(log.getName()));
        }
        Files.move(temp.resolve("cad"), temp.resolve("log/cad"));
    }

    private int check(Path... directories) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        List<String> words = new ArrayList<>(List.of("log", "check"));
        for (Path path : directories) {
            words.add(path.toString());
        }
        int code = ZkCad.run(words.toArray(new String[0]), out, out);
        said = bytes.toString(StandardCharsets.UTF_8);
        return code;
    }

    /** The wrong way round there would be no log, which looks sound. */
    @Test
    void directoriesTheWrongWayRoundAreNamed() throws IOException {
        separateLog();
        assertEquals(0, check(temp.resolve("data"), temp.resolve("log")), () -> said);
        assertTrue(said.contains("sound: the history ends at 1:20"), said);
        assertEquals(255, check(temp.resolve("log"), temp.resolve("data")), () -> said);
        assertTrue(said.contains("name the dataDir first"), said);
    }

    /** An exception that nobody caught would end with 1, which means corrupt. */
    @Test
    void whatCannotBeReadIsAFailureAndNotCorrupt() throws IOException {
        File segments = new File(Store.sideDirectory(directory), Store.SEGMENTS);
        Files.writeString(segments.toPath(), "log.100000001 twenty\n");
        Map<String, String> before = LogFiles.contents(temp.toFile());
        assertEquals(255, run("check"), () -> said);
        assertTrue(said.contains("Cannot read " + segments), said);
        assertEquals(255, run("repair"), () -> said);
        assertEquals(before, LogFiles.contents(temp.toFile()));
    }

    /** What upstream's files say, of whatever server. */
    private void epoch(long epoch) throws IOException {
        Files.writeString(temp.resolve("version-2/currentEpoch"), Long.toString(epoch));
        Files.writeString(temp.resolve("version-2/acceptedEpoch"), Long.toString(epoch));
    }

    private int run(String... words) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        String[] all = new String[words.length + 2];
        all[0] = "log";
        System.arraycopy(words, 0, all, 1, words.length);
        all[words.length + 1] = temp.toString();
        int code = ZkCad.run(all, out, out);
        said = bytes.toString(StandardCharsets.UTF_8);
        return code;
    }

    /** The last change that a server finds: of ours, or a stock one. */
    private long restored() throws IOException {
        Store.forget(directory);
        DataTree tree = new DataTree();
        FileTxnSnapLog files = files();
        files.restore(tree, new ConcurrentHashMap<>(), (header, record, digest) -> { });
        files.close();
        return tree.lastProcessedZxid;
    }

    /** What a leader's TRUNC does, to ours or a stock server. */
    private void cut(long counter) throws IOException {
        FileTxnSnapLog files = files();
        assertTrue(files.truncateLog(at(counter)));
        files.close();
    }

    /** A record above the mark that only half reached the disk. */
    private void tear() throws IOException {
        FileTxnSnapLog files = files();
        append(files, 21, 25);
        files.close();
        File log = LogFiles.file(directory, at(21));
        // As if the last sync had never been: the mark and the end of the file are not recorded.
        Store.of(directory).mark().lower(at(22));
        Files.writeString(new File(Store.sideDirectory(directory), Store.SEGMENTS).toPath(),
            LogFiles.file(directory, at(1)).getName() + " " + Long.toHexString(at(20)) + "\n");
        Store.forget(directory);
        Map<Long, Long> positions = LogFiles.positions(log);
        // The sector with the end of the record did reach it.
        LogFiles.zero(log, positions.get(at(24)) + 20, positions.get(at(25)) - 1);
    }

    @Test
    void soundDirectoriesAreLeftAlone() throws IOException {
        Map<String, String> before = LogFiles.contents(temp.toFile());
        assertEquals(0, run("check"), () -> said);
        assertTrue(said.contains("log.100000001: 20 records, 1:1 to 1:20, finished"), said);
        assertTrue(said.contains("sound: the history ends at 1:20"), said);
        assertEquals(before, LogFiles.contents(temp.toFile()));
    }

    @Test
    void aTornTailNeedsRepairAndStockThenReadsIt() throws IOException {
        tear();
        Map<String, String> before = LogFiles.contents(temp.toFile());
        assertEquals(2, run("check"), () -> said);
        assertTrue(said.contains("is torn"), said);
        assertEquals(before, LogFiles.contents(temp.toFile()), "a check changes nothing");
        try (Settings stock = Settings.of()) {
            assertThrows(IOException.class, this::restored, "else stock needs no repair");
        }
        assertEquals(0, run("repair", "--for-stock"), () -> said);
        assertTrue(said.contains("ready for a stock server"), said);
        try (Settings stock = Settings.of()) {
            assertEquals(at(23), restored());
        }
        assertEquals(0, run("check"), () -> said);
    }

    @Test
    void corruptionIsRefusedUnchanged() throws IOException {
        File log = LogFiles.file(directory, at(1));
        LogFiles.zero(log, LogFiles.positions(log).get(at(12)) + 20, LogFiles.positions(log).get(at(13)));
        Map<String, String> before = LogFiles.contents(temp.toFile());
        assertEquals(1, run("check"), () -> said);
        assertEquals(1, run("repair"), () -> said);
        assertTrue(said.contains("restore this server from its peers"), said);
        assertEquals(before, LogFiles.contents(temp.toFile()));
    }

    /** Rolled back to stock without a repair, cut there by a new leader, and back to CAD. */
    @Test
    void recordsThatAStockServerMadeStaleAreDropped() throws IOException {
        Store.forget(directory);
        try (Settings stock = Settings.of()) {
            cut(12);
            epoch(2);
        }
        assertEquals(2, run("check"), () -> said);
        assertTrue(said.contains("a server without CAD ran here"), said);
        assertEquals(at(12), restored(), "the start drops what no longer holds");
        assertEquals(0, Store.of(directory).mark().value());
        assertEquals(0, run("check"), () -> said);
    }

    /** The same short log without a stock server's epoch has lost what was synced. */
    @Test
    void aShortLogOfOurOwnEpochIsCorrupt() throws IOException {
        Store.forget(directory);
        try (Settings stock = Settings.of()) {
            cut(12);
        }
        assertEquals(1, run("check"), () -> said);
        assertThrows(IOException.class, this::restored);
    }

    @Test
    void whatWasRolledBackIsShown() throws IOException {
        cut(17);
        assertEquals(0, run("show", "--rolled-back"), () -> said);
        for (long counter = 18; counter <= 20; counter++) {
            assertTrue(said.contains("1:" + counter + " 0x1000000"), said);
            assertTrue(said.contains("create " + LogFiles.path(at(counter)) + " (20 bytes)"), said);
        }
        assertFalse(said.contains(LogFiles.path(at(17)) + " "), said);
        assertEquals(0, run("show", "--from", "1:16"), () -> said);
        assertTrue(said.contains(LogFiles.path(at(16)) + " "), said);
        assertFalse(said.contains(LogFiles.path(at(15)) + " "), said);
        assertEquals(0, run("check"), () -> said);
        assertTrue(said.contains("rolled back: "), said);
    }

    @Test
    void wrongArgumentsAreNamed() {
        assertEquals(254, run("mend"));
        assertEquals(254, ZkCad.run(new String[] {"log", "mend", "nowhere"}, System.out, System.err), "whatever it is for");
        assertEquals(254, ZkCad.run(new String[] {"log"}, System.out, System.err));
        assertEquals(254, ZkCad.run(new String[] {}, System.out, System.err));
        assertEquals(254, run("show", "--from", "yesterday"));
        assertEquals(254, run("repair", "--forstock"), "a misspelt option is no directory");
        assertTrue(said.contains("no option --forstock"), said);
        assertEquals(254, run("check", "--for-stock"), "an option that would be ignored");
        assertEquals(254, run("check", "elsewhere", "nowhere"));
        assertEquals(254, ZkCad.run(new String[] {"log", "check"}, System.out, System.err));
        assertEquals(255, ZkCad.run(new String[] {"log", "check", temp.resolve("nothing").toString()}, System.out,
            System.err));
    }
}
