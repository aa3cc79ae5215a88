/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_window.c -- how much is acknowledged and not durable: at most the window.
 *
 * Bytes are the distance from D to the tail. For time, the tail is sampled at most
 * SAMPLES times a window: the oldest sample above D tells, within a 32nd of the window
 * and never too late, since when something has been waiting.
 */
#include "server.h"
#include "cad_state.h"

#define SAMPLES 32

static struct {
    long long offset; /* Updates up to here ... */
    long long since;  /* ... began to wait then, monotonic us. */
} sample[SAMPLES + 2];
static int first, count;

/* An update was given its offset. */
void cadWindowWritten(void) {
    long long now = getMonotonicUs();
    while (count && sample[first].offset <= cad.durable) {
        first = (first + 1) % (SAMPLES + 2);
        count--;
    }
    int last = (first + count - 1) % (SAMPLES + 2);
    long long step = cad_config.window_ms * 1000LL / SAMPLES;
    if (count == 0 || (count < SAMPLES + 2 && now - sample[last].since >= step)) {
        last = (first + count) % (SAMPLES + 2);
        sample[last].since = now;
        count++;
    }
    sample[last].offset = cad.tail;
}

/* 1: another acknowledgement now would exceed cad-window-ms or cad-window-bytes. */
int cadWindowFull(void) {
    if (cad.tail - cad.durable > (long long)cad_config.window_bytes) return 1;
    for (int j = 0; j < count; j++) {
        int at = (first + j) % (SAMPLES + 2);
        if (sample[at].offset > cad.durable)
            return (long long)getMonotonicUs() - sample[at].since > cad_config.window_ms * 1000LL;
    }
    return 0;
}

/* Offsets start anew. */
void cadWindowReset(void) { count = 0; }
