/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_types.h -- types of which Redis' own structures have members. Included by server.h.
 */
#ifndef CAD_TYPES_H
#define CAD_TYPES_H

#define CAD_ID 40 /* Hex digits of a node id. */

/* What CAD keeps of a connection. */
typedef struct cadClient {
    long long need;   /* Its replies wait for this durable offset ... */
    long long copied; /* ... and until a majority has this offset in memory. */
    int stopped;     /* It runs no further command until they have left. */
    int mode;        /* Asked for by CAD MODE; CAD_OFF: the server's. */
    char node[CAD_ID + 1]; /* As a replica: the id with which it counts ... */
    int others;      /* ... and how many fellow data nodes it knows. */
    long long since; /* When the hold began, monotonic us. */
    int patience;    /* Longest hold, ms; 0: cad-hold-timeout. */
    void *held;      /* Its place in the list of holds; while it is there nothing is sent. */
} cadClient;

/* What is known of a command before it runs. */
typedef struct cadExecution {
    int active;         /* 0: nothing of this command is held. */
    int what;           /* Its class, enum in cad_read.c. */
    int cause;          /* Why `before` is what it is. */
    long long before;   /* R of what it can see when it starts. */
    long long tail;
    long long errors;
    int immediate;      /* Its acknowledgement waits, too. */
    int copied;         /* Its acknowledgement waits for copies in memory. */
    int durable;        /* What it shows waits for D. */
} cadExecution;

#endif
