# SPDX-License-Identifier: Apache-2.0
#
# Every command of the server is decided: its class says what its replies wait for, and
# an example shows that they do, on a durable key while others are dirty, and on a dirty
# key. A command that is new here fails until it has a line in the table.

source tests/support/cad.tcl

# What a key of each type is made by; k and k2 get one each.
array set ::cad_setup {
    none   {}
    string {{set KEY 5}}
    list   {{rpush KEY a b c}}
    hash   {{hset KEY f 1 g 2} {hexpire KEY 1000 fields 1 g}}
    set    {{sadd KEY a b c}}
    zset   {{zadd KEY 1 a 2 b 3 c}}
    geo    {{geoadd KEY 13.3 38.1 a 15.0 37.5 b}}
    hll    {{pfadd KEY a b}}
    stream {{xadd KEY 1-1 f v} {xgroup create KEY g 0} {xreadgroup group g me count 1 streams KEY >} {xadd KEY 2-1 f v}}
    vset   {{vadd KEY values 2 1.0 2.0 a} {vadd KEY values 2 2.0 1.0 b}}
}

# Reads of named keys: prompt on a durable key, held on a dirty one.
set keys_examples {
    string {bitcount k} string {bitfield_ro k get u4 0} string {bitpos k 1} string {dump k} string {exists k}
    string {expiretime k} geo {geodist k a b} geo {geohash k a} geo {geopos k a}
    geo {georadius_ro k 15 37 200 km} geo {georadiusbymember_ro k a 200 km}
    geo {geosearch k fromlonlat 15 37 byradius 200 km} string {get k} string {getbit k 1} string {getrange k 0 1}
    hash {hexists k f} hash {hexpiretime k fields 1 g} hash {hget k f} hash {hgetall k} hash {hkeys k} hash {hlen k}
    hash {hmget k f g} hash {hpexpiretime k fields 1 g} hash {hpttl k fields 1 g} hash {hrandfield k} hash {hscan k 0}
    hash {hstrlen k f} hash {httl k fields 1 g} hash {hvals k} string {lcs k k2} list {lindex k 0} list {llen k}
    list {lpos k a} list {lrange k 0 -1} string {memory usage k} string {mget k k2} string {object encoding k}
    string {object freq k} string {object idletime k} string {object refcount k} string {pexpiretime k}
    hll {pfcount k} string {pttl k} set {scard k} set {sdiff k k2} set {sinter k k2} set {sintercard 2 k k2}
    set {sismember k a} set {smembers k} set {smismember k a} list {sort_ro k alpha} set {srandmember k}
    set {sscan k 0} string {strlen k} string {substr k 0 1} set {sunion k k2} string {touch k} string {ttl k}
    string {type k} stream {xinfo consumers k g} stream {xinfo groups k} stream {xinfo stream k} stream {xlen k}
    stream {xpending k g} stream {xrange k - +} stream {xread streams k 0} stream {xrevrange k + -}
    zset {zcard k} zset {zcount k 0 9} zset {zdiff 2 k k2} zset {zinter 2 k k2} zset {zintercard 2 k k2}
    zset {zlexcount k - +} zset {zmscore k a} zset {zrandmember k} zset {zrange k 0 -1} zset {zrangebylex k - +}
    zset {zrangebyscore k 0 9} zset {zrank k a} zset {zrevrange k 0 -1} zset {zrevrangebylex k + -}
    zset {zrevrangebyscore k 9 0} zset {zrevrank k a} zset {zscan k 0} zset {zscore k a} zset {zunion 2 k k2}
    vset {VCARD k} vset {VDIM k} vset {VEMB k a} vset {VGETATTR k a} vset {VINFO k} vset {VISMEMBER k a}
    vset {VLINKS k a} vset {VRANDMEMBER k}
}
# Writes that only say so: prompt, always.
set ack_examples {
    string {append k x} string {bitop and k3 k k2} string {del k} string {expire k 100}
    string {expireat k 99999999999} none {flushall} none {flushdb} none {function delete lib} none {function flush}
    none {function load "#!lua name=lib2\nredis.register_function('g', function() return 1 end)"}
    none {function restore DUMP replace} geo {geoadd k 14 38 c} geo {geosearchstore k3 k fromlonlat 15 37 byradius 200 km}
    hash {hdel k f} hash {hexpire k 100 fields 1 f} hash {hexpireat k 9999999999 fields 1 f} hash {hmset k f 2}
    hash {hpersist k fields 1 g} hash {hpexpire k 100000 fields 1 f} hash {hpexpireat k 9999999999999 fields 1 f}
    hash {hset k f 2} list {linsert k before a z} list {lpush k z} list {lpushx k z} list {lrem k 0 a} list {lset k 0 z}
    list {ltrim k 0 0} string {mset k 1} string {persist expiring} string {pexpire k 100000}
    string {pexpireat k 9999999999999} hll {pfadd k z1 z2 z3} hll {pfmerge k3 k k2} string {psetex k 100000 v}
    string {rename k k3} string {restore k3 0 VALUE} string {restore-asking k3 0 VALUE} list {rpush k z} list {rpushx k z}
    set {sadd k z} set {sdiffstore k3 k k4} string {setex k 100 v} string {setrange k 0 z} set {sinterstore k3 k k2}
    set {srem k a} set {sunionstore k3 k k2} string {swapdb 9 10} string {unlink k} stream {xack k g 1-1}
    stream {xdel k 1-1} stream {xgroup create k g2 0} stream {xgroup createconsumer k g c2}
    stream {xgroup delconsumer k g me} stream {xgroup destroy k g} stream {xgroup setid k g 0} stream {xsetid k 9-1}
    stream {xtrim k maxlen 0} zset {zadd k 9 z} zset {zdiffstore k3 2 k k4} zset {zinterstore k3 2 k k2}
    zset {zrangestore k3 k 0 -1} zset {zrem k a} zset {zremrangebylex k - +} zset {zremrangebyrank k 0 -1}
    zset {zremrangebyscore k 0 9} zset {zunionstore k3 2 k k2} string {set k v}
}
# Writes that show state: held for their own effect.
set state_examples {
    vset {VADD k values 2 5.0 6.0 c} vset {VREM k a} vset {VSETATTR k a "{}"} string {bitfield k incrby u4 0 1}
    list {blmove k k2 left left 1} list {blmpop 1 1 k left} list {blpop k 1} list {brpop k 1} list {brpoplpush k k2 1}
    zset {bzmpop 1 1 k min} zset {bzpopmax k 1} zset {bzpopmin k 1} string {copy k k3} string {decr k} string {decrby k 2}
    geo {georadius k 15 37 200 km store k3} geo {georadiusbymember k a 200 km store k3} string {getdel k}
    string {getex k ex 100} string {getset k v} hash {hgetdel k fields 1 f} hash {hgetex k ex 100 fields 1 f}
    hash {hincrby k f 1} hash {hincrbyfloat k f 1} hash {hsetex k ex 100 fields 1 f 3} hash {hsetnx k new v}
    string {incr k} string {incrby k 2} string {incrbyfloat k 1.5} list {lmove k k2 left left} list {lmpop 1 k left}
    list {lpop k} string {move k 5} none {msetnx k v} string {renamenx k k3} list {rpop k} list {rpoplpush k k2}
    string {set k v get} string {setbit k 1 1} none {setnx k v} set {smove k k2 a} list {sort k alpha store k3}
    set {spop k} stream {xadd k 9-1 f v} stream {xautoclaim k g you 0 0} stream {xclaim k g you 0 1-1}
    stream {xreadgroup group g me streams k >} zset {zincrby k 1 a} zset {zmpop 1 k min} zset {zpopmax k} zset {zpopmin k}
}
# A whole database, or everything: at most 40. Prompt only while nothing at all is dirty.
set database_examples {none {dbsize} none {keys *} none {randomkey} none {scan 0}}
set tail_examples {
    none {eval "return 1" 0} none {eval_ro "return 1" 0} none {evalsha SHA 0} none {evalsha_ro SHA 0}
    none {fcall f 0} none {fcall_ro f_ro 0} none {function dump} none {function list} string {exec} string {migrate}
    hll {pfdebug encoding k} vset {VSIM k ele a}
}

