// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testing;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.Window;
import io.cad.zookeeper.gate.ReplyContext;
import io.cad.zookeeper.gate.ReplyPolicy;
import io.cad.zookeeper.index.StateIndex;
import java.util.function.Predicate;
import org.apache.zookeeper.server.Request;

/**
 * The policy with one row wrong: replies that match require nothing. While
 * nothing is weakened it decides as the real one does.
 */
public final class WeakPolicy extends ReplyPolicy {

    private static volatile Predicate<Request> weakReplies = request -> false;
    private static volatile boolean weakEvents;

    private WeakPolicy(Mode mode, CadConfig config, StateIndex index, Window window) {
        super(mode, config, index, window);
    }

    /** Roles that begin from here on can be weakened. */
    public static void install() {
        ReplyPolicy.makeWith(WeakPolicy::new);
    }

    /** Roles that begin from here on have the real policy. */
    public static void uninstall() {
        strengthen();
        ReplyPolicy.makeWith(ReplyPolicy::new);
    }

    /** Replies to such requests require nothing. */
    public static void weaken(Predicate<Request> requests) {
        weakReplies = requests;
    }

    /** Watch events require nothing. */
    public static void weakenEvents() {
        weakEvents = true;
    }

    /** The real policy again. */
    public static void strengthen() {
        weakReplies = request -> false;
        weakEvents = false;
    }

    @Override
    public long requiredByEvent(long eventZxid) {
        return weakEvents ? 0 : super.requiredByEvent(eventZxid);
    }

    @Override
    public void state(Request request, ReplyContext context, long durable, long now) {
        super.state(request, context, durable, now);
        if (weakReplies.test(request)) {
            context.set(0, context.cause, context.capHeader);
        }
    }
}
