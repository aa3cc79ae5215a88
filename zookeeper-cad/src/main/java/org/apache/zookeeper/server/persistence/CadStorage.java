// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.persistence;

import io.cad.zookeeper.durability.CadTxnLog;

/** Reaches the log object that upstream keeps to its package. */
public final class CadStorage {

    private CadStorage() {
    }

    /** The log of a server; upstream replaces the object when it cuts the log. */
    public static CadTxnLog log(FileTxnSnapLog files) {
        return (CadTxnLog) files.txnLog;
    }

    /** Ends the current log file, durably; upstream may have let go of the log already. */
    public static void closeLog(FileTxnSnapLog files) {
        if (files.txnLog != null) {
            log(files).rollLog();
        }
    }
}
