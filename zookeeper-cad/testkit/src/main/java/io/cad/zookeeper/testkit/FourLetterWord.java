// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** Client of ZooKeeper's four-letter commands. */
final class FourLetterWord {
    /** Generous: a loaded machine may not run a server for seconds. */
    private static final int TIMEOUT_MILLIS = 15_000;
    private static final int MAX_REPLY_BYTES = 1 << 20;

    private FourLetterWord() {
    }

    /**
     * Sends one command and reads the reply to its end.
     *
     * @throws IOException when nobody listens, or the reply takes too long
     */
    static String send(String address, int port, String word) throws IOException {
        try (Socket socket = new Socket()) {
            socket.setSoTimeout(TIMEOUT_MILLIS);
            socket.connect(new InetSocketAddress(address, port), TIMEOUT_MILLIS);
            socket.getOutputStream().write(word.getBytes(StandardCharsets.US_ASCII));
            socket.getOutputStream().flush();
            byte[] reply = socket.getInputStream().readNBytes(MAX_REPLY_BYTES);
            return new String(reply, StandardCharsets.UTF_8);
        }
    }

    /** Splits the reply of {@code mntr} (name, tab, value), without the prefix {@code zk_} that the server puts on. */
    static Map<String, String> parseMntr(String reply) {
        Map<String, String> metrics = new LinkedHashMap<>();
        for (String line : reply.split("\n")) {
            int tab = line.indexOf('\t');
            if (tab > 0) {
                String name = line.substring(0, tab);
                metrics.put(name.startsWith("zk_") ? name.substring(3) : name, line.substring(tab + 1).trim());
            }
        }
        return metrics;
    }
}
