// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.disk;

import java.io.IOException;
import java.nio.file.Path;

/** Makes the disks of an ensemble's servers. */
public interface DiskProvider {

    /** Makes an empty disk whose files live below {@code parent}, which exists. */
    Disk create(String name, Path parent) throws IOException, InterruptedException;
}
