// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import io.cad.zookeeper.testkit.Trees;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A backup of a running server, and its restore on all servers, as docs/operations.md describes them. */
@Timeout(240)
class BackupTest {

    @Test
    void aCopyOfARunningLeaderHoldsWhatWasAcknowledgedBefore() throws Exception {
        try (RunDirectory run = RunDirectory.create("backup")) {
            Ensemble ensemble = Ensemble.start(run, Mode.CAD_ASYNC.ensemble(3).cfg("snapCount", "200")
                    .jvmFlags("-Dzookeeper.preAllocSize=64"));
            Path backup = Files.createDirectory(run.path().resolve("backup"));
            Set<String> before;
            AcknowledgedWrites load = AcknowledgedWrites.start(ensemble.connectString(), 6);
            try (load) {
                load.awaitMore(600);
                ServerProcess leader = ensemble.awaitLeader(LIMIT);
                before = load.acknowledgedNow();
                Path version = leader.disk().directory().resolve("version-2");
                copy(version, "snapshot.", backup);
                copy(version, "log.", backup);
                load.awaitMore(200);
            }
            assertTrue(files(backup, "snapshot.").size() > 1, "no snapshot but the first was copied");
            ensemble.killAll();
            for (ServerProcess server : ensemble.servers()) {
                Path data = server.disk().directory();
                delete(data.resolve("version-2"));
                delete(data.resolve("cad"));
                Files.createDirectory(data.resolve("version-2"));
                copy(backup, "", data.resolve("version-2"));
            }
            ensemble.startAll();
            for (ServerProcess server : ensemble.servers()) {
                Set<String> missing = load.missingNow(server.connectString(), before);
                assertTrue(missing.isEmpty(), missing.size() + " of " + before.size() + " are missing at " + server);
            }
            assertTrue(!load.missingNow(ensemble.server(1).connectString()).isEmpty(), "it is the backup that serves");
            assertEquals(List.of(), Trees.differences(ensemble.servers()));
            run.closeAndDelete();
        }
    }

    private static List<Path> files(Path directory, String prefix) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.filter(file -> file.getFileName().toString().startsWith(prefix)).toList();
        }
    }

    private static void copy(Path from, String prefix, Path to) throws IOException {
        for (Path file : files(from, prefix)) {
            Files.copy(file, to.resolve(file.getFileName()));
        }
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}
