// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import org.apache.zookeeper.proto.ReplyHeader;

/**
 * What the thread at hand is answering: set around the execution of a request,
 * read where its bytes reach the connection. Upstream passes no such
 * information down to {@code sendBuffer}.
 */
public final class ReplyContext {

    /** No index was stated: the reply counts as showing everything applied. */
    public static final long UNSTATED = -1;

    private static final ThreadLocal<ReplyContext> CURRENT = ThreadLocal.withInitial(ReplyContext::new);

    /** Required index of the next reply, or {@link #UNSTATED}. */
    public long required = UNSTATED;
    public Cause cause = Cause.OTHER;
    /** The reply shows state: its header must not run ahead of what it shows. */
    public boolean capHeader;
    /** Header of the reply being sent, null for bytes that are none. */
    ReplyHeader header;
    /** The reply being sent was held. */
    boolean held;

    private ReplyContext() {
    }

    public static ReplyContext current() {
        return CURRENT.get();
    }

    public void set(long requiredIndex, Cause why, boolean cap) {
        required = requiredIndex;
        cause = why;
        capHeader = cap;
    }

    public void clear() {
        required = UNSTATED;
        cause = Cause.OTHER;
        capHeader = false;
    }
}
