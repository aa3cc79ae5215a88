// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.jepsen.checker.Report;
import io.cad.jepsen.checker.Verdict;
import io.cad.zookeeper.testkit.disk.Disk;
import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.history.Histories;
import io.cad.zookeeper.testkit.history.Op;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Five servers in three groups, and one that weighs nothing: servers 4 and 5, alone in their groups, are a quorum; the
 * three others are none. Whoever counted servers would have it the other way round.
 */
@Timeout(240)
class HierarchicalQuorumTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration SESSION = Duration.ofSeconds(6);

    @Test
    void quorumsAreOfGroupsForDurabilityAndLeases() throws Exception {
        List<Op> history = new ArrayList<>();
        try (RunDirectory run = RunDirectory.create("hierarchy")) {
            Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.product(), 5).cfg("syncLimit", "4")
                    .cfg("group.1", "1:2:3").cfg("group.2", "4").cfg("group.3", "5")
                    .cfg("weight.1", "1").cfg("weight.2", "1").cfg("weight.3", "0").cfg("weight.4", "1").cfg("weight.5", "1")
                    .cfg("cad.durability", "cad").cfg("cad.reads", "active-set")
                    .cfg("cad.flush.interval", "60000").cfg("cad.window.ms", "60000")
                    .disks(FiDisk.provider(null, false, 1)));
            List<ServerProcess> group = ensemble.servers().subList(0, 3);
            List<ServerProcess> two = ensemble.servers().subList(3, 5);
            try (PinnedClient client = new PinnedClient(history, 1, ensemble.server(1))) {
                client.create("/a", 1);
                assertReads(client, 1, ensemble);
            }

            Disk.Loss loss = ensemble.powerLoss(group);
            ensemble.awaitServing(LIMIT);
            assertTrue(ensemble.leader().isPresent());
            try (PinnedClient client = new PinnedClient(history, 2, ensemble.server(4))) {
                assertReads(client, 1, ensemble);
                client.set("/a", 2);
                assertReads(client, 2, ensemble);
            }

            ensemble.startAll();
            loss = loss.plus(ensemble.powerLoss(two));
            Await.until("the three to stop serving", LIMIT,
                    () -> group.stream().allMatch(server -> server.mode().isEmpty()), ensemble::toString);
            for (ServerProcess server : group) {
                assertThrows(TimeoutException.class,
                        () -> Clients.connect(server.connectString(), SESSION, Duration.ofSeconds(2)));
            }

            ensemble.startAll();
            for (ServerProcess server : ensemble.servers()) {
                try (PinnedClient client = new PinnedClient(history, 10 + server.id(), server)) {
                    assertReads(client, 2, ensemble);
                }
            }
            assertTrue(loss.bytes() > 0, "no power loss took anything");
            Verdict verdict = Histories.judge(history);
            assertTrue(verdict.isValid() && !verdict.isVacuous(), () -> new Report(verdict).text());
            run.closeAndDelete();
        }
    }

    /** A read that came while its server had no lease goes unanswered; the next one is answered. */
    private static void assertReads(PinnedClient client, long value, Ensemble ensemble) throws Exception {
        OptionalLong[] read = new OptionalLong[1];
        Await.until("an answer", LIMIT, () -> {
            read[0] = client.read("/a");
            return read[0].isPresent();
        }, ensemble::toString);
        assertEquals(OptionalLong.of(value), read[0]);
    }
}
