// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.CadConfig.Kind;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.Window;
import io.cad.zookeeper.index.StateIndex;
import io.cad.zookeeper.metrics.CadMetrics;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.jute.Record;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.MultiOperationRecord;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Quotas;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.GetEphemeralsRequest;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.txn.CreateContainerTxn;
import org.apache.zookeeper.txn.CreateTTLTxn;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.DeleteTxn;
import org.apache.zookeeper.txn.MultiTxn;
import org.apache.zookeeper.txn.SetACLTxn;
import org.apache.zookeeper.txn.SetDataTxn;
import org.apache.zookeeper.txn.Txn;

/**
 * The required index of every kind of reply: the one list of what counts as a
 * read (protocol section 3), and which writes are acknowledged durably. When
 * in doubt it is the last applied index: that costs latency, never
 * correctness.
 */
public class ReplyPolicy {

    /** Makes the policy of a role. */
    public interface Factory {
        ReplyPolicy make(Mode mode, CadConfig config, StateIndex index, Window window);
    }

    private static volatile Factory factory = ReplyPolicy::new;

    private final Mode mode;
    private final CadConfig config;
    private final StateIndex index;
    private final Window window;

    public ReplyPolicy(Mode mode, CadConfig config, StateIndex index, Window window) {
        this.mode = mode;
        this.config = config;
        this.index = index;
        this.window = window;
    }

    public static ReplyPolicy of(Mode mode, CadConfig config, StateIndex index, Window window) {
        return factory.make(mode, config, index, window);
    }

    /** For tests: wrong policies live in test artefacts only. */
    public static void makeWith(Factory replacement) {
        factory = replacement;
    }

    /** The index of a watch event's delivery. */
    public long requiredByEvent(long eventZxid) {
        if (!mode.readsAreDurable()) {
            return 0;
        }
        // An event made up by setWatches has no index of its own: it compares with everything applied.
        return eventZxid >= 0 ? eventZxid : index.lastApplied();
    }

    /**
     * States in the context what the reply to a local request will show.
     *
     * @param durable D as this server knows it
     */
    public void state(Request request, ReplyContext context, long durable, long now) {
        if (!mode.tracksDurable()) {
            context.set(0, Cause.OTHER, false);
        } else if (request.getHdr() != null) {
            stateWrite(request, context, now);
        } else if (request.type == OpCode.sync) {
            context.set(config.syncPersists ? index.lastApplied() : 0, Cause.BARRIER, false);
        } else if (request.type == OpCode.ping || !mode.readsAreDurable()) {
            context.set(0, Cause.OTHER, false);
        } else {
            CadMetrics.get().read();
            long required = index.isClean(durable) && !showsQuota(request) ? 0 : requiredByRead(request);
            context.set(required, isSession(request.type) ? Cause.SESSION : Cause.READ, true);
        }
    }

    // ---- writes

    protected void stateWrite(Request request, ReplyContext context, long now) {
        long own = request.getHdr().getZxid();
        if (failed(request)) {
            // The error was decided on uncommitted state, and is itself logged at this index.
            context.set(mode.readsAreDurable() ? own : 0, Cause.FAILED_WRITE, false);
        } else if (!mode.acknowledgesBeforeDurable()) {
            context.set(0, Cause.OTHER, false);
        } else if (acknowledgedDurably(request)) {
            context.set(own, isSession(request.type) ? Cause.SESSION : Cause.DURABLE_WRITE, false);
        } else if (!admitted(own, now)) {
            context.set(own, Cause.WINDOW, false);
        } else {
            context.set(0, Cause.OTHER, false);
        }
    }

    private boolean admitted(long own, long now) {
        synchronized (window) {
            return window.admits(own, now);
        }
    }

    private static boolean failed(Request request) {
        if (request.getHdr().getType() == OpCode.error || request.getException() != null) {
            return true;
        }
        if (request.getTxn() instanceof MultiTxn) {
            for (Txn part : ((MultiTxn) request.getTxn()).getTxns()) {
                if (part.getType() == OpCode.error) {
                    return true;
                }
            }
        }
        return false;
    }

    private boolean acknowledgedDurably(Request request) {
        int type = request.getHdr().getType();
        if (type == OpCode.reconfig) {
            return true;
        }
        if (isSession(type)) {
            return config.durableAcks.contains(Kind.SESSION);
        }
        if (config.writeStatDurable && repliesWithStat(type)) {
            return true;
        }
        if (config.durableAcks.contains(Kind.SEQUENTIAL) && isSequential(request)) {
            return true;
        }
        if (type == OpCode.multi) {
            for (Txn part : ((MultiTxn) request.getTxn()).getTxns()) {
                if (ofDurableKindOrPath(part.getType(), StateIndex.decode(part))) {
                    return true;
                }
            }
            return false;
        }
        return ofDurableKindOrPath(type, request.getTxn());
    }

