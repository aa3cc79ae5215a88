# SPDX-License-Identifier: Apache-2.0
#
# DEBUG subcommands: what would make memory and log disagree is refused, by name and with the
# remedy; what loads the same data again is no way around the read rule.

source tests/support/cad.tcl

# Each subcommand is decided: a new one has to be looked at.
set ::cad_debug_refused {LOADAOF RELOAD POPULATE REPLICATE CHANGE-REPL-ID}
set ::cad_debug_others {
    AOF-FLUSH-SLEEP ASSERT CLIENT-EVICTION CLUSTERLINK CONFIG-REWRITE-FORCE-ALL CRASH-AND-RECOVER DICT-RESIZING DIGEST DIGEST-VALUE
    DROP-CLUSTER-PACKET-FILTER ERROR HELP HTSTATS HTSTATS-KEY INTERNAL_SECRET LEAK LISTPACK LOG MALLCTL MALLCTL-STR
    MARK-INTERNAL-CLIENT OBJECT OOM PANIC PAUSE-CRON PROTOCOL QUICKLIST QUICKLIST-PACKED-THRESHOLD REPL-PAUSE
    REPLYBUFFER RESTART SCRIPT SDSLEN SEGFAULT SET-ACTIVE-EXPIRE SET-DISABLE-DENY-SCRIPTS SET-SKIP-CHECKSUM-VALIDATION
    SLEEP STRINGMATCH-TEST STRUCTSIZE
}

tags "aof external:skip cad needs:debug" {
cad_start_server {appendonly yes cad-durability cad cad-hold-timeout 60000 save {} auto-aof-rewrite-percentage 0
                  enable-debug-command yes} {
    test {CAD: every DEBUG subcommand is decided} {
        set known {}
        foreach line [r debug help] {
            # Options and examples are indented.
            if {[regexp {^([A-Z][A-Z_-]+)( |$)} $line all verb] && $verb ni {DEBUG}} {lappend known $verb}
        }
        set undecided {}
        foreach verb [lsort -unique $known] {
            if {$verb ni [concat $::cad_debug_refused $::cad_debug_others]} {lappend undecided $verb}
        }
        assert_equal {} $undecided
        assert_morethan [llength $known] 30
    }

    foreach {command why} {
        {debug reload nosave} {*loads data*}
        {debug reload noflush} {*loads data*}
        {debug reload merge NoSave} {*loads data*}
        {debug reload nosave noflush merge} {*loads data*}
        {debug populate 10} {*makes keys*}
        {debug replicate set k other} {*what the master does not have*}
        {debug change-repl-id} {*forgets the history*}
    } {
        test "CAD: [string toupper $command] is refused while CAD is on" {
            r set k v
            set state [list [r debug digest] [s master_replid] [r dbsize]]
            foreach mode {cad eventual immediate} {
                r config set cad-durability off cad-replication sync
                r config set cad-durability $mode
                assert_error $why {r {*}$command}
                assert_error {*set cad-durability off*} {r {*}$command}
            }
            r config set cad-durability cad cad-replication async
            assert_equal $state [list [r debug digest] [s master_replid] [r dbsize]]
        }
    }

    test {CAD: DEBUG RELOAD and LOADAOF keep what is undurable undurable} {
        r set durable 1
        r function load {#!lua name=cadlib
            redis.register_function('f', function() return 1 end)}
        foreach command {{debug reload} {debug reload merge} {debug loadaof}} {
            cad_stall
            r set k $command
            set digest [r debug digest]
            assert_equal OK [r {*}$command]
            assert_equal $digest [r debug digest]
            set rd [redis_deferring_client]
            $rd get k
            assert_equal held [cad_outcome $rd 0]
            assert_equal 0 [cad_readable $rd 50]
            cad_fault
            assert_equal $command [$rd read]
            $rd close
            assert_equal 1 [r fcall f 0]
        }
    }

    test {CAD: DEBUG LOADAOF is refused in a transaction that has written} {
        r set k before
        r multi
        r set k v
        r debug loadaof
        r get k
        set failed [catch {r exec} replies]
        assert_match {*ERR DEBUG loadaof forgets*} $replies
        assert_equal v [r get k]
    }

    test {CAD: DEBUG LOADAOF is refused until the first log is complete} {
        r config set cad-durability off
        r config set appendonly no
        for {set j 0} {$j < 20} {incr j} {r set key:$j $j}
        set digest [r debug digest]
        r config set rdb-key-save-delay 100000
        r config set appendonly yes cad-durability cad
        assert_error {*forgets*set cad-durability off*} {r debug loadaof}
        assert_equal $digest [r debug digest]
        r config set rdb-key-save-delay 0
        catch {exec kill -9 [get_child_pid 0]}
        wait_for_condition 500 20 {[s aof_rewrite_in_progress] == 0 && [s aof_rewrite_scheduled] == 0 &&
                                   [s aof_last_bgrewrite_status] eq {ok}} else {fail "no log"}
        assert_equal OK [r debug loadaof]
        assert_equal $digest [r debug digest]
    }

    test {CAD: control: with CAD off the same subcommands work} {
        r config set cad-durability off
        assert_equal OK [r debug populate 10 made]
        assert_equal OK [r debug reload]
        assert_equal OK [r debug reload nosave noflush merge]
        assert_equal OK [r debug change-repl-id]
        assert_equal OK [r debug replicate ping]
        r bgrewriteaof
        waitForBgrewriteaof r
        r config set cad-durability cad
    }

    test {CAD: a log that cannot be loaded again ends the server, which serves no part of it} {
        r set k v
        assert_equal OK [r cad persist]
        set log [glob [dict get [srv 0 config] dir]/appendonlydir/*.incr.aof]
        set f [open $log r+]
        puts -nonewline $f "what is this"
        close $f
        set pid [srv 0 pid]
        catch {r debug loadaof}
        wait_for_condition 500 10 {![is_alive $pid]} else {fail "it goes on with [r dbsize] keys"}
        assert_equal 1 [count_log_message 0 "The data could not be loaded again"]
    }
}
}
