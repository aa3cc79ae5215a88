// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;

import java.io.File;
import org.junit.jupiter.api.Test;

class DirectoriesTest {

    /** Named without a parent, it is in the directory that the process runs in. */
    @Test
    void aNameWithoutAParentIsEnough() {
        assertDoesNotThrow(() -> Directories.syncParent(new File("target")));
    }
}
