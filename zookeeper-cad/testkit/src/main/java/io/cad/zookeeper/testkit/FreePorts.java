// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Chooses loopback ports outside the range from which the kernel takes the ports of outgoing connections, so that a
 * server which is down can always get its own port back.
 */
public final class FreePorts {
    private static final int LOWEST = 11_000;
    /** Linux' default lower end of outgoing ports is 32768. */
    private static final int HIGHEST = 32_000;
    private static final int TRIES = 10_000;
    /** Ports already given out by this process; each server keeps its ports for life. */
    private static final Set<Integer> GIVEN = new HashSet<>();

    private FreePorts() {
    }

    public static synchronized int next() throws IOException {
        for (int i = 0; i < TRIES; i++) {
            int port = ThreadLocalRandom.current().nextInt(LOWEST, HIGHEST);
            if (!GIVEN.contains(port) && isFree(port)) {
                GIVEN.add(port);
                return port;
            }
        }
        throw new IOException("no free port between " + LOWEST + " and " + HIGHEST + " on loopback");
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
