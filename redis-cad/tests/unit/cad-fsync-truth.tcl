# SPDX-License-Identifier: Apache-2.0
#
# WAITAOF tells the truth. `make test` also runs this file on the unpatched build and
# sees to it that the tests marked (red on stock) fail there.
#
# The faults come from tests/shim/sync_fault.c, which CAD_SYNC_FAULT_SHIM names.

source tests/support/cad.tcl

tags {"aof external:skip cad"} {

# Hole (a): a failed fsync was reported as success by the next flush with an empty buffer.
cad_start_server {appendonly yes appendfsync everysec save "" auto-aof-rewrite-percentage 0} {
    test {CAD: WAITAOF does not report data whose fsync failed (red on stock)} {
        cad_fault {fail 5 .incr.aof}
        r set a 1
        cad_wait_sync 5 .incr.aof 0
        assert_equal {0 0} [r waitaof 1 0 500]
        assert_error {*MISCONF*} {r set b 1}
    }

    test {CAD: a later successful fsync of the same file proves nothing (red on stock)} {
        cad_fault
        # PUBLISH moves the replication offset and writes nothing.
        r publish channel message
        assert_equal {0 0} [r waitaof 1 0 500]
    }

    test {CAD: a rewrite that began after the failure makes the log whole again} {
        r bgrewriteaof
        wait_for_condition 500 10 {[catch {r set c 1}] == 0} else {fail "writes stay refused"}
        assert_equal {1 0} [r waitaof 1 0 0]
    }
}

# Hole (b): a rewrite replaces the INCR file; the old one is synced in the background, and
# the new one, which is empty, made everything look synced at once.
cad_start_server {appendonly yes appendfsync everysec save "" auto-aof-rewrite-percentage 0} {
    test {CAD: WAITAOF waits for the final fsync of the file that a rewrite replaced (red on stock)} {
        # The BASE waits too: once that is complete it proves the data as well.
        cad_fault {hold .incr.aof} {hold temp-rewriteaof}
        r set a 1
        r bgrewriteaof
        assert_equal {0 0} [r waitaof 1 0 500]
        cad_fault
        assert_equal {1 0} [r waitaof 1 0 0]
    }

    test {CAD: a failed final fsync of the replaced file is healed by that rewrite's end only} {
        cad_fault ;# the test before leaves its faults in place where it fails, as on stock
        waitForBgrewriteaof r
        r config set rdb-key-save-delay 10000000
        cad_fault {fail 5 .incr.aof}
        set failures [cad_syncs 5 .incr.aof]
        r set b 1
        r bgrewriteaof
        cad_wait_sync 5 .incr.aof $failures
        cad_fault
        assert_equal {0 0} [r waitaof 1 0 500]
        # End the child that saves slowly; the rewrite after it is quick.
        r config set rdb-key-save-delay 0
        exec kill -9 [get_child_pid 0]
        waitForBgrewriteaof r
        r publish channel message
        assert_equal {0 0} [r waitaof 1 0 500]
        r bgrewriteaof
        wait_for_condition 500 10 {[catch {r set c 1}] == 0} else {fail "writes stay refused"}
        assert_equal {1 0} [r waitaof 1 0 0]
    }
}

# Hole (c): what was loaded at start counted as synced.
cad_start_server {appendonly yes appendfsync no save "" auto-aof-rewrite-percentage 0} {
    test {CAD: what a restart loaded is synced before anything is reported (red on stock)} {
        r set a 1
        cad_fault {fail 5 .incr.aof}
        cad_kill_and_restart 0
        if {[cad_is_up 0]} {
            # The offset of PUBLISH lies above the loaded data, so WAITAOF would promise it.
            assert_equal 1 [r exists a]
            r publish channel message
            assert_equal {0 0} [r waitaof 1 0 500]
        } else {
            assert_morethan [count_log_message 0 "Can't sync the append only file"] 0
        }
    }

    test {CAD: a restart on a disk that works reports the loaded data} {
        cad_fault
        cad_kill_and_restart 0
        assert_equal 1 [r exists a]
        r publish channel message
        assert_equal {1 0} [r waitaof 1 0 0]
        assert_morethan [cad_syncs 0 .incr.aof] 0
    }
}
}
