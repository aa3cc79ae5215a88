// SPDX-License-Identifier: Apache-2.0

package plan

// Shrink leaves parts out of a list as long as the rest still fails, first
// large parts, then small ones (delta debugging). It asks fails at most budget
// times and returns the smallest list that failed, and how often it asked.
func Shrink[T any](list []T, budget int, fails func([]T) bool) (smallest []T, asked int) {
	smallest = list
	for size := (len(list) + 1) / 2; size >= 1; {
		shorter := false
		for at := 0; at < len(smallest) && asked < budget; {
			rest := append(append([]T{}, smallest[:at]...), smallest[min(at+size, len(smallest)):]...)
			if len(rest) == 0 {
				break
			}
			asked++
			if fails(rest) {
				smallest, shorter = rest, true
			} else {
				at += size
			}
		}
		if asked >= budget {
			break
		}
		if size > 1 {
			size /= 2
		} else if !shorter {
			break
		}
	}
	return smallest, asked
}
