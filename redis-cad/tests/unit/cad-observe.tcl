# SPDX-License-Identifier: Apache-2.0
#
# What an operator sees: LATENCY, CLIENT LIST, the slow log, ACL, COMMAND DOCS and CAD HELP.

source tests/support/cad.tcl

# Milliseconds for which a connection has been held, by CLIENT LIST; empty: none is.
proc held_ms {} {
    regexp {cad-held-ms=(\d+)} [r client list] all ms
    expr {[info exists ms] ? $ms : {}}
}

tags "aof external:skip cad" {
cad_start_server {appendonly yes cad-durability cad cad-hold-timeout 60000 save {} auto-aof-rewrite-percentage 0} {
    test {CAD: CLIENT LIST shows who is held and for how long; LATENCY remembers; the slow log does not} {
        r config set latency-monitor-threshold 1 slowlog-log-slower-than 200000
        r slowlog reset
        cad_stall
        assert_equal {} [held_ms]
        r set k v
        assert_equal {} [held_ms]
        set rd [redis_deferring_client]
        $rd get k
        cad_wait_held 1
        wait_for_condition 1000 5 {[held_ms] > 300} else {fail "held for [held_ms] ms"}
        cad_fault
        assert_equal v [$rd read]
        $rd close
        assert_equal {} [held_ms]
        foreach event {cad-hold cad-sync} {
            set longest [lindex [lsearch -inline -index 0 [r latency latest] $event] 3]
            assert_morethan $longest 290
        }
        assert_equal 0 [llength [lsearch -all -inline -index 3 [r slowlog get -1] {get k}]]
    }

    test {CAD: every subcommand is documented, and named by CAD HELP} {
        set docs [dict get [r command docs cad] cad]
        set subcommands {}
        foreach {name doc} [dict get $docs subcommands] {
            set word [lindex [split $name |] 1]
            lappend subcommands $word
            assert_morethan [string length [dict get $doc summary]] 20
            assert_equal server [dict get $doc group]
            if {$word ne {help}} {assert_match "*[string toupper $word]*" [r cad help]}
        }
        assert_equal {bootstrap class help keyindex mode nodes persist status} [lsort $subcommands]
        assert_match {*cad-immediate-prefix*} [r config get cad-*]
    }

    test {CAD: who may read data may not change the data nodes} {
        r acl setuser reader on >secret ~* +@read +@connection
        r acl setuser admin on >secret ~* +@admin
        assert_equal OK [r acl dryrun reader cad keyindex k]
        assert_equal OK [r acl dryrun reader cad persist]
        assert_equal OK [r acl dryrun reader cad mode cad]
        foreach command {{cad nodes} {cad bootstrap 1}} {
            assert_match {*no permissions*} [r acl dryrun reader {*}$command]
            assert_equal OK [r acl dryrun admin {*}$command]
        }
        r acl setuser other on >secret ~other +@read
        assert_match {*no permissions*} [r acl dryrun other cad keyindex k]
    }

    test {CAD: CAD STATUS and INFO say the same, number by number} {
        set info {}
        foreach line [split [string map {\r {}} [r info cad]] \n] {
            if {[regexp {^(cad_[a-z_]+):(.*)$} $line all field value]} {dict set info $field $value}
        }
        set status [r cad status]
        assert_equal [lsort [dict keys $info]] [lsort [dict keys $status]]
        foreach field {cad_durability cad_replication cad_node_id cad_nodes cad_nodes_recorded cad_nodes_connected} {
            assert_equal [dict get $info $field] [dict get $status $field]
        }
        # Counters are numbers, as exporters of metrics need them.
        foreach field {cad_holds cad_hold_usec cad_hold_timeouts cad_refusals cad_flush_rounds cad_dirty_keys cad_disk_low} {
            assert {[string is wideinteger -strict [dict get $status $field]]}
        }
    }
}
}
