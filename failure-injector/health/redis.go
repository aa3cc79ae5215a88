// SPDX-License-Identifier: Apache-2.0

package health

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"time"
)

// redis sets a key of its own. A replica that refuses writes is not healthy in
// this sense: ask the master.
func redis(address string, limit time.Duration) error {
	c, err := net.DialTimeout("tcp", address, limit)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(limit))
	in := bufio.NewReader(c)
	value := token()
	for _, e := range []struct{ command, want string }{
		{"SET fi-health " + value, "+OK"},
		{"GET fi-health", fmt.Sprintf("$%d", len(value))},
	} {
		if _, err := fmt.Fprintf(c, "%s\r\n", e.command); err != nil {
			return err
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		if line = strings.TrimSpace(line); line != e.want {
			return fmt.Errorf("%s answered %q", strings.Fields(e.command)[0], line)
		}
	}
	line, err := in.ReadString('\n')
	if err == nil && strings.TrimSpace(line) < value { // another check may have written since
		err = fmt.Errorf("GET gives %q, not what SET has just written", strings.TrimSpace(line))
	}
	return err
}
