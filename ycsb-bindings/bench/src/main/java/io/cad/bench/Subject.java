// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.JvmProfile;
import io.cad.zookeeper.testkit.PowerLossTrial;
import io.cad.zookeeper.testkit.ServerProcess;
import io.cad.zookeeper.testkit.load.LoadGenerator;
import io.cad.zookeeper.testkit.load.LoadSpec;
import io.cad.zookeeper.testkit.load.Slice;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** One system that is compared: an ensemble in a mode, with its clients, alive for the whole comparison. */
final class Subject {
    private static final int KEYS = 10_000;
    private static final int VALUE_BYTES = 100;
    private static final double ZIPFIAN = 0.99;
    /** The mix is set before each slice. */
    private static final double ANY_SHARE = 0.5;
    private static final String READS = "cad_reads";

    /** In all systems alike: on few cores a request that changes threads twice less is measured with less of the scheduler. */
    private static final Map<String, String> FEW_THREADS =
            Map.of("nio.numWorkerThreads", "0", "commitProcessor.numWorkerThreads", "0");

    private final Deployment deployment;
    private final long seed;
    private final AllocationMeter allocation;
    private LoadGenerator load;
    /** Where the clients are, as asked for; none before the first slice. */
    private String seats = "";

    private Subject(Deployment deployment, long seed, AllocationMeter allocation) {
        this.deployment = deployment;
        this.seed = seed;
        this.allocation = allocation;
    }

    /**
     * Starts a system.
     *
     * @param onHosts whether each server gets a host of its own; without a network in between, only its CPU time can be limited
     * @param allocations whether to count allocated bytes, which needs a management agent in each server
     */
    static Subject start(Deployment.Site site, Mode mode, int servers, boolean onHosts, boolean allocations) throws Exception {
        Map<String, String> cfg = new HashMap<>(FEW_THREADS);
        if (onHosts) {
            cfg.putAll(mode.patientLeases());
        }
        Deployment deployment = site.start(mode, servers, onHosts, JvmProfile.BENCH, cfg);
        AllocationMeter allocation = new AllocationMeter(allocations ? deployment.ensemble().servers() : List.of());
        site.run().onClose(allocation);
        Subject subject = new Subject(deployment, site.seed(), allocation);
        site.run().onClose(subject::closeClients);
        return subject;
    }

    /**
     * Lets so many clients take their seats; the first ones fill the system.
     *
     * @return whether they sat elsewhere, or were others, before
     */
    boolean seat(int clients, boolean spread) throws Exception {
        String wanted = clients + (spread ? " spread" : " at the leader");
        if (wanted.equals(seats)) {
            return false;
        }
        boolean empty = load == null;
        closeClients();
        LoadSpec spec = new LoadSpec(clients, KEYS, VALUE_BYTES, ZIPFIAN, ANY_SHARE, 0, seed);
        load = LoadGenerator.openLean(spec, spread ? deployment.readers() : List.of(deployment.leader()));
        seats = wanted;
        if (empty) {
            load.populate();
        }
        return true;
    }

    /**
     * What one slice gave, per system. Latencies in ms; bytesPerOp is 0 where allocations are not counted.
     *
     * @param followerReads reads at followers, as far as the plugin counts them
     * @param followerReadsAlone those of them that were answered without asking anybody
     */
    record Sample(double opsPerSecond, long ops, double readP50, double readP99, double writeP50, double writeP99, long errors,
            double cpuSecondsPerOp, double bytesPerOp, double cpuSeconds, double seconds, double followerReads,
            double followerReadsAlone, Map<String, Double> metrics) {

        double metric(String name) {
            return metrics.getOrDefault(name, 0.0);
        }

        double figure(Cell.Figure figure) {
            return switch (figure) {
                case THROUGHPUT -> opsPerSecond;
                case CPU_PER_OP -> cpuSecondsPerOp;
                case BYTES_PER_OP -> bytesPerOp;
                case READ_P50 -> readP50;
                case READ_P99 -> readP99;
            };
        }

        /** Cores that the servers kept busy, all together. */
        double cores() {
            return cpuSeconds / seconds;
        }
    }

    List<Long> pids() {
        return deployment.ensemble().servers().stream().map(ServerProcess::pid).collect(Collectors.toList());
    }

    void setSyncLatency(double millis) throws IOException, InterruptedException {
        deployment.ensemble().setSyncLatency(millis);
    }

    void limitProcessors(double quota) {
        deployment.limitProcessors(quota);
    }

    /** Runs one slice and measures what it cost the servers. */
    Sample slice(Cell.Mix mix, double seconds) throws Exception {
        load.mix(mix.readShare(), mix.freshShare());
        ServerProcess leader = deployment.leader();
        Map<String, Double> leaderBefore = metrics(List.of(leader));
        Map<String, Double> elsewhereBefore = metrics(deployment.ensemble().others(leader));
        double bytes = allocation.bytes();
        double cpu = CpuMeter.ofProcesses(pids());
        Slice slice = load.runFor(Duration.ofMillis((long) (1000 * seconds)), false);
        double cpuUsed = CpuMeter.ofProcesses(pids()) - cpu;
        double allocated = allocation.bytes() - bytes;
        Map<String, Double> elsewhere = grown(metrics(deployment.ensemble().others(leader)), elsewhereBefore);
        Map<String, Double> metrics = grown(metrics(List.of(leader)), leaderBefore);
        elsewhere.forEach((name, value) -> metrics.merge(name, value, Double::sum));
        long ops = slice.reads().count() + slice.writes().count();
        if (ops == 0) {
            throw new IllegalStateException(deployment.mode().label() + " did nothing in a slice; see the logs below "
                    + deployment.ensemble().directory());
        }
        double reads = elsewhere.getOrDefault(READS, 0.0);
        return new Sample(slice.opsPerSecond(), ops,
                slice.reads().percentileMillis(0.5), slice.reads().percentileMillis(0.99),
                slice.writes().percentileMillis(0.5), slice.writes().percentileMillis(0.99),
                slice.errors(), cpuUsed / ops, allocated / ops, cpuUsed, slice.seconds(),
                reads, reads - elsewhere.getOrDefault(PowerLossTrial.READS_HELD, 0.0), metrics);
    }

    private static Map<String, Double> metrics(List<ServerProcess> servers) throws IOException {
        return Ensemble.sumMetrics("cad_", servers);
    }

    private static Map<String, Double> grown(Map<String, Double> now, Map<String, Double> before) {
        now.replaceAll((name, value) -> value - before.getOrDefault(name, 0.0));
        return now;
    }

    private void closeClients() {
        if (load != null) {
            load.close();
        }
    }
}
