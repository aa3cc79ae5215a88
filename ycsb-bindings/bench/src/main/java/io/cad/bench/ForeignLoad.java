// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** What the machine's CPUs do beyond this process and the given servers, from a moment on. */
final class ForeignLoad {
    private final List<Long> ours;
    private final double machine;
    private final double own;
    private final long begin;

    private ForeignLoad(List<Long> ours) throws IOException {
        this.ours = ours;
        this.machine = CpuMeter.ofMachine();
        this.own = CpuMeter.ofProcesses(ours);
        this.begin = System.nanoTime();
    }

    /** @param servers processes that live until the end of the measurement */
    static ForeignLoad begin(Collection<Long> servers) throws IOException {
        List<Long> ours = new ArrayList<>(servers);
        ours.add(ProcessHandle.current().pid());
        return new ForeignLoad(ours);
    }

    /** Cores kept busy by others, on average since the beginning. */
    double cores() throws IOException {
        double seconds = (System.nanoTime() - begin) / 1e9;
        return Math.max(0, (CpuMeter.ofMachine() - machine) - (CpuMeter.ofProcesses(ours) - own)) / seconds;
    }
}
