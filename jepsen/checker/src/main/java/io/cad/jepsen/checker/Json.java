// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.util.Iterator;
import java.util.Map;

/** Writes maps, lists, numbers, booleans and texts as JSON. */
final class Json {
    private Json() {
    }

    static String of(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> map) {
            out.append('{');
            for (Iterator<? extends Map.Entry<?, ?>> entries = map.entrySet().iterator(); entries.hasNext();) {
                Map.Entry<?, ?> entry = entries.next();
                text(entry.getKey().toString(), out);
                out.append(": ");
                write(entry.getValue(), out);
                out.append(entries.hasNext() ? ", " : "");
            }
            out.append('}');
        } else if (value instanceof Iterable<?> list) {
            out.append('[');
            for (Iterator<?> items = list.iterator(); items.hasNext();) {
                write(items.next(), out);
                out.append(items.hasNext() ? ", " : "");
            }
            out.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            text(value.toString(), out);
        }
    }

    private static void text(String text, StringBuilder out) {
        out.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
