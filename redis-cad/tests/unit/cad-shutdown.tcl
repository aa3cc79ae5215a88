# SPDX-License-Identifier: Apache-2.0
#
# A planned stop loses no acknowledged write, even if the power goes right afterwards.
# SIGKILL in its place loses some, so the test can fail.

source tests/support/cad.tcl

proc write_some {round} {
    for {set j 0} {$j < 200} {incr j} {r set key:$j $round}
}

proc survivors {round} {
    set found 0
    for {set j 0} {$j < 200} {incr j} {incr found [expr {[r get key:$j] eq $round}]}
    return $found
}

tags "aof external:skip cad" {
foreach mode {eventual cad} {
    # No background flush: what is not durable stays so.
    cad_start_server "appendonly yes appendfsync everysec cad-durability $mode cad-flush-interval 60000 save {}
                      auto-aof-rewrite-percentage 0" {
        foreach {what round} {SIGTERM 1 SHUTDOWN 2 {SHUTDOWN NOSAVE} 3} {
            test "CAD: $what loses no acknowledged write ($mode)" {
                write_some $round
                if {$what eq {SIGTERM}} {
                    cad_end 0 TERM
                } else {
                    set pid [srv 0 pid]
                    catch {r {*}$what}
                    wait_for_condition 1000 10 {![is_alive $pid]} else {fail "it does not end"}
                }
                assert_equal 0 [cad_drop_unsynced 0]
                cad_kill_and_restart 0
                assert_equal 200 [survivors $round]
            }
        }

        test "CAD: a reply that is held when the server stops is sent when it is durable, or never ($mode)" {
            r cad mode cad
            cad_stall
            r set key:0 held
            set rd [redis_deferring_client]
            $rd cad mode cad
            $rd read
            $rd get key:0
            cad_wait_held 1
            # The stop waits for the disk, too.
            set pid [srv 0 pid]
            set stopping [redis_deferring_client]
            $stopping shutdown
            assert_equal 0 [cad_readable $rd 200]
            assert [is_alive $pid]
            cad_fault
            wait_for_condition 1000 10 {![is_alive $pid]} else {fail "it does not end"}
            if {[catch {$rd read} reply] == 0} {assert_equal held $reply}
            $rd close
            $stopping close
            assert_equal 0 [cad_drop_unsynced 0]
            cad_kill_and_restart 0
            assert_equal held [r get key:0]
        }

        test "CAD: control: SIGKILL in place of SIGTERM loses acknowledged writes ($mode)" {
            cad_fault {hold .incr.aof}
            write_some 4
            assert_morethan [cad_power_loss 0] 0
            cad_fault
            cad_kill_and_restart 0
            assert_lessthan [survivors 4] 200
        }
    }
}
}
