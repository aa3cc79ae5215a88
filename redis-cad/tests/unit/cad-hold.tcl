# SPDX-License-Identifier: Apache-2.0
#
# A reply leaves when what it shows is durable, and not before. Syncs of the log are
# stalled by tests/shim/sync_fault.c, so "not before" needs no clock.

source tests/support/cad.tcl

# Sends a command while syncs are stalled, sees it held, ends the stall, returns the reply.
proc held_reply {args} {
    set rd [redis_deferring_client]
    set before [cad_info held_now]
    $rd {*}$args
    assert_equal held [cad_outcome $rd $before]
    assert_equal 0 [cad_readable $rd 20]
    cad_fault
    set failed [catch {$rd read} reply]
    $rd close
    return $reply
}

# Sends a command while syncs are stalled and returns the reply that comes at once.
proc prompt_reply {args} {
    set rd [redis_deferring_client]
    $rd {*}$args
    assert_equal answered [cad_outcome $rd [cad_info held_now]]
    set failed [catch {$rd read} reply]
    $rd close
    return $reply
}

foreach threads {1 3} {
tags "aof external:skip cad" {
cad_start_server "appendonly yes appendfsync everysec cad-durability cad cad-hold-timeout 60000 save {} io-threads $threads
                  auto-aof-rewrite-percentage 0" {
    test "CAD: a write is acknowledged before it is durable, a read of it waits (io-threads $threads)" {
        r set durable 1
        cad_stall
        assert_equal OK [prompt_reply set k v]
        assert_equal 1 [prompt_reply get durable]
        assert_equal v [held_reply get k]
        assert_equal v [prompt_reply get k]
    }

    test "CAD: absence waits like any value (io-threads $threads)" {
        r set k v
        cad_stall
        assert_equal 1 [r del k]
        assert_equal {} [held_reply get k]
        cad_stall
        r del k
        assert_equal {} [prompt_reply get k]
    }

    test "CAD: a write that changed nothing is a read (io-threads $threads)" {
        r del k
        cad_stall
        r sadd k member
        assert_equal 0 [held_reply sadd k member]
        cad_stall
        assert_equal 0 [prompt_reply sadd k member]
        r del k
        assert_equal 0 [held_reply del k]
    }

    test "CAD: an error that depends on data waits (io-threads $threads)" {
        r del k
        cad_stall
        r set k v
        assert_match {WRONGTYPE*} [held_reply lpush k v]
        cad_stall
        assert_match {WRONGTYPE*} [prompt_reply lpush k v]
        assert_match {ERR*} [prompt_reply incr]
        cad_fault
    }

    test "CAD: a value that was handed out is durable: INCR, LPOP, GETDEL, SET NX, XADD (io-threads $threads)" {
        r del n l lock s
        r rpush l a b c
        r set g value
        foreach {command reply} {
            {incr n} 1 {lpop l} a {getdel g} value {set lock me nx} OK {xadd s 1-1 f v} 1-1 {append n 1} 2
        } {
            cad_stall
            if {[lindex $command 0] eq {append}} {assert_equal $reply [prompt_reply {*}$command]} else {
                assert_equal $reply [held_reply {*}$command]
            }
        }
        cad_fault
    }

    test "CAD: cad-write-reads prior and ack (io-threads $threads)" {
        r config set cad-write-reads prior
        cad_stall
        assert_equal 12 [prompt_reply incr n]
        assert_equal 13 [held_reply incr n]
        r config set cad-write-reads ack
        cad_stall
        assert_equal 14 [prompt_reply incr n]
        assert_equal 15 [prompt_reply incr n]
        assert_equal 15 [held_reply get n]
        r config set cad-write-reads durable
    }

    test "CAD: transactions and scripts (io-threads $threads)" {
        r del k
        r set one 1
        cad_stall
        r set k v
        assert_equal v [held_reply eval {return redis.call('get', KEYS[1])} 1 k]
        cad_stall
        assert_equal v [prompt_reply eval {return redis.call('get', KEYS[1])} 1 k]
        assert_equal 2 [held_reply eval {return redis.call('incr', KEYS[1])} 1 one]
        cad_fault
    }

    test "CAD: the reply of EXEC waits, the queueing does not (io-threads $threads)" {
        r del t
        cad_stall
        set rd [redis_deferring_client]
        $rd multi
        $rd incr t
        assert_equal {OK QUEUED} [list [$rd read] [$rd read]]
        $rd exec
        assert_equal held [cad_outcome $rd 0]
        cad_fault
        assert_equal 1 [$rd read]
        $rd close
    }

    test "CAD: reads of a whole database, and cad-scan-reads (io-threads $threads)" {
        cad_stall
        r set k v2
        r config set cad-scan-reads relaxed
        set size [prompt_reply dbsize]
        r config set cad-scan-reads strict
        assert_equal $size [held_reply dbsize]
        cad_stall
        assert_equal $size [prompt_reply dbsize]
        # Another database is another matter.
        set other [redis_deferring_client]
        $other select 5; $other read
        $other set x y; $other read
        $other close
        assert_equal $size [prompt_reply dbsize]
        cad_fault
    }

    test "CAD: a pipeline keeps its order and shares one flush (io-threads $threads)" {
        r set p0 old
        cad_stall
        set rd [redis_deferring_client]
        set syncs [cad_info flush_syncs]
        set buf {}
        foreach c {{get p0} {set p1 a} {get p1} {set p2 b} {get p2} {ping}} {append buf [format_command {*}$c]}
        $rd write $buf
        $rd flush
        assert_equal held [cad_outcome $rd 0]
        assert_equal 0 [cad_readable $rd 20]
        cad_fault
        assert_equal {old OK a OK b PONG} [list [$rd read] [$rd read] [$rd read] [$rd read] [$rd read] [$rd read]]
        assert_lessthan_equal [expr {[cad_info flush_syncs] - $syncs}] 2
        $rd close
    }

    test "CAD: a connection that holds runs no further command (io-threads $threads)" {
        cad_stall
        r set k v3
        set rd [redis_deferring_client]
        $rd get k
        assert_equal held [cad_outcome $rd 0]
        $rd set side effect
        assert_equal 0 [cad_readable $rd 20]
        assert_equal 0 [prompt_reply exists side]
        cad_fault
        assert_equal {v3 OK} [list [$rd read] [$rd read]]
        r del side
        $rd close
    }

    test "CAD: a hot key does not starve its readers (io-threads $threads)" {
        set writer [start_write_load [srv 0 host] [srv 0 port] 30]
        wait_for_condition 500 10 {[r dbsize] > 10} else {fail "no load"}
        set load [redis_deferring_client]
        for {set j 0} {$j < 30} {incr j} {
            $load set hot $j
            $load read
            assert_morethan_equal [r get hot] $j
        }
        $load close
        stop_write_load $writer
    }

    test "CAD: a blocked client that is served waits for what it was given (io-threads $threads)" {
        r del q
        set rd [redis_deferring_client]
        $rd blpop q 0
        wait_for_blocked_client
        cad_stall
        r rpush q job
        assert_equal held [cad_outcome $rd 0]
        assert_equal 0 [cad_readable $rd 20]
        cad_fault
        assert_equal {q job} [$rd read]
        $rd close
    }

    test "CAD: a blocked client that times out has seen absence (io-threads $threads)" {
        r rpush q job
        cad_stall
        r del q
        assert_equal {} [held_reply blpop q 0.01]
    }

    test "CAD: CLIENT UNBLOCK does not touch a hold; a client may leave while it holds (io-threads $threads)" {
        cad_stall
        r set k v4
        set rd [redis_deferring_client]
        $rd client id
        set id [$rd read]
        $rd get k
        assert_equal held [cad_outcome $rd 0]
        assert_equal 0 [r client unblock $id]
        assert_equal 0 [r client unblock $id error]
        $rd close
        cad_wait_held 0
        cad_fault
        assert_equal v4 [r get k]
    }

    test "CAD: cad-hold-timeout closes the connection and sends nothing (io-threads $threads)" {
        # However seldom the timer for flushes fires.
        r config set cad-hold-timeout 50 cad-flush-interval 60000
        cad_stall
        r set k v5
        set rd [redis_deferring_client]
        set began [clock milliseconds]
        $rd get k
        assert_error {*I/O error*} {$rd read}
        $rd close
        assert_lessthan [expr {[clock milliseconds] - $began}] 30000
        assert_morethan [cad_info hold_timeouts] 0
        r config set cad-hold-timeout 60000 cad-flush-interval 10
        cad_fault
    }

    test "CAD: an idle server is woken by serverCron alone, with CAD on and off (io-threads $threads)" {
        r set k v5
        foreach mode {cad eventual off cad} {
            r config set cad-durability $mode
            # Until all is on disk, by whatever timer does that in this mode.
            wait_for_condition 100 50 {[lindex [r waitaof 1 0 1] 0] == 1} else {fail "not on disk"}
            after 1100
            set before [s eventloop_cycles]
            after 1000
            # serverCron makes about ten.
            assert_lessthan [expr {[s eventloop_cycles] - $before}] 40
        }
    }

    test "CAD: cad-hold-bytes closes the connection and sends nothing (io-threads $threads)" {
        r config set cad-hold-bytes 100000
        cad_stall
        r set k [string repeat x 300000]
        set rd [redis_deferring_client]
        $rd get k
        assert_error {*I/O error*} {$rd read}
        $rd close
        assert_morethan [cad_info hold_overflows] 0
        r config set cad-hold-bytes 64mb
        cad_fault
    }

    test "CAD: CAD PERSIST is a barrier (io-threads $threads)" {
        cad_stall
        r set k v6
        assert_equal OK [held_reply cad persist]
        cad_stall
        r set k v7
        set rd [redis_deferring_client]
        $rd cad persist 50
        assert_error {*I/O error*} {$rd read}
        $rd close
        cad_fault
    }

    test "CAD: the patience of a CAD PERSIST that need not wait is nobody else's (io-threads $threads)" {
        cad_stall
        set rd [redis_deferring_client]
        $rd cad persist 1
        assert_equal OK [$rd read]
        r set k v8
        $rd get k
        assert_equal held [cad_outcome $rd 0]
        assert_equal 0 [cad_readable $rd 300]
        cad_fault
        assert_equal v8 [$rd read]
        $rd close
    }

    test "CAD: the index is bounded, the barrier takes the place of what goes (io-threads $threads)" {
        r config set cad-max-dirty-keys 10
        r set durable 1
        cad_stall
        for {set j 0} {$j < 50} {incr j} {r set key:$j $j}
        assert_equal 10 [cad_info dirty_keys]
        assert_equal 1 [held_reply get durable]
        cad_stall
        assert_equal 1 [prompt_reply get durable]
        r config set cad-max-dirty-keys 1000000
        cad_fault
    }

    test "CAD: an expired key was never durable as absent (io-threads $threads)" {
        r debug set-active-expire 0
        r set e v px 20
        set end [r pexpiretime e]
        cad_stall
        # The key is past its time; the read deletes it, and shows that.
        wait_for_condition 500 2 {[lindex [r time] 0] * 1000 + [lindex [r time] 1] / 1000 > $end + 1} else {
            fail "time stands still"
        }
        assert_equal {} [held_reply get e]
        r debug set-active-expire 1
    }

    test "CAD: so is an error that says that a key has expired (io-threads $threads)" {
        r debug set-active-expire 0
        r rpush e v
        r pexpire e 20
        set end [r pexpiretime e]
        cad_stall
        wait_for_condition 500 2 {[lindex [r time] 0] * 1000 + [lindex [r time] 1] / 1000 > $end + 1} else {
            fail "time stands still"
        }
        assert_match {ERR no such key*} [held_reply renamenx e e2]
        r debug set-active-expire 1
    }

    test "CAD: an invalidation waits behind a reply that is held (io-threads $threads)" {
        set rd [redis_deferring_client]
        $rd hello 3
        $rd read
        $rd client tracking on
        $rd read
        r set k v9
        cad_stall
        r set k v10
        $rd get k
        assert_equal held [cad_outcome $rd 0]
        r set k v11
        assert_equal 0 [cad_readable $rd 20]
        cad_fault
        assert_equal v10 [$rd read]
        assert_equal {invalidate k} [$rd read]
        $rd close
    }

    test "CAD: QUIT behind a reply that is held ends the connection after it (io-threads $threads)" {
        cad_stall
        r set k v12
        set rd [redis_deferring_client]
        $rd write "[format_command get k][format_command quit]"
        $rd flush
        assert_equal held [cad_outcome $rd 0]
        cad_fault
        assert_equal {v12 OK} [list [$rd read] [$rd read]]
        assert_error {*I/O error*} {$rd read}
        $rd close
    }

    test "CAD: switched off, it closes what is held, unsent (io-threads $threads)" {
        cad_stall
        r set k v13
        set rd [redis_deferring_client]
        $rd get k
        assert_equal held [cad_outcome $rd 0]
        r config set cad-durability off
        assert_error {*I/O error*} {$rd read}
        $rd close
        assert_equal v13 [r get k]
        r config set cad-durability cad
        cad_fault
    }

    test "CAD: what became durable at once leaves the index in parts, also when nothing follows (io-threads $threads)" {
        r eval {for i = 1, 60000 do redis.call('set', 'fill:' .. i, 'a') end} 0
        r cad persist
        wait_for_condition 100 50 {[cad_info dirty_keys] == 0} else {fail "[cad_info dirty_keys] keys are still listed"}
    }

    test "CAD: what was evicted is absent only when that is durable; a held reply keeps what it shows (io-threads $threads)" {
        r flushall
        for {set j 0} {$j < 40} {incr j} {r set old:$j [string repeat $j 5000]}
        cad_stall
        r set shown [string repeat x 5000]
        set rd [redis_deferring_client]
        $rd get shown
        assert_equal held [cad_outcome $rd 0]
        # Too little for anything: all 41 keys go.
        set evicted [s evicted_keys]
        r config set maxmemory-policy allkeys-random maxmemory 1
        wait_for_condition 500 10 {[s evicted_keys] == $evicted + 41} else {fail "[s evicted_keys] keys were evicted"}
        r config set maxmemory 0
        assert_equal 0 [cad_readable $rd 20]
        assert_equal {} [held_reply get old:1]
        assert_equal [string repeat x 5000] [$rd read]
        $rd close
        cad_stall
        assert_equal {} [prompt_reply get old:1]
        cad_fault
    }

    test "CAD: demotion closes what is held, unsent (io-threads $threads)" {
        cad_stall
        r set k v8
        set rd [redis_deferring_client]
        $rd get k
        assert_equal held [cad_outcome $rd 0]
        # What was queued before is a read then.
        set queued [redis_client]
        $queued multi
        $queued get k
        r replicaof 127.0.0.1 1
        assert_error {*I/O error*} {$rd read}
        $rd close
        assert_error {EXECABORT*CADNOLEASE*} {$queued exec}
        $queued close
        assert_error {CADNOLEASE*} {r get k}
        r replicaof no one
        cad_fault
        assert_equal v8 [r get k]
    }
}
}
}
