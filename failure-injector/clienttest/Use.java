// SPDX-License-Identifier: Apache-2.0
import io.cad.fi.Fi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/** Uses every method of the client; ends with 0 if all did what they say. */
public final class Use {
    public static void main(String[] args) throws Exception {
        Path live = Path.of(args[2]);
        Fi fi = new Fi(Path.of(args[0]), Path.of(args[1]));
        fi.createDisk("d", "preload", live, "ext4");
        fi.latency("d", "fsync", Duration.ofMillis(3));
        fi.latency("d", "fsync", "none");
        write(fi.env("d"), live.resolve("f"), "synced", true);
        write(fi.env("d"), live.resolve("f"), "not", false);
        Fi.Crash crash = fi.crash("d", "--wait", "10s");
        check(crash.bytesLost() == 3 && crash.filesReverted() == 1 && crash.filesLost() == 0, crash.json());
        check(Files.readString(live.resolve("f")).equals("synced"), "content");
        write(fi.env("d"), live.resolve("f"), "now", false);
        fi.sync("d");
        check(fi.crash("d").bytesLost() == 0, "synced by the command");
        fi.fault("d", "--enospc", "on");
        check(fi.call("disk", "stat", "d").contains("\"enospc\":true"), "fault");
        try {
            fi.crash("nothing");
            check(false, "a crash of no disk");
        } catch (Fi.FiException e) {
            check(e.exitCode() == 255 && e.getMessage().contains("no disk \"nothing\""), e.getMessage());
        }
        fi.destroyDisk("d");
        fi.down();
    }

    private static void write(Map<String, String> env, Path file, String text, boolean sync) throws Exception {
        String program = "import os,sys\nf=os.open(sys.argv[1],os.O_CREAT|os.O_WRONLY|os.O_APPEND)\n"
            + "os.write(f,sys.argv[2].encode())\nif sys.argv[3]=='true': os.fsync(f)";
        ProcessBuilder b = new ProcessBuilder("python3", "-c", program, file.toString(), text, String.valueOf(sync)).inheritIO();
        b.environment().putAll(env);
        check(b.start().waitFor() == 0, "writer");
    }

    private static void check(boolean ok, String what) throws IOException {
        if (!ok) {
            throw new IOException("wrong: " + what);
        }
    }
}
