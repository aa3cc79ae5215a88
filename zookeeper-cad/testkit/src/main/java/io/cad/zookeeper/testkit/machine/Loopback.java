// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.machine;

import io.cad.zookeeper.testkit.FreePorts;
import io.cad.zookeeper.testkit.disk.Disk;
import io.cad.zookeeper.testkit.disk.DiskProvider;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Processes that share this machine and its loopback network, each with a disk of its own. */
public record Loopback(DiskProvider disks) implements Machines {
    private static final String ADDRESS = "127.0.0.1";

    private record Here(Disk disk) implements Machine {

        @Override
        public String address() {
            return ADDRESS;
        }

        @Override
        public Ports ports(boolean admin) throws IOException {
            return new Ports(FreePorts.next(), FreePorts.next(), FreePorts.next(), admin ? FreePorts.next() : 0);
        }

        @Override
        public Running start(List<String> command, Path directory, Path log) throws IOException {
            List<String> words = new ArrayList<>(command);
            words.add(0, "setsid");
            ProcessBuilder builder = new ProcessBuilder(words).directory(directory.toFile());
            builder.environment().putAll(disk.environment());
            builder.redirectErrorStream(true);
            builder.redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
            builder.redirectInput(new File("/dev/null"));
            return new Child(builder.start());
        }
    }

    private record Child(Process process) implements Running {

        @Override
        public long pid() {
            return process.pid();
        }

        @Override
        public boolean isAlive() {
            return process.isAlive();
        }

        @Override
        public void terminate() {
            process.destroy();
        }

        @Override
        public void kill() {
            process.destroyForcibly();
        }

        @Override
        public boolean awaitEnd(Duration limit) throws InterruptedException {
            return process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
        }

        @Override
        public int exitStatus() {
            return process.exitValue();
        }
    }

    @Override
    public Machine create(int id, Path home) throws IOException, InterruptedException {
        return new Here(disks.create("data", home));
    }

    @Override
    public boolean endProcesses() {
        return false;
    }

    @Override
    public Disk.Loss powerLoss(Collection<Machine> some) throws IOException, InterruptedException {
        Disk.Loss loss = new Disk.Loss(0, 0);
        for (Machine machine : some) {
            loss = loss.plus(machine.disk().powerLoss());
        }
        return loss;
    }
}
