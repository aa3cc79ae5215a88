// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.tool;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.recovery.LogTool;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;

/** The command {@code zk-cad}, for operators. */
public final class ZkCad {

    private static final String USAGE = String.join(System.lineSeparator(),
        "usage: zk-cad log check  DIRECTORIES                      what a start would make of them; changes nothing",
        "       zk-cad log repair [--for-stock] DIRECTORIES        does that now; --for-stock: before a stock server",
        "       zk-cad log show   [--rolled-back] [--from EPOCH:COUNTER] DIRECTORIES",
        "DIRECTORIES: --config ZOO.CFG, or dataDir [dataLogDir]. Stop the server first.",
        "Exit codes: 0 sound or done, 1 corrupt (restore from peers), 2 needs repair, 254 arguments, 255 failed.");

    private static final int DONE = 0;
    private static final int CORRUPT = 1;
    private static final int NEEDS_REPAIR = 2;
    private static final int BAD_ARGUMENTS = 254;
    private static final int FAILED = 255;

    /** The commands, and what each understands. */
    private static final Map<String, Set<String>> OPTIONS = Map.of(
        "check", Set.of("--config"),
        "repair", Set.of("--config", "--for-stock"),
        "show", Set.of("--config", "--rolled-back", "--from"));

    private static final class Usage extends Exception {
        private static final long serialVersionUID = 1;

        Usage(String what) {
            super(what);
        }
    }

    private final Deque<String> words;
    private final PrintStream out;

    private ZkCad(String[] arguments, PrintStream out) {
        this.words = new ArrayDeque<>(List.of(arguments));
        this.out = out;
    }

    public static void main(String[] arguments) {
        System.exit(run(arguments, System.out, System.err));
    }

    /** Runs the command; answers its exit code. */
    static int run(String[] arguments, PrintStream out, PrintStream err) {
        try {
            return new ZkCad(arguments, out).run();
        } catch (Usage e) {
            err.println("zk-cad: " + e.getMessage());
            err.println(USAGE);
            return BAD_ARGUMENTS;
        } catch (IOException | UncheckedIOException e) {
            err.println("zk-cad: " + words(e));
            return FAILED;
        } catch (RuntimeException e) {
            // Not the exit code of an uncaught exception, which means corrupt here.
            e.printStackTrace(err);
            return FAILED;
        }
    }

    /** Some exceptions say nothing but the name of the file. */
    private static String words(Exception e) {
        Throwable cause = e instanceof UncheckedIOException ? e.getCause() : e;
        if (cause instanceof AccessDeniedException) {
            return "permission denied: " + cause.getMessage();
        }
        return cause instanceof NoSuchFileException ? "no such file: " + cause.getMessage() : cause.getMessage();
    }

    private int run() throws Usage, IOException {
        if (!"log".equals(words.poll())) {
            throw new Usage("the only subject is: log");
        }
        String verb = words.poll();
        if (verb == null || !OPTIONS.containsKey(verb)) {
            throw new Usage(verb == null ? "name a command: log check, repair or show" : "no such command: log " + verb);
        }
        boolean forStock = false;
        boolean rolledBack = false;
        long from = 0;
        File config = null;
        List<File> directories = new ArrayList<>();
        while (!words.isEmpty()) {
            String word = words.poll();
            if (word.startsWith("-") && !OPTIONS.get(verb).contains(word)) {
                throw new Usage("log " + verb + " has no option " + word);
            }
            switch (word) {
                case "--for-stock": forStock = true; break;
                case "--rolled-back": rolledBack = true; break;
                case "--from": from = index(); break;
                case "--config": config = new File(next(word)); break;
                default: directories.add(new File(word));
            }
        }
        try (LogTool tool = tool(config, directories)) {
            if ("show".equals(verb)) {
                // A running server's too: its rollbacks are what one asks for.
                tool.show(rolledBack, from);
                return DONE;
            }
            LogTool.State state = tool.check();
            if ("check".equals(verb) || state == LogTool.State.CORRUPT) {
                return code(state);
            }
            tool.repair(forStock);
            return DONE;
        }
    }

    private static int code(LogTool.State state) {
        switch (state) {
            case SOUND: return DONE;
            case CORRUPT: return CORRUPT;
            default: return NEEDS_REPAIR;
        }
    }

    private String next(String option) throws Usage {
        String value = words.poll();
        if (value == null) {
            throw new Usage(option + " needs a value");
        }
        return value;
    }

    private long index() throws Usage {
        try {
            return Indices.parse(next("--from"));
        } catch (IllegalArgumentException e) {
            throw new Usage(e.getMessage());
        }
    }

    private LogTool tool(File config, List<File> directories) throws Usage, IOException {
        if (config != null && directories.isEmpty()) {
            Properties settings = new Properties();
            try (InputStream in = new FileInputStream(config)) {
                settings.load(in);
            }
            String data = settings.getProperty("dataDir");
            if (data == null) {
                throw new Usage(config + " names no dataDir");
            }
            return new LogTool(new File(data.trim()), new File(settings.getProperty("dataLogDir", data).trim()), out);
        }
        if (config != null || directories.isEmpty() || directories.size() > 2) {
            throw new Usage("name the directories, by --config or one by one");
        }
        return new LogTool(directories.get(0), directories.get(directories.size() - 1), out);
    }
}
