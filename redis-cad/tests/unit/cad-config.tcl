# SPDX-License-Identifier: Apache-2.0
#
# What a durability mode needs is checked at start and at CONFIG SET, with errors that
# name the setting and the remedy.

source tests/support/cad.tcl

tags {"external:skip cad"} {
start_server {overrides {appendonly no}} {
    test {CAD: off by default} {
        assert_equal {cad-durability off} [r config get cad-durability]
    }

    test {CAD: a mode is refused without the append only file} {
        assert_error {*appendonly yes*} {r config set cad-durability eventual}
        assert_equal {cad-durability off} [r config get cad-durability]
        assert_error {*cad-durability*} {r config set cad-durability sometimes}
    }
}

start_server {overrides {appendonly no save {}}} {
    test {CAD: switched on together with the log, nothing is durable until the first log is complete} {
        for {set j 0} {$j < 20} {incr j} {r set key:$j $j}
        r config set rdb-key-save-delay 100000
        r config set appendonly yes cad-durability cad cad-hold-timeout 60000
        set rd [redis_deferring_client]
        $rd get key:1
        cad_wait_held 1
        assert_equal {1 0} [list [s aof_rewrite_in_progress] [cad_readable $rd 50]]
        assert_equal 1 [$rd read]
        assert_equal {1 0} [list [cad_info nodes_recorded] [s aof_rewrite_in_progress]]
        $rd close
    }
}

start_server {overrides {appendonly no save {}}} {
    test {CAD: data that no offset counts is not durable until a majority has it} {
        r set k v
        r config set appendonly yes
        wait_for_condition 500 10 {[s aof_rewrite_in_progress] == 0} else {fail "it rewrites for ever"}
        r config set cad-nodes 2 cad-durability cad cad-hold-timeout 60000
        set rd [redis_deferring_client]
        $rd get k
        cad_wait_held 1
        assert_equal {0 -1 0} [list [cad_info last_index] [cad_info durable_index] [cad_readable $rd 50]]
        r config set cad-nodes 1
        assert_equal v [$rd read]
        $rd close
    }
}

start_server {overrides {appendonly yes save {} cad-nodes 2 cad-durability cad cad-hold-timeout 60000}} {
    test {CAD: an empty master does not say that nothing is there before it knows its fellows} {
        set rd [redis_deferring_client]
        $rd get k
        cad_wait_held 1
        assert_equal 0 [cad_readable $rd 50]
        r config set cad-nodes 1
        assert_equal {} [$rd read]
        $rd close
    }
}

start_server {overrides {appendonly yes cad-durability eventual}} {
    test {CAD: what a mode needs cannot be taken away} {
        assert_error {*appendonly yes*} {r config set appendonly no}
        assert_error {*replica-read-only yes*} {r config set replica-read-only no}
        assert_equal {yes} [lindex [r config get appendonly] 1]
        r config set cad-durability off
        r config set appendonly no
    }

    test {CAD: every combination of durability and replication is allowed or refused, by name} {
        r config set appendonly yes
        foreach durability {off eventual cad immediate} {
            foreach replication {async sync} {
                r config set cad-durability off cad-replication async
                set refused [catch {r config set cad-durability $durability cad-replication $replication} err]
                assert_equal [expr {$durability eq {immediate} && $replication eq {async}}] $refused
                if {$refused} {assert_match {*set cad-replication sync*} $err}
                if {!$refused && $durability ne {off}} {assert_equal $replication [cad_info replication]}
            }
        }
        assert_error {*cad-replication sync*} {r config set cad-replication async}
        r config set cad-durability off
    }

    test {CAD: CONFIG REWRITE keeps every setting} {
        set changed {cad-durability eventual cad-replication sync cad-fsync-error degrade cad-write-reads prior
            cad-scan-reads relaxed cad-flush-interval 17 cad-hold-timeout 1234 cad-window-ms 4321 cad-flush-bytes 2097152
            cad-hold-bytes 1048576 cad-window-bytes 3145728 cad-max-dirty-keys 99 cad-immediate-prefix order: cad-disk-reserve 12582912}
        set default {}
        foreach {name value} $changed {dict set default $name [lindex [r config get $name] 1]}
        r config set {*}$changed
        assert_equal OK [r config rewrite]
        r config set {*}$default
        restart_server 0 true false
        foreach {name value} $changed {assert_equal [list $name $value] [r config get $name]}
        # Whatever this list forgets has no test.
        assert_equal [lsort [concat [dict keys $changed] cad-nodes]] [lsort [dict keys [r config get cad-*]]]
    }
}

foreach {settings remedy} {
    {cad-durability eventual appendonly no} {*appendonly yes*}
    {cad-durability eventual appendonly yes replica-read-only no} {*replica-read-only yes*}
    {cad-durability immediate appendonly yes} {*cad-replication sync*}
    {cad-durability eventual appendonly yes cluster-enabled yes} {*cluster-enabled no*}
} {
    test "CAD: the server does not start with $settings" {
        set arguments {}
        foreach {name value} $settings {lappend arguments --$name $value}
        set dir [tmpdir cad-config]
        catch {exec src/redis-server --port [find_available_port $::baseport $::portcount] --dir $dir {*}$arguments} output
        assert_match $remedy $output
        assert_match {*Exiting*} $output
    }
}
}
