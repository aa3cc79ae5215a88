// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.history.Findings;
import io.cad.zookeeper.testkit.history.HistoryChecker;
import io.cad.zookeeper.testkit.history.Op;
import io.cad.zookeeper.testkit.load.LoadGenerator;
import io.cad.zookeeper.testkit.load.LoadSpec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.admin.ZooKeeperAdmin;
import org.apache.zookeeper.data.Stat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The membership changes under load: a follower leaves and joins again, then the leader does, then another follower, and
 * every server loses its power. The same schedule convicts servers that promise less.
 */
@Timeout(200)
class ReconfigurationTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration SESSION_LIMIT = Duration.ofSeconds(5);
    private static final int SERVERS = 5;
    private static final LoadSpec LOAD = new LoadSpec(10, 50, 100, 0.99, 0.7, 0.7, 23);

    private static Findings changes(RunDirectory run, Map<String, String> mode) throws Exception {
        Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.product(), SERVERS).cfg("syncLimit", "4")
                .cfg("reconfigEnabled", "true").cfg("skipACL", "yes").cfg(mode)
                .disks(FiDisk.provider(null, false, LOAD.seed())));
        List<Op> ops = new ArrayList<>();
        try (LoadGenerator load = LoadGenerator.open(LOAD, ensemble.servers(), 0)) {
            load.populate();
            load.begin(true);
            leavesAndJoins(ensemble, follower(ensemble));
            leavesAndJoins(ensemble, ensemble.awaitLeader(LIMIT));
            ops.addAll(load.end().ops());
        }
        long loss;
        try (LoadGenerator load = LoadGenerator.open(LOAD, ensemble.servers(), 1)) {
            load.begin(true);
            leavesAndJoins(ensemble, follower(ensemble));
            loss = System.nanoTime();
            ensemble.powerLoss();
            ops.addAll(load.end().ops());
        }
        long restart = System.nanoTime();
        ensemble.startAll();
        try (LoadGenerator after = LoadGenerator.open(LOAD, ensemble.servers(), 2)) {
            after.sync();
            ops.addAll(after.readAll());
        }
        assertEquals(List.of(), Trees.differences(ensemble.servers()));
        return HistoryChecker.check(ops, loss, restart);
    }

    private static ServerProcess follower(Ensemble ensemble) throws Exception {
        ServerProcess leader = ensemble.awaitLeader(LIMIT);
        return ensemble.servers().stream().filter(server -> server != leader).findFirst().orElseThrow();
    }

    private static void leavesAndJoins(Ensemble ensemble, ServerProcess server) throws Exception {
        change(ensemble, server, false);
        change(ensemble, server, true);
    }

    /** Ends when everybody that is a member answers reads by the new membership. */
    private static void change(Ensemble ensemble, ServerProcess server, boolean joins) throws Exception {
        Set<String> members = new TreeSet<>();
        String others = ensemble.servers().stream().filter(one -> one != server).map(ServerProcess::connectString)
                .collect(Collectors.joining(","));
        for (ServerProcess one : ensemble.servers()) {
            if (one != server || joins) {
                members.add("server." + one.id());
            }
        }
        try (ZooKeeperAdmin admin = new ZooKeeperAdmin(others, (int) LIMIT.toMillis(), event -> { })) {
            Await.until("server " + server.id() + (joins ? " to join" : " to leave"), LIMIT, () -> {
                try {
                    admin.reconfigure(joins ? server.serverLine() + ";" + server.connectString() : null,
                            joins ? null : Integer.toString(server.id()), null, -1, new Stat());
                } catch (KeeperException.ConnectionLossException | KeeperException.NewConfigNoQuorum
                        | KeeperException.ReconfigInProgress e) {
                    return members.equals(members(admin)); // a leader that leaves does not answer
                }
                return members.equals(members(admin));
            }, ensemble::toString);
        }
        ensemble.awaitLeader(LIMIT);
        for (ServerProcess one : ensemble.servers()) {
            // A server that has left follows on, without a lease: it serves nobody with the active set.
            if (one != server || joins) {
                Await.until("server " + one.id() + " to serve", LIMIT, () -> {
                    Clients.connect(one.connectString(), LIMIT, SESSION_LIMIT).close(1_000);
                    return true;
                }, ensemble::toString);
            }
        }
    }

    private static Set<String> members(ZooKeeperAdmin admin) throws InterruptedException {
        try {
            String config = new String(admin.getConfig(false, new Stat()), StandardCharsets.UTF_8);
            return config.lines().filter(line -> line.startsWith("server.") && line.contains("participant"))
                    .map(line -> line.substring(0, line.indexOf('='))).collect(Collectors.toCollection(TreeSet::new));
        } catch (KeeperException e) {
            return Set.of();
        }
    }

    @Test
    void nobodyReadsAnOlderStateAfterANewerOneWasRead() throws Exception {
        try (RunDirectory run = RunDirectory.create("reconfiguration")) {
            Findings findings = changes(run, Map.of("cad.durability", "cad", "cad.replication", "async", "cad.reads", "active-set"));
            assertTrue(findings.ackedWrites() > 0 && findings.freshValuesRead() > 0, findings.toString());
            assertEquals(0, findings.readsBackwards(), findings.toString());
            assertEquals(0, findings.readUpdatesLost(), findings.toString());
            run.closeAndDelete();
        }
    }

    @Test
    void uncheckedReadsGoBackOnTheSameSchedule() throws Exception {
        try (RunDirectory run = RunDirectory.create("reconfiguration-control")) {
            Findings findings = changes(run, Map.of("cad.durability", "eventual", "cad.replication", "async", "cad.reads", "any"));
            assertTrue(findings.readsBackwards() > 0, "the control was not convicted: " + findings);
            run.closeAndDelete();
        }
    }
}
