// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.machine;

import java.time.Duration;

/** One life of a server's process. */
public interface Running {

    /** Exit status of a process whose parent is not here to hear it. */
    int UNKNOWN_STATUS = -1;

    /** Process id as this JVM sees it. */
    long pid();

    boolean isAlive();

    /** SIGTERM, without waiting. */
    void terminate();

    /** SIGKILL, without waiting. */
    void kill();

    /** Whether the process has ended within the time. */
    boolean awaitEnd(Duration limit) throws InterruptedException;

    /** Exit status of a process that has ended, or {@link #UNKNOWN_STATUS}. */
    int exitStatus();
}
