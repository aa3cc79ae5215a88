// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import org.apache.jute.Record;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.MultiTxn;
import org.apache.zookeeper.txn.SetDataTxn;
import org.apache.zookeeper.txn.Txn;

/** What a change weighs in the window of undurable bytes, without serialising it again. */
final class TxnSize {

    /** Header, lengths, checksum and small fields of a log record. */
    private static final int FIXED = 64;

    private TxnSize() {
    }

    /** Bytes of data and path, plus a fixed part. */
    static long of(Record txn) {
        if (txn instanceof SetDataTxn) {
            SetDataTxn set = (SetDataTxn) txn;
            return FIXED + set.getPath().length() + length(set.getData());
        }
        if (txn instanceof CreateTxn) {
            CreateTxn create = (CreateTxn) txn;
            return FIXED + create.getPath().length() + length(create.getData());
        }
        if (txn instanceof MultiTxn) {
            long size = FIXED;
            for (Txn part : ((MultiTxn) txn).getTxns()) {
                size += FIXED + length(part.getData());
            }
            return size;
        }
        return FIXED;
    }

    private static int length(byte[] data) {
        return data == null ? 0 : data.length;
    }
}
