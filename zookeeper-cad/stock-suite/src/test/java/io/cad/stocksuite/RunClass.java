// SPDX-License-Identifier: Apache-2.0
package io.cad.stocksuite;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs one upstream test class in this JVM and writes what happened, test by test, as JSON.
 *
 * <pre>java ... io.cad.stocksuite.RunClass CLASS OUTPUT.json [SKIPPED-METHOD...]</pre>
 *
 * <p>With {@code -Dsuite.ensemble=true} standalone servers become one-server ensembles, except
 * in the methods that {@code -Dsuite.standalone=A,B} names ({@code *} for all). Each
 * test's entry says how many CAD objects it made: only a test that made some has tested CAD.
 */
public final class RunClass implements TestExecutionListener {

    private static final ObjectMapper JSON = new ObjectMapper();

    private final boolean ensemble = Boolean.getBoolean("suite.ensemble");
    private final Set<String> standalone = Set.of(System.getProperty("suite.standalone", "").split(","));
    private final MethodHandle cadObjects = cadObjects();
    private final ArrayNode tests = JSON.createArrayNode();
    private final Map<TestIdentifier, long[]> begun = new HashMap<>();
    /** Objects made outside any test, for example in {@code @BeforeAll}: all tests use them. */
    private long shared;
    private long createdBefore = created();

    private RunClass() {
    }

    /** Arguments as above. The exit code is 0 when the output was written, whatever the tests did. */
    public static void main(String[] args) throws Exception {
        run(args[0], new File(args[1]), Set.of(Arrays.copyOfRange(args, 2, args.length)));
        // Upstream's tests leave threads behind.
        Runtime.getRuntime().halt(0);
    }

    private static void run(String className, File output, Set<String> skipped) throws Exception {
        RunClass listener = new RunClass();
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
            .selectors(DiscoverySelectors.selectClass(className))
            .filters((PostDiscoveryFilter) test -> FilterResult.includedIf(test.getSource()
                .filter(MethodSource.class::isInstance)
                .map(source -> !skipped.contains(((MethodSource) source).getMethodName()))
                .orElse(true)))
            .build();
        LauncherFactory.create().execute(request, listener);
        JSON.writeValue(output, listener.tests);
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (ensemble) {
            boolean one = !standalone.contains("*") && !standalone.contains(methodName(test));
            useEnsembles(one);
            ConfigurationOfOne.use(one);
        }
        if (test.isTest()) {
            shared += created() - createdBefore;
        }
        begun.put(test, new long[] {System.nanoTime(), created()});
    }

    /**
     * Makes every factory that a test creates without naming a class an {@link EnsembleOfOne}, or no longer. Only names
     * that class: ZooKeeper's classes that it extends read properties once, and a test may set those in {@code @BeforeAll}.
     */
    private static void useEnsembles(boolean yes) {
        String property = ServerCnxnFactory.ZOOKEEPER_SERVER_CNXN_FACTORY;
        String name = EnsembleOfOne.class.getName();
        if (yes && System.getProperty(property) == null) {
            System.setProperty(property, name);
        } else if (!yes && name.equals(System.getProperty(property))) {
            System.clearProperty(property);
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        long[] at = begun.remove(test);
        // A container counts only when it fails as a whole, for example in @BeforeAll.
        if (test.isTest() || result.getStatus() == TestExecutionResult.Status.FAILED) {
            ObjectNode entry = entry(test);
            switch (result.getStatus()) {
                case SUCCESSFUL:
                    entry.put("status", "passed");
                    break;
                case ABORTED:
                    entry.put("status", "skipped");
                    break;
                default:
                    entry.put("status", "failed");
                    break;
            }
            entry.put("ms", (System.nanoTime() - at[0]) / 1_000_000);
            entry.put("cad", created() - at[1] + shared);
            result.getThrowable().ifPresent(why -> {
                entry.put("why", String.valueOf(why));
                // The whole trace goes to the log of the run.
                why.printStackTrace();
            });
            createdBefore = created();
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        ObjectNode entry = entry(test);
        entry.put("status", "skipped");
        entry.put("why", reason);
    }

    private ObjectNode entry(TestIdentifier test) {
        ObjectNode entry = tests.addObject();
        entry.put("test", methodName(test));
        if (!test.getDisplayName().equals(entry.get("test").asText() + "()")) {
            entry.put("case", test.getDisplayName());
        }
        return entry;
    }

    private static String methodName(TestIdentifier test) {
        return test.getSource().filter(MethodSource.class::isInstance)
            .map(source -> ((MethodSource) source).getMethodName()).orElse(test.getDisplayName());
    }

    /** Objects of the plugin made so far in this JVM; 0 without the plugin. */
    private long created() {
        try {
            return cadObjects == null ? 0 : (long) cadObjects.invokeExact();
        } catch (Throwable e) {
            throw new IllegalStateException("CadObjects.created() failed", e);
        }
    }

    private static MethodHandle cadObjects() {
        try {
            return MethodHandles.publicLookup().findStatic(Class.forName("io.cad.zookeeper.CadObjects"), "created",
                MethodType.methodType(long.class));
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }
}
