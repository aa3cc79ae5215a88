// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.jepsen.checker.Report;
import io.cad.jepsen.checker.Verdict;
import io.cad.zookeeper.testkit.load.LoadSpec;
import io.cad.zookeeper.testkit.machine.NetnsHosts;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The scenarios of the paper's figures with five real servers: the wrong outcome where the mode, or a clock outside of
 * its bound, allows it, the right one in ours. As in the paper S1 leads and S5 is the follower that is cut off.
 */
@Timeout(240)
class FiguresTest {
    private static final long OLD = 1;
    private static final long NEW = 2;
    /** Nothing is synced unless somebody needs it. */
    private static final String[] LAZY =
        {"cad.flush.interval", "60000", "cad.flush.bytes", "1000000000", "cad.window.ms", "60000"};

    @BeforeAll
    static void hosts() throws Exception {
        HostRun.assumeHosts();
    }

    /** Servers of one scenario, S1 to S5 with S1 as the leader. */
    private static final class Scene implements AutoCloseable {
        final HostRun run;
        private final List<PinnedClient> clients = new ArrayList<>();
        private List<ServerProcess> cast;

        Scene(String[] mode, String... more) throws Exception {
            this(plain -> plain, mode, more);
        }

        Scene(UnaryOperator<NetnsHosts> special, String[] mode, String... more) throws Exception {
            List<String> pairs = new ArrayList<>(List.of(mode));
            pairs.addAll(List.of(more));
            run = new HostRun("figure", new LoadSpec(1, 1, 8, 0, 0, 0, 1), special, pairs.toArray(String[]::new));
        }

        Scene start() throws Exception {
            run.ensemble.startAll();
            cast = new ArrayList<>(List.of(run.ensemble.awaitLeader(HostRun.LIMIT)));
            cast.addAll(run.others(cast.get(0)));
            return this;
        }

        /** Sum of the metrics whose names begin like this. */
        double count(int n, String prefix) throws Exception {
            return s(n).metrics().entrySet().stream().filter(entry -> entry.getKey().contains(prefix))
                    .mapToDouble(entry -> Double.parseDouble(entry.getValue())).sum();
        }

        ServerProcess s(int n) {
            return cast.get(n - 1);
        }

        PinnedClient at(int n) throws Exception {
            PinnedClient client = new PinnedClient(run.ops, clients.size() + 1, s(n));
            clients.add(client);
            return client;
        }

        void cut(int one, int other) {
            run.hosts.cut(s(one).id(), s(other).id());
        }

        Verdict end() throws Exception {
            Verdict verdict = run.judge();
            System.out.print(new Report(verdict).text());
            return verdict;
        }

        @Override
        public void close() throws Exception {
            for (PinnedClient client : clients) {
                client.close();
            }
            run.close();
        }
    }

    private static final String[] WEAK = {"cad.durability", "eventual", "cad.replication", "sync", "cad.reads", "any"};
    private static final String[] WEAK_ASYNC = {"cad.durability", "eventual", "cad.replication", "async", "cad.reads", "any"};
    private static final String[] STOCK = {"cad.durability", "immediate", "cad.reads", "any"};
    private static final String[] ORCA = {"cad.durability", "cad", "cad.replication", "sync", "cad.reads", "active-set"};
    private static final String[] ORCA_ASYNC = {"cad.durability", "cad", "cad.replication", "async", "cad.reads", "active-set"};

    private static void holds(Scene scene) throws Exception {
        Verdict verdict = scene.end();
        assertTrue(verdict.isValid(), () -> new Report(verdict).text());
        scene.run.delete();
    }

    private static void isConvicted(Scene scene) throws Exception {
        assertFalse(scene.end().isValid(), "the checker found nothing");
        scene.run.delete();
    }

    // ---- Figure 1: what was read from memory is gone

    /** S1 to S3 hold b in memory, it is read, S3 loses its power and leads those who never saw b. */
    private static OptionalLong figure1i(Scene scene) throws Exception {
        scene.start();
        PinnedClient client = scene.at(1);
        client.create("/a", OLD);
        client.create("/b", OLD);
        assertEquals(OptionalLong.of(OLD), client.read("/b"));
        for (int slow : new int[] {4, 5}) {
            for (int fast : new int[] {1, 2, 3}) {
                scene.cut(slow, fast);
            }
        }
        client.set("/b", NEW);
        assertEquals(OptionalLong.of(NEW), client.read("/b"));
        scene.s(1).pause();
        scene.s(2).pause();
        scene.run.ensemble.powerLoss(List.of(scene.s(3)));
        // What the others' kernels still send to them finds nobody any more.
        Await.until("S4 and S5 to miss their leader", HostRun.LIMIT,
                () -> scene.s(4).mode().isEmpty() && scene.s(5).mode().isEmpty(), scene.run.ensemble::toString);
        scene.run.hosts.heal();
        scene.s(3).start();
        try (PinnedClient later = new PinnedClient(scene.run.ops, 9, scene.s(4))) {
            return later.read("/b");
        }
    }

    @Test
    void figure1iWithEventualDurabilityAReadUpdateIsLost() throws Exception {
        try (Scene scene = new Scene(WEAK, LAZY)) {
            assertEquals(OptionalLong.of(OLD), figure1i(scene));
            isConvicted(scene);
        }
    }

