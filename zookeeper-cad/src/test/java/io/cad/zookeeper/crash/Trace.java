// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.crash;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/**
 * Every call that changed a disk of the failure-injector, in order, with the bytes that it wrote
 * (FI_TRACE). The file that is called {@link #MARKS} is not part of the disk: what is written to it are
 * the words of the traced program, in their place between its calls.
 */
final class Trace {

    /** File in the root of the disk into which the traced program says what it does. */
    static final String MARKS = "marks";

    /** Number of the root directory. */
    static final int ROOT = 1;

    enum Kind {
        CREATE('C'), MKDIR('M'), LINK('L'), UNLINK('U'), RENAME('R'), WRITE('W'), TRUNCATE('T'), SYNC('S'), SAY('!');

        private final char code;

        Kind(char code) {
            this.code = code;
        }

        static Kind of(int code) throws IOException {
            for (Kind kind : values()) {
                if (kind.code == code) {
                    return kind;
                }
            }
            throw new IOException("the trace holds a call that cannot be followed ('" + (char) code + "')");
        }
    }

    /**
     * One call.
     *
     * @param id   the file, or the directory that was made or synced
     * @param dir1 the directory of name1
     * @param at   offset of a write, size after a truncate
     */
    record Op(Kind kind, int id, int dir1, String name1, int dir2, String name2, long at, byte[] data) {

        /** The same call on files and directories with other numbers. */
        Op renumbered(IntUnaryOperator number) {
            return new Op(kind, number.applyAsInt(id), number.applyAsInt(dir1), name1, number.applyAsInt(dir2), name2, at, data);
        }

        /** What the program said. */
        String words() {
            return new String(data, StandardCharsets.UTF_8).trim();
        }

        @Override
        public String toString() {
            return kind.name().toLowerCase() + " #" + id + (name1.isEmpty() ? "" : " " + name1)
                + (name2.isEmpty() ? "" : " -> " + name2)
                + (kind == Kind.WRITE ? " [" + at + ", " + (at + data.length) + ")" : "")
                + (kind == Kind.TRUNCATE ? " to " + at : "");
        }
    }

    private Trace() {
    }

    /** Reads a trace; refuses one that says of itself that it is incomplete. */
    static List<Op> read(Path file) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        List<Op> ops = new ArrayList<>();
        int marks = 0;
        while (in.hasRemaining()) {
            int end = in.position() + in.getInt();
            int code = in.getInt();
            int id = in.getInt();
            int dir1 = in.getInt();
            int dir2 = in.getInt();
            int length1 = in.getShort();
            int length2 = in.getShort();
            long at = in.getLong();
            String name1 = text(in, length1);
            String name2 = text(in, length2);
            byte[] data = new byte[end - in.position()];
            in.get(data);
            Op op = new Op(Kind.of(code), id, dir1, name1, dir2, name2, at, data);
            if (op.kind == Kind.CREATE && dir1 == ROOT && name1.equals(MARKS)) {
                marks = id;
            } else if (id != marks) {
                ops.add(op);
            } else if (op.kind == Kind.WRITE) {
                ops.add(new Op(Kind.SAY, 0, 0, "", 0, "", 0, data));
            }
        }
        return ops;
    }

    private static String text(ByteBuffer in, int length) {
        byte[] bytes = new byte[length];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** The trace of a program that makes no sync of the chosen kind: no call's result depends on one. */
    static List<Op> without(List<Op> ops, Omit omit) {
        List<Op> rest = new ArrayList<>();
        Map<Integer, String> names = new HashMap<>(Map.of(ROOT, "/"));
        String said = "";
        for (Op op : ops) {
            switch (op.kind) {
                case CREATE, MKDIR, LINK -> names.put(op.id, op.kind == Kind.MKDIR ? "/" : op.name1);
                case RENAME -> names.put(op.id, op.name2);
                case SAY -> said = op.words();
                default -> { }
            }
            if (op.kind != Kind.SYNC || !omit.sync(names.get(op.id), said)) {
                rest.add(op);
            }
        }
        return rest;
    }

    /** Which syncs a wrong variant leaves out. */
    interface Omit {
        /**
         * @param name newest name of the file, "/" for a directory
         * @param said what the program said last
         */
        boolean sync(String name, String said);
    }
}
