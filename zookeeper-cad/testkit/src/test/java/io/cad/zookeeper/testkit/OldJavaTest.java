// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A Java that is too old for the plugin ends the server with a line that says so, keys or no keys. */
@Timeout(120)
class OldJavaTest {
    /** Where a class file says for which Java it is, and the number that Java 1 would have. */
    private static final int CLASS_VERSION = 6;
    private static final int FIRST = 44;

    private static byte[] classFile(JarFile jar, String name) throws Exception {
        try (InputStream in = jar.getInputStream(jar.getEntry(name))) {
            return in.readAllBytes();
        }
    }

    /** The plugin as one that needs a newer Java than the one that runs it. */
    private static Path tooNew(Path plugin, Path to) throws Exception {
        try (JarFile from = new JarFile(plugin.toFile()); JarOutputStream out = new JarOutputStream(Files.newOutputStream(to))) {
            for (Enumeration<JarEntry> all = from.entries(); all.hasMoreElements();) {
                String name = all.nextElement().getName();
                byte[] bytes = classFile(from, name);
                if (name.endsWith(".class")) {
                    ByteBuffer.wrap(bytes).putShort(CLASS_VERSION, (short) (FIRST + Runtime.version().feature() + 1));
                }
                out.putNextEntry(new JarEntry(name));
                out.write(bytes);
            }
        }
        return to;
    }

    @Test
    void theServerEndsAndSaysWhy() throws Exception {
        Path plugin = Path.of(System.getProperty(ServerBuild.PRODUCT_PLUGIN_PROPERTY));
        try (JarFile jar = new JarFile(plugin.toFile())) {
            byte[] extension = classFile(jar, "io/cad/zookeeper/CadExtension.class");
            assertEquals(11, ByteBuffer.wrap(extension).getShort(CLASS_VERSION) - FIRST, "the Java that the manual names");
        }
        try (RunDirectory run = RunDirectory.create("old-java")) {
            ServerBuild build = ServerBuild.stock().withServerJar("too-new",
                    Path.of(System.getProperty(ServerBuild.PRODUCT_SERVER_PROPERTY)),
                    List.of(tooNew(plugin, run.path().resolve("plugin.jar"))));
            Ensemble ensemble = Ensemble.create(run, new EnsembleConfig(build, 1));
            ServerProcess server = ensemble.server(1);
            server.start();
            assertNotEquals(0, server.awaitEnd());
            String log = Files.readString(server.logFile());
            assertTrue(log.contains("cannot be loaded on Java " + System.getProperty("java.version")), log);
            assertTrue(log.contains("run the server on a newer Java or remove the plugin jar"), log);
            run.closeAndDelete();
        }
    }
}
