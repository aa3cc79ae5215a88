// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Await;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import io.cad.zookeeper.testkit.Trees;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A server that lost its disk and one that did not: an empty vote would let them go on without what only the third one
 * has. With {@code db.autocreate=false}, as all servers here run, its vote does not count.
 */
@Timeout(240)
class WipedServerTest {

    /** What the other server hears: an index below every index. */
    private static final String EMPTY_VOTE = "n.zxid:0xffffffffffffffff";

    private Ensemble ensemble;
    private AcknowledgedWrites load;

    /** Stops all three servers, empties the first and starts it together with the second. */
    private void wipe(RunDirectory run, boolean marker) throws Exception {
        ensemble = Ensemble.start(run, Mode.CAD_SYNC.ensemble(3));
        try (AcknowledgedWrites writes = AcknowledgedWrites.start(ensemble.connectString(), 4)) {
            writes.awaitMore(200);
            load = writes;
        }
        ensemble.stopAll(LIMIT);
        if (marker) {
            startEmpty(ensemble.server(1));
        } else {
            ensemble.server(1).wipe();
            ensemble.server(1).start();
        }
        ensemble.server(2).start();
    }

    @Test
    void itDoesNotVoteBeforeItHasSynchronised() throws Exception {
        try (RunDirectory run = RunDirectory.create("wiped-server")) {
            wipe(run, false);
            Path heard = ensemble.server(2).logFile();
            Await.until("the empty vote to be heard three times", LIMIT, () -> emptyVotes(heard) >= 3, ensemble::toString);
            assertTrue(ensemble.leader().isEmpty(), "an empty vote was counted");
            ensemble.server(3).start();
            ensemble.awaitServing(LIMIT);
            for (ServerProcess server : ensemble.servers()) {
                assertEquals(0, load.missingNow(server.connectString()).size());
            }
            assertEquals(List.of(), Trees.differences(ensemble.servers()));
            run.closeAndDelete();
        }
    }

    private static long emptyVotes(Path log) throws IOException {
        try (Stream<String> lines = Files.lines(log)) {
            return lines.filter(line -> line.contains("n.sid:1") && line.contains(EMPTY_VOTE)).count();
        }
    }

    /**
     * Two servers that lost their disks elect one another while the third is paused. It knows what they lost, and does
     * not take over their empty history; what it kept brings everything back (rule E7).
     */
    @Test
    void whoKnowsBetterDoesNotFollowEmptyServers() throws Exception {
        try (RunDirectory run = RunDirectory.create("wiped-server")) {
            ensemble = Ensemble.start(run, Mode.CAD_SYNC.ensemble(3));
            ServerProcess witness = ensemble.server(3);
            try (AcknowledgedWrites writes = AcknowledgedWrites.start(ensemble.connectString(), 4)) {
                writes.awaitMore(200);
                load = writes;
            }
            assertEquals(0, load.missingNow(witness.connectString()).size());
            witness.pause();
            List<ServerProcess> wiped = ensemble.others(witness);
            ensemble.kill(wiped);
            for (ServerProcess server : wiped) {
                startEmpty(server);
            }
            Await.until("an empty server to lead", LIMIT, () -> anyLeads(wiped), ensemble::toString);
            witness.resume();
            Await.until("the third server to refuse it", LIMIT, () -> refuses(witness), ensemble::toString);
            // As its log says. Of an empty server and the third only the third can lead.
            ensemble.kill(wiped);
            startEmpty(wiped.get(0));
            Await.until("the third server to lead", LIMIT, () -> anyLeads(List.of(witness)), ensemble::toString);
            startEmpty(wiped.get(1));
            ensemble.awaitServing(LIMIT);
            for (ServerProcess server : ensemble.servers()) {
                assertEquals(0, load.missingNow(server.connectString()).size());
            }
            assertEquals(List.of(), Trees.differences(ensemble.servers()));
            run.closeAndDelete();
        }
    }

    /** With the marker that makes them vote. */
    private static void startEmpty(ServerProcess server) throws Exception {
        server.wipe();
        Files.writeString(server.disk().directory().resolve("initialize"), "");
        server.start();
    }

    private static boolean anyLeads(List<ServerProcess> servers) {
        return servers.stream().anyMatch(server -> "leader".equals(server.mode()));
    }

    private static boolean refuses(ServerProcess server) throws IOException {
        try (Stream<String> lines = Files.lines(server.logFile())) {
            return lines.anyMatch(line -> line.contains("It does not follow, and keeps its data"));
        }
    }

    /** The control: the marker of zkServer-initialize.sh, which is for new ensembles, makes the empty server a voter. */
    @Test
    void theMarkerOfANewServerMakesItVote() throws Exception {
        try (RunDirectory run = RunDirectory.create("wiped-server")) {
            wipe(run, true);
            ensemble.awaitLeader(LIMIT);
            run.closeAndDelete();
        }
    }
}
