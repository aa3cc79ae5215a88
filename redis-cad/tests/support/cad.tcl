# SPDX-License-Identifier: Apache-2.0
#
# Helpers of the CAD tests, on top of Redis' own. Conditions are awaited, never slept for.

# Every server that is started inside gets the sync faults of tests/shim/sync_fault.c.
# The rules are per server, so that replicas can have their own: see cad_fault.
proc cad_start_server {overrides code} {
    set rules [file normalize [tmpfile sync-fault]]
    close [open $rules w]
    set outer {}
    foreach name {LD_PRELOAD CAD_SYNC_FAULT} {
        if {[info exists ::env($name)]} {lappend outer $name $::env($name)}
    }
    set ::env(LD_PRELOAD) $::env(CAD_SYNC_FAULT_SHIM)
    set ::env(CAD_SYNC_FAULT) $rules
    set options [list overrides $overrides]
    set body "cad_started [list $rules]\n$code"
    set failed [catch {uplevel 1 [list start_server $options $body]} result info]
    unset ::env(LD_PRELOAD) ::env(CAD_SYNC_FAULT)
    array set ::env $outer
    if {$failed} {return -options $info $result}
}

proc cad_started {rules} {
    set ::cad_rules([srv 0 port]) $rules
}

# Replaces the rules of the server at `level` (0 the innermost), each argument a rule:
# `cad_fault {fail 5 .incr.aof}`; without one all faults end.
proc cad_fault_at {level args} {
    set rules $::cad_rules([srv $level port])
    set f [open $rules.new w]
    foreach rule $args {puts $f $rule}
    close $f
    file rename -force $rules.new $rules
}
proc cad_fault {args} {cad_fault_at 0 {*}$args}

# How many syncs of files whose path contains `text` ended with `result` (0 or an errno).
proc cad_syncs {result text {level 0}} {
    set log $::cad_rules([srv $level port]).log
    set count 0
    if {[file exists $log]} {
        set f [open $log]
        foreach line [split [read $f] \n] {
            if {[lindex $line 0] eq $result && [string first $text [lindex $line 2]] >= 0} {incr count}
        }
        close $f
    }
    return $count
}

proc cad_wait_sync {result text more_than} {
    wait_for_condition 500 10 {[cad_syncs $result $text] > $more_than} else {
        fail "no sync of $text ended with $result"
    }
}

proc cad_is_up {level} {
    expr {[catch {[srv $level client] ping}] == 0}
}

# SIGKILL: nothing is synced on the way out. Returns when the new process serves
# clients or has exited.
proc cad_kill_and_restart {level} {
    set pid [srv $level pid]
    if {[is_alive $pid]} {
        exec kill -9 $pid
        wait_for_condition 500 10 {![is_alive $pid]} else {fail "process $pid survives SIGKILL"}
    }
    set ready [count_message_lines [srv $level stdout] "Ready to accept"]
    set ::env(LD_PRELOAD) $::env(CAD_SYNC_FAULT_SHIM)
    set ::env(CAD_SYNC_FAULT) $::cad_rules([srv $level port])
    restart_server $level false false 0
    wait_for_condition 500 20 {
        ![is_alive [srv $level pid]] ||
        [count_message_lines [srv $level stdout] "Ready to accept"] > $ready
    } else {fail "the server neither serves nor exits"}
    if {[is_alive [srv $level pid]]} {reconnect $level}
}

# A field of INFO cad at the server `level`.
proc cad_info {field {level 0}} {
    getInfoProperty [[srv $level client] info cad] cad_$field
}

proc cad_wait_held {count {level 0}} {
    wait_for_condition 1000 5 {[cad_info held_now $level] == $count} else {
        fail "[cad_info held_now $level] connections hold, expected $count"
    }
}

# Everything executed so far is durable; then syncs of the log stop until `cad_fault`.
proc cad_stall {} {
    cad_fault
    assert_equal OK [r cad persist]
    cad_fault {hold .incr.aof}
}

# 1: the connection has something to read within `ms`. Used to see that it has nothing
# after a state was reached in which a wrong server would have answered.
proc cad_readable {rd {ms 0}} {
    set fd [$rd channel]
    set got {}
    set ::cad_ready 0
    fileevent $fd readable {set ::cad_ready 1}
    set timer [after $ms {set ::cad_ready 0}]
    vwait ::cad_ready
    after cancel $timer
    fileevent $fd readable {}
    return $::cad_ready
}

# What became of a command that was sent on `rd`: `answered` or `held`.
proc cad_outcome {rd held_before} {
    for {set j 0} {$j < 2000} {incr j} {
        if {[cad_info held_now] > $held_before} {return held}
        if {[cad_readable $rd 1]} {return answered}
    }
    fail "neither answered nor held"
}

# Ends the server by a signal and waits for its end.
proc cad_end {level signal} {
    set pid [srv $level pid]
    exec kill -$signal $pid
    wait_for_condition 1000 10 {![is_alive $pid]} else {fail "process $pid survives $signal"}
}

# Power loss: SIGKILL, then every INCR file loses what no sync had covered. Returns the
# number of bytes lost. `cad_kill_and_restart` brings the node back.
proc cad_power_loss {level} {
    cad_end $level KILL
    cad_drop_unsynced $level
}

# What the power loss of a server that has ended takes away.
proc cad_drop_unsynced {level} {
    set f [open $::cad_rules([srv $level port]).log]
    foreach line [split [read $f] \n] {
        lassign $line result size path
        # Two threads sync: who is recorded last need not have begun last.
        if {$result eq 0 && (![info exists synced($path)] || $size > $synced($path))} {set synced($path) $size}
    }
    close $f
    set lost 0
    foreach path [glob [dict get [srv $level config] dir]/appendonlydir/*.incr.aof] {
        set path [file normalize $path]
        set keep [expr {[info exists synced($path)] ? min($synced($path), [file size $path]) : 0}]
        incr lost [expr {[file size $path] - $keep}]
        set f [open $path r+]
        chan truncate $f $keep
        close $f
    }
    return $lost
}