# Writes after which reads of all keys wait: they name no keys, or reach another database.
set barrier_raisers {copy flushall flushdb function|delete function|flush function|load function|restore move swapdb}
set barrier_raised {}

proc build {type} {
    r select 5
    r del k k2
    r select 9
    r del k k2 k3 k4
    foreach key {k k2} {
        foreach command $::cad_setup($type) {r {*}[string map [list KEY $key] $command]}
    }
    r set expiring v ex 1000
}

# Runs the example with syncs stalled; returns whether it is held, and checks that the
# reply comes when syncs go on.
proc outcome_of {call} {
    set rd [redis_deferring_client]
    set before [cad_info held_now]
    $rd {*}$call
    set outcome [cad_outcome $rd $before]
    cad_fault
    if {[catch {$rd read} reply] && ![string match {*LFU maxmemory policy*} $reply]} {error "$call: $reply"}
    $rd close
    return $outcome
}

proc expand {call} {
    set map {}
    if {[string match *DUMP* $call]} {lappend map DUMP [r function dump]}
    if {[string match *SHA* $call]} {lappend map SHA [r script load "return 1"]}
    set result {}
    foreach word $call {
        if {$word eq {VALUE}} {set word [r dump k2]}
        if {$word eq {DUMP}} {set word [r function dump]}
        if {$word eq {SHA}} {set word [r script load "return 1"]}
        lappend result $word
    }
    return $result
}

