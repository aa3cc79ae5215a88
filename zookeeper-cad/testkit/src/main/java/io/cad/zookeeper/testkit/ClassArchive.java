// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeoutException;

/**
 * An archive of a server's loaded classes (AppCDS), which makes later starts of the same build about a quarter faster.
 * Worth its few seconds when a test starts servers dozens of times.
 */
public final class ClassArchive {
    private static final Duration STOP_LIMIT = Duration.ofSeconds(60);

    private ClassArchive() {
    }

    /**
     * Runs a one-server ensemble of the build once and archives what it loaded.
     *
     * @return the archive, in the run directory; give it to {@link EnsembleConfig#classArchive}
     * @throws IOException when the JVM wrote no archive; its log file says why
     */
    public static Path dump(RunDirectory run, ServerBuild build) throws IOException, InterruptedException, TimeoutException {
        Path archive = run.path().resolve(build.name() + ".jsa");
        EnsembleConfig config = new EnsembleConfig(build, 1).name("class-archive-" + build.name())
                .jvmFlags("-XX:ArchiveClassesAtExit=" + archive);
        try (Ensemble ensemble = Ensemble.start(run, config)) {
            ensemble.stopAll(STOP_LIMIT);
            if (!Files.isRegularFile(archive)) {
                throw new IOException("no class archive was written; see " + ensemble.server(1).logFile());
            }
        }
        return archive;
    }
}
