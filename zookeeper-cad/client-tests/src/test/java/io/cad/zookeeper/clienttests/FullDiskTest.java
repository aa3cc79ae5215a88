// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import io.cad.zookeeper.testkit.Trees;
import io.cad.zookeeper.testkit.disk.FiDisk;
import java.nio.file.Files;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A disk runs full in the middle of a log file, first a follower's, then the leader's. */
@Timeout(240)
class FullDiskTest {
    /** The exit code of docs/operations.md. */
    private static final int STORAGE_FAILED = 21;

    @Test
    void aServerWithoutSpaceEndsAndComesBackAndNothingIsLost() throws Exception {
        try (RunDirectory run = RunDirectory.create("full-disk")) {
            Ensemble ensemble = Ensemble.start(run, Mode.CAD_SYNC.ensemble(3).disks(FiDisk.provider(null, false, 1))
                    // Small, so that a write soon needs space that was not allocated before.
                    .jvmFlags("-Dzookeeper.preAllocSize=64"));
            try (AcknowledgedWrites load = AcknowledgedWrites.start(ensemble.connectString(), 6)) {
                load.awaitMore(200);
                ServerProcess leader = ensemble.awaitLeader(LIMIT);
                ServerProcess follower = ensemble.servers().stream().filter(server -> server != leader).findFirst().orElseThrow();
                for (ServerProcess victim : List.of(follower, leader)) {
                    victim.disk().setFull(true);
                    assertEquals(STORAGE_FAILED, victim.awaitEnd(), () -> "see " + victim.logFile());
                    List<String> lines = Files.readAllLines(victim.logFile());
                    assertTrue(lines.stream().anyMatch(line -> line.contains("No space left on device")
                            && line.contains("Mend the disk or free space")), () -> "see " + victim.logFile());
                    load.awaitMore(200);
                    victim.disk().setFull(false);
                    victim.start();
                    ensemble.awaitServing(LIMIT);
                    load.awaitMore(100);
                }
                for (ServerProcess server : ensemble.servers()) {
                    Set<String> missing = load.missing(server.connectString());
                    assertTrue(missing.isEmpty(), missing.size() + " of " + load + " are missing at " + server);
                }
            }
            assertEquals(List.of(), Trees.differences(ensemble.servers()));
            run.closeAndDelete();
        }
    }
}
