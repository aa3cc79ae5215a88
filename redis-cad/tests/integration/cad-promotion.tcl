# SPDX-License-Identifier: Apache-2.0
#
# Replicas that are promoted by hand, without fencing. They go on with the data nodes that their
# master told them last; what is durable is durable in the history of the new master.

source tests/support/cad.tcl

# Levels: -3 the first master, -2 and -1 its fellow data nodes, 0 a stranger.
proc at {level args} {[srv $level client] {*}$args}

proc follow {who whom} {
    at $who replicaof [srv $whom host] [srv $whom port]
    wait_for_condition 500 20 {[s $who master_link_status] eq {up} && [s $who aof_rewrite_in_progress] == 0} else {
        fail "$who does not follow $whom"
    }
}

# Sends the command to the server at `level` and sees it held; returns the connection.
proc held_at {level args} {
    set rd [redis_deferring_client $level]
    set before [cad_info held_now $level]
    $rd {*}$args
    cad_wait_held [expr {$before + 1}] $level
    assert_equal 0 [cad_readable $rd 300]
    return $rd
}

proc reply_of {rd} {
    set reply [$rd read]
    $rd close
    return $reply
}

set node {appendonly yes appendfsync everysec cad-durability cad cad-nodes 3 cad-hold-timeout 60000 cad-window-ms 3600000
          save {} auto-aof-rewrite-percentage 0 repl-diskless-sync-delay 0}

tags "repl aof external:skip cad" {
cad_start_server $node {
cad_start_server $node {
cad_start_server $node {
cad_start_server $node {
    foreach level {-2 -1} {follow $level -3}
    wait_for_condition 500 20 {[cad_info nodes_recorded -1] == 3 && [cad_info nodes_recorded -2] == 3} else {
        fail "the data nodes are not recorded"
    }
    foreach level {-3 -2 -1} {set id($level) [cad_info node_id $level]}
    set id(0) [cad_info node_id 0]
    set set [lsort [list $id(-3) $id(-2) $id(-1)]]

    test {CAD: promoted by hand and alone, a replica knows the set and shows nothing, not even what is old} {
        at -3 set k old
        assert_equal old [at -3 get k]
        at -3 wait 2 0
        at -2 replicaof no one
        assert_equal $set [lsort [dict keys [at -2 cad nodes]]]
        assert_equal {away away self} [lsort [dict values [at -2 cad nodes]]]
        set read [held_at -2 get k]
        set write [held_at -2 set w 1]
        assert_equal -1 [cad_info durable_index -2]
        # Neither way makes one disk enough.
        assert_error {*majority*} {at -2 cad nodes remove $id(-3)}
        assert_error {*recorded*CAD NODES*} {at -2 cad bootstrap 1 force}
        assert_error {*recorded*CAD NODES*} {at -2 config set cad-nodes 1}
        # Another of the set makes a majority.
        follow -1 -2
        assert_equal {old OK} [list [reply_of $read] [reply_of $write]]
        assert_equal old [at -2 get k]
    }

    test {CAD: what the old master has on its disk of its own history counts for nothing in the new one} {
        # Alone, it acknowledges within its window, and syncs.
        for {set j 0} {$j < 2000} {incr j} {at -3 set tail:$j [string repeat x 100]}
        wait_for_condition 500 10 {[cad_info persisted_index -3] == [cad_info last_index -3]} else {fail "not synced"}
        cad_fault_at -1 {hold .incr.aof}
        at -2 set k new
        set synced [cad_info persisted_index -3]
        assert_morethan $synced [cad_info last_index -2]
        set read [held_at -2 get k]
        # It takes over the new history, and has not synced it yet.
        cad_fault_at -3 {hold temp-rewriteaof}
        at -3 replicaof [srv -2 host] [srv -2 port]
        wait_for_condition 500 20 {[s -3 master_link_status] eq {up} && [at -3 debug digest] eq [at -2 debug digest]} else {
            fail "the old master does not follow"
        }
        assert_equal 1 [s -3 aof_rewrite_in_progress]
        assert_equal 0 [cad_readable $read 1200]
        cad_fault_at -3
        assert_equal new [reply_of $read]
        assert_equal {} [at -2 get tail:0]
        # Its log is complete; what it had synced of the other one is still more than all of this.
        assert_equal OK [at -2 cad persist]
        cad_fault_at -3 {hold .incr.aof}
        at -2 set k newer
        set read [held_at -2 get k]
        assert_morethan $synced [cad_info last_index -2]
        cad_fault_at -3
        assert_equal newer [reply_of $read]
        cad_fault_at -1
        assert_equal $set [lsort [dict keys [at -3 cad nodes]]]
    }

    test {CAD: a stranger that is promoted does not count itself until CAD NODES REPLACE says so} {
        follow 0 -2
        wait_for_condition 500 10 {[cad_info nodes_recorded 0] == 3} else {fail "the stranger was not told"}
        at -2 wait 3 0
        at 0 replicaof no one
        follow -1 0
        set read [held_at 0 get k]
        wait_for_condition 500 20 {[cad_info nodes_connected 0] == 1} else {fail "the data node does not name itself"}
        assert_equal -1 [cad_info durable_index 0]
        assert_equal 0 [cad_readable $read 300]
        # Who was left behind holds a majority no more, with the old master it does.
        assert_equal OK [at -2 cad persist]
        at -3 replicaof no one
        at -2 set k behind
        set behind [held_at -2 get k]
        assert_error {*none of the data nodes*} {at 0 cad nodes replace $id(0) $id(-3)}
        assert_equal OK [at 0 cad nodes replace $id(-3) $id(0)]
        assert_equal newer [reply_of $read]
        assert_equal [lsort [list $id(0) $id(-2) $id(-1)]] [lsort [dict keys [at 0 cad nodes]]]
        # Its connections are closed when it gives in; what it acknowledged nobody has read.
        at -2 replicaof [srv 0 host] [srv 0 port]
        assert_error {*I/O error*} {$behind read}
        $behind close
        wait_for_condition 500 20 {[cad_info nodes_connected 0] == 3} else {fail "[cad_info nodes_connected 0] of 3 are back"}
        assert_equal newer [at 0 get k]
    }
}
}
}
}
}
