// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;
import static io.cad.zookeeper.clienttests.RealClients.bytes;
import static io.cad.zookeeper.clienttests.RealClients.text;
import static io.cad.zookeeper.clienttests.RealClients.zooKeeper;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** With cad.reads=leader, clients at any server read their own and each other's acknowledged writes at once. */
@Timeout(240)
class LeaderReadsTest {
    private static final int ROUNDS = Integer.getInteger("rounds", 300);

    @Test
    void clientsAtFollowersInCadAsync() throws Exception {
        clientsAtEveryServer(Mode.CAD_ASYNC);
    }

    @Test
    @Tag("full")
    void clientsAtFollowersInCadSync() throws Exception {
        clientsAtEveryServer(Mode.CAD_SYNC);
    }

    @Test
    @Tag("full")
    void clientsAtFollowersInImmediate() throws Exception {
        clientsAtEveryServer(Mode.IMMEDIATE_LEADER);
    }

    /** A client at each server writes its own register and reads all of them. */
    private static void clientsAtEveryServer(Mode mode) throws Exception {
        RunDirectory run = RunDirectory.create("leader-reads");
        try {
            Ensemble ensemble = Ensemble.start(run, mode.ensemble(3));
            List<SharedRegister> registers = new ArrayList<>();
            try (ZooKeeper setup = zooKeeper(ensemble.connectString())) {
                for (ServerProcess server : ensemble.servers()) {
                    RealClients.create(setup, path(registers.size()), "0");
                    registers.add(new SharedRegister());
                }
            }
            List<CompletableFuture<Void>> clients = new ArrayList<>();
            for (ServerProcess server : ensemble.servers()) {
                clients.add(CompletableFuture.runAsync(() -> {
                    try (ZooKeeper client = zooKeeper(server.connectString())) {
                        work(client, server, registers);
                    } catch (Exception e) {
                        throw new IllegalStateException(server.toString(), e);
                    }
                }, task -> new Thread(task, "client-" + server.id()).start()));
            }
            for (CompletableFuture<Void> client : clients) {
                client.get(LIMIT.toSeconds() * 2, TimeUnit.SECONDS);
            }
            for (SharedRegister register : registers) {
                assertEquals(ROUNDS, register.written());
                assertEquals(List.of(), register.violations());
                System.out.println(mode + ": " + register.reads() + " reads of " + register.written() + " writes");
            }
            if (mode != Mode.IMMEDIATE_LEADER) {
                assertTrue(ensemble.sumMetrics("cad_reads_held").values().stream().anyMatch(held -> held > 0),
                        "no read met an undurable write");
            }
        } finally {
            run.close();
        }
    }

    private static String path(int register) {
        return "/register" + register;
    }

    private static void work(ZooKeeper client, ServerProcess server, List<SharedRegister> registers) throws Exception {
        int own = server.id() - 1;
        for (int round = 0; round < ROUNDS; round++) {
            int value = registers.get(own).beginWrite();
            client.setData(path(own), bytes("" + value), value - 1);
            registers.get(own).acknowledged(value);
            for (int other = 0; other < registers.size(); other++) {
                SharedRegister register = registers.get((own + other) % registers.size());
                int oldest = register.beginRead();
                int read = Integer.parseInt(text(client.getData(path((own + other) % registers.size()), false, null)));
                register.read(oldest, read, "server " + server.id());
            }
        }
    }
}
