/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_window.c -- how much is acknowledged and not durable: at most the window.
 *
 * Bytes are the distance from D to the tail. For time, the tail is sampled at most
 * SAMPLES times a window: the oldest sample above D tells, within a 32nd of the window
 * and never too late, since when something has been waiting.
 *
 * What a history begins with (loaded from disk, or written before CAD was switched on) is
 * in no sample, and need not be on any other node. Until a majority has it the window is
 * closed: nothing is acknowledged before it is durable.
 *
 * Pure: the clock is the caller's, in us; offsets are those of the replication stream.
 */
#include "cad_window.h"

#define SAMPLES 32
#define ROOM (SAMPLES + 2)

static struct {
    long long offset; /* Updates up to here ... */
    long long since;  /* ... began to wait then. */
} sample[ROOM];
static int first, count, last; /* `last` is of use while count is not 0. */
static long long written_at;   /* The clock of the last update. */
static long long beginning;    /* The history began with what precedes this offset ... */
static int closed = 1;         /* ... and that is not durable yet. */

static int after(int place) { return place + 1 == ROOM ? 0 : place + 1; }

/* Offsets start anew, with a history up to `history`. */
void cadWindowReset(long long history) {
    count = 0;
    beginning = history;
    closed = 1;
}

/* A majority has persisted what precedes `durable`; -1: no majority is known. */
void cadWindowDurable(long long durable) {
    if (durable >= beginning) closed = 0;
}

/* An update ends at `tail`; what the window allows is `most` us. */
void cadWindowWritten(long long tail, long long durable, long long now, long long most) {
    if (count && now == written_at && sample[first].offset > durable) {
        sample[last].offset = tail;
        return;
    }
    written_at = now;
    while (count && sample[first].offset <= durable) {
        first = after(first);
        count--;
    }
    if (count == 0 || (now - sample[last].since >= most / SAMPLES && count < ROOM)) {
        last = count ? after(last) : first;
        sample[last].since = now;
        count++;
    }
    sample[last].offset = tail;
}

/* How long the oldest update above `durable` has been waiting, us; 0: there is none. */
long long cadWindowAge(long long durable, long long now) {
    for (int j = 0, at = first; j < count; j++, at = after(at))
        if (sample[at].offset > durable) return now - sample[at].since;
    return 0;
}

/* 1: another acknowledgement now would exceed so many bytes or us, or the window is closed. */
int cadWindowFull(long long tail, long long durable, long long now, unsigned long long bytes, long long most) {
    return closed || tail - durable > (long long)bytes || cadWindowAge(durable, now) > most;
}