    @Test
    void figure1iWithCadWhatWasReadIsDurable() throws Exception {
        try (Scene scene = new Scene(ORCA, LAZY)) {
            assertEquals(OptionalLong.of(NEW), figure1i(scene));
            holds(scene);
        }
    }

    /** S1 acknowledges b before anybody else has it, b is read there, S1 is gone; what do the others say? */
    private static OptionalLong figure1ii(Scene scene, boolean mayBeRead) throws Exception {
        scene.start();
        PinnedClient client = scene.at(1);
        client.create("/b", OLD);
        assertEquals(OptionalLong.of(OLD), client.read("/b"));
        scene.run.hosts.isolate(scene.s(1).id());
        client.set("/b", NEW);
        assertEquals(mayBeRead ? OptionalLong.of(NEW) : OptionalLong.empty(), client.read("/b"));
        scene.run.ensemble.powerLoss(List.of(scene.s(1)));
        scene.run.hosts.heal();
        scene.run.awaitAnotherLeader(scene.s(1));
        return scene.at(2).read("/b");
    }

    /** As long as the leader needs to acknowledge once after it was cut off. */
    private static final String[] LONG_LEASE = {"cad.leader.lease", "3000", "cad.window.ms", "60000",
        "cad.flush.interval", "60000", "cad.flush.bytes", "1000000000"};

    @Test
    void figure1iiWithEventualDurabilityAReadUpdateIsLost() throws Exception {
        try (Scene scene = new Scene(WEAK_ASYNC, LONG_LEASE)) {
            assertEquals(OptionalLong.of(OLD), figure1ii(scene, true));
            isConvicted(scene);
        }
    }

    /** The acknowledged update is lost here too; nobody had seen it. */
    @Test
    void figure1iiWithCadNobodyReadsWhatMayBeLost() throws Exception {
        try (Scene scene = new Scene(ORCA_ASYNC, LONG_LEASE)) {
            assertEquals(OptionalLong.of(OLD), figure1ii(scene, false));
            holds(scene);
        }
    }

    // ---- Figures 4 and 5: a follower that is cut off

    /** S5 is cut off, a is written and read anew at S1; what does S5 say? */
    private static OptionalLong cutOff(Scene scene) throws Exception {
        PinnedClient writer = scene.at(1);
        PinnedClient reader = scene.at(5);
        writer.create("/a", OLD);
        Await.until("S5 to have a", HostRun.LIMIT, () -> reader.read("/a").equals(OptionalLong.of(OLD)),
                scene.run.ensemble::toString);
        scene.run.hosts.isolate(scene.s(5).id());
        writer.set("/a", NEW);
        assertEquals(OptionalLong.of(NEW), writer.read("/a"));
        return reader.read("/a");
    }

    @Test
    void figure4WithReadsAnywhereAFollowerThatIsCutOffAnswersOldReads() throws Exception {
        try (Scene scene = new Scene(STOCK).start()) {
            assertEquals(OptionalLong.of(OLD), cutOff(scene));
            isConvicted(scene);
        }
    }

    @Test
    void figure4WithTheActiveSetItAnswersNothing() throws Exception {
        try (Scene scene = new Scene(ORCA).start()) {
            assertEquals(OptionalLong.empty(), cutOff(scene));
            holds(scene);
        }
    }

    /** S5's clock is so slow that the leader removes it before it marks itself out: what the bound on clocks excludes. */
    @Test
    void figure5iAFollowerRemovedBeforeItMarksItselfOutAnswersOldReads() throws Exception {
        try (Scene scene = new Scene(NetnsHosts::withClocks, ORCA).start()) {
            scene.run.hosts.setClockRate(scene.s(5).id(), 0.02);
            assertEquals(OptionalLong.of(OLD), cutOff(scene));
            isConvicted(scene);
        }
    }

    @Test
    void figure5iWithAClockWithinTheBoundItMarksItselfOutFirst() throws Exception {
        try (Scene scene = new Scene(NetnsHosts::withClocks, ORCA).start()) {
            scene.run.hosts.setClockRate(scene.s(5).id(), 0.92);
            assertEquals(OptionalLong.empty(), cutOff(scene));
            holds(scene);
        }
    }

    /** First the follower marks itself out, then the leader removes it and answers; after the heal it is back. */
    @Test
    void figure5iiAFollowerMarksItselfOutThenTheLeaderRemovesIt() throws Exception {
        try (Scene scene = new Scene(ORCA).start()) {
            scene.run.awaitFullActiveSet();
            double removals = scene.count(1, "cad_active_set_removals");
            double markOuts = scene.count(5, "cad_lease_mark_outs");
            assertEquals(OptionalLong.empty(), cutOff(scene));
            assertNotEquals(removals, scene.count(1, "cad_active_set_removals"), "S5 was not removed");
            assertNotEquals(markOuts, scene.count(5, "cad_lease_mark_outs"), "S5 did not mark itself out");
            scene.run.hosts.heal();
            scene.run.awaitFullActiveSet();
            PinnedClient back = scene.at(5);
            assertEquals(OptionalLong.of(NEW), back.read("/a"));
            holds(scene);
        }
    }
}
