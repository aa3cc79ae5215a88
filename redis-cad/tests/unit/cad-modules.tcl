# SPDX-License-Identifier: Apache-2.0
#
# Modules: commands that are loaded again, calls without a connection, replies that come past
# the execution of a command. tests/module/cad_test_module.c says what its commands do.

source tests/support/cad.tcl

proc outcome_of {args} {
    set rd [redis_deferring_client]
    set before [cad_info held_now]
    $rd {*}$args
    set outcome [cad_outcome $rd $before]
    cad_fault
    $rd read
    $rd close
    return $outcome
}

tags "aof external:skip cad" {
cad_start_server {appendonly yes cad-durability cad cad-hold-timeout 60000 save {} auto-aof-rewrite-percentage 0} {
    test {CAD: a module that is loaded again brings classes of its own} {
        foreach {claims class} {read keys write state read keys} {
            r module load $::env(CAD_TEST_MODULE) $claims
            r set k v
            assert_equal $class [r cad class cadtest.get]
            cad_stall
            r set other dirty
            assert_equal answered [outcome_of cadtest.get k]
            r module unload cadtest
        }
        r module load $::env(CAD_TEST_MODULE)
    }

    test {CAD: a module's call has no connection that could be held} {
        assert_error {*connection*} {r cadtest.call cad persist}
        assert_error {*connection*} {r cadtest.call cad mode immediate}
        assert_equal cad [r cadtest.call cad mode]
    }

    test {CAD: what a module's command may have read is held} {
        r set k v
        foreach call {{cadtest.get k} {cadtest.call get k} {cadtest.thread k}} {
            cad_stall
            r set k v
            assert_equal held [outcome_of {*}$call] $call
            cad_stall
            assert_equal answered [outcome_of {*}$call] $call
        }
    }

    foreach {command reply} {{blpop q 0} {q job} {cadtest.bget q} job} {
        test "CAD: [lindex $command 0]: a blocked client that is served is held, also while a script keeps the server busy" {
            r del q
            r config set busy-reply-threshold 1
            set rd [redis_deferring_client]
            $rd {*}$command
            wait_for_blocked_client
            cad_stall
            # The script begins in the turn of the event loop in which the client was served.
            set busy [redis_deferring_client]
            $busy write "[format_command rpush q job][format_command eval {while true do end} 0]"
            $busy flush
            wait_for_condition 500 10 {[catch {r ping} error] && [string match BUSY* $error]} else {fail "not busy"}
            assert_equal 0 [cad_readable $rd 200]
            r script kill
            wait_for_condition 500 10 {[catch {r ping}] == 0} else {fail "still busy"}
            assert_equal 0 [cad_readable $rd 20]
            cad_fault
            assert_equal $reply [$rd read]
            $rd close
            $busy close
            r config set busy-reply-threshold 5000
        }
    }
}
}
