# SPDX-License-Identifier: Apache-2.0
#
# Power loss under load: what a client has read is there afterwards. The same run with
# `eventual` (stock everysec) loses read data, so the test can fail.

source tests/support/cad.tcl

# Writes and reads keys at random, returns what was read last: {key value ...}.
proc apply_load {steps seed} {
    expr {srand($seed)}
    array set seen {}
    for {set step 1} {$step <= $steps} {incr step} {
        set key key:[expr {int(rand() * 20)}]
        switch [expr {int(rand() * 4)}] {
            0 {set seen($key) [r get $key]}
            1 {set seen(counter) [r incr counter]}
            default {r set $key $step}
        }
    }
    return [array get seen]
}

# Keys whose value is older than what was read.
proc gone_back {seen} {
    set gone {}
    foreach {key value} $seen {
        set now [r get $key]
        if {$value ne {} && ($now eq {} || $now < $value)} {lappend gone "$key: read $value, now '$now'"}
    }
    return $gone
}

tags "aof external:skip cad" {
set seed [expr {[info exists ::seed] ? $::seed : 20261121}]
puts "seed $seed"
foreach mode {cad immediate} {
    cad_start_server "appendonly yes appendfsync everysec cad-durability $mode cad-replication sync cad-hold-timeout 60000 save {}
                      auto-aof-rewrite-percentage 0" {
        test "CAD: power loss takes nothing that was read ($mode, seed $seed)" {
            for {set round 0} {$round < 5} {incr round} {
                set seen [apply_load 2000 [expr {$seed + $round}]]
                # An acknowledged write that nobody read, with the disk stalled.
                cad_fault {hold .incr.aof}
                if {$mode eq {cad}} {r set unread $round}
                cad_power_loss 0
                cad_fault
                cad_kill_and_restart 0
                assert_equal {} [gone_back $seen]
                assert_equal {} [r get unread] ;# else the power loss took nothing
            }
        }
    }
}

cad_start_server {appendonly yes appendfsync everysec cad-durability eventual save {} auto-aof-rewrite-percentage 0} {
    test "CAD: control: eventual loses read data in the same run (seed $seed)" {
        set seen [apply_load 2000 $seed]
        cad_fault {hold .incr.aof}
        r set k v
        lappend seen key:0 [r incrby key:0 1000000]
        # Whether Redis had handed the last writes to the system or still held them
        # back because a sync was under way is a matter of timing; both are lost.
        cad_power_loss 0
        cad_fault
        cad_kill_and_restart 0
        assert_morethan [llength [gone_back $seen]] 0
    }
}
puts "seed $seed"
}
