// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Await;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.JvmProfile;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.machine.NetnsHosts;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;

/**
 * The servers of one system, alive for a whole measurement.
 *
 * @param hosts their hosts, or null when they share this machine's network
 */
record Deployment(Mode mode, Ensemble ensemble, NetnsHosts hosts) {

    /**
     * What it takes to start servers.
     *
     * @param fi path of the failure-injector's program, or null for the one beside us
     * @param seed of the disks
     */
    record Site(RunDirectory run, Jars jars, String fi, long seed) {

        /**
         * Starts an ensemble that ends with the run.
         *
         * @param onHosts whether each server gets a host of its own: a network that can be cut, and a share of the CPUs
         * @param cfg lines of zoo.cfg beside those of the mode
         */
        Deployment start(Mode mode, int servers, boolean onHosts, JvmProfile profile, Map<String, String> cfg) throws Exception {
            EnsembleConfig config = new EnsembleConfig(mode.build(jars.serverJar(), jars.plugins()), servers)
                    .name(mode.label()).cfg(mode.cfg()).cfg(cfg).profile(profile);
            NetnsHosts hosts = null;
            if (onHosts) {
                hosts = new NetnsHosts(fi, run.path().resolve(mode.label() + "-hosts"), false, seed);
                run.onClose(hosts);
                config.machines(hosts);
            } else {
                config.disks(FiDisk.provider(fi, false, seed));
            }
            Ensemble ensemble = Ensemble.start(run, config);
            ModeCheck.requireActive(mode, ensemble);
            return new Deployment(mode, ensemble, hosts);
        }
    }

    ServerProcess leader() throws TimeoutException, InterruptedException {
        return ensemble.awaitLeader(Ensemble.START_LIMIT);
    }

    /** The servers that answer reads, the leader last; waits until there are as many as the mode allows. */
    List<ServerProcess> readers() throws TimeoutException, InterruptedException {
        List<ServerProcess> readers = new ArrayList<>();
        int wanted = mode.readers(ensemble.servers().size());
        Await.until(wanted + " servers that answer reads", Ensemble.START_LIMIT, () -> {
            ServerProcess leader = leader();
            readers.clear();
            for (ServerProcess follower : ensemble.others(leader)) {
                if (!mode.readsAtActiveSet() || Double.parseDouble(follower.metrics().get("cad_lease_ms")) > 0) {
                    readers.add(follower);
                }
            }
            readers.add(leader);
            return readers.size() == wanted;
        }, () -> "there are " + readers);
        return readers;
    }

    /** What each server gets of the machine's CPUs from now on, 0 for all of them; only on hosts of their own. */
    void limitProcessors(double processors) {
        ensemble.servers().forEach(server -> hosts.limitProcessors(server.id(), processors));
    }
}
