// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

const node = "/fi-health"

type silent struct{}

func (silent) Printf(string, ...any) {}

// zooKeeper writes through this server, whoever leads: a node of its own, in a
// session of its own.
func zooKeeper(address string, limit time.Duration) error {
	c, _, err := zk.Connect([]string{address}, limit, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer c.Close()
	value := []byte(token())
	_, err = c.Set(node, value, -1)
	if errors.Is(err, zk.ErrNoNode) {
		_, err = c.Create(node, value, 0, zk.WorldACL(zk.PermAll))
	}
	if err != nil {
		return err
	}
	got, _, err := c.Get(node)
	if err == nil && string(got) < string(value) { // another check may have written since
		err = fmt.Errorf("%s holds %q after %q was acknowledged", node, got, value)
	}
	return err
}
