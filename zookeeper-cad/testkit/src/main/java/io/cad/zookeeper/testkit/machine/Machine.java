// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.machine;

import io.cad.zookeeper.testkit.disk.Disk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** What one server runs on: an address, a disk, and whoever starts its process there. */
public interface Machine {

    /** Ports of one server; {@code admin} is 0 when the admin server is off. */
    record Ports(int client, int quorum, int election, int admin) {
    }

    /** The address at which the server listens and everybody reaches it. */
    String address();

    /** Chooses ports, which the server keeps for life. */
    Ports ports(boolean admin) throws IOException;

    Disk disk();

    /**
     * Starts the server's process, in a session of its own: the terminal's Ctrl-C reaches only us, and the scheduler treats
     * each server as a host.
     *
     * @param log gets what the process prints, appended
     */
    Running start(List<String> command, Path directory, Path log) throws IOException, InterruptedException;
}
