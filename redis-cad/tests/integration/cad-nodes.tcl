# SPDX-License-Identifier: Apache-2.0
#
# Majorities are of the recorded data nodes. A master with live data, two data nodes,
# and a fourth server that is a replica like any other.

source tests/support/cad.tcl

# Levels: -3 the master, -2 and -1 the data nodes, 0 the stranger.
proc master {args} {[srv -3 client] {*}$args}

proc attach {levels} {
    foreach level $levels {[srv $level client] replicaof [srv -3 host] [srv -3 port]}
    foreach level $levels {
        wait_for_condition 500 20 {[s $level master_link_status] eq {up} && [s $level aof_rewrite_in_progress] == 0} else {
            fail "replica $level is not in step"
        }
    }
}

proc wait_connected {count} {
    wait_for_condition 500 20 {[cad_info nodes_connected -3] == $count} else {
        fail "[cad_info nodes_connected -3] data nodes are connected, expected $count"
    }
}

# Syncs stop at these levels, everything before is durable.
proc stall {levels} {
    foreach level {0 -1 -2 -3} {cad_fault_at $level}
    assert_equal OK [master cad persist]
    foreach level $levels {cad_fault_at $level {hold .incr.aof}}
}

# Sends the command, sees it held for good, ends all stalls by `release`, returns the reply.
proc held_until {release args} {
    set rd [redis_deferring_client -3]
    $rd {*}$args
    cad_wait_held 1 -3
    assert_equal 0 [cad_readable $rd 300]
    uplevel 1 $release
    set reply [$rd read]
    $rd close
    return $reply
}

set node {appendonly yes appendfsync everysec cad-nodes 3 cad-hold-timeout 60000 save {} auto-aof-rewrite-percentage 0
          repl-diskless-sync-delay 0}

