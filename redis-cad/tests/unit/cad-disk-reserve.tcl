# SPDX-License-Identifier: Apache-2.0
#
# With less than cad-disk-reserve free, writes are refused and reads are not.

source tests/support/cad.tcl

tags "aof external:skip cad" {
start_server {overrides {appendonly yes cad-durability cad save {}}} {
    proc wait_low {expected} {
        wait_for_condition 200 10 {[cad_info disk_low] == $expected} else {fail "cad_disk_low is [cad_info disk_low]"}
    }

    test {CAD: below cad-disk-reserve writes are refused by name, reads and what is held are not} {
        assert_equal 0 [cad_info disk_low]
        r set k v
        # More than any disk has.
        r config set cad-disk-reserve 8000000000000000000
        wait_low 1
        assert_error {MISCONF*cad-disk-reserve*} {r set k w}
        assert_error {MISCONF*cad-disk-reserve*} {r eval {return redis.call('set', KEYS[1], 'w')} 1 k}
        assert_equal v [r get k]
        assert_equal OK [r cad persist]
    }

    test {CAD: with space again, or CAD off, writes are accepted} {
        r config set cad-durability off
        assert_equal OK [r set k x]
        r config set cad-durability cad
        assert_error {MISCONF*} {r set k y}
        r config set cad-disk-reserve 1
        wait_low 0
        assert_equal OK [r set k z]
        assert_equal z [r get k]
    }
}
}
