// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Arguments;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** The build under test, as named on the command line. */
record Jars(Path serverJar, List<Path> plugins) {

    static Jars of(Arguments arguments) {
        String server = arguments.get("server-jar", null);
        return new Jars(server == null ? null : Path.of(server),
                arguments.all("plugin").stream().map(Path::of).collect(Collectors.toList()));
    }

    boolean present() {
        return serverJar != null;
    }
}
