# SPDX-License-Identifier: Apache-2.0
#
# Durable means on the disks of a majority of cad-nodes, the master among them. Three
# nodes, each with its own sync faults.

source tests/support/cad.tcl

# Levels: -2 the master, -1 and 0 the replicas.
proc stall {levels} {
    foreach level {0 -1 -2} {cad_fault_at $level}
    assert_equal OK [[srv -2 client] cad persist]
    foreach level $levels {cad_fault_at $level {hold .incr.aof}}
}
# Sends a command to the master, whose reply is to be `answered` or `held`; returns the reply,
# which comes at last when all stalls end. A hold that a round of flushes ends is answered.
proc expect_at_master {expected args} {
    set rd [redis_deferring_client -2]
    $rd {*}$args
    if {$expected eq {held}} {
        cad_wait_held 1 -2
        assert_equal 0 [cad_readable $rd 300]
        foreach level {0 -1 -2} {cad_fault_at $level}
    }
    set reply [$rd read]
    foreach level {0 -1 -2} {cad_fault_at $level}
    $rd close
    return $reply
}

set node {appendonly yes appendfsync everysec cad-durability cad cad-nodes 3 cad-hold-timeout 60000 save {}
          auto-aof-rewrite-percentage 0 repl-diskless-sync-delay 0}

tags "repl aof external:skip cad" {
cad_start_server $node {
cad_start_server $node {
cad_start_server $node {
    test {CAD: three data nodes find one another} {
        foreach level {-1 0} {[srv $level client] replicaof [srv -2 host] [srv -2 port]}
        foreach level {-1 0} {
            wait_for_condition 500 20 {[s $level master_link_status] eq {up}} else {fail "replica $level not online"}
            wait_for_condition 500 20 {[s $level aof_rewrite_in_progress] == 0} else {fail "replica $level still rewrites"}
        }
        wait_for_condition 500 20 {[cad_info nodes_connected -2] == 3} else {fail "[cad_info nodes_connected -2] nodes"}
        set ids {}
        foreach level {0 -1 -2} {lappend ids [cad_info node_id $level]}
        assert_equal 3 [llength [lsort -unique $ids]]
        assert_equal OK [[srv -2 client] cad persist]
    }

    test {CAD: one stalled disk, any, delays nobody but the master's own} {
        foreach {stalled expected} {0 answered -1 answered -2 held} {
            stall $stalled
            [srv -2 client] set k $stalled
            assert_equal $stalled [expect_at_master $expected get k]
        }
    }

    test {CAD: two stalled disks hold a read} {
        stall {0 -1}
        [srv -2 client] set k v
        assert_equal v [expect_at_master held get k]
    }

    test {CAD: immediate: a plain SET has no reply while two disks are stalled} {
        [srv -2 client] config set cad-durability immediate cad-replication sync
        stall {0 -1}
        assert_equal OK [expect_at_master held set k v]
        stall {0}
        assert_equal OK [expect_at_master answered set k v]
        # And redis-cli, which knows nothing of it.
        stall {0 -1}
        set cli [open "|src/redis-cli -h [srv -2 host] -p [srv -2 port] set k cli"]
        wait_for_condition 500 10 {[cad_info held_now -2] == 1} else {fail "the write of redis-cli is not held"}
        foreach level {0 -1} {cad_fault_at $level}
        assert_equal OK [gets $cli]
        close $cli
        [srv -2 client] config set cad-durability cad cad-replication async
    }

    test {CAD: a replica does not answer reads, and may be asked what it is} {
        foreach level {0 -1} {
            assert_error {CADNOLEASE*} {[srv $level client] get k}
            assert_error {CADNOLEASE*} {[srv $level client] eval {return redis.call('get','k')} 0}
            assert_equal PONG [[srv $level client] ping]
            assert_equal slave [lindex [[srv $level client] role] 0]
        }
    }

    # Sentinel changes a server's role in a transaction.
    test {CAD: at a replica a transaction that shows no data is executed, one that does is refused} {
        foreach level {0 -1} {
            set replica [srv $level client]
            $replica multi
            $replica replicaof [srv -2 host] [srv -2 port]
            $replica client kill type pubsub
            assert_match {*OK* 0} [$replica exec]
            foreach command {{get k} {eval {return redis.call('get','k')} 0} dbsize} {
                $replica multi
                $replica ping
                assert_error {CADNOLEASE*} {$replica {*}$command}
                assert_error {EXECABORT*} {$replica exec}
            }
        }
    }

    test {CAD: a replica that is gone does not count, one that comes back does} {
        stall {}
        exec kill -STOP [srv -1 pid]
        [srv -2 client] set k one-left
        assert_equal one-left [expect_at_master answered get k]
        exec kill -STOP [srv 0 pid]
        [srv -2 client] set k none-left
        set rd [redis_deferring_client -2]
        $rd get k
        cad_wait_held 1 -2
        assert_equal 0 [cad_readable $rd 100]
        exec kill -CONT [srv 0 pid]
        assert_equal none-left [$rd read]
        $rd close
        exec kill -CONT [srv -1 pid]
    }

    foreach {durability replication} {cad async cad sync eventual async eventual sync immediate sync off async} {
        test "CAD: WAIT and WAITAOF keep their meaning ($durability, $replication)" {
            stall {}
            [srv -2 client] config set cad-durability $durability cad-replication $replication
            cad_fault_at 0 {hold .incr.aof}
            [srv -2 client] set k v
            assert_equal 2 [[srv -2 client] wait 2 5000]
            assert_equal {1 1} [[srv -2 client] waitaof 1 1 5000]
            assert_equal {1 1} [[srv -2 client] waitaof 1 2 300]
            cad_fault_at 0
            assert_equal {1 2} [[srv -2 client] waitaof 1 2 0]
            [srv -2 client] config set cad-durability cad cad-replication async
            assert_equal OK [[srv -2 client] cad persist]
        }
    }

    test {CAD: a replica without CAD replicates, and does not count} {
        foreach level {0 -1} {
            [srv $level client] config set cad-durability off
            [srv $level client] client kill type master
        }
        wait_for_condition 500 20 {[s -2 connected_slaves] == 2 && [cad_info nodes_connected -2] == 1 &&
            [s 0 master_link_status] eq {up} && [s -1 master_link_status] eq {up}} else {fail "the link is not up"}
        [srv -2 client] set k legacy
        assert_equal 2 [[srv -2 client] wait 2 5000]
        assert_equal {1 2} [[srv -2 client] waitaof 1 2 0]
        assert_equal legacy [[srv 0 client] get k]
        set rd [redis_deferring_client -2]
        $rd get k
        cad_wait_held 1 -2
        assert_equal 0 [cad_readable $rd 100]
        foreach level {0 -1} {
            [srv $level client] config set cad-durability cad
            [srv $level client] client kill type master
        }
        assert_equal legacy [$rd read]
        $rd close
    }

    test {CAD: a restarted master resumes when a majority is connected, and has lost nothing} {
        [srv -2 client] set k survivor
        assert_equal survivor [[srv -2 client] get k]
        foreach level {0 -1} {[srv $level client] replicaof no one}
        wait_for_condition 500 20 {[s -2 connected_slaves] == 0} else {fail "replicas stay"}
        cad_kill_and_restart -2
        set rd [redis_deferring_client -2]
        $rd get k
        cad_wait_held 1 -2
        foreach level {0 -1} {[srv $level client] replicaof [srv -2 host] [srv -2 port]}
        assert_equal survivor [$rd read]
        $rd close
    }
}
}
}
}
