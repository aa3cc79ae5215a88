// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.machine;

import io.cad.zookeeper.testkit.disk.Disk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;

/** The machines of an ensemble's servers. */
public interface Machines {

    /**
     * Makes the machine of one server.
     *
     * @param home an empty directory for all that belongs to the server
     */
    Machine create(int id, Path home) throws IOException, InterruptedException;

    /** Whether a power loss ends the processes too; if not, they have to be dead before it. */
    boolean endProcesses();

    /**
     * Power loss of some machines at once.
     *
     * @return what the disks lost, summed
     */
    Disk.Loss powerLoss(Collection<Machine> some) throws IOException, InterruptedException;
}
