// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;

/** CPU time from /proc, in seconds since whatever start; only differences mean something. */
final class CpuMeter {
    /** USER_HZ, a constant of the Linux ABI. */
    private static final double TICKS_PER_SECOND = 100;
    private static final int FIRST_FIELD_AFTER_NAME = 3;
    private static final int UTIME = 14;
    private static final int STIME = 15;
    private static final int IDLE = 4;
    private static final int IOWAIT = 5;
    /** user to steal; guest time is contained in user time. */
    private static final int LAST_CPU_FIELD = 8;

    private CpuMeter() {
    }

    /** User and system time of processes. */
    static double ofProcesses(Collection<Long> pids) throws IOException {
        double ticks = 0;
        for (long pid : pids) {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            // The name is in parentheses and may hold spaces.
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            ticks += Long.parseLong(fields[UTIME - FIRST_FIELD_AFTER_NAME]) + Long.parseLong(fields[STIME - FIRST_FIELD_AFTER_NAME]);
        }
        return ticks / TICKS_PER_SECOND;
    }

    /** Time that all CPUs were busy, whoever used them; time stolen by the hypervisor counts. */
    static double ofMachine() throws IOException {
        List<String> lines = Files.readAllLines(Path.of("/proc/stat"));
        String[] fields = lines.get(0).trim().split(" +");
        double ticks = 0;
        for (int field = 1; field <= LAST_CPU_FIELD; field++) {
            if (field != IDLE && field != IOWAIT) {
                ticks += Long.parseLong(fields[field]);
            }
        }
        return ticks / TICKS_PER_SECOND;
    }
}
