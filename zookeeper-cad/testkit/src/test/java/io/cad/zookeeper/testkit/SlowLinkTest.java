// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.jepsen.checker.Report;
import io.cad.jepsen.checker.Verdict;
import io.cad.zookeeper.testkit.history.Op;
import io.cad.zookeeper.testkit.load.LoadGenerator;
import io.cad.zookeeper.testkit.load.LoadSpec;
import io.cad.zookeeper.testkit.machine.NetnsHosts;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The link between the leader and one follower becomes slow under load, with clients that stay with one server each: the
 * leader tells the follower to leave the active set, so that reads of fresh data no longer wait for it, and takes it back
 * when the link is quick again. Nobody reads an older state after anybody has read a newer one.
 */
@Timeout(240)
class SlowLinkTest {
    private static final LoadSpec LOAD = new LoadSpec(10, 50, 100, 0.99, 0.7, 0.7, 29);
    /** There and back it is longer than a member may need to apply what the others have (500 ms). */
    private static final Duration DELAY = Duration.ofMillis(300);
    private static final long BITS_PER_SECOND = 1_000_000;
    /** What the others answer at least while the link is slow. */
    private static final double READS = 1_000;

    @BeforeAll
    static void hosts() throws Exception {
        HostRun.assumeLinks();
    }

    @Test
    void aMemberBehindASlowLinkLeavesAndComesBack() throws Exception {
        try (HostRun run = new HostRun("slow-link", LOAD, NetnsHosts::withLinks, "cad.durability", "cad",
                "cad.replication", "sync", "cad.reads", "active-set",
                // Heartbeats go on, only late: the member is slow, not silent. Nor does the link break for late answers.
                "cad.lease", "2000", "cad.leader.lease", "1000", "syncLimit", "60")) {
            run.ensemble.startAll();
            try (LoadGenerator first = run.open()) {
                first.populate();
            }
            run.awaitFullActiveSet();
            ServerProcess leader = run.ensemble.awaitLeader(HostRun.LIMIT);
            ServerProcess slow = run.others(leader).get(0);
            double told = toldToLeave(leader);
            try (LoadGenerator load = run.open()) {
                load.begin(true);
                run.hosts.slowDown(leader.id(), slow.id(), DELAY, BITS_PER_SECOND);
                Await.until("server " + slow.id() + " to leave for being slow", HostRun.LIMIT,
                        () -> leader.cadServers("on_probation").contains(slow.id())
                                && !leader.cadServers("active_set").contains(slow.id()), run.ensemble::toString);
                assertTrue(toldToLeave(leader) > told, "no metric says so");
                ServerProcess other = run.others(leader).get(1);
                double before = reads(other);
                Await.until("the others to go on answering", HostRun.LIMIT, () -> reads(other) - before >= READS,
                        run.ensemble::toString);
                run.hosts.heal();
                run.ops.addAll(load.end().ops());
            }
            run.awaitFullActiveSet();
            try (LoadGenerator after = run.open()) {
                List<Op> ops = after.readAll();
                assertTrue(ops.stream().anyMatch(op -> op.ok() && op.server() == slow.id()), "it never answered again");
                run.ops.addAll(ops);
            }
            Verdict verdict = run.judge();
            System.out.print(new Report(verdict).text());
            assertTrue(verdict.isValid() && !verdict.isVacuous(), () -> new Report(verdict).text() + run.directory.path());
            run.delete();
        }
    }

    private static double toldToLeave(ServerProcess leader) throws Exception {
        return Double.parseDouble(leader.metrics().getOrDefault("slow_cad_active_set_told_to_leave", "0"));
    }

    private static double reads(ServerProcess server) throws Exception {
        return Double.parseDouble(server.metrics().get("cad_reads"));
    }
}
