// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.jepsen.checker.Report;
import io.cad.jepsen.checker.Verdict;
import io.cad.zookeeper.testkit.history.Histories;
import io.cad.zookeeper.testkit.history.Op;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
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

    private static Verdict judge(int maxRounds, String... pairs) throws Exception {
        try (RunDirectory run = RunDirectory.create("paused-leader")) {
            EnsembleConfig config = new EnsembleConfig(ServerBuild.product(), 3).cfg("syncLimit", "4");
            for (int i = 0; i < pairs.length; i += 2) {
                config.cfg(pairs[i], pairs[i + 1]);
            }
            Ensemble ensemble = Ensemble.start(run, config);
            List<Op> history = new CopyOnWriteArrayList<>();
            Verdict verdict = null;
            for (int round = 1; round <= maxRounds && (verdict == null || verdict.isValid()); round++) {
                round(ensemble, round, history);
                verdict = Histories.judge(history);
            }
            run.closeAndDelete();
            return verdict;
        }
    }

    /** A round of reads and writes at the leader that is deposed meanwhile; the reads are recorded. */
    private static void round(Ensemble ensemble, int round, List<Op> history) throws Exception {
        ServerProcess old = ensemble.awaitLeader(LIMIT);
        List<ServerProcess> others =
                ensemble.servers().stream().filter(server -> server != old).collect(Collectors.toList());
        String everybodyElse = others.stream().map(ServerProcess::connectString).collect(Collectors.joining(","));
        ZooKeeper atOld = Clients.connect(old.connectString(), LIMIT, LIMIT);
        byte[] before = {(byte) (2 * round)};
        byte[] after = {(byte) (2 * round + 1)};
        if (atOld.exists(NODE, false) == null) {
            atOld.create(NODE, before, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            atOld.create(NODE + "/written", before, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        }
        atOld.setData(NODE, before, -1);
        assertTrue(answered(read(atOld, old, history)));
        old.pause();
        try {
            Await.until("another leader", LIMIT,
                    () -> others.stream().anyMatch(server -> server.mode().equals("leader")), ensemble::toString);
            ZooKeeper elsewhere = Clients.connect(everybodyElse, LIMIT, LIMIT);
            elsewhere.setData(NODE, after, -1);
            assertTrue(answered(read(elsewhere, others.get(0), history)));
            List<CompletableFuture<Code>> reads = new ArrayList<>();
            List<CompletableFuture<Code>> writes = new ArrayList<>();
            for (int i = 0; i < REQUESTS; i++) {
                reads.add(read(atOld, old, history));
            }
            for (int i = 0; i < REQUESTS; i++) {
                writes.add(write(atOld, round + "." + i));
            }
            old.resume();
            for (CompletableFuture<Code> read : reads) {
                read.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
            }
            List<String> acknowledged = new ArrayList<>();
            for (int i = 0; i < REQUESTS; i++) {
                if (writes.get(i).get(LIMIT.toMillis(), TimeUnit.MILLISECONDS) == Code.OK) {
                    acknowledged.add(NODE + "/" + round + "." + i);
                }
            }
            for (String path : acknowledged) {
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
    }

    private static CompletableFuture<Code> read(ZooKeeper client, ServerProcess server, List<Op> history) {
        CompletableFuture<Code> reply = new CompletableFuture<>();
        long invoked = System.nanoTime();
        client.getData(NODE, false, (rc, path, context, data, stat) -> {
            Code code = Code.get(rc);
            boolean ok = code == Code.OK;
            history.add(new Op(Op.Kind.READ, Math.toIntExact(client.getSessionId() & 0xffff), server.id(), NODE, invoked,
                    System.nanoTime(), ok ? data[0] : Op.NO_VALUE, ok ? stat.getVersion() : -1, ok ? stat.getMzxid() : -1,
                    ok ? null : code.name()));
            reply.complete(code);
        }, null);
        return reply;
    }

    private static boolean answered(CompletableFuture<Code> reply) throws Exception {
        return reply.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS) == Code.OK;
    }

    private static CompletableFuture<Code> write(ZooKeeper client, String name) {
        CompletableFuture<Code> reply = new CompletableFuture<>();
        client.create(NODE + "/" + name, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
                (rc, path, context, created) -> reply.complete(Code.get(rc)), null);
        return reply;
    }

    private static void holds(String... pairs) throws Exception {
        Verdict verdict = judge(ROUNDS, pairs);
        assertTrue(verdict.isValid() && !verdict.isVacuous(), () -> new Report(verdict).text());
    }

    @Test
    void aLeaderWithoutItsLeaseAnswersNothingOldAndAcknowledgesNothingEarly() throws Exception {
        holds("cad.durability", "cad", "cad.replication", "async");
    }

    @Test
    void soDoesOneThatAcknowledgesDurably() throws Exception {
        holds("cad.durability", "immediate", "cad.reads", "leader");
    }

    @Test
    void withoutLeasesItAnswersOldReads() throws Exception {
        assertFalse(judge(CONTROL_ROUNDS, "cad.durability", "immediate", "cad.reads", "any").isValid(),
                "no round gave an old answer: the schedule does not reach what it is about");
    }
}
