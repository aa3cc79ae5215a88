// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** The checker sees what it is there for. */
class SharedRegisterTest {
    private final SharedRegister register = new SharedRegister();

    @Test
    void aReadDuringAWriteMayReturnEither() {
        int value = register.beginWrite();
        int oldest = register.beginRead();
        register.read(oldest, value, "a");
        register.read(oldest, value - 1, "b");
        assertEquals(0, register.violations().size());
    }

    @Test
    void aReadOlderThanAnAcknowledgedWriteIsSeen() {
        register.acknowledged(register.beginWrite());
        register.read(register.beginRead(), 0, "a");
        assertEquals(1, register.violations().size());
    }

    @Test
    void aReadOlderThanAnotherReadIsSeen() {
        int value = register.beginWrite();
        register.read(register.beginRead(), value, "a");
        register.read(register.beginRead(), 0, "b");
        assertEquals(1, register.violations().size());
    }

    @Test
    void aValueFromNowhereIsSeen() {
        register.read(register.beginRead(), 1, "a");
        assertEquals(1, register.violations().size());
    }
}
