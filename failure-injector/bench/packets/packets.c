// SPDX-License-Identifier: Apache-2.0
//
// packets take PORT COUNT: takes so many datagrams (or stops when none has come
// for 3 s) and prints how long they were under way, as one line of JSON.
// packets send ADDRESS PORT PER_SECOND COUNT: sends them, evenly.
// packets sleep PER_SECOND COUNT: how late a thread of this machine wakes up,
// which is the least that whoever waits for a packet is late.
// Both ends read the same machine's clock, so one way can be measured.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t *took;
static int taken;

static int print(void) {
    if (taken == 0) return 255;
    qsort(took, (size_t)taken, sizeof *took, compare);
    printf("{\"packets\":%d,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f}\n", taken, (double)took[taken / 2] / 1e3, (double)took[taken - 1 - taken / 100] / 1e3, (double)took[taken - 1] / 1e3);
    return 0;
}

static void sleep_until(int64_t at) {
    struct timespec t = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int sleeps(int per_second, int count) {
    took = calloc((size_t)count, sizeof *took);
    if (took == NULL) return 255;
    prctl(PR_SET_TIMERSLACK, 1);
    for (int64_t next = now(); taken < count; taken++) {
        next += 1000000000 / per_second;
        sleep_until(next);
        took[taken] = now() - next;
    }
    return print();
}

static int take(int port, int count) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval patience = {.tv_sec = 3};
    int64_t stamp[64];
    int s = socket(AF_INET, SOCK_DGRAM, 0), room = 4 << 20;
    took = calloc((size_t)count, sizeof *took);
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (took == NULL || bind(s, (struct sockaddr *)&at, sizeof at) != 0) return 255;
    printf("ready\n");
    fflush(stdout);
    recv(s, stamp, sizeof stamp, 0); // the first one tells that it begins
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (taken < count && recv(s, stamp, sizeof stamp, 0) > 0) took[taken++] = now() - stamp[0];
    return print();
}

static int send_all(const char *address, int port, int per_second, int count) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int64_t packet[13] = {0}, next; // 104 bytes
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1 || connect(s, (struct sockaddr *)&to, sizeof to) != 0) return 255;
    prctl(PR_SET_TIMERSLACK, 1);
    next = now();
    for (int i = 0; i <= count; i++) {
        sleep_until(next);
        packet[0] = now();
        if (send(s, packet, sizeof packet, 0) < 0) return 255;
        next += 1000000000 / per_second;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "take") == 0) return take(atoi(argv[2]), atoi(argv[3]));
    if (argc == 4 && strcmp(argv[1], "sleep") == 0) return sleeps(atoi(argv[2]), atoi(argv[3]));
    if (argc == 6 && strcmp(argv[1], "send") == 0) return send_all(argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
    return 254;
}
