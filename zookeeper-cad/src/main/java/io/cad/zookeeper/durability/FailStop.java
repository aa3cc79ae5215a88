// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the server at once when its disk has failed it. A failed sync is never
 * retried: the kernel may drop the dirty pages and let the second call
 * succeed. Nothing is flushed, acknowledged or answered any more, so shutdown
 * hooks are skipped.
 */
public final class FailStop {

    /** Exit code after a failed write or sync of the log. */
    public static final int STORAGE_FAILED = 21;

    private static final Logger LOG = LoggerFactory.getLogger(FailStop.class);

    /** What ends the process; tests inside one JVM replace it. */
    public interface Exit {
        void exit(int code);
    }

    private static volatile Exit exit = code -> Runtime.getRuntime().halt(code);

    private FailStop() {
    }

    /**
     * Ends the process. Returns only in tests, hence the exception to throw.
     *
     * @param what the failed operation and the file
     */
    public static IllegalStateException storage(String what, Throwable cause) {
        LOG.error("{} failed: {}. The server stops; it has acknowledged nothing that the disk lost. "
            + "Mend the disk or free space, then start the server again.", what, cause.toString());
        exit.exit(STORAGE_FAILED);
        return new IllegalStateException(what + " failed", cause);
    }

    /** For tests that run several servers in one JVM. */
    public static void exitWith(Exit replacement) {
        exit = replacement;
    }
}
