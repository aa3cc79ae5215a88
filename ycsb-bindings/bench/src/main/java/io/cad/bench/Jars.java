// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Arguments;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

/** The build under test, as named on the command line. */
record Jars(Path serverJar, List<Path> plugins) {
    private static final int FINGERPRINT_BYTES = 6;

    static Jars of(Arguments arguments) {
        String server = arguments.get("server-jar", null);
        return new Jars(server == null ? null : Path.of(server),
                arguments.all("plugin").stream().map(Path::of).collect(Collectors.toList()));
    }

    boolean present() {
        return serverJar != null;
    }

    /** Changes when a jar does, so that measurements of different builds are never mixed. */
    String fingerprint() throws IOException {
        if (!present()) {
            return "none";
        }
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(Files.readAllBytes(serverJar));
            for (Path plugin : plugins) {
                digest.update(Files.readAllBytes(plugin));
            }
            return HexFormat.of().formatHex(digest.digest(), 0, FINGERPRINT_BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }
}
