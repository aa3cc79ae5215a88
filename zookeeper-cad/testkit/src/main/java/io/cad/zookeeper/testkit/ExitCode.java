// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

/** Exit codes of the project's commands. */
public enum ExitCode {
    HOLDS(0), VIOLATED(1), UNDECIDED(2), BAD_ARGUMENTS(254), CRASHED(255);

    private final int code;

    ExitCode(int code) {
        this.code = code;
    }

    public int code() {
        return code;
    }

    /** The worse of two verdicts: a violation beats an undecided part, which beats success. */
    public ExitCode and(ExitCode other) {
        if (this == VIOLATED || other == VIOLATED) {
            return VIOLATED;
        }
        return this == UNDECIDED || other == UNDECIDED ? UNDECIDED : HOLDS;
    }
}
