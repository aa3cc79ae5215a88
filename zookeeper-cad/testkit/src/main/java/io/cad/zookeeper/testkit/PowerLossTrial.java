// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import io.cad.zookeeper.testkit.disk.Disk;
import io.cad.zookeeper.testkit.history.Findings;
import io.cad.zookeeper.testkit.history.HistoryChecker;
import io.cad.zookeeper.testkit.history.Op;
import io.cad.zookeeper.testkit.load.LoadGenerator;
import io.cad.zookeeper.testkit.load.LoadSpec;
import io.cad.zookeeper.testkit.load.Slice;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.zookeeper.KeeperException;

/**
 * Power loss under load: clients write and read, some or all servers lose their power at once, come back, everything is
 * read again, and the history says what was lost. Trials on one ensemble build on one another.
 */
public final class PowerLossTrial implements AutoCloseable {
    /** Metrics of the plugin; a stock server has none. */
    public static final String METRICS_PREFIX = "cad_";
    /** Reads whose required index was above the durable index, and which therefore waited. */
    public static final String READS_HELD = "cad_reads_held";
    /** Upstream's metric: how often a change left another tree than at the server that prepared it. */
    private static final String DIGEST_MISMATCHES = "digest_mismatches_count";

    /**
     * Outcome of one trial.
     *
     * @param measured load before the loss
     * @param metrics of the plugin, summed over all servers just before the loss
     * @param recovery from the loss until every server served again
     * @param digestMismatches that servers have counted since the trial before, summed
     * @param ops the whole history, earlier trials' last reads included
     */
    public record Result(Slice measured, Disk.Loss loss, Map<String, Double> metrics, Duration recovery,
            Findings findings, long digestMismatches, List<Op> ops) {

        public long readsHeld() {
            return metrics.getOrDefault(READS_HELD, 0.0).longValue();
        }
    }

    private final Ensemble ensemble;
    private final LoadSpec spec;
    private int generation;
    /** Sessions opened since the last restart; null before the first trial. */
    private LoadGenerator load;
    private List<Op> lastReads = List.of();
    /** Mismatches that each process has counted, as far as they were reported. */
    private final Map<Long, Long> mismatchesByProcess = new HashMap<>();

    public PowerLossTrial(Ensemble ensemble, LoadSpec spec) {
        this.ensemble = ensemble;
        this.spec = spec;
    }

    /** Opens the sessions, creates the nodes, and runs the load without looking at it, so that the JVMs compile. */
    public void warmUp(Duration duration) throws IOException, InterruptedException, TimeoutException, KeeperException {
        openLoad();
        load.populate();
        load.runFor(duration, false);
    }

    private void openLoad() throws IOException, InterruptedException, TimeoutException {
        load = LoadGenerator.open(spec, ensemble.servers(), generation++);
    }

    /**
     * Runs one trial after {@link #warmUp}. With all servers as victims the load ends with the loss; otherwise it goes on
     * until the victims serve again.
     *
     * @param duration of the load before the loss
     * @throws TimeoutException when a server does not come back
     */
    public Result run(Duration duration, Collection<ServerProcess> victims)
            throws IOException, InterruptedException, TimeoutException, KeeperException {
        List<Op> ops = new ArrayList<>(lastReads);
        long begin = System.nanoTime();
        load.begin(true);
        Thread.sleep(duration.toMillis());
        Map<String, Double> metrics = ensemble.sumMetrics(METRICS_PREFIX);
        long mismatches = newDigestMismatches();

        long lossNanos = System.nanoTime();
        Disk.Loss loss = ensemble.powerLoss(victims);
        boolean everybody = victims.size() == ensemble.servers().size();
        Slice slice = null;
        if (everybody) {
            slice = load.end();
        }
        long restart = System.nanoTime();
        ensemble.startAll();
        Duration recovery = Duration.ofNanos(System.nanoTime() - lossNanos);
        if (!everybody) {
            slice = load.end();
            restart = System.nanoTime();
        }
        ops.addAll(slice.ops());
        load.close();

        openLoad();
        load.sync();
        lastReads = load.readAll();
        ops.addAll(lastReads);
        Findings findings = HistoryChecker.check(ops, lossNanos, restart);
        mismatches += newDigestMismatches();
        return new Result(Slice.between(slice.ops(), begin, lossNanos), loss, metrics, recovery, findings, mismatches, ops);
    }

    /** What the running processes have counted since the last call; a restarted server is a new process. */
    private long newDigestMismatches() throws IOException {
        long sum = 0;
        for (ServerProcess server : ensemble.servers()) {
            long now = Long.parseLong(server.metrics().getOrDefault(DIGEST_MISMATCHES, "0"));
            Long before = mismatchesByProcess.put(server.pid(), now);
            sum += now - (before == null ? 0 : before);
        }
        return sum;
    }

    @Override
    public void close() {
        if (load != null) {
            load.close();
        }
    }
}
