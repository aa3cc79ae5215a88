// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A leader that held changes alone comes back when others have led and gone on writing. It gets their whole state, which
 * cannot show what it takes back; the server says so all the same, counts the changes and keeps them.
 */
@Timeout(240)
class RolledBackTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int ALONE = 3;
    private static final Pattern LINE = Pattern.compile("Rolling back (\\d+) changes, (\\d+):\\d+ to (\\d+):\\d+, \\d+ bytes: "
            + "the leader's state replaces them. They are kept in (\\S+)");

    private static ZooKeeper client(ServerProcess server) throws Exception {
        return Clients.connect(server.connectString(), Duration.ofSeconds(30), LIMIT);
    }

    private static void create(ZooKeeper client, String path) throws Exception {
        client.create(path, new byte[100], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aLeaderSaysWhatItHasLost(int laterEpochs) throws Exception {
        try (RunDirectory run = RunDirectory.create("rolled-back")) {
            Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.product(), 3)
                    .cfg("cad.durability", "cad").cfg("cad.replication", "async").cfg("cad.reads", "leader")
                    .cfg("cad.leader.lease", "3000").cfg("cad.window.ms", "3000"));
            ServerProcess leader = ensemble.awaitLeader(LIMIT);
            List<ServerProcess> followers = ensemble.others(leader);
            ZooKeeper writer = client(leader);
            for (ServerProcess follower : followers) {
                follower.pause();
            }
            for (int i = 0; i < ALONE; i++) {
                create(writer, "/alone" + i);
            }
            ensemble.killAll();
            for (int i = 0; i < laterEpochs; i++) {
                for (ServerProcess follower : followers) {
                    follower.start();
                }
                ensemble.awaitServing(LIMIT);
                try (ZooKeeper other = client(followers.get(0))) {
                    create(other, "/later" + i);
                }
                if (i < laterEpochs - 1) {
                    ensemble.kill(followers);
                }
            }
            leader.start();
            ensemble.awaitServing(LIMIT);
            String log = Files.readString(leader.logFile());
            assertTrue(log.contains("Getting a snapshot from leader"), "the changes were cut from the log: nothing is tested");
            Matcher said = LINE.matcher(log);
            assertTrue(said.find(), "it does not say what it has lost; see " + leader.logFile());
            assertTrue(Integer.parseInt(said.group(1)) >= ALONE, said.group());
            assertEquals(said.group(2), said.group(3), "the changes of one epoch: " + said.group());
            assertTrue(Files.size(Path.of(said.group(4))) > ALONE * 100, said.group(4));
            assertTrue(Double.parseDouble(leader.metrics().get("cad_rolled_back_txns")) >= ALONE);
            assertEquals(List.of(), Trees.differences(ensemble.servers()));
            writer.close(0);
            run.closeAndDelete();
        }
    }
}
