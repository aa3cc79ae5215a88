// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * One server of three speaks the next version of the protocol: the number is higher, each record has a field that nobody
 * knows, and the fields of heartbeats are longer. It takes part in everything, as a leader and as a follower.
 */
@Timeout(240)
class NextVersionTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int SERVERS = 3;
    /** The one that is elected when all start with nothing. */
    private static final int NEXT = 3;
    private static final int LIVES = 5;
    private static final Path SOURCES = Path.of(System.getProperty("testkit.product.sources"));

    private static String changed(String source, String... pairs) {
        String text = source;
        for (int i = 0; i < pairs.length; i += 2) {
            String before = text;
            text = text.replace(pairs[i], pairs[i + 1]);
            assertNotEquals(before, text, "the encoder no longer says: " + pairs[i]);
        }
        return text;
    }

    private static Path write(Path directory, String source, String... pairs) throws Exception {
        Path file = directory.resolve(Path.of(source).getFileName());
        return Files.writeString(file, changed(Files.readString(SOURCES.resolve(source)), pairs));
    }

    /** The product with the encoders of its records compiled anew, first on the class path. */
    private static ServerBuild nextVersion(Path directory) throws Exception {
        ServerBuild product = ServerBuild.product();
        Path classes = Files.createDirectories(directory.resolve("classes"));
        List<Path> sources = List.of(
            write(directory, "io/cad/zookeeper/wire/Tail.java",
                "HEADER + fields.remaining());", "HEADER + fields.remaining() + 8);",
                ".putInt(version).putInt(fields.remaining()).put(fields);",
                ".putInt(version + 1).putInt(fields.remaining() + 8).put(fields)\n"
                    + "            .putShort((short) 99).putShort((short) 4).putInt(7);"),
            write(directory, "io/cad/zookeeper/lease/Fields.java",
                "    byte[] encode() {\n        write(0, 2, version);",
                "    byte[] encode() {\n        if (!has(99)) {\n            put(99, 1, 2);\n            values.put(99, new long[0]);\n        }\n"
                    + "        write(0, 2, version + 1);",
                "    Fields put(int type, long... numbers) {\n",
                "    Fields put(int type, long... known) {\n        long[] numbers = Arrays.copyOf(known, known.length + 1);\n"));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<String> words = new ArrayList<>(List.of("-d", classes.toString(), "-cp", product.classPath()));
        sources.forEach(source -> words.add(source.toString()));
        assertEquals(0, compiler.run(null, null, null, words.toArray(String[]::new)));
        List<Path> jars = new ArrayList<>(List.of(classes));
        jars.addAll(product.jars());
        return new ServerBuild("next", jars);
    }

    @Test
    void aServerOfTheNextVersionLeadsAndFollows() throws Exception {
        try (RunDirectory run = RunDirectory.create("next-version")) {
            Map<String, String> mode = Map.of("cad.durability", "cad", "cad.reads", "active-set", "cad.strict", "true");
            Ensemble ensemble = Ensemble.create(run, new EnsembleConfig(ServerBuild.product(), SERVERS)
                    .cfg("syncLimit", "4").cfg(mode));
            ensemble.server(NEXT).reinstall(nextVersion(Files.createDirectory(run.path().resolve("next"))), mode);
            Set<String> roles = new TreeSet<>();
            for (int life = 1; life <= LIVES && roles.size() < 2; life++) {
                ensemble.startAll();
                ServerProcess leader = ensemble.awaitLeader(LIMIT);
                Await.until("all to be in the active set", LIMIT,
                        () -> Integer.toString(SERVERS).equals(leader.metrics().get("cad_active_set_size")), ensemble::toString);
                roles.add(ensemble.server(NEXT).mode());
                everybodyWritesAndReads(ensemble, life);
                ensemble.kill(List.of(leader));
                ensemble.awaitLeader(LIMIT);
            }
            assertEquals(Set.of("follower", "leader"), roles);
            run.closeAndDelete();
        }
    }

    private static void everybodyWritesAndReads(Ensemble ensemble, int life) throws Exception {
        for (ServerProcess server : ensemble.servers()) {
            try (PinnedClient client = new PinnedClient(new ArrayList<>(), server.id(), server)) {
                String path = "/" + life + "." + server.id();
                client.create(path, life);
                Await.until("server " + server.id() + " to answer", LIMIT,
                        () -> client.read(path).equals(OptionalLong.of(life)), ensemble::toString);
            }
        }
        assertTrue(ensemble.sumMetrics("cad_reads").get("cad_reads") > 0);
    }
}
