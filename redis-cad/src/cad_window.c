/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_window.c -- how much is acknowledged and not durable: at most the window.
 *
 * Bytes are the distance from D to the tail. For time, the tail is sampled at most
 * SAMPLES times a window: the oldest sample above D tells, within a 32nd of the window
 * and never too late, since when something has been waiting.
 *
 * Pure: the clock is the caller's, in us; offsets are those of the replication stream.
 */
#include "cad_window.h"

#define SAMPLES 32

static struct {
    long long offset; /* Updates up to here ... */
    long long since;  /* ... began to wait then. */
} sample[SAMPLES + 2];
static int first, count;

/* An update ends at `tail`; what the window allows is `most` us. */
void cadWindowWritten(long long tail, long long durable, long long now, long long most) {
    while (count && sample[first].offset <= durable) {
        first = (first + 1) % (SAMPLES + 2);
        count--;
    }
    int last = (first + count - 1) % (SAMPLES + 2);
    if (count == 0 || (count < SAMPLES + 2 && now - sample[last].since >= most / SAMPLES)) {
        last = (first + count) % (SAMPLES + 2);
        sample[last].since = now;
        count++;
    }
    sample[last].offset = tail;
}

/* How long the oldest update above `durable` has been waiting, us; 0: there is none. */
long long cadWindowAge(long long durable, long long now) {
    for (int j = 0; j < count; j++) {
        int at = (first + j) % (SAMPLES + 2);
        if (sample[at].offset > durable) return now - sample[at].since;
    }
    return 0;
}

/* Offsets start anew. */
void cadWindowReset(void) { count = 0; }
