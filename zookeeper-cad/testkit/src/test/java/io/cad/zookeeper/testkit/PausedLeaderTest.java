// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A leader is paused until the others have elected another one, written and read; meanwhile its clients go on asking.
 * When it runs again, it does not know that it was deposed, but its lease is over: it answers nothing old.
 */
@Timeout(240)
class PausedLeaderTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final String NODE = "/node";
    /** Requests that wait at the paused leader; the first ones are read before it looks for its followers. */
    private static final int REQUESTS = 20;
    private static final int ROUNDS = 2;
    /** A deposed leader that may answer notices soon that it has lost its followers; sooner or later it is too late. */
    private static final int CONTROL_ROUNDS = 10;

    /** What clients of the deposed leader saw. */
    private static final class Outcome {
        int stale;
        final List<String> acknowledged = new ArrayList<>();
    }

    private static int staleReads(int maxRounds, String... pairs) throws Exception {
        try (RunDirectory run = RunDirectory.create("paused-leader")) {
            EnsembleConfig config = new EnsembleConfig(ServerBuild.product(), 3).cfg("syncLimit", "4");
            for (int i = 0; i < pairs.length; i += 2) {
                config.cfg(pairs[i], pairs[i + 1]);
            }
            Ensemble ensemble = Ensemble.start(run, config);
            int stale = 0;
            for (int round = 1; round <= maxRounds && stale == 0; round++) {
                stale = round(ensemble, round).stale;
            }
            run.closeAndDelete();
            return stale;
        }
    }

    private static Outcome round(Ensemble ensemble, int round) throws Exception {
        ServerProcess old = ensemble.awaitLeader(LIMIT);
        List<ServerProcess> others =
                ensemble.servers().stream().filter(server -> server != old).collect(Collectors.toList());
        String everybodyElse = others.stream().map(ServerProcess::connectString).collect(Collectors.joining(","));
        ZooKeeper atOld = Clients.connect(old.connectString(), LIMIT, LIMIT);
        byte[] before = ("before " + round).getBytes(StandardCharsets.UTF_8);
        byte[] after = ("after " + round).getBytes(StandardCharsets.UTF_8);
        if (atOld.exists(NODE, false) == null) {
            atOld.create(NODE, before, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            atOld.create(NODE + "/written", before, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        }
        atOld.setData(NODE, before, -1);
        assertEquals(new String(before), new String(atOld.getData(NODE, false, null)));
        old.pause();
        Outcome outcome = new Outcome();
        try {
            Await.until("another leader", LIMIT,
                    () -> others.stream().anyMatch(server -> server.mode().equals("leader")), ensemble::toString);
            ZooKeeper elsewhere = Clients.connect(everybodyElse, LIMIT, LIMIT);
            elsewhere.setData(NODE, after, -1);
            assertEquals(new String(after), new String(elsewhere.getData(NODE, false, null)));
            List<CompletableFuture<String>> reads = new ArrayList<>();
            List<CompletableFuture<Code>> writes = new ArrayList<>();
            for (int i = 0; i < REQUESTS; i++) {
                reads.add(read(atOld));
            }
            for (int i = 0; i < REQUESTS; i++) {
                writes.add(write(atOld, round + "." + i));
            }
            old.resume();
            for (CompletableFuture<String> read : reads) {
                String seen = read.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
                outcome.stale += new String(before).equals(seen) ? 1 : 0;
            }
            for (int i = 0; i < REQUESTS; i++) {
                if (writes.get(i).get(LIMIT.toMillis(), TimeUnit.MILLISECONDS) == Code.OK) {
                    outcome.acknowledged.add(NODE + "/" + round + "." + i);
                }
            }
            for (String path : outcome.acknowledged) {
                elsewhere.sync("/", (rc, p, ctx) -> { }, null);
                assertTrue(elsewhere.exists(path, false) != null, path + " was acknowledged by the deposed leader and is lost");
            }
            elsewhere.close();
        } finally {
            if (old.isRunning()) {
                old.resume();
            }
        }
        atOld.close();
        ensemble.awaitServing(LIMIT);
        return outcome;
    }

    /** Completes with null if the request was not answered. */
    private static CompletableFuture<String> read(ZooKeeper client) {
        CompletableFuture<String> reply = new CompletableFuture<>();
        client.getData(NODE, false, (rc, path, context, data, stat) ->
                reply.complete(rc == Code.OK.intValue() ? new String(data, StandardCharsets.UTF_8) : null), null);
        return reply;
    }

    private static CompletableFuture<Code> write(ZooKeeper client, String name) {
        CompletableFuture<Code> reply = new CompletableFuture<>();
        client.create(NODE + "/" + name, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
                (rc, path, context, created) -> reply.complete(Code.get(rc)), null);
        return reply;
    }

    @Test
    void aLeaderWithoutItsLeaseAnswersNothingOldAndAcknowledgesNothingEarly() throws Exception {
        assertEquals(0, staleReads(ROUNDS, "cad.durability", "cad", "cad.replication", "async"));
    }

    @Test
    void soDoesOneThatAcknowledgesDurably() throws Exception {
        assertEquals(0, staleReads(ROUNDS, "cad.durability", "immediate", "cad.reads", "leader"));
    }

    @Test
    void withoutLeasesItAnswersOldReads() throws Exception {
        assertTrue(staleReads(CONTROL_ROUNDS, "cad.durability", "immediate", "cad.reads", "any") > 0,
                "no round gave an old answer: the schedule does not reach what it is about");
    }
}
