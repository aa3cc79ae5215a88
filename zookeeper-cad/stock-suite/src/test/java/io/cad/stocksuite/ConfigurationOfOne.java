// SPDX-License-Identifier: Apache-2.0
package io.cad.stocksuite;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Properties;
import org.apache.zookeeper.PortAssignment;

/**
 * Describes a one-server ensemble where an upstream test writes the configuration of a standalone server; what
 * {@link EnsembleOfOne} is to the servers that tests make themselves.
 */
public final class ConfigurationOfOne {

    private static volatile boolean wanted;

    private ConfigurationOfOne() {
    }

    /** Whether the next tests get ensembles. */
    static void use(boolean yes) {
        wanted = yes;
    }

    /** Completes the configuration in {@code file}, if it describes fewer than two servers. */
    public static void describe(Path file) throws IOException {
        if (!wanted) {
            return;
        }
        Properties settings = load(file);
        String dynamic = settings.getProperty("dynamicConfigFile");
        Path members = dynamic == null ? file : Path.of(dynamic);
        long servers = load(members).stringPropertyNames().stream().filter(key -> key.startsWith("server.")).count();
        if (servers > 1) {
            return;
        }
        if (servers == 0) {
            append(members, "server.1=127.0.0.1:" + PortAssignment.unique() + ":" + PortAssignment.unique());
            Files.writeString(Path.of(settings.getProperty("dataDir"), "myid"), "1");
        }
        append(file, "standaloneEnabled=false");
    }

    /**
     * Completes the configuration of an embedded server, which upstream writes to a file when it makes the server.
     *
     * @param parent where the server's data may lie
     * @return the same properties
     */
    public static Properties describe(Properties embedded, Path parent) throws IOException {
        if (wanted) {
            Path data = Files.createTempDirectory(parent, "ensemble-of-one");
            Files.writeString(data.resolve("myid"), "1");
            embedded.setProperty("dataDir", data.toString());
            embedded.setProperty("initLimit", "10");
            embedded.setProperty("syncLimit", "5");
            embedded.setProperty("server.1", "127.0.0.1:" + PortAssignment.unique() + ":" + PortAssignment.unique());
            embedded.setProperty("standaloneEnabled", "false");
        }
        return embedded;
    }

    private static Properties load(Path file) throws IOException {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        }
        return properties;
    }

    /** The last line of the file may lack its end. */
    private static void append(Path file, String line) throws IOException {
        Files.writeString(file, "\n" + line + "\n", StandardOpenOption.APPEND);
    }
}
