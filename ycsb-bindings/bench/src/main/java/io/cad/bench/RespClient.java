// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** One connection to a Redis server on loopback: commands out, replies in, in RESP 2. Not for several threads. */
final class RespClient implements Closeable {
    private static final byte[] LINE_END = {'\r', '\n'};

    /** The server's error reply. */
    static final class ErrorReply extends IOException {
        private static final long serialVersionUID = 1;

        ErrorReply(String message) {
            super(message);
        }
    }

    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;

    RespClient(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new BufferedInputStream(socket.getInputStream());
        out = new BufferedOutputStream(socket.getOutputStream());
    }

    /** Sends one command and returns its reply: a string, a Long, a list of replies, or null. */
    Object call(Object... words) throws IOException {
        write(words);
        return read();
    }

    /** Adds a command to what {@link #read} will send; its reply is to be read in the same order. */
    void write(Object... words) throws IOException {
        line('*', words.length);
        for (Object word : words) {
            byte[] bytes = word.toString().getBytes(StandardCharsets.ISO_8859_1);
            line('$', bytes.length);
            out.write(bytes);
            out.write(LINE_END);
        }
    }

    private void line(char type, int number) throws IOException {
        out.write(type);
        out.write(Integer.toString(number).getBytes(StandardCharsets.ISO_8859_1));
        out.write(LINE_END);
    }

    /**
     * The next reply.
     *
     * @throws ErrorReply when it is an error
     */
    Object read() throws IOException {
        out.flush();
        String line = readLine();
        String rest = line.substring(1);
        switch (line.charAt(0)) {
            case '+':
                return rest;
            case '-':
                throw new ErrorReply(rest);
            case ':':
                return Long.parseLong(rest);
            case '$':
                return readBulk(Integer.parseInt(rest));
            case '*':
                List<Object> replies = new ArrayList<>();
                for (int i = Integer.parseInt(rest); i > 0; i--) {
                    replies.add(read());
                }
                return replies;
            default:
                throw new IOException("not RESP 2: " + line);
        }
    }

    private String readBulk(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        byte[] bytes = in.readNBytes(length + LINE_END.length);
        if (bytes.length < length + LINE_END.length) {
            throw new EOFException("the server closed the connection");
        }
        return new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
    }

    private String readLine() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new EOFException("the server closed the connection");
            }
            if (next != '\r') {
                line.append((char) next);
            }
        }
        if (line.length() == 0) {
            throw new IOException("not RESP: an empty line");
        }
        return line.toString();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
