// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

/** Why a reply is held; the label of the hold-time metrics. */
public enum Cause {
    /** A read of data, children, ACL or absence. */
    READ,
    /** A watch event. */
    EVENT,
    /** A failed write, which shows the state it failed on. */
    FAILED_WRITE,
    /** A write of a kind or path that is acknowledged durably. */
    DURABLE_WRITE,
    /** A write beyond the window of undurable ones. */
    WINDOW,
    /** The reply of sync, used as a barrier. */
    BARRIER,
    /** The opening, resumption or end of a session. */
    SESSION,
    /** Everything else; required to be as durable as the last applied change. */
    OTHER
}
