// SPDX-License-Identifier: Apache-2.0
//
// The memory through which processes are told how their clocks run. `fi` writes
// it (../area.go mirrors the layout; both sides check magic, version and size),
// any number of processes read it.

#ifndef FI_CLOCK_AREA_H
#define FI_CLOCK_AREA_H

#include <stdatomic.h>
#include <stdint.h>

#define FI_CLOCK_MAGIC 0x534b434f4c434946ull /* "FICLOCKS" */
#define FI_CLOCK_VERSION 1u

enum fi_clock { FI_REALTIME, FI_MONOTONIC, FI_RAW, FI_CLOCKS };

// How a clock runs: at `real` of the machine's clock it shows `shown`, and from
// there it gains `drift` nanoseconds in each.
struct fi_line {
    int64_t real, shown;
    double drift;
};

// A change is written into the lines that are not in use, then the generation
// goes up: a writer that is killed half-way has changed nothing. The generation
// is also a futex word: it is woken at each change.
struct fi_area {
    uint64_t magic;
    uint32_t version, size;
    _Atomic uint32_t generation; // lines[generation % 2] are in force
    uint32_t reserved;
    struct fi_line lines[2][FI_CLOCKS];
};

#endif
