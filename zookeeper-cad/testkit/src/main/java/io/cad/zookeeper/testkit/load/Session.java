// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import java.io.IOException;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** What a client of the load needs of its session with one server: one request at a time, its reply awaited. */
interface Session extends AutoCloseable {
    /** @throws IOException when the connection is lost and the session does not mend that by itself */
    byte[] get(String path, Stat stat) throws KeeperException, InterruptedException, IOException;

    /** Whatever the version. */
    Stat set(String path, byte[] value) throws KeeperException, InterruptedException, IOException;

    /** Brings the server up to the leader's state. */
    void sync(String path) throws KeeperException, InterruptedException, IOException;

    /** Ends the session, or leaves it to expire where the server does not answer soon. */
    @Override
    void close() throws InterruptedException;
}
