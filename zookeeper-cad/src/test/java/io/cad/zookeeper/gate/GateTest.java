// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import io.cad.zookeeper.testing.Ensemble.Transport;
import org.junit.jupiter.api.Nested;

/** Replies are held until what they show is durable, on both transports. */
class GateTest {

    @Nested
    class Nio extends GateContract {
        Nio() {
            super(Transport.NIO);
        }
    }

    @Nested
    class Netty extends GateContract {
        Netty() {
            super(Transport.NETTY);
        }
    }
}
