# SPDX-License-Identifier: Apache-2.0
#
# Whose reports count. The replica is this test: it says of itself what it likes.

source tests/support/cad.tcl

# A connection that is a replica in step, as far as the master knows.
proc fake_replica {} {attach_to_replication_stream_on_connection 0}

# Reports that everything up to `offset` is applied and on disk; `words` is what follows.
# Returns when the master has read it.
proc report {replica offset args} {
    puts -nonewline $replica [format_command REPLCONF ACK $offset FACK $offset {*}$args]
    flush $replica
    wait_for_condition 500 10 {[string match "*offset=$offset,*" [r info replication]]} else {fail "report $offset is not read"}
}

# Writes, and sends a read of it that has to wait; returns its connection.
proc held_read {value} {
    r set k $value
    set rd [redis_deferring_client]
    $rd get k
    cad_wait_held 1
    return $rd
}

proc still_held {rd} {
    assert_equal 0 [cad_readable $rd 50]
    assert_equal 1 [cad_info held_now]
}

tags "repl aof external:skip cad" {
cad_start_server {appendonly yes appendfsync everysec cad-durability cad cad-nodes 2 cad-hold-timeout 60000 cad-window-ms 3600000
                  save {} auto-aof-rewrite-percentage 0 repl-diskless-sync-delay 0} {
    set id [string repeat 5a 20]
    set far 1000000000 ;# Beyond whatever the master writes here.

    test {CAD: the first that names itself is recorded; then only its name counts, in this version's words} {
        set replica [fake_replica]
        set others [list {} "CAD 2:$id:0" "CAD $id" "CAD [string range $id 1 end]:0" "CAD [string toupper $id]:0" "CAD2 $id:0"]
        foreach name $others {
            report $replica [incr far] {*}$name
            assert_equal {0 1} [list [cad_info nodes_recorded] [cad_info nodes_connected]]
        }
        report $replica [incr far] CAD $id:0
        wait_for_condition 500 10 {[cad_info nodes_recorded] == 2} else {fail "not recorded"}
        r set k v
        assert_equal v [r get k]
        # Whoever unlearns its name does not count any more.
        report $replica [incr far] CAD 2:$id:0
        set rd [held_read w]
        still_held $rd
        report $replica [incr far] CAD $id:0
        assert_equal w [$rd read]
        $rd close
        close $replica
    }

    test {CAD: what a client says in the words of a master is not believed} {
        # Who they are; the replica of the test before may be about to be seen as away.
        set nodes [dict keys [r cad nodes]]
        assert_equal 2 [llength $nodes]
        set rd [redis_deferring_client]
        # It has no reply of its own.
        $rd replconf getack cad1:nodes:[cad_info node_id]
        $rd ping
        assert_equal PONG [$rd read]
        assert_equal $nodes [dict keys [r cad nodes]]
        $rd close
    }

    test {CAD: a stranger's report moves nothing, nor does the older connection of a data node} {
        wait_for_condition 500 10 {[s connected_slaves] == 0} else {fail "the replica stays"}
        set rd [held_read x]
        set stranger [fake_replica]
        report $stranger [incr far] CAD [string repeat 0 40]:1
        still_held $rd
        assert_equal 1 [cad_info nodes_connected]
        close $stranger

        set older [fake_replica]
        set newer [fake_replica]
        report $newer 1 CAD $id:1
        report $older [incr far] CAD $id:1
        still_held $rd
        report $newer [incr far] CAD $id:1
        assert_equal x [$rd read]
        $rd close
        close $older
        close $newer
    }
}
}
