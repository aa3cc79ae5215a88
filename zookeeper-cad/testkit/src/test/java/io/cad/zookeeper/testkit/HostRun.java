// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import io.cad.jepsen.checker.Verdict;
import io.cad.zookeeper.testkit.history.Histories;
import io.cad.zookeeper.testkit.history.HistoryFile;
import io.cad.zookeeper.testkit.history.Op;
import io.cad.zookeeper.testkit.load.LoadGenerator;
import io.cad.zookeeper.testkit.load.LoadSpec;
import io.cad.zookeeper.testkit.machine.NetnsHosts;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Assumptions;

/** Five servers, each on a host with a network and a disk of its own, and what their clients recorded. */
final class HostRun implements AutoCloseable {
    static final Duration LIMIT = Duration.ofSeconds(60);
    static final int SERVERS = 5;
    /** Short: a client whose server has gone silent looks for it again after two thirds of this. */
    private static final Duration SESSION = Duration.ofSeconds(6);

    final RunDirectory directory;
    final NetnsHosts hosts;
    final Ensemble ensemble;
    final List<Op> ops = new ArrayList<>();
    private final LoadSpec spec;
    private int generation;

    /** Lays out the servers and starts none; the pairs are names and values of settings. */
    HostRun(String name, LoadSpec spec, String... pairs) throws Exception {
        this(name, spec, plain -> plain, pairs);
    }

    /** @param special what the hosts must be able to do beyond being cut off and losing their power */
    HostRun(String name, LoadSpec spec, UnaryOperator<NetnsHosts> special, String... pairs) throws Exception {
        this.spec = spec;
        directory = RunDirectory.create(name);
        hosts = special.apply(new NetnsHosts(directory.path().resolve("injector"), false, spec.seed()));
        directory.onClose(hosts);
        EnsembleConfig config = new EnsembleConfig(ServerBuild.product(), SERVERS).machines(hosts)
                // Who cannot reach a leader that is heard by others tries for the first limit.
                .cfg("initLimit", "20").cfg("syncLimit", "4");
        for (int i = 0; i < pairs.length; i += 2) {
            config.cfg(pairs[i], pairs[i + 1]);
        }
        boolean made = false;
        try {
            ensemble = Ensemble.create(directory, config);
            made = true;
        } finally {
            if (!made) {
                directory.close();
            }
        }
    }

    /** Skips the test, with the reason, where there can be no such hosts. */
    static void assumeHosts() throws IOException {
        assume(NetnsHosts.missing());
    }

    /** The same for hosts whose links can be slow. */
    static void assumeLinks() throws IOException {
        assume(NetnsHosts.missingForLinks());
    }

    private static void assume(Optional<String> missing) {
        Assumptions.assumeTrue(missing.isEmpty(), () -> missing.get() + " (fi doctor)");
    }

    /** New sessions, each of which stays with one server. */
    LoadGenerator open() throws Exception {
        return LoadGenerator.open(spec, ensemble.servers(), generation++, SESSION);
    }

    List<ServerProcess> others(ServerProcess one) {
        return ensemble.others(one);
    }

    /** Waits until another server than this one calls itself leader. */
    ServerProcess awaitAnotherLeader(ServerProcess old) throws Exception {
        Await.until("another leader than server " + old.id(), LIMIT,
                () -> others(old).stream().anyMatch(server -> server.mode().equals("leader")), ensemble::toString);
        return others(old).stream().filter(server -> server.mode().equals("leader")).findFirst().orElseThrow();
    }

    /** Each server opens a new session and answers a read. */
    void awaitReadsEverywhere() throws Exception {
        for (ServerProcess server : ensemble.servers()) {
            Await.until("server " + server.id() + " to answer reads", LIMIT, () -> {
                ZooKeeper client = Clients.connect(server.connectString(), SESSION, Duration.ofSeconds(10));
                try {
                    client.exists("/load", false);
                } finally {
                    client.close(1_000);
                }
                return true;
            }, ensemble::toString);
        }
    }

    /** All followers are in the active set. */
    void awaitFullActiveSet() throws Exception {
        Await.until("all servers to be in the active set", LIMIT, () -> Integer.toString(SERVERS).equals(
                ensemble.leader().orElseThrow().metrics().get("cad_active_set_size")), ensemble::toString);
    }

    /** What is recorded so far; a history with a finding is kept beside the servers' logs. */
    Verdict judge() throws IOException {
        Verdict verdict = Histories.judge(ops);
        if (!verdict.isValid()) {
            HistoryFile.write(directory.path().resolve("history.json"), ops);
        }
        return verdict;
    }

    /** Nothing went wrong: deletes logs and data. */
    void delete() {
        directory.closeAndDelete();
    }

    @Override
    public void close() {
        directory.close();
    }
}
