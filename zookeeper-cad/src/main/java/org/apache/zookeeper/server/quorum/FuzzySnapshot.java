// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.jute.BinaryInputArchive;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.ZKDatabase;

/**
 * A leader writes its tree to a learner while it goes on applying changes, and sends those once more behind the tree.
 * Until the last of them is applied again the tree is of no one index, and its digest agrees with nobody's. A snapshot
 * in a file says where that ends; one that is sent does not, and upstream then counts mismatches of trees that agree.
 * It ends at NEWLEADER: the leader queues that when it has written the tree, behind the commits of all that may be in it.
 */
final class FuzzySnapshot {

    /** No change has this index. */
    private static final long NEVER = Long.MAX_VALUE;
    private static final long NONE = 0;
    /** The layout that {@link DataTree.ZxidDigest} reads: index, version, digest. */
    private static final int DIGEST_VERSION = 2;
    private static final int DIGEST_BYTES = 8 + 4 + 8;

    private boolean receiving;

    /** Sees every packet, in order, before the learner acts on it. */
    void incoming(QuorumPacket packet, ZKDatabase database) throws IOException {
        if (packet.getType() == Leader.SNAP) {
            // The learner reads the tree, into a new object, before it reads the next packet.
            receiving = true;
        } else if (receiving) {
            receiving = packet.getType() != Leader.NEWLEADER;
            compareFrom(receiving ? NEVER : NONE, database.getDataTree());
        }
    }

    /** What upstream calls the digest of the loaded snapshot: none is compared before the change that it names. */
    private static void compareFrom(long index, DataTree tree) throws IOException {
        boolean waits = tree.getDigestFromLoadedSnapshot() != null;
        if (waits == (index != NONE)) {
            return;
        }
        ByteBuffer digest = ByteBuffer.allocate(DIGEST_BYTES);
        digest.putLong(index).putInt(DIGEST_VERSION).putLong(0);
        tree.deserializeZxidDigest(BinaryInputArchive.getArchive(new ByteArrayInputStream(digest.array())), 0);
    }
}
