// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

/** The input is no history that can be judged. The message says where and what was expected. */
public final class BadHistoryException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public BadHistoryException(String message) {
        super(message);
    }
}
