// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import java.io.File;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether the disk of the log is nearly full. Asks the file system at most a few times a second. */
public final class DiskReserve {

    private static final Logger LOG = LoggerFactory.getLogger(DiskReserve.class);
    private static final long CHECK_INTERVAL = 200_000_000L;

    private final File directory;
    private final long reserve;
    private long checkedAt = Long.MIN_VALUE;
    private boolean isShort;

    /** @param reserve bytes below which the disk counts as full; 0 never */
    public DiskReserve(File directory, long reserve) {
        this.directory = directory;
        this.reserve = reserve;
    }

    public synchronized boolean isShort() {
        if (reserve == 0) {
            return false;
        }
        long now = System.nanoTime();
        if (checkedAt == Long.MIN_VALUE || now - checkedAt > CHECK_INTERVAL) {
            checkedAt = now;
            long usable = directory.getUsableSpace();
            boolean nowShort = usable < reserve;
            if (nowShort != isShort) {
                LOG.warn(nowShort
                    ? "{} has {} bytes left, less than cad.disk.reserve {}: writes that add data are refused until "
                        + "there is space"
                    : "{} has {} bytes left, more than cad.disk.reserve {}: writes are accepted again",
                    directory, usable, reserve);
            }
            isShort = nowShort;
        }
        return isShort;
    }
}
