// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import java.util.concurrent.atomic.AtomicLong;

/** Counts the roles that this process ran with the plugin's classes: a test that made none has tested the stock server. */
public final class CadObjects {

    private static final AtomicLong CREATED = new AtomicLong();

    private CadObjects() {
    }

    public static void count() {
        CREATED.incrementAndGet();
    }

    public static long created() {
        return CREATED.get();
    }
}