    private boolean ofDurableKindOrPath(int type, Record txn) {
        switch (type) {
        case OpCode.create:
        case OpCode.create2: {
            CreateTxn create = (CreateTxn) txn;
            return create.getEphemeral() && config.durableAcks.contains(Kind.EPHEMERAL) || immediate(create.getPath());
        }
        case OpCode.createContainer:
            return config.durableAcks.contains(Kind.CONTAINER) || immediate(((CreateContainerTxn) txn).getPath());
        case OpCode.createTTL:
            return config.durableAcks.contains(Kind.TTL) || immediate(((CreateTTLTxn) txn).getPath());
        case OpCode.delete:
        case OpCode.deleteContainer:
            return immediate(((DeleteTxn) txn).getPath());
        case OpCode.setData:
            return immediate(((SetDataTxn) txn).getPath());
        case OpCode.setACL:
            return immediate(((SetACLTxn) txn).getPath());
        default:
            return false;
        }
    }

    private boolean immediate(String path) {
        for (String prefix : config.immediatePaths) {
            if (path.startsWith(prefix)
                && (path.length() == prefix.length() || prefix.length() == 1 || path.charAt(prefix.length()) == '/')) {
                return true;
            }
        }
        return false;
    }

    private static boolean repliesWithStat(int type) {
        return type == OpCode.setData || type == OpCode.setACL || type == OpCode.create2
            || type == OpCode.createTTL || type == OpCode.createContainer || type == OpCode.multi;
    }

    /** Sequence numbers are in no log record, only in the request. */
    private static boolean isSequential(Request request) {
        try {
            switch (request.type) {
            case OpCode.create:
            case OpCode.create2:
                return CreateMode.fromFlag(request.readRequestRecord(CreateRequest::new).getFlags()).isSequential();
            case OpCode.createTTL:
                // A superset: TTL nodes are few, and a flag read from the other record would be wrong.
                return true;
            case OpCode.multi:
                for (Op op : request.readRequestRecord(MultiOperationRecord::new)) {
                    Record record = op.toRequestRecord();
                    if (record instanceof CreateRequest
                        && CreateMode.fromFlag(((CreateRequest) record).getFlags()).isSequential()) {
                        return true;
                    }
                }
                return false;
            default:
                return false;
            }
        } catch (IOException | KeeperException e) {
            return true;
        }
    }

    private static boolean isSession(int type) {
        return type == OpCode.createSession || type == OpCode.closeSession;
    }

    // ---- reads

    /** What a read needs; tests weaken single rows to see that somebody notices. */
    protected long requiredByRead(Request request) {
        switch (request.type) {
        case OpCode.exists:
        case OpCode.getData:
        case OpCode.getACL:
        case OpCode.getChildren:
        case OpCode.getChildren2:
            return requiredByPath(firstString(request));
        case OpCode.getAllChildrenNumber: {
            String path = firstString(request);
            return path == null ? index.lastApplied() : index.requiredUnder(path);
        }
        case OpCode.getEphemerals:
            return requiredByEphemerals(request);
        case OpCode.multiRead:
            return requiredByMultiRead(request);
        case OpCode.auth:
        case OpCode.sasl:
        case OpCode.whoAmI:
        case OpCode.addWatch:
        case OpCode.checkWatches:
        case OpCode.removeWatches:
            return 0;
        default:
            // Among them setWatches: "nothing has changed" is a read of every path it names.
            return index.lastApplied();
        }
    }

    private long requiredByPath(String path) {
        if (path == null || isQuota(path)) {
            // Quota statistics are rewritten without any index.
            return index.lastApplied();
        }
        return index.required(path);
    }

    private long requiredByEphemerals(Request request) {
        try {
            request.readRequestRecord(GetEphemeralsRequest::new);
            return index.required(StateIndex.session(request.sessionId));
        } catch (IOException e) {
            return index.lastApplied();
        }
    }

    private long requiredByMultiRead(Request request) {
        try {
            long required = 0;
            for (Op op : request.readRequestRecord(MultiOperationRecord::new)) {
                required = Math.max(required, requiredByPath(op.getPath()));
            }
            return required;
        } catch (IOException e) {
            return index.lastApplied();
        }
    }

    private static boolean showsQuota(Request request) {
        switch (request.type) {
        case OpCode.getData:
        case OpCode.exists: {
            String path = firstString(request);
            return path != null && isQuota(path);
        }
        case OpCode.multiRead:
            return true;
        default:
            return false;
        }
    }

    private static boolean isQuota(String path) {
        return path.startsWith(Quotas.quotaZookeeper);
    }

    /** The path, which every read of one node carries first, without building the whole record. */
    private static String firstString(Request request) {
        byte[] bytes = request.readRequestBytes();
        if (bytes == null || bytes.length < 4) {
            return null;
        }
        int length = ByteBuffer.wrap(bytes).getInt();
        if (length < 0 || length > bytes.length - 4) {
            return null;
        }
        return new String(bytes, 4, length, StandardCharsets.UTF_8);
    }

}
