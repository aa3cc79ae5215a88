// SPDX-License-Identifier: Apache-2.0
package io.cad.fi;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs the {@code fi} command. Every call waits until the command has done its
 * work; thread-safe, without state of its own.
 */
public final class Fi {
    private final Path binary;
    private final Path run;

    /**
     * @param binary the {@code fi} binary
     * @param run    the run directory that holds the state of all disks and processes
     */
    public Fi(Path binary, Path run) {
        this.binary = binary.toAbsolutePath();
        this.run = run.toAbsolutePath();
    }

    /** The command refused (2), did not understand (254) or failed (255). */
    public static final class FiException extends RuntimeException {
        private static final long serialVersionUID = 1;
        private final int exitCode;

        FiException(int exitCode, String message) {
            super(message);
            this.exitCode = exitCode;
        }

        public int exitCode() {
            return exitCode;
        }
    }

    /**
     * What a power loss took.
     *
     * @param filesLost     names that are gone
     * @param filesReverted files whose content went back
     * @param bytesLost     bytes written, never synced, and gone
     * @param json          the whole report
     */
    public record Crash(long filesLost, long filesReverted, long bytesLost, String json) {
    }

    /**
     * Any verb, for example {@code call("disk", "stat", "d1")}.
     *
     * @return the JSON that the command prints
     * @throws FiException if its exit code is not 0, with what it said
     */
    public String call(String... args) {
        List<String> command = new ArrayList<>(List.of(binary.toString(), "--json", "--run", run.toString()));
        command.addAll(List.of(args));
        try {
            Path errors = Files.createTempFile("fi", ".err");
            try {
                Process p = new ProcessBuilder(command).redirectError(errors.toFile()).start();
                p.getOutputStream().close();
                String out = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                int code = p.waitFor();
                if (code != 0) {
                    throw new FiException(code, Files.readString(errors).strip());
                }
                return out.strip();
            } finally {
                Files.deleteIfExists(errors);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run " + binary, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new FiException(255, "interrupted while waiting for " + String.join(" ", command));
        }
    }

    /** Makes a disk of a directory; what is there already is durable. */
    public void createDisk(String name, String backend, Path live, String mode) {
        call("disk", "create", name, "--backend", backend, "--dir", live.toString(), "--mode", mode);
    }

    /** What a process needs in its environment to live on the disk. */
    public Map<String, String> env(String disk) {
        Map<String, String> env = new LinkedHashMap<>();
        Matcher m = Pattern.compile("\"(\\w+)\":\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(call("disk", "env", disk));
        while (m.find()) {
            env.put(m.group(1), m.group(2).replace("\\\"", "\"").replace("\\\\", "\\"));
        }
        return env;
    }

    /** How long an operation ({@code fsync}, {@code write}, ...) takes at least from now on. */
    public void latency(String disk, String op, Duration atLeast) {
        call("disk", "latency", disk, "--op", op, "--const", atLeast.toNanos() + "ns");
    }

    /** The same by a named profile of a device. */
    public void latency(String disk, String op, String profile) {
        call("disk", "latency", disk, "--op", op, "--profile", profile);
    }

    /** Faults as options of the command, for example {@code fault("d1", "--eio-fsync", "3")}. */
    public void fault(String disk, String... options) {
        List<String> args = new ArrayList<>(List.of("disk", "fault", disk));
        args.addAll(List.of(options));
        call(args.toArray(String[]::new));
    }

    /** Makes everything on the disk durable, also what processes outside of it wrote. */
    public void sync(String disk) {
        call("disk", "sync", disk);
    }

    /**
     * Cuts the power.
     *
     * @param options for example {@code --torn}, {@code --seed}, {@code 7}
     * @throws FiException with exit code 2 if processes still live on the disk
     */
    public Crash crash(String disk, String... options) {
        List<String> args = new ArrayList<>(List.of("disk", "crash", disk));
        args.addAll(List.of(options));
        String json = call(args.toArray(String[]::new));
        return new Crash(number(json, "files_lost"), number(json, "files_reverted"), number(json, "bytes_lost"), json);
    }

    /** Forgets the disk. */
    public void destroyDisk(String disk) {
        call("disk", "destroy", disk, "--force");
    }

    /** Ends everything of the run directory; safe at any time. */
    public void down() {
        call("down", "--all");
    }

    private static long number(String json, String key) {
        Matcher m = Pattern.compile("\"" + key + "\":(\\d+)").matcher(json);
        if (!m.find()) {
            throw new FiException(255, "no " + key + " in " + json);
        }
        return Long.parseLong(m.group(1));
    }
}
