// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.load.LoadSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * One system that is compared: a master and two replicas, alive for the whole comparison. Loads of one command come from
 * redis-benchmark, whose cost is small and no runtime's; the mix, which it cannot do, from our own clients.
 */
final class RedisSubject implements AutoCloseable {
    private static final int NODES = 3;
    private static final int KEYS = 10_000;
    private static final int VALUE_BYTES = 100;
    private static final double ZIPFIAN = 0.99;
    private static final long LIMIT_SECONDS = 60;
    /** Requests of the first slice of a load; later ones take as many as fit their time. */
    private static final long FIRST_REQUESTS = 2_000;

    private final RedisMode mode;
    private final RedisGroup group;
    private final Path benchmark;
    private final long seed;
    private long requestsPerSecond = FIRST_REQUESTS;

    private RedisSubject(RedisMode mode, RedisGroup group, Path benchmark, long seed) {
        this.mode = mode;
        this.group = group;
        this.benchmark = benchmark;
        this.seed = seed;
    }

    /** What one slice gave. {@code held} replies waited for a disk, {@code syncs} were made on the master. */
    record Sample(double opsPerSecond, long ops, double cpuSecondsPerOp, double seconds, long held, long syncs) {
        double figure(boolean cpu) {
            return cpu ? cpuSecondsPerOp : opsPerSecond;
        }
    }

    static RedisSubject start(RunDirectory run, RedisMode mode, Path programs, Path benchmark, String fi, long seed) throws Exception {
        // At its default; what is compared is what people would run.
        RedisGroup group = RedisGroup.start(run, mode.label(), mode, programs.resolve("redis-server"), NODES,
                RedisGroup.DEFAULT_FLUSH_INTERVAL, FiDisk.provider(fi, false, seed));
        RedisSubject subject = new RedisSubject(mode, group, benchmark, seed);
        try (RedisLoad load = subject.load(1)) {
            load.populate();
        }
        group.persist();
        return subject;
    }

    /** Length of all servers' append-only files. */
    long logBytes() throws IOException {
        return group.logBytes();
    }

    List<Long> pids() {
        return group.servers().stream().map(RedisServer::pid).collect(Collectors.toList());
    }

    void setSyncLatency(double millis) throws IOException, InterruptedException {
        group.setSyncLatency(millis);
        requestsPerSecond = FIRST_REQUESTS;
    }

    private RedisLoad load(int clients) {
        return new RedisLoad(new LoadSpec(clients, KEYS, VALUE_BYTES, ZIPFIAN, 0.5, 0, seed), group.master().port());
    }

    /** Runs one slice of about so many seconds and measures what it cost the servers. */
    Sample slice(RedisCell cell, double seconds) throws IOException, InterruptedException {
        if (cell.load() == RedisCell.Load.GET) {
            group.persist();
        }
        Map<String, String> before = group.master().info("cad");
        double cpu = CpuMeter.ofProcesses(pids());
        long begin = System.nanoTime();
        long ops = cell.load() == RedisCell.Load.MIX ? mix(cell.clients(), seconds) : benchmark(cell, seconds);
        double took = (System.nanoTime() - begin) / 1e9;
        double used = CpuMeter.ofProcesses(pids()) - cpu;
        requestsPerSecond = Math.max(1, (long) (ops / took));
        Map<String, String> after = group.master().info("cad");
        group.awaitReplicas(); // what they have still to do is not the other group's load
        return new Sample(ops / took, ops, used / ops, took, counted(before, after, "cad_holds"), counted(before, after, "cad_flush_syncs"));
    }

    private static long counted(Map<String, String> before, Map<String, String> after, String field) {
        return Long.parseLong(after.getOrDefault(field, "0")) - Long.parseLong(before.getOrDefault(field, "0"));
    }

    private long mix(int clients, double seconds) throws IOException, InterruptedException {
        try (RedisLoad load = load(clients)) {
            load.begin();
            Thread.sleep((long) (1000 * seconds));
            return load.endCounting();
        }
    }

    private long benchmark(RedisCell cell, double seconds) throws IOException, InterruptedException {
        long requests = Math.max(cell.clients() * (long) cell.pipeline(), (long) (requestsPerSecond * seconds));
        List<String> command = new ArrayList<>(List.of(benchmark.toString(), "-p", Integer.toString(group.master().port()),
                "-c", Integer.toString(cell.clients()), "-P", Integer.toString(cell.pipeline()), "-n", Long.toString(requests),
                "-r", Integer.toString(KEYS), "-d", Integer.toString(VALUE_BYTES), "-t", cell.load().name().toLowerCase(), "-q"));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
            process.destroyForcibly();
            throw new IOException("redis-benchmark failed: " + String.join(" ", command));
        }
        return requests;
    }

    @Override
    public void close() throws IOException {
        group.close();
    }

    @Override
    public String toString() {
        return mode.label();
    }
}
