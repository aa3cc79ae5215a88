// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Clients;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerBuild;
import java.time.Duration;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The meters and the check of modes, against a real server. */
@Timeout(180)
class MeterTest {
    private static final int WRITES = 500;
    private static final int VALUE_BYTES = 10_000;

    @Test
    void metersSeeWhatAServerSpends() throws Exception {
        try (RunDirectory run = RunDirectory.create("meter-test")) {
            Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.stock(), 1));
            List<Long> pids = List.of(ensemble.server(1).pid());
            try (AllocationMeter allocation = new AllocationMeter(ensemble.servers());
                    ZooKeeper client = Clients.connect(ensemble.connectString(), Duration.ofSeconds(10), Duration.ofSeconds(30))) {
                client.create("/a", new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
                double bytes = allocation.bytes();
                double cpu = CpuMeter.ofProcesses(pids);
                double machine = CpuMeter.ofMachine();
                for (int i = 0; i < WRITES; i++) {
                    client.setData("/a", new byte[VALUE_BYTES], -1);
                }
                double allocated = allocation.bytes() - bytes;
                double used = CpuMeter.ofProcesses(pids) - cpu;
                double busy = CpuMeter.ofMachine() - machine;
                assertTrue(allocated >= (double) WRITES * VALUE_BYTES, "each value was allocated at least once, not " + allocated);
                assertTrue(used > 0, "some CPU time");
                // One tick of each CPU may be accounted late.
                assertTrue(busy >= used - 0.01 * Runtime.getRuntime().availableProcessors(), busy + " of the machine, " + used + " of the server");
            }
            run.closeAndDelete();
        }
    }

    @Test
    void aModeThatTheServersIgnoreIsRefused() throws Exception {
        try (RunDirectory run = RunDirectory.create("mode-test")) {
            Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.stock(), 1).cfg(Mode.CAD.cfg()));
            ModeCheck.requireActive(Mode.STOCK, ensemble);
            String message = assertThrows(IllegalStateException.class, () -> ModeCheck.requireActive(Mode.CAD, ensemble)).getMessage();
            assertTrue(message.contains("class path"), message);
            run.closeAndDelete();
        }
    }

    @Test
    void aMeterOfNothingReadsNothing() throws Exception {
        try (AllocationMeter allocation = new AllocationMeter(List.of())) {
            assertEquals(0, allocation.bytes());
        }
        assertFalse(Mode.PLUGIN_OFF.cfg().keySet().stream().anyMatch(key -> key.startsWith("cad.")));
    }
}
