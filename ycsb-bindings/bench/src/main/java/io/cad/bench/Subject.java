// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.JvmProfile;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.load.LoadGenerator;
import io.cad.zookeeper.testkit.load.LoadSpec;
import io.cad.zookeeper.testkit.load.Slice;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** One system that is compared: an ensemble in a mode, with its clients at the leader, alive for the whole comparison. */
final class Subject implements AutoCloseable {
    private static final int KEYS = 10_000;
    private static final int VALUE_BYTES = 100;
    private static final double ZIPFIAN = 0.99;
    /** The mix is set before each slice. */
    private static final double ANY_SHARE = 0.5;

    /** In all systems alike: on few cores a request that changes threads twice less is measured with less of the scheduler. */
    private static final Map<String, String> FEW_THREADS =
            Map.of("nio.numWorkerThreads", "0", "commitProcessor.numWorkerThreads", "0");

    private final Mode mode;
    private final Ensemble ensemble;
    private final AllocationMeter allocation;
    private final LoadGenerator load;

    private Subject(Mode mode, Ensemble ensemble, AllocationMeter allocation, LoadGenerator load) {
        this.mode = mode;
        this.ensemble = ensemble;
        this.allocation = allocation;
        this.load = load;
    }

    /**
     * Starts a system and fills it.
     *
     * @param allocations whether to count allocated bytes, which needs a management agent in each server
     */
    static Subject start(RunDirectory run, Mode mode, Jars jars, String fi, int servers, int clients, long seed,
            boolean allocations) throws Exception {
        EnsembleConfig config = new EnsembleConfig(mode.build(jars.serverJar(), jars.plugins()), servers)
                .name(mode.label()).cfg(mode.cfg()).cfg(FEW_THREADS).profile(JvmProfile.BENCH).disks(FiDisk.provider(fi, false, seed));
        Ensemble ensemble = Ensemble.start(run, config);
        ModeCheck.requireActive(mode, ensemble);
        LoadSpec spec = new LoadSpec(clients, KEYS, VALUE_BYTES, ZIPFIAN, ANY_SHARE, 0, seed);
        LoadGenerator load = LoadGenerator.openLean(spec, List.of(ensemble.awaitLeader(Ensemble.START_LIMIT)));
        run.onClose(load);
        load.populate();
        AllocationMeter allocation = new AllocationMeter(allocations ? ensemble.servers() : List.of());
        run.onClose(allocation);
        return new Subject(mode, ensemble, allocation, load);
    }

    /** What one slice gave, per system. Latencies in ms; bytesPerOp is 0 where allocations are not counted. */
    record Sample(double opsPerSecond, long ops, double readP50, double readP99, double writeP50, double writeP99, long errors,
            double cpuSecondsPerOp, double bytesPerOp, double cpuSeconds, double seconds, Map<String, Double> metrics) {

        double metric(String name) {
            return metrics.getOrDefault(name, 0.0);
        }

        double figure(Cell.Figure figure) {
            return switch (figure) {
                case THROUGHPUT -> opsPerSecond;
                case CPU_PER_OP -> cpuSecondsPerOp;
                case BYTES_PER_OP -> bytesPerOp;
            };
        }
    }

    Mode mode() {
        return mode;
    }

    List<Long> pids() {
        return ensemble.servers().stream().map(ServerProcess::pid).collect(Collectors.toList());
    }

    void setSyncLatency(double millis) throws IOException, InterruptedException {
        ensemble.setSyncLatency(millis);
    }

    /** Runs one slice and measures what it cost the servers. */
    Sample slice(Cell.Mix mix, double seconds) throws IOException, InterruptedException {
        load.mix(mix.readShare(), 0);
        Map<String, Double> before = ensemble.sumMetrics("cad_");
        double bytes = allocation.bytes();
        double cpu = CpuMeter.ofProcesses(pids());
        Slice slice = load.runFor(Duration.ofMillis((long) (1000 * seconds)), false);
        double cpuUsed = CpuMeter.ofProcesses(pids()) - cpu;
        double allocated = allocation.bytes() - bytes;
        Map<String, Double> metrics = ensemble.sumMetrics("cad_");
        metrics.replaceAll((name, value) -> value - before.getOrDefault(name, 0.0));
        long ops = slice.reads().count() + slice.writes().count();
        if (ops == 0) {
            throw new IllegalStateException(mode.label() + " did nothing in a slice; see the logs below " + ensemble.directory());
        }
        return new Sample(slice.opsPerSecond(), ops,
                slice.reads().percentileMillis(0.5), slice.reads().percentileMillis(0.99),
                slice.writes().percentileMillis(0.5), slice.writes().percentileMillis(0.99),
                slice.errors(), cpuUsed / ops, allocated / ops, cpuUsed, slice.seconds(), metrics);
    }

    @Override
    public void close() throws IOException {
        allocation.close();
        load.close();
        ensemble.close();
    }
}
