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

start_server {overrides {appendonly yes cad-durability eventual}} {
    test {CAD: what a mode needs cannot be taken away} {
        assert_error {*appendonly yes*} {r config set appendonly no}
        assert_error {*replica-read-only yes*} {r config set replica-read-only no}
        assert_equal {yes} [lindex [r config get appendonly] 1]
        r config set cad-durability off
        r config set appendonly no
    }
}

foreach {settings remedy} {
    {cad-durability eventual appendonly no} {*appendonly yes*}
    {cad-durability eventual appendonly yes replica-read-only no} {*replica-read-only yes*}
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
