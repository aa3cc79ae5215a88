// SPDX-License-Identifier: Apache-2.0
//
// Appends 512 bytes and flushes, so many times, and prints the microseconds of
// each as one line of JSON: median, 99th percentile, operations per second.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
    if (argc != 3) return 254;
    static char record[512] = {1};
    int n = atoi(argv[2]), fd = open(argv[1], O_CREAT | O_WRONLY | O_APPEND, 0600);
    double *took = malloc((size_t)n * sizeof *took), start = now();
    if (fd < 0 || took == NULL) return 255;
    for (int i = 0; i < n; i++) {
        double t = now();
        if (write(fd, record, sizeof record) != sizeof record || fdatasync(fd) != 0) return 255;
        took[i] = now() - t;
    }
    double all = now() - start;
    qsort(took, (size_t)n, sizeof *took, compare);
    printf("{\"p50_us\":%.1f,\"p99_us\":%.1f,\"per_s\":%.0f}\n", took[n / 2], took[n * 99 / 100], n / all * 1e6);
    return 0;
}
