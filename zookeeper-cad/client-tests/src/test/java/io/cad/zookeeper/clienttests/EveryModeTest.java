// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The client suite in each mode; {@code make test} runs the one that differs most from stock. */
class EveryModeTest {
    @Nested
    class CadAsync extends ClientSuite {
        CadAsync() {
            super(Mode.CAD_ASYNC);
        }
    }

    @Nested
    @Tag("full")
    class CadSync extends ClientSuite {
        CadSync() {
            super(Mode.CAD_SYNC);
        }
    }

    @Nested
    @Tag("full")
    class EventualAsync extends ClientSuite {
        EventualAsync() {
            super(Mode.EVENTUAL_ASYNC);
        }
    }

    @Nested
    @Tag("full")
    class EventualSync extends ClientSuite {
        EventualSync() {
            super(Mode.EVENTUAL_SYNC);
        }
    }

    @Nested
    @Tag("full")
    class ImmediateLeader extends ClientSuite {
        ImmediateLeader() {
            super(Mode.IMMEDIATE_LEADER);
        }
    }

    @Nested
    @Tag("full")
    class ImmediateAny extends ClientSuite {
        ImmediateAny() {
            super(Mode.IMMEDIATE_ANY);
        }
    }

    /** The control: what fails here fails without us. */
    @Nested
    @Tag("full")
    class Stock extends ClientSuite {
        Stock() {
            super(Mode.STOCK);
        }
    }
}
