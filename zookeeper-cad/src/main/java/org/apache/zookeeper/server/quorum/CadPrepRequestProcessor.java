// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.durability.DiskReserve;
import io.cad.zookeeper.metrics.CadMetrics;
import java.io.IOException;
import org.apache.jute.Record;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.PrepRequestProcessor;
import org.apache.zookeeper.common.Time;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.RequestProcessor;
import org.apache.zookeeper.txn.TxnHeader;

/** Refuses writes that add data while the leader's disk is below its reserve; what frees space or ends sessions passes. */
final class CadPrepRequestProcessor extends PrepRequestProcessor {

    private final DiskReserve reserve;

    CadPrepRequestProcessor(LeaderZooKeeperServer server, RequestProcessor next, CadConfig config) {
        super(server, next);
        this.reserve = new DiskReserve(server.getTxnLogFactory().getDataLogDir(), config.diskReserve);
    }

    @Override
    protected void pRequest2Txn(int type, long zxid, Request request, Record record)
        throws KeeperException, IOException, RequestProcessor.RequestProcessorException {
        if (addsData(type) && reserve.isShort()) {
            CadMetrics.get().writeRefused();
            if (request.getHdr() == null) {
                // The index is taken: without a logged error the log would have a gap and the session no answer.
                request.setHdr(new TxnHeader(request.sessionId, request.cxid, zxid, Time.currentWallTime(), type));
            }
            throw new KeeperException.QuotaExceededException();
        }
        super.pRequest2Txn(type, zxid, request, record);
    }

    private static boolean addsData(int type) {
        switch (type) {
        case OpCode.create:
        case OpCode.create2:
        case OpCode.createTTL:
        case OpCode.createContainer:
        case OpCode.setData:
        case OpCode.setACL:
            return true;
        default:
            return false;
        }
    }
}
