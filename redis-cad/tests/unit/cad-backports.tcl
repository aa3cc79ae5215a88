# SPDX-License-Identifier: Apache-2.0
#
# Bugs of 8.0.2 that patches/backport mends. A paused server is what CAD's users make for
# a planned failover.

tags "external:skip cad" {
start_server {} {
    test {CAD: a BLPOP that was held back by CLIENT PAUSE times out (red on stock)} {
        r client pause 60000 write
        set rd [redis_deferring_client]
        $rd blpop absent 0.1
        wait_for_blocked_client
        r client unpause
        wait_for_condition 100 50 {[s blocked_clients] == 0} else {fail "it waits for ever"}
        assert_equal {} [$rd read]
        $rd close
    }
}

start_server {} {
    test {CAD: CLIENT UNBLOCK of a paused client crashes nobody and unblocks nobody (red on stock)} {
        r client pause 60000 write
        set rd [redis_deferring_client]
        $rd client id
        set id [$rd read]
        $rd set k v
        wait_for_blocked_client
        assert_equal 0 [r client unblock $id error]
        assert_equal 0 [r client unblock $id timeout]
        r client unpause
        assert_equal OK [$rd read]
        $rd close
    }
}
}
