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
    private static final int CHILDREN_UTIME = 16;
    private static final int CHILDREN_STIME = 17;
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
            String[] fields = stat(Long.toString(pid));
            ticks += ticks(fields, UTIME) + ticks(fields, STIME);
        }
        return ticks / TICKS_PER_SECOND;
    }

    /** The same of this process and of its children that have ended. */
    static double ofSelfAndEnded() throws IOException {
        String[] fields = stat("self");
        return (ticks(fields, UTIME) + ticks(fields, STIME) + ticks(fields, CHILDREN_UTIME) + ticks(fields, CHILDREN_STIME)) / TICKS_PER_SECOND;
    }

    private static String[] stat(String process) throws IOException {
        String stat = Files.readString(Path.of("/proc", process, "stat"));
        // The name is in parentheses and may hold spaces.
        return stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    }

    private static long ticks(String[] fields, int field) {
        return Long.parseLong(fields[field - FIRST_FIELD_AFTER_NAME]);
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
