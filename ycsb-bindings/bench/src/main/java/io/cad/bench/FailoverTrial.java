// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Await;
import io.cad.zookeeper.testkit.Clients;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.PowerLossTrial;
import io.cad.zookeeper.testkit.ServerProcess;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** One server of a system fails while clients of all others read and write, and comes back. */
final class FailoverTrial {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration SESSION = Duration.ofSeconds(10);
    /** Load before the failure. */
    private static final int ANSWERS_BEFORE = 50;
    /** Longer than a dead member can delay anybody. */
    private static final long OBSERVED_MILLIS = 1_000;

    private final Deployment system;

    /** Creates the items that clients ask for. */
    FailoverTrial(Deployment system) throws Exception {
        this.system = system;
        try (ZooKeeper client = Clients.connect(system.leader().connectString(), SESSION, LIMIT)) {
            client.create(Probe.ROOT, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            client.create(Probe.OLD_ITEM, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            for (ServerProcess server : system.ensemble().servers()) {
                client.create(Probe.item(server), new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            }
        }
        system.readers();
    }

    Deployment system() {
        return system;
    }

    /**
     * One failure; returns when the server is back. Stock's that refuses to start is brought back as an operator does it,
     * by deleting its data; ours stays as it is.
     *
     * @param random chooses the follower
     * @param setup of the raw data
     */
    FailoverResult run(Fault fault, int trial, Random random, String setup, long seed) throws Exception {
        ServerProcess leader = system.leader();
        List<ServerProcess> followers = system.ensemble().others(leader);
        ServerProcess victim = fault.atLeader() ? leader : followers.get(random.nextInt(followers.size()));
        List<ServerProcess> survivors = system.ensemble().others(victim);
        List<Probe> probes = new ArrayList<>();
        Map<Probe.Kind, FailoverResult.Answers> answers;
        double foreign;
        double held;
        try {
            for (ServerProcess server : survivors) {
                probes.add(new Probe(server, probes.size(), false));
                probes.add(new Probe(server, probes.size(), true));
            }
            ForeignLoad load = ForeignLoad.begin(pids());
            Await.until("clients to be answered", LIMIT,
                    () -> probes.stream().allMatch(probe -> probe.waits().size() >= ANSWERS_BEFORE), system.ensemble()::toString);
            foreign = load.cores();
            held = held(survivors);
            long failure = System.nanoTime();
            fault.strike(system, victim);
            if (fault.atLeader()) {
                awaitNewLeader(probes, System.nanoTime());
            } else {
                Thread.sleep(OBSERVED_MILLIS);
            }
            held = held(survivors) - held;
            List<Probe.Wait> waits = probes.stream().flatMap(probe -> probe.waits().stream()).collect(Collectors.toList());
            answers = FailoverResult.answers(waits, failure);
        } finally {
            for (Probe probe : probes) {
                probe.close();
            }
        }
        fault.undo(system, victim);
        String refusal = refusal(victim);
        if (refusal.isEmpty()) {
            system.readers();
        } else if (system.mode() != FailoverBench.OURS) {
            replace(victim);
        }
        return new FailoverResult(fault.label(), system.mode().label(), trial, setup, seed, foreign, held, answers, refusal);
    }

    /** Waits until all serve; why the server that failed will not, or empty if it does. */
    private String refusal(ServerProcess victim) throws IOException, TimeoutException, InterruptedException {
        try {
            system.ensemble().awaitServing(Ensemble.START_LIMIT);
            return "";
        } catch (Await.Hopeless e) {
            if (victim.isRunning()) {
                throw e;
            }
            return victim.lastException().orElse("no reason given");
        }
    }

    private void replace(ServerProcess server) throws IOException, TimeoutException, InterruptedException {
        System.out.println("server " + server.id() + " of " + system.mode().label()
                + " refuses to start; its data are deleted, and it starts again to copy its peers'");
        server.wipe();
        server.start();
        system.ensemble().awaitServing(Ensemble.START_LIMIT);
        system.readers();
    }

    /** A write that began when the old leader answered nobody shows a new one; then everything else is answered too. */
    private void awaitNewLeader(List<Probe> probes, long struck) throws TimeoutException, InterruptedException {
        await(probes, Probe.Kind.WRITE, struck);
        long led = System.nanoTime();
        await(probes, Probe.Kind.OLD, led);
        await(probes, Probe.Kind.FRESH, led);
    }

    private void await(List<Probe> probes, Probe.Kind kind, long after) throws TimeoutException, InterruptedException {
        boolean byWriters = kind != Probe.Kind.OLD;
        Await.until(kind + " to be answered at all survivors", LIMIT, () -> probes.stream()
                .filter(probe -> probe.writes() == byWriters).allMatch(probe -> probe.answered(kind, after)), system.ensemble()::toString);
    }

    private List<Long> pids() {
        return system.ensemble().servers().stream().map(ServerProcess::pid).collect(Collectors.toList());
    }

    private static double held(List<ServerProcess> servers) throws IOException {
        return Ensemble.sumMetrics(PowerLossTrial.READS_HELD, servers).getOrDefault(PowerLossTrial.READS_HELD, 0.0);
    }
}
