// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;
import static io.cad.zookeeper.clienttests.RealClients.bytes;
import static io.cad.zookeeper.clienttests.RealClients.create;
import static io.cad.zookeeper.clienttests.RealClients.text;
import static io.cad.zookeeper.clienttests.RealClients.zooKeeper;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import io.cad.zookeeper.testkit.disk.FiDisk;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A start in each mode, writes, reads and the loss of everybody's power, on the Java that the servers are to run on. */
@Tag("full")
@Timeout(240)
class PowerLossInEveryModeTest {
    private static final int SEED = 1;
    private static final int WRITES = 100;
    /** Long enough that the last writes are not on any disk where nobody waits for it. */
    private static final double SYNC_MILLIS = 20;
    private static final String NODE = "/counter";

    @ParameterizedTest
    @EnumSource(Mode.class)
    void keepsWhatItPromises(Mode mode) throws Exception {
        try (RunDirectory run = RunDirectory.create("power-loss-in-every-mode")) {
            Ensemble ensemble = Ensemble.start(run, mode.ensemble(3).disks(FiDisk.provider(null, false, SEED)));
            for (ServerProcess server : ensemble.servers()) {
                String home = "java.home=" + ServerProcess.javaHome().toRealPath();
                String environment = server.fourLetterWord("envi");
                assertTrue(environment.lines().anyMatch(home::equals), environment);
            }
            ensemble.setSyncLatency(SYNC_MILLIS);
            int read;
            int acknowledged;
            try (ZooKeeper writer = zooKeeper(ensemble.awaitLeader(LIMIT).connectString())) {
                create(writer, NODE, "0");
                read = count(writer, 1);
                for (ServerProcess server : ensemble.servers()) {
                    assertEquals(read, read(server), "at " + server);
                }
                acknowledged = count(writer, read + 1);
                // Not after the end of its session, which is acknowledged when all before it is durable.
                ensemble.powerLoss();
                ensemble.startAll();
            }
            int kept = mode.keepsWhatWasAcknowledged() ? acknowledged : mode.keepsWhatWasRead() ? read : 0;
            for (ServerProcess server : ensemble.servers()) {
                int found = mode.keepsWhatWasRead() || exists(server) ? read(server) : 0;
                assertTrue(found <= acknowledged, "at " + server + ": " + found);
                assertTrue(found >= kept, "at " + server + ": " + found + " of " + kept);
                System.out.printf("%s: of %d acknowledged, %d of them read, %d are at server %d%n", mode, acknowledged, read,
                        found, server.id());
            }
            run.closeAndDelete();
        }
    }

    /** Counts on, and returns the last number that was acknowledged. */
    private static int count(ZooKeeper writer, int from) throws Exception {
        for (int i = from; i < from + WRITES; i++) {
            writer.setData(NODE, bytes(Integer.toString(i)), -1);
        }
        return from + WRITES - 1;
    }

    private static boolean exists(ServerProcess server) throws Exception {
        try (ZooKeeper client = fresh(server)) {
            return client.exists(NODE, false) != null;
        }
    }

    private static int read(ServerProcess server) throws Exception {
        try (ZooKeeper client = fresh(server)) {
            return Integer.parseInt(text(client.getData(NODE, false, null)));
        }
    }

    /** A client that reads what was acknowledged before it came, in every mode. */
    private static ZooKeeper fresh(ServerProcess server) throws Exception {
        ZooKeeper client = zooKeeper(server.connectString());
        CompletableFuture<Integer> synced = new CompletableFuture<>();
        client.sync(NODE, (code, path, context) -> synced.complete(code), null);
        assertEquals(0, synced.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
        return client;
    }
}
