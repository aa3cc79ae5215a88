// SPDX-License-Identifier: Apache-2.0
//
// packets take PORT COUNT: takes so many datagrams (or stops when none has come
// for 3 s) and prints how long they were under way, as one line of JSON.
// packets send ADDRESS PORT PER_SECOND COUNT: sends them, evenly.
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

static int take(int port, int count) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval patience = {.tv_sec = 3};
    int64_t *took = calloc((size_t)count, sizeof *took), stamp[64];
    int s = socket(AF_INET, SOCK_DGRAM, 0), n = 0, room = 4 << 20;
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (took == NULL || bind(s, (struct sockaddr *)&at, sizeof at) != 0) return 255;
    printf("ready\n");
    fflush(stdout);
    recv(s, stamp, sizeof stamp, 0); // the first one tells that it begins
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (n < count && recv(s, stamp, sizeof stamp, 0) > 0) took[n++] = now() - stamp[0];
    if (n == 0) return 255;
    qsort(took, (size_t)n, sizeof *took, compare);
    printf("{\"packets\":%d,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f}\n", n, (double)took[n / 2] / 1e3, (double)took[n - 1 - n / 100] / 1e3, (double)took[n - 1] / 1e3);
    return 0;
}

static int send_all(const char *address, int port, int per_second, int count) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int64_t packet[13] = {0}, next; // 104 bytes
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1 || connect(s, (struct sockaddr *)&to, sizeof to) != 0) return 255;
    prctl(PR_SET_TIMERSLACK, 1);
    next = now();
    for (int i = 0; i <= count; i++) {
        struct timespec t = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        packet[0] = now();
        if (send(s, packet, sizeof packet, 0) < 0) return 255;
        next += 1000000000 / per_second;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "take") == 0) return take(atoi(argv[2]), atoi(argv[3]));
    if (argc == 6 && strcmp(argv[1], "send") == 0) return send_all(argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
    return 254;
}
