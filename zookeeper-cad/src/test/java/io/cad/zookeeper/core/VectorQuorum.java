// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A membership as the vectors write it. {@code majority 1 2 3} counts the set that it is given, as upstream's QuorumMaj
 * does; {@code groups 1*1 2*1 | 3*2} decides as upstream's QuorumHierarchical does (server*weight, groups divided by a
 * bar): a majority of the groups that have weight, in each by more than half of its weight.
 */
public final class VectorQuorum implements Quorum {
    /** Server to weight, one map per group; null for a majority. */
    private final List<Map<Long, Long>> groups;
    private final Set<Long> voters;

    private VectorQuorum(Set<Long> voters, List<Map<Long, Long>> groups) {
        this.voters = voters;
        this.groups = groups;
    }

    public static VectorQuorum majority(Set<Long> voters) {
        return new VectorQuorum(Set.copyOf(voters), null);
    }

    public static VectorQuorum groups(List<Map<Long, Long>> groups) {
        Map<Long, Long> all = new HashMap<>();
        groups.forEach(all::putAll);
        return new VectorQuorum(Set.copyOf(all.keySet()), groups);
    }

    /** One or more memberships, divided by "&amp;". */
    static List<Quorum> parse(Words words) {
        List<Quorum> all = new ArrayList<>();
        List<String> one = new ArrayList<>();
        while (words.more()) {
            String word = words.word();
            if (word.equals("&")) {
                all.add(parseOne(one, words));
                one.clear();
            } else {
                one.add(word);
            }
        }
        all.add(parseOne(one, words));
        return all;
    }

    private static VectorQuorum parseOne(List<String> one, Words words) {
        if (one.size() < 2) {
            throw new Words.SyntaxError("a membership needs a kind and servers: " + words);
        }
        Map<Long, Long> group = new HashMap<>();
        List<Map<Long, Long>> groups = new ArrayList<>(List.of(group));
        boolean majority = one.get(0).equals("majority");
        if (!majority && !one.get(0).equals("groups")) {
            throw words.unknown(one.get(0));
        }
        for (String word : one.subList(1, one.size())) {
            if (!majority && word.equals("|")) {
                group = new HashMap<>();
                groups.add(group);
            } else if (word.matches(majority ? "\\d+" : "\\d+\\*\\d+")) {
                String[] parts = word.split("\\*");
                group.put(Long.parseLong(parts[0]), majority ? 1 : Long.parseLong(parts[1]));
            } else {
                throw words.unknown(word);
            }
        }
        return majority ? majority(group.keySet()) : groups(groups);
    }

    public Set<Long> voters() {
        return voters;
    }

    @Override
    public boolean votes(long server) {
        return voters.contains(server);
    }

    @Override
    public boolean containsQuorum(Set<Long> servers) {
        if (groups == null) {
            return servers.size() > voters.size() / 2;
        }
        int withWeight = 0;
        int won = 0;
        for (Map<Long, Long> group : groups) {
            long all = group.values().stream().mapToLong(weight -> weight).sum();
            long held = servers.stream().mapToLong(server -> group.getOrDefault(server, 0L)).sum();
            withWeight += all > 0 ? 1 : 0;
            won += held > all / 2 ? 1 : 0;
        }
        return won > withWeight / 2;
    }
}
