// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.history;

import io.cad.jepsen.checker.Checker;
import io.cad.jepsen.checker.Facts;
import io.cad.jepsen.checker.HistoryBuilder;
import io.cad.jepsen.checker.Index;
import io.cad.jepsen.checker.Operation;
import io.cad.jepsen.checker.Verdict;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.zookeeper.server.util.ZxidUtils;

/** Recorded operations as the checker of histories wants them: an update is known by its zxid, epoch and counter. */
public final class Histories {
    private Histories() {
    }

    /** Whether any read went back behind an earlier one of whatever client, in its key or in the state as a whole. */
    public static Verdict judge(List<Op> ops) {
        List<Op> byCompletion = new ArrayList<>(ops);
        byCompletion.sort(Comparator.comparingLong(Op::completedNanos));
        HistoryBuilder history = new HistoryBuilder();
        long position = 0;
        for (Op op : byCompletion) {
            history.add(operation(op, position++, history.key(op.key())));
        }
        return Checker.check(history.build());
    }

    private static Operation operation(Op op, long position, int key) {
        boolean read = op.kind() == Op.Kind.READ;
        Operation.Outcome outcome = op.ok() ? Operation.Outcome.OK
                : read ? Operation.Outcome.FAIL : Operation.Outcome.INFO;
        return new Operation(read ? Operation.Kind.READ : Operation.Kind.WRITE, outcome, position, op.client(), key,
                op.invokedNanos(), op.ok() ? op.completedNanos() : Long.MAX_VALUE,
                read ? Facts.NONE : Facts.written(op.value()), op.ok() ? facts(op) : Facts.NONE, "server " + op.server());
    }

    private static Facts facts(Op op) {
        if (op.kind() == Op.Kind.READ && op.value() == Op.NO_VALUE) {
            return Facts.absent(null);
        }
        Index version = Index.of(ZxidUtils.getEpochFromZxid(op.mzxid()), ZxidUtils.getCounterFromZxid(op.mzxid()));
        return Facts.present(op.value(), version, op.version(), null);
    }
}
