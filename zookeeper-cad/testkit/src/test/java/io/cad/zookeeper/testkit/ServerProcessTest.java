// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ServerProcessTest {

    @Test
    void theLastExceptionOfALogIsTheCauseOfTheLastOne() {
        assertEquals(Optional.of("java.io.IOException: No snapshot found, but there are log entries"), ServerProcess.lastException(List.of(
                "10:52:40.644 WARN  [main] o.a.z.s.q.QuorumCnxManager: Cannot open channel to 1",
                "java.net.ConnectException: Connection refused",
                "\tat java.base/sun.nio.ch.Net.pollConnect(Native Method)",
                "10:52:45.676 ERROR [main] o.a.z.s.q.QuorumPeerMain: Unexpected exception, exiting abnormally",
                "java.lang.RuntimeException: Unable to run quorum server ",
                "\tat org.apache.zookeeper.server.quorum.QuorumPeerMain.main(QuorumPeerMain.java:91)",
                "Caused by: java.io.IOException: No snapshot found, but there are log entries",
                "\t... 4 more",
                "10:52:45.678 ERROR [main] o.a.z.u.ServiceUtils: Exiting JVM with code 1")));
        assertEquals(Optional.empty(), ServerProcess.lastException(List.of("10:52:45 INFO  [main] a.b.ExceptionHandler: fine")));
    }
}
