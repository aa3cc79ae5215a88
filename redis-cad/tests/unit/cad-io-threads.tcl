# SPDX-License-Identifier: Apache-2.0
#
# A connection that begins to hold while a thread of its own still has output of it to send: the
# event loop of that thread is its own. tests/shim/poll_watch.c sees who changes it while it waits.

source tests/support/cad.tcl

set ::cad_watched [file normalize [tmpfile poll-watch]]
set cad_shim $::env(CAD_SYNC_FAULT_SHIM)
set ::env(CAD_SYNC_FAULT_SHIM) "$cad_shim:$::env(CAD_POLL_WATCH_SHIM)"
set ::env(CAD_POLL_WATCH) $::cad_watched

# Lines that the watch has written; it has made the file, if it is there at all.
proc cad_meddling {} {
    set f [open $::cad_watched]
    set lines [read $f]
    close $f
    return $lines
}

tags "aof external:skip cad" {
cad_start_server {appendonly yes appendfsync everysec cad-durability cad cad-hold-timeout 60000 save {} io-threads 3
                  auto-aof-rewrite-percentage 0} {
    test {CAD: a hold leaves the write handler to the thread whose event loop has it} {
        # More than the buffers of the sockets take, so that a handler is installed.
        set size 20000000
        r set big [string repeat x $size]
        for {set round 0} {$round < 10} {incr round} {
            cad_stall
            r set k $round
            set rd [redis_deferring_client]
            $rd client id
            set id [$rd read]
            $rd get big
            # What is left does not fit into the buffers, and waits for the handler in its thread.
            wait_for_condition 1000 5 {[cad_readable $rd 5] && [regexp { omem=[1-9].* io-thread=[1-9]} [r client list id $id]]} else {
                fail "no output waits in a thread: [r client list id $id]"
            }
            $rd get k
            cad_wait_held 1
            cad_fault
            assert_equal $size [string length [$rd read]]
            assert_equal $round [$rd read]
            $rd close
        }
        assert_equal {} [cad_meddling]
    }
}
}

set ::env(CAD_SYNC_FAULT_SHIM) $cad_shim
unset ::env(CAD_POLL_WATCH)
