// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A ZooKeeper server to run: a name for reports and the jars of its class path, in order. */
public record ServerBuild(String name, List<Path> jars) {
    private static final String STOCK_LIB_PROPERTY = "testkit.stock.lib";
    static final String PRODUCT_SERVER_PROPERTY = "testkit.product.server";
    static final String PRODUCT_PLUGIN_PROPERTY = "testkit.product.plugin";

    public ServerBuild {
        jars = List.copyOf(jars);
    }

    /**
     * A build whose class path is one directory of jars, as in the {@code lib} directory of a release.
     *
     * @throws IllegalArgumentException when the directory has no ZooKeeper server jar
     */
    public static ServerBuild ofDirectory(String name, Path lib) throws IOException {
        List<Path> jars = jarsIn(lib);
        if (jars.stream().noneMatch(ServerBuild::isServerJar)) {
            throw new IllegalArgumentException(lib + " has no zookeeper-<version>.jar;"
                    + " give the lib directory of a release, or build first");
        }
        return new ServerBuild(name, jars);
    }

    /**
     * The stock release that Maven laid out beside the test kit.
     *
     * @throws IllegalStateException when the system property testkit.stock.lib is missing
     */
    public static ServerBuild stock() throws IOException {
        String lib = System.getProperty(STOCK_LIB_PROPERTY);
        if (lib == null) {
            throw new IllegalStateException("system property " + STOCK_LIB_PROPERTY
                    + " is missing; it names the directory that the test kit's build fills (target/stock-lib)");
        }
        return ofDirectory("stock", Path.of(lib));
    }

    /**
     * The product as the build left it beside the test kit.
     *
     * @throws IllegalStateException when the system properties that name its jars are missing
     */
    public static ServerBuild product() throws IOException {
        String server = System.getProperty(PRODUCT_SERVER_PROPERTY);
        String plugin = System.getProperty(PRODUCT_PLUGIN_PROPERTY);
        if (server == null || plugin == null) {
            throw new IllegalStateException("system properties " + PRODUCT_SERVER_PROPERTY + " and "
                    + PRODUCT_PLUGIN_PROPERTY + " are missing; they name the patched server and the plugin");
        }
        return stock().withServerJar("product", Path.of(server), List.of(Path.of(plugin)));
    }

    /** This build with its server jar replaced by another one and further jars added, as the drop-in installer does. */
    public ServerBuild withServerJar(String newName, Path serverJar, List<Path> plugins) {
        List<Path> replaced = new ArrayList<>(plugins);
        replaced.add(serverJar);
        jars.stream().filter(jar -> !isServerJar(jar)).forEach(replaced::add);
        for (Path jar : replaced) {
            if (!Files.isRegularFile(jar)) {
                throw new IllegalArgumentException("no such jar: " + jar + "; build it first (make build)");
            }
        }
        return new ServerBuild(newName, replaced);
    }

    String classPath() {
        return jars.stream().map(jar -> jar.toAbsolutePath().toString()).collect(Collectors.joining(File.pathSeparator));
    }

    private static List<Path> jarsIn(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            throw new IllegalArgumentException("no such directory: " + directory + "; build first (make build)");
        }
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(".jar")).sorted().collect(Collectors.toList());
        }
    }

    private static boolean isServerJar(Path jar) {
        return jar.getFileName().toString().matches("zookeeper-\\d.*\\.jar");
    }
}
