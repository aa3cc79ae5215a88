// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.util.HashSet;
import java.util.Set;

/** Which payloads may be read: those of writes that did not certainly fail. */
final class Phantoms {
    private record Written(int key, Object payload) {
    }

    private final Set<Written> written = new HashSet<>();

    Phantoms(History history) {
        for (Operation op : history.operations()) {
            if (op.kind() == Operation.Kind.WRITE && op.outcome() != Operation.Outcome.FAIL) {
                written.add(new Written(op.key(), op.asked().payload()));
                if (op.isOk()) {
                    written.add(new Written(op.key(), op.got().payload()));
                }
            }
        }
    }

    boolean isPhantom(Operation read) {
        return read.got().payload() != null && !written.contains(new Written(read.key(), read.got().payload()));
    }
}