tags "repl aof external:skip cad" {
cad_start_server $node {
cad_start_server $node {
cad_start_server $node {
cad_start_server $node {
    set data {-1 -2 -3}

    test {CAD: switched on at a master with live data: nothing is durable until cad-nodes of them are recorded} {
        populate 1000 key: 10 -3
        attach {-1 -2}
        master config set cad-durability cad
        assert_equal 0 [cad_info nodes_recorded -3]
        # What was there before needs a majority, too.
        assert_equal [string repeat A 10] [held_until {
            foreach level {-1 -2} {[srv $level client] config set cad-durability cad}
        } get key:1]
        assert_equal 3 [cad_info nodes_recorded -3]
        foreach level $data {lappend ids [cad_info node_id $level]}
        assert_equal [lsort $ids] [lsort [dict keys [master cad nodes]]]
        assert_equal {connected connected self} [lsort [dict values [master cad nodes]]]
    }

    test {CAD: the replicas know the set, and so does who is started again} {
        foreach level {-1 -2} {
            wait_for_condition 500 10 {[cad_info nodes_recorded $level] == 3} else {fail "level $level does not know the set"}
            assert_equal [lsort $ids] [lsort [dict keys [[srv $level client] cad nodes]]]
        }
        assert_error {*recorded*CAD NODES*} {master config set cad-nodes 5}
        assert_error {*recorded*CAD NODES*} {master cad bootstrap 3}
        assert_equal {cad-nodes 3} [master config get cad-nodes]
        assert_equal OK [master config rewrite]
    }

    test {CAD: a replica that is no data node does not make a majority} {
        [srv 0 client] config set cad-durability cad
        attach {0}
        # It has the data, on its disk, and says so.
        master set k stranger
        assert_equal {1 3} [master waitaof 1 3 10000]
        wait_for_condition 500 10 {[cad_info nodes_recorded 0] == 3} else {fail "the stranger was not told"}
        assert_equal 3 [cad_info nodes_connected -3]
        stall {-1 -2}
        master set k v
        assert_equal v [held_until {foreach level {-1 -2} {cad_fault_at $level}} get k]
        # The control: one data node instead of the stranger is enough.
        stall {-1 0}
        master set k w
        assert_equal w [master get k]
        foreach level {0 -1} {cad_fault_at $level}
    }

    test {CAD: cad-replication sync: an acknowledgement waits for copies in a majority's memory} {
        foreach mode {cad eventual} {
            master config set cad-durability $mode cad-replication sync
            assert_equal OK [master set k $mode]
            # Disks do not matter.
            stall {-1 -2 -3}
            assert_equal OK [master set k $mode]
            foreach level {0 -1 -2 -3} {cad_fault_at $level}
            foreach level {-1 -2} {exec kill -STOP [srv $level pid]}
            assert_equal OK [held_until {exec kill -CONT [srv -1 pid]} set k stopped]
            exec kill -CONT [srv -2 pid]
            # A write that changes nothing, and a read of what is durable, do not wait.
            assert_equal OK [master cad persist]
            foreach level {-1 -2} {exec kill -STOP [srv $level pid]}
            assert_equal 0 [master del absent]
            assert_equal stopped [master get k]
            # The control: async acknowledges.
            master config set cad-replication async
            assert_equal OK [master set k early]
            foreach level {-1 -2} {exec kill -CONT [srv $level pid]}
        }
        assert_morethan [cad_info holds_by_copies -3] 0
        master config set cad-durability cad
    }

    test {CAD: a restarted master resumes with a data node, not with a stranger} {
        master set k survivor
        assert_equal survivor [master get k]
        foreach level {0 -1 -2} {[srv $level client] replicaof no one}
        cad_kill_and_restart -3
        assert_equal 3 [cad_info nodes_recorded -3]
        attach 0
        assert_equal survivor [held_until {attach {-1}} get k]
        attach {-2}
        wait_connected 3
    }

    test {CAD: a lost disk is another node; CAD NODES REPLACE lets it count} {
        set gone [cad_info node_id -1]
        set come [cad_info node_id 0]
        assert_error {*none of the data nodes*} {master cad nodes replace $come $gone}
        assert_error {*data node already*} {master cad nodes add $gone}
        assert_error {*master cannot be removed*} {master cad nodes remove [cad_info node_id -3]}
        assert_error {*not connected*} {master cad nodes add [string repeat 0 40]}
        assert_equal OK [master cad persist]
        wait_for_condition 500 10 {[catch {master cad nodes replace $gone $come}] == 0} else {fail "not replaced"}
        assert_equal [lsort [list $come [cad_info node_id -2] [cad_info node_id -3]]] [lsort [dict keys [master cad nodes]]]
        stall {-2}
        master set k replaced
        assert_equal replaced [master get k]
        stall {0 -2}
        master set k v
        assert_equal v [held_until {foreach level {0 -2} {cad_fault_at $level}} get k]
    }

    test {CAD: the set grows and shrinks, one node at a time, and not beyond what is durable} {
        set node [cad_info node_id -1]
        # The newcomer's disk counts from the start: without it and another one nothing moves.
        assert_equal OK [master cad persist]
        wait_for_condition 500 10 {[catch {master cad nodes add $node}] == 0} else {fail "not added"}
        assert_equal {cad-nodes 4} [master config get cad-nodes]
        stall {-1 -2}
        master set k v
        assert_equal v [held_until {cad_fault_at -1} get k]
        cad_fault_at -2
        # Of four without two nodes nothing may be removed that leaves no majority behind.
        foreach level {0 -1} {exec kill -STOP [srv $level pid]}
        master set k w
        assert_equal w [held_until {foreach level {0 -1} {exec kill -CONT [srv $level pid]}} get k]
        wait_for_condition 500 10 {[catch {master cad nodes remove $node}] == 0} else {fail "not removed"}
        assert_equal 3 [cad_info nodes_recorded -3]
        assert_equal OK [master cad persist]
    }

    test {CAD: a master that lost its disk starts no new set with nodes of an old one} {
        foreach level {0 -1 -2} {[srv $level client] replicaof no one}
        set pid [srv -3 pid]
        exec kill -9 $pid
        wait_for_condition 500 10 {![is_alive $pid]} else {fail "process $pid survives SIGKILL"}
        set dir [dict get [srv -3 config] dir]
        file delete -force $dir/appendonlydir $dir/cad.state
        cad_kill_and_restart -3
        attach {0 -1}
        wait_for_log_messages -3 {"*belongs to recorded data nodes*"} 0 200 20
        assert_equal 0 [cad_info nodes_recorded -3]
        assert_error {*BOOTSTRAP FORCE*} {master cad bootstrap 3}
        # Empty, it shows nothing, and acknowledges nothing: the window is closed.
        assert_equal OK [held_until {assert_equal OK [master cad bootstrap 3 force]} set k v]
        assert_equal v [master get k]
        assert_equal 3 [cad_info nodes_recorded -3]
    }

    test {CAD: a cad.state that cannot be understood is refused, not replaced} {
        set pid [srv -3 pid]
        exec kill -9 $pid
        wait_for_condition 500 10 {![is_alive $pid]} else {fail "process $pid survives SIGKILL"}
        set f [open [dict get [srv -3 config] dir]/cad.state a]
        puts $f "nodes 12"
        close $f
        set config [srv -3 config_file]
        catch {exec src/redis-server $config} output
        assert_match {*Exiting: can't understand cad.state*} $output
    }
}
}
}
}
}
