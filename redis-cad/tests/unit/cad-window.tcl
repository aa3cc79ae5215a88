# SPDX-License-Identifier: Apache-2.0
#
# What is acknowledged and not durable is at most the window; beyond it, and for writes
# that ask for more, the acknowledgement waits.

source tests/support/cad.tcl

proc outcome_of {args} {
    set rd [redis_deferring_client]
    set before [cad_info held_now]
    $rd {*}$args
    set outcome [cad_outcome $rd $before]
    if {$outcome eq {held}} {cad_fault}
    $rd read
    $rd close
    return $outcome
}

tags "aof external:skip cad" {
cad_start_server {appendonly yes cad-durability cad cad-nodes 3 cad-hold-timeout 60000 save {} auto-aof-rewrite-percentage 0} {
    test {CAD: the window is closed until a majority has what the history begins with} {
        set rd [redis_deferring_client]
        $rd set k v
        assert_equal held [cad_outcome $rd 0]
        assert_equal {-1 1} [list [cad_info durable_index] [cad_info holds_by_window]]
        # This node becomes a majority.
        r config set cad-nodes 1
        assert_equal OK [$rd read]
        $rd close
        cad_stall
        assert_equal answered [outcome_of set k w]
        cad_fault
    }

    test {CAD: a history that was written without CAD closes it, too} {
        r config set cad-durability off
        cad_fault {hold .incr.aof}
        r set before v
        r config set cad-durability cad
        assert_equal held [outcome_of set after v]
        cad_stall
        assert_equal answered [outcome_of set after w]
        cad_fault
    }
}

cad_start_server {appendonly yes cad-durability cad cad-hold-timeout 60000 save {} auto-aof-rewrite-percentage 0} {
    test {CAD: cad-window-bytes} {
        # Without a replica each command counts as one byte of the stream.
        r config set cad-window-bytes 10
        cad_stall
        for {set j 0} {$j < 10} {incr j} {assert_equal OK [r set key:$j $j]}
        assert_equal held [outcome_of set one-more value]
        r config set cad-window-bytes 64mb
        cad_stall
        assert_equal answered [outcome_of set one-more value]
        cad_fault
    }

    test {CAD: cad-window-ms} {
        r config set cad-window-ms 200
        cad_stall
        r set k v
        set begin [clock milliseconds]
        # Writes go on until the first of them is 200 ms old: their own age does not matter.
        while {[outcome_of set k [clock milliseconds]] eq {answered}} {
            assert_lessthan [expr {[clock milliseconds] - $begin}] 20000
        }
        assert_morethan_equal [expr {[clock milliseconds] - $begin}] 190
        assert_morethan [cad_info holds_by_window] 0
        r config set cad-window-ms 600000
        cad_stall
        assert_equal answered [outcome_of set k v]
        cad_fault
    }

    test {CAD: cad-immediate-prefix} {
        r config set cad-immediate-prefix "order:"
        cad_stall
        assert_equal answered [outcome_of set k v]
        assert_equal held [outcome_of set order:1 v]
        cad_stall
        assert_equal held [outcome_of mset k 1 order:2 2]
        r config set cad-immediate-prefix ""
        cad_stall
        assert_equal answered [outcome_of set order:1 v]
        cad_fault
    }

    test {CAD: CAD MODE asks for more, never for less} {
        assert_equal cad [r cad mode]
        assert_equal OK [r cad mode immediate]
        assert_equal immediate [r cad mode]
        set rd [redis_deferring_client]
        $rd cad mode immediate
        $rd read
        cad_stall
        $rd set k v
        assert_equal held [cad_outcome $rd 0]
        assert_equal answered [outcome_of set k v2]
        cad_fault
        assert_equal OK [$rd read]
        $rd close
        assert_equal OK [r cad mode server]
        assert_error {*server, cad or immediate*} {r cad mode eventual}
        r config set cad-durability immediate cad-replication sync
        assert_error {*can only ask for more*} {r cad mode cad}
        assert_equal immediate [r cad mode]
    }

    test {CAD: immediate holds the acknowledgement of every write} {
        cad_stall
        assert_equal held [outcome_of set k v]
        cad_stall
        assert_equal held [outcome_of mset a 1 b 2]
        cad_stall
        assert_equal answered [outcome_of get k]
        assert_equal answered [outcome_of publish channel message]
        assert_equal held [outcome_of flushall]
        cad_fault
    }

    test {CAD: eventual holds nothing, unless a connection asks for it} {
        r config set cad-durability eventual cad-replication async
        cad_stall
        assert_equal answered [outcome_of set k v]
        assert_equal answered [outcome_of get k]
        assert_equal answered [outcome_of incr n]
        set rd [redis_deferring_client]
        $rd cad mode cad
        $rd read
        $rd get k
        assert_equal held [cad_outcome $rd 0]
        cad_fault
        assert_equal v [$rd read]
        $rd close
    }

    test {CAD: RESET takes back what a connection asked for} {
        set rd [redis_deferring_client]
        $rd cad mode cad
        $rd read
        $rd reset
        assert_equal RESET [$rd read]
        $rd cad mode
        assert_equal eventual [$rd read]
        $rd select 9
        $rd read
        cad_stall
        r set k v
        $rd get k
        assert_equal answered [cad_outcome $rd 0]
        assert_equal v [$rd read]
        $rd close
        cad_fault
    }

    test {CAD: what a transaction asks for is honoured or refused} {
        r multi
        assert_error {*inside a transaction*} {r cad mode immediate}
        assert_error {EXECABORT*} {r exec}
        # CAD PERSIST covers what precedes it in the transaction; a message is no data to wait for.
        foreach {command expected reply} {{set k v} held OK {publish channel message} answered 0} {
            cad_stall
            set rd [redis_deferring_client]
            foreach call [list multi $command {cad persist}] {
                $rd {*}$call
                assert_match {[OQ]*} [$rd read]
            }
            $rd exec
            assert_equal $expected [cad_outcome $rd 0]
            cad_fault
            assert_equal [list $reply OK] [$rd read]
            $rd close
        }
    }

    test {CAD: switched off, it answers for nothing} {
        r config set cad-durability off
        assert_error {*set cad-durability*} {r cad persist}
        assert_equal 0 [cad_info enabled]
        assert_equal v [r get k]
    }

    test {CAD: switched on again, what came before is held until it is durable} {
        cad_fault {hold .incr.aof}
        r set before v
        r config set cad-durability cad
        assert_equal held [outcome_of get before]
    }
}
}
