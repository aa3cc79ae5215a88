// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How many acknowledged writes a planned stop and a killed process take with them; disks keep everything here. */
@Timeout(240)
class StopAndKillTest {
    private static final int CLIENTS = 8;
    private static final int WINDOW = 100;

    private RunDirectory run;

    @BeforeEach
    void makeRun() throws Exception {
        run = RunDirectory.create("stop-and-kill");
    }

    @AfterEach
    void endRun() {
        run.close();
    }

    private static List<ServerProcess> others(Ensemble ensemble, ServerProcess leader) {
        return ensemble.servers().stream().filter(server -> server != leader).collect(Collectors.toList());
    }

    /** Prints the counts, and names the first of what is missing at any server. */
    private static int lost(String what, Ensemble ensemble, AcknowledgedWrites load) throws Exception {
        int lost = 0;
        for (ServerProcess server : ensemble.servers()) {
            Set<String> missing = load.missing(server.connectString());
            System.out.println(what + ": " + load + ", " + missing.size() + " missing at server " + server.id()
                    + missing.stream().limit(5).collect(Collectors.toList()));
            lost = Math.max(lost, missing.size());
        }
        return lost;
    }

    /** Each server once, the leader of the moment last: it alone may hold the newest writes. */
    @Test
    void aRollingRestartInCadAsyncLosesNothing() throws Exception {
        Ensemble ensemble = Ensemble.start(run, Mode.CAD_ASYNC.ensemble(3));
        try (AcknowledgedWrites load = AcknowledgedWrites.start(ensemble.connectString(), CLIENTS)) {
            ServerProcess leader = ensemble.awaitLeader(LIMIT);
            List<ServerProcess> order = others(ensemble, leader);
            order.add(leader);
            for (ServerProcess server : order) {
                load.awaitMore(200);
                boolean leads = server.mode().equals("leader");
                int before = load.acknowledged();
                assertEquals(143, server.stop(LIMIT), "ended by SIGTERM");
                System.out.println("stopped server " + server.id() + (leads ? " (leader)" : "") + " after " + before
                        + " acknowledged writes, " + (load.acknowledged() - before) + " during the stop");
                server.start();
                ensemble.awaitServing(LIMIT);
            }
            load.awaitMore(200);
            assertEquals(0, lost("rolling restart, cad+async", ensemble, load));
        }
    }

    @Test
    void aKilledLeaderInCadSyncTakesNothingWithIt() throws Exception {
        Ensemble ensemble = Ensemble.start(run, Mode.CAD_SYNC.ensemble(3));
        try (AcknowledgedWrites load = AcknowledgedWrites.start(ensemble.connectString(), CLIENTS)) {
            for (int round = 0; round < 2; round++) {
                load.awaitMore(200);
                ServerProcess leader = ensemble.awaitLeader(LIMIT);
                leader.kill();
                leader.awaitEnd();
                ensemble.awaitLeader(LIMIT);
                load.awaitMore(50);
                leader.start();
                ensemble.awaitServing(LIMIT);
            }
            assertEquals(0, lost("leader killed, cad+sync", ensemble, load));
        }
    }

    /** The followers stand still, so that the leader alone holds what it acknowledges: as many as the window has. */
    @Test
    @Tag("full")
    void aKilledLeaderInCadAsyncTakesNoMoreThanTheWindow() throws Exception {
        EnsembleConfig config = Mode.CAD_ASYNC.ensemble(3).cfg("cad.window.txns", "" + WINDOW);
        int lost = killLeaderWithoutFollowers("leader killed, cad+async, window " + WINDOW, config);
        assertTrue(lost > 0, "nobody acknowledged early: the test shows nothing");
        assertTrue(lost <= WINDOW, lost + " lost");
    }

    /** The same in sync: nothing is acknowledged while no quorum holds it. */
    @Test
    @Tag("full")
    void aKilledLeaderInCadSyncAcknowledgedNothingAlone() throws Exception {
        assertEquals(0, killLeaderWithoutFollowers("leader alone killed, cad+sync", Mode.CAD_SYNC.ensemble(3)));
    }

    private int killLeaderWithoutFollowers(String what, EnsembleConfig config) throws Exception {
        Ensemble ensemble = Ensemble.start(run, config);
        ServerProcess leader = ensemble.awaitLeader(LIMIT);
        try (AcknowledgedWrites load = AcknowledgedWrites.start(leader.connectString(), CLIENTS)) {
            load.awaitMore(200);
            for (ServerProcess follower : others(ensemble, leader)) {
                follower.pause();
            }
            load.awaitStall();
            // Killed followers, too: resumed ones would find the leader's proposals in their sockets.
            ensemble.killAll();
            for (ServerProcess follower : others(ensemble, leader)) {
                follower.start();
            }
            ensemble.awaitServing(LIMIT);
            // The old leader's log ends with the lost writes, and must not bring them back to some servers only.
            leader.start();
            ensemble.awaitServing(LIMIT);
            return lost(what, ensemble, load);
        }
    }
}
