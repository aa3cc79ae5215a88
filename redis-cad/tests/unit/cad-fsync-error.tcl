# SPDX-License-Identifier: Apache-2.0
#
# cad-fsync-error: what the server does when a sync of the append only file fails.

source tests/support/cad.tcl

tags {"aof external:skip cad"} {
cad_start_server {cad-durability eventual appendonly yes cad-fsync-error exit save ""} {
    test {CAD: cad-fsync-error exit ends the process and says why} {
        cad_fault {fail 5 .incr.aof}
        set pid [srv 0 pid]
        r set a 1
        wait_for_condition 500 10 {![is_alive $pid]} else {fail "still alive after a failed fsync"}
        assert_morethan [count_log_message 0 "cad-fsync-error exit"] 0
    }

    test {CAD: the restarted server has what it loaded, synced} {
        cad_fault
        cad_kill_and_restart 0
        assert_equal 1 [r get a]
        assert_morethan [cad_syncs 0 .incr.aof] 0
    }
}

cad_start_server {cad-durability eventual appendonly yes cad-fsync-error degrade save ""} {
    test {CAD: cad-fsync-error degrade refuses writes, serves reads} {
        r set a 1
        cad_fault {fail 5 .aof}
        r set b 2
        cad_wait_sync 5 .incr.aof 0
        wait_for_condition 500 10 {[catch {r set c 3} error] && [string match *MISCONF* $error]} else {
            fail "writes go on after a failed fsync"
        }
        assert_equal {1 2} [r mget a b]
        assert_morethan [count_log_message 0 "cad-fsync-error degrade"] 0
    }

    test {CAD: cad-fsync-error degrade writes a new log by itself} {
        cad_fault
        wait_for_condition 1000 20 {[catch {r set c 3}] == 0} else {fail "writes stay refused"}
        assert_equal {1 0} [r waitaof 1 0 0]
        cad_kill_and_restart 0
        assert_equal {1 2 3} [r mget a b c]
    }
}
}
