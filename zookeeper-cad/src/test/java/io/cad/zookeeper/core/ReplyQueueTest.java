// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ReplyQueueTest {
    private record Reply(int name, long required, long bytes, long since) {
    }

    @Test
    void itIsAListOfReplies() {
        Seeds.each("reply queue", 100, ReplyQueueTest::compareWithAList);
    }

    private static void compareWithAList(Random random) {
        ReplyQueue<Reply> queue = new ReplyQueue<>();
        List<Reply> model = new ArrayList<>();
        long durable = Indices.NONE;
        for (int i = 0; i < 500; i++) {
            int dice = random.nextInt(20);
            if (dice < 12) {
                Reply reply = new Reply(i, Math.max(Indices.NONE, durable + random.nextInt(9) - 4),
                        random.nextInt(50), i);
                boolean passes = model.isEmpty() && reply.required <= durable;
                assertEquals(passes, queue.passes(reply.required, durable));
                if (!passes) {
                    queue.hold(reply, reply.required, reply.bytes, reply.since);
                    model.add(reply);
                }
            } else if (dice < 19) {
                durable += random.nextInt(4);
                for (int some = random.nextInt(5); some > 0; some--) {
                    boolean ready = !model.isEmpty() && model.get(0).required <= durable;
                    assertEquals(ready ? model.remove(0) : null, queue.pollReady(durable));
                }
            } else if (random.nextInt(5) == 0) {
                assertEquals(model.size(), queue.discard());
                model.clear();
            }
            assertEquals(model.size(), queue.size());
            assertEquals(model.stream().mapToLong(Reply::bytes).sum(), queue.bytes());
            assertEquals(model.stream().mapToLong(Reply::required).max().orElse(Indices.NONE), queue.maxRequired());
            assertEquals(model.isEmpty() ? Indices.NONE : model.get(0).required, queue.headRequired());
            if (!model.isEmpty()) {
                assertEquals(model.get(0).since, queue.oldestHeldAt());
            }
        }
    }

    @Test
    void aReplyAboveDurableStopsTheServer() {
        ReplyQueue<String> queue = Variant.REPLY_LEAVES_ABOVE_DURABLE.cores.replies();
        queue.hold("reply", 5, 1, 0);
        InvariantViolation violation = assertThrows(InvariantViolation.class, () -> queue.pollReady(4));
        assertEquals("NoReplyAboveDurable", violation.invariant());
    }

    @Test
    void nonsenseIsRefused() {
        ReplyQueue<String> queue = new ReplyQueue<>();
        assertThrows(IllegalArgumentException.class, () -> queue.hold("reply", 1, -1, 0));
        assertThrows(NoSuchElementException.class, queue::oldestHeldAt);
    }
}