proc name_of {call} {
    set container [string tolower [lindex $call 0]]
    if {$container in {function object memory xinfo xgroup}} {return $container|[lindex $call 1]}
    return [lindex $call 0]
}

tags "external:skip cad" {
cad_start_server {appendonly yes cad-durability cad cad-hold-timeout 60000 save {} auto-aof-rewrite-percentage 0
                  maxmemory-policy allkeys-lfu} {
    test {CAD: every command is decided, and has an example unless it shows no data} {
        set examples {}
        foreach class {keys ack state database tail} {
            foreach {type call} [set ${class}_examples] {
                lappend examples [name_of $call]
                set word [split [name_of $call] |]
                set expected $class
                # SET without options acknowledges; its class is that of the call with GET.
                if {[lindex $call 0] eq {set}} {set expected state}
                assert_equal $expected [r cad class {*}$word] $call
            }
        }
        set undecided {}
        set many 0
        foreach command [r command list] {
            set class [r cad class {*}[split $command |]]
            assert {$class ne {undecided}}
            incr many [expr {$class in {database tail}}]
            if {$class ne {none} && [lsearch -nocase $examples $command] < 0} {lappend undecided $command}
            # A command that reads or writes by its own flags must not be `none`.
            if {$class eq {none} && $command ni {lolwut cad|keyindex}} {
                set flags [lindex [lindex [r command info $command] 0] 2]
                if {{readonly} in $flags || {write} in $flags} {lappend undecided $command}
            }
        }
        assert_equal {} $undecided
        assert_lessthan_equal $many 40
    }

    r function load "#!lua name=lib\nredis.register_function('f', function() return 1 end)\nredis.register_function{function_name='f_ro', callback=function() return 1 end, flags={'no-writes'}}"

    test {CAD: reads of a durable key are prompt whatever else is dirty, of a dirty key held} {
        # FUNCTION LOAD names no key: the barrier rose.
        assert_equal OK [r cad persist]
        foreach cause {barrier tail database} {lappend before [cad_info holds_by_$cause]}
        foreach {type call} $keys_examples {
            build $type
            cad_stall
            r set other dirty
            assert_equal answered [outcome_of $call] "durable: $call"
            cad_stall
            # EXPIRE changes what DUMP, TTL and the like return, and stamps the key.
            r expire k 1000
            assert_equal held [outcome_of $call] "dirty: $call"
        }
        foreach cause {barrier tail database} {lappend after [cad_info holds_by_$cause]}
        assert_equal $before $after
    }

    test {CAD: acknowledgements are prompt} {
        foreach {type call} $ack_examples {
            build $type
            set call [expand $call]
            cad_stall
            r set other dirty
            if {$type ne {none}} {r expire k 1000}
            set barrier [cad_info barrier]
            assert_equal answered [outcome_of $call] $call
            if {[cad_info barrier] != $barrier} {lappend barrier_raised [name_of $call]}
            if {[lindex $call 0] in {flushall function}} {
                r function load replace "#!lua name=lib\nredis.register_function('f', function() return 1 end)\nredis.register_function{function_name='f_ro', callback=function() return 1 end, flags={'no-writes'}}"
            }
        }
    }

    test {CAD: writes that show state are held for their own effect} {
        foreach {type call} $state_examples {
            build $type
            cad_stall
            set barrier [cad_info barrier]
            assert_equal held [outcome_of $call] $call
            if {[cad_info barrier] != $barrier} {lappend barrier_raised [name_of $call]}
        }
    }

    test {CAD: other writes hold the readers of their own keys only} {
        assert_equal $barrier_raisers [lsort -unique $barrier_raised]
        set many [expr {([llength $database_examples] + [llength $tail_examples]) / 2 + [llength $barrier_raisers]}]
        assert_lessthan_equal $many 40
    }

    test {CAD: commands that may read anything wait for everything, and for nothing when all is durable} {
        r function load replace "#!lua name=lib\nredis.register_function('f', function() return 1 end)\nredis.register_function{function_name='f_ro', callback=function() return 1 end, flags={'no-writes'}}"
        foreach {type call} [concat $database_examples $tail_examples] {
            if {[lindex $call 0] in {exec migrate}} continue
            build $type
            set call [expand $call]
            cad_stall
            assert_equal answered [outcome_of $call] "all durable: $call"
            cad_stall
            r set other dirty
            assert_equal held [outcome_of $call] "other dirty: $call"
        }
    }

    test {CAD: a write that copies makes the copy dirty, not what it copies from} {
        foreach {type call} {
            string {bitop and k3 k k2} geo {geosearchstore k3 k fromlonlat 15 37 byradius 200 km}
            geo {georadius k 15 37 200 km store k3} geo {georadiusbymember k a 200 km store k3} hll {pfmerge k3 k k2}
            set {sdiffstore k3 k k4} set {sinterstore k3 k k2} set {sunionstore k3 k k2} list {sort k alpha store k3}
            zset {zdiffstore k3 2 k k4} zset {zinterstore k3 2 k k2} zset {zrangestore k3 k 0 -1} zset {zunionstore k3 2 k k2}
        } {
            foreach {key expected} {k answered k3 held} {
                build $type
                cad_stall
                set rd [redis_deferring_client]
                set before [cad_info held_now]
                $rd {*}$call
                cad_outcome $rd $before
                assert_equal $expected [outcome_of [list exists $key]] "$call, then exists $key"
                $rd read
                $rd close
            }
        }
    }

    test {CAD: SORT with patterns reads keys that it does not name} {
        build list
        cad_stall
        r set w_a 1
        assert_equal held [outcome_of {sort k by w_*}]
        cad_stall
        r set other dirty
        assert_equal answered [outcome_of {sort k alpha}]
    }
}
}
