// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Await;
import io.cad.zookeeper.testkit.FreePorts;
import io.cad.zookeeper.testkit.disk.Disk;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One redis-server on a disk of its own. */
final class RedisServer implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final int port;
    private final Disk disk;
    private final Path log;
    private final List<String> command;
    private Process process;

    /**
     * @param program redis-server
     * @param arguments beyond port, directory and the settings that all modes share
     */
    RedisServer(Path program, Disk disk, Path log, List<String> arguments) throws IOException {
        this.port = FreePorts.next();
        this.disk = disk;
        this.log = log;
        // A session of its own: the terminal's Ctrl-C reaches only us.
        this.command = new ArrayList<>(List.of("setsid", program.toString(), "--port", Integer.toString(port),
                "--bind", "127.0.0.1", "--dir", disk.directory().toString(), "--appendonly", "yes",
                "--appendfsync", "everysec", "--save", "", "--auto-aof-rewrite-percentage", "0",
                "--repl-diskless-sync-delay", "0", "--maxclients", "1000"));
        command.addAll(arguments);
    }

    int port() {
        return port;
    }

    Disk disk() {
        return disk;
    }

    long pid() {
        return process.pid();
    }

    void start() throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile())).redirectInput(new File("/dev/null"));
        builder.environment().putAll(disk.environment());
        process = builder.start();
    }

    /** Waits until the data is loaded. */
    void awaitServing() throws TimeoutException, InterruptedException {
        Await.until(this + " to serve", LIMIT, () -> {
            if (!process.isAlive()) {
                throw new Await.Hopeless(this + " ended; see " + log);
            }
            return info("persistence").get("loading").equals("0");
        }, () -> "see " + log);
    }

    /** Waits until a field of INFO has the value. */
    void awaitInfo(String section, String field, String value) throws TimeoutException, InterruptedException {
        Await.until(this + " to have " + field + ":" + value, LIMIT, () -> value.equals(info(section).get(field)),
                () -> "see " + log);
    }

    /** A section of INFO; empty when the server does not know it. */
    Map<String, String> info(String section) throws IOException {
        try (RespClient client = new RespClient(port)) {
            Map<String, String> fields = new HashMap<>();
            for (String line : ((String) client.call("info", section)).split("\r\n")) {
                int colon = line.indexOf(':');
                if (colon > 0) {
                    fields.put(line.substring(0, colon), line.substring(colon + 1));
                }
            }
            return fields;
        }
    }

    /** SIGKILL, without waiting. */
    void kill() {
        process.destroyForcibly();
    }

    void awaitEnd() throws InterruptedException {
        if (!process.waitFor(LIMIT.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException(this + " did not end");
        }
    }

    @Override
    public void close() throws IOException {
        if (process != null) {
            process.destroyForcibly();
            try {
                awaitEnd();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        disk.close();
    }

    @Override
    public String toString() {
        return "redis-server " + port;
    }
}
