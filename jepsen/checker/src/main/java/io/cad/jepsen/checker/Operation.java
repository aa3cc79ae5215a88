// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

/**
 * One operation of one client, from its invocation to its completion.
 *
 * @param position where the completion stands in the history, or the invocation if there is none
 * @param process the client; a crashed one goes on under another number
 * @param key number of the item in {@link History#keys}, -1 for a dump of a log
 * @param invoked time of the invocation in nanoseconds
 * @param returned time of the completion; {@link Long#MAX_VALUE} if there is none or it says nothing
 * @param asked what the invocation states (the payload of a write)
 * @param got what the completion states, {@link Facts#NONE} unless it is ok
 * @param node who answered, for reports; may be null
 */
public record Operation(Kind kind, Outcome outcome, long position, long process, int key, long invoked, long returned,
        Facts asked, Facts got, Object node) {
    /** What was asked for. */
    public enum Kind { WRITE, READ, DELETE, WATCH, LOG }

    /** OK: it happened; FAIL: it certainly did not; INFO: nobody knows. */
    public enum Outcome { OK, FAIL, INFO }

    public boolean isOk() {
        return outcome == Outcome.OK;
    }

    /** Whether a client saw a state: a completed read, or a delivered watch event. */
    public boolean saw() {
        return isOk() && (kind == Kind.READ || kind == Kind.WATCH);
    }
}
