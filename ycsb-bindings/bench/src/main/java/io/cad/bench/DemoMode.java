// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

/** A way to run servers, as a demo sees it: what it is called, and what it promises. */
interface DemoMode {
    String label();

    /** What an operator would configure, in one line. */
    String describe();

    /** Whether it runs our build, which counts reads that had to wait. */
    boolean isPatched();

    /** Whether it promises that an acknowledged write survives. */
    boolean acknowledgesDurably();

    /** Whether it promises that what was read survives. */
    boolean keepsWhatWasRead();

    /** Whether it promises neither, so that its row must show a loss. */
    boolean isWeak();

    /** Whether it acknowledges early and yet keeps what was read: its row must show that this was tried. */
    boolean isOnTrial();
}
