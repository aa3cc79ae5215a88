// SPDX-License-Identifier: Apache-2.0
//
// A trace of everything that changes the disk, with the bytes that were
// written: whoever replays a prefix of it has the disk as it was then. Asked
// for by FI_TRACE; the reader is testing/crash in zookeeper-cad.
//
// Records of concurrent threads are in the order in which the calls returned,
// so a trace is exact for one thread. What cannot be followed is recorded as
// such ('?'), so that a reader can refuse the trace instead of being wrong.
#include "disk.h"

#include <stdlib.h>
#include <string.h>

struct record {
    uint32_t len; // all of it, names and bytes included
    uint32_t op;
    uint32_t id;
    uint32_t dir1, dir2;
    uint16_t name1, name2;
    uint64_t at;
};

static int trace_fd = -1;

void fi_trace_open(void) {
    const char *path = getenv("FI_TRACE");
    if (path == NULL || *path == 0) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    trace_fd = fd < 0 ? -1 : (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
    if (fd >= 0) syscall(SYS_close, fd);
    if (trace_fd < 0) {
        fi_complain("cannot open the trace named by FI_TRACE", path);
        _exit(255);
    }
}

static void put(struct record *r, struct iovec *v, int n) {
    uint64_t total = 0;
    v[0] = (struct iovec){r, sizeof *r};
    for (int k = 0; k < n; k++) total += v[k].iov_len;
    r->len = (uint32_t)total;
    if (total > UINT32_MAX || syscall(SYS_writev, trace_fd, v, n) != (long)total) {
        fi_complain("cannot write the trace", "a trace with a gap would be wrong");
        _exit(255);
    }
}

void fi_trace_name(char op, const struct fi_place *a, const struct fi_place *b, uint32_t id) {
    if (trace_fd < 0) return;
    int saved = errno;
    struct record r = {.op = (unsigned char)op, .id = id, .dir1 = a->id, .name1 = (uint16_t)strlen(a->name)};
    struct iovec v[3] = {{0}, {(void *)a->name, r.name1}, {0}};
    if (b) {
        r.dir2 = b->id;
        r.name2 = (uint16_t)strlen(b->name);
        v[2] = (struct iovec){(void *)b->name, r.name2};
    }
    put(&r, v, b ? 3 : 2);
    errno = saved;
}

void fi_trace_data(char op, uint32_t id, uint64_t at, const struct iovec *data, int n, uint64_t bytes) {
    if (trace_fd < 0) return;
    int saved = errno;
    struct record r = {.op = (unsigned char)op, .id = id, .at = at};
    struct iovec v[2 + FI_TRACE_PIECES] = {{0}};
    if (n > FI_TRACE_PIECES) {
        r.op = '?';
        n = 0;
    }
    int used = 1;
    for (int k = 0; k < n && bytes > 0; k++) {
        size_t part = data[k].iov_len < bytes ? data[k].iov_len : (size_t)bytes;
        v[used++] = (struct iovec){data[k].iov_base, part};
        bytes -= part;
    }
    put(&r, v, used);
    errno = saved;
}
