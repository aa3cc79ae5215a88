// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"encoding/binary"
	"math"
	"os"
	"time"
)

// A processor with nothing to do is put to sleep, in a virtual machine by its
// host; to wake it takes longer (0.1 ms, often 0.5) than a delay may be wrong.
// So while packets come, the kernel is asked for idle processors that stay awake.
// The request ends with the descriptor, also when the daemon is killed.
type awake struct {
	request *os.File // nil: the kernel takes none, or it is not ours to make
	asked   bool
	last    int64 // when a packet came
}

// quiet is how long no packet comes until the processors may sleep again.
const quiet = int64(time.Second)

func newAwake() awake {
	f, err := os.OpenFile("/dev/cpu_dma_latency", os.O_WRONLY, 0)
	if err != nil {
		return awake{}
	}
	a := awake{request: f, asked: true}
	a.ask(false)
	return a
}

func (a *awake) ask(on bool) {
	if a.request == nil || a.asked == on {
		return
	}
	microseconds := map[bool]uint32{true: 0, false: math.MaxInt32}[on]
	a.request.Write(binary.NativeEndian.AppendUint32(nil, microseconds))
	a.asked = on
}

// packets says that some came.
func (a *awake) packets(now int64) {
	a.last = now
	a.ask(true)
}

// rest returns how long the loop may sleep before it is called again, < 0 = for ever.
func (a *awake) rest(now int64) int64 {
	if a.request == nil || !a.asked {
		return -1
	}
	if left := a.last + quiet - now; left > 0 {
		return left
	}
	a.ask(false)
	return -1
}

func (a *awake) close() {
	if a.request != nil {
		a.request.Close()
	}
}
