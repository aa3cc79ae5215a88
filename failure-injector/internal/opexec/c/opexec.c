// SPDX-License-Identifier: Apache-2.0
//
// Carries out a script of file operations with the C library's functions, one
// line each, and prints "result errno" for each, and "done" at a line with a
// dot. Then it waits to be killed, with all its files open. The model test runs it on the disk under test.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define HANDLES 8

static int handle[HANDLES];
static FILE *stream;

// The byte at a position is a function of seed and position, never 0.
static void fill(unsigned char *b, long at, long len, long seed) {
    for (long i = 0; i < len; i++) b[i] = (unsigned char)(1 + (seed * 37 + (at + i) * 7 + (at + i) / 251) % 255);
}

static uint64_t hash(const unsigned char *b, long len) { // FNV-1a
    uint64_t h = 0xcbf29ce484222325u;
    for (long i = 0; i < len; i++) h = (h ^ b[i]) * 0x100000001b3u;
    return h;
}

static int flags_of(const char *s) {
    int f = strchr(s, 'w') ? O_WRONLY : strchr(s, 'R') ? O_RDONLY : O_RDWR;
    if (strchr(s, 'c')) f |= O_CREAT;
    if (strchr(s, 'x')) f |= O_EXCL;
    if (strchr(s, 't')) f |= O_TRUNC;
    if (strchr(s, 'a')) f |= O_APPEND;
    if (strchr(s, 's')) f |= O_SYNC;
    return f;
}

static long sync_dir(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0) return -1;
    long r = fsync(fd);
    close(fd);
    return r;
}

static long map_write(int fd, long at, long len, long seed, int flush) {
    struct stat st;
    if (fstat(fd, &st) != 0 || at + len > st.st_size) return errno = EINVAL, -1;
    unsigned char *p = mmap(NULL, (size_t)(at + len), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return -1;
    fill(p + at, at, len, seed);
    long r = flush ? msync(p, (size_t)(at + len), MS_SYNC) : 0;
    munmap(p, (size_t)(at + len));
    return r;
}

static long std_write(const char *path, const char *mode, long len, long seed, int flush) {
    unsigned char *b = malloc((size_t)len);
    stream = fopen(path, mode);
    if (stream == NULL) return free(b), -1;
    fseek(stream, 0, SEEK_END);
    fill(b, ftell(stream), len, seed);
    long r = fwrite(b, 1, (size_t)len, stream) == (size_t)len ? 0 : -1;
    if (fflush(stream) != 0) r = -1;
    if (r == 0 && flush) r = fsync(fileno(stream));
    fclose(stream);
    free(b);
    return r;
}

static long one(char op, int *h, const char *a, const char *b, long at, long len, long seed) {
    static unsigned char buf[1 << 17];
    switch (op) {
    case 'o': // open
        if (*h >= 0) close(*h);
        *h = open(a, flags_of(b), 0644);
        return *h < 0 ? -1 : 0;
    case 'c':
        if (close(*h) != 0) return -1;
        *h = -1;
        return 0;
    case 'w': { // write at the position: the pattern needs to know where that is
        struct stat st;
        int fl = fcntl(*h, F_GETFL);
        if (fl < 0 || fstat(*h, &st) != 0) return -1;
        long pos = fl & O_APPEND ? st.st_size : lseek(*h, 0, SEEK_CUR);
        fill(buf, pos, len, seed);
        if (seed % 2) return write(*h, buf, (size_t)len);
        struct iovec v[2] = {{buf, (size_t)len / 2}, {buf + len / 2, (size_t)(len - len / 2)}};
        return writev(*h, v, 2);
    }
    case 'p':
        fill(buf, at, len, seed);
        return pwrite(*h, buf, (size_t)len, at);
    case 'r': {
        long n = pread(*h, buf, (size_t)len, at);
        if (n >= 0) printf("%016lx ", (unsigned long)hash(buf, n));
        return n;
    }
    case 't': return ftruncate(*h, len);
    case 'T': return truncate(a, len);
    case 'f': return fsync(*h);
    case 'd': return fdatasync(*h);
    case 'D': return sync_dir(a);
    case 'v': return rename(a, b);
    case 'u': return unlink(a);
    case 'R': return remove(a);
    case 'm': return mkdir(a, 0755);
    case 'l': return link(a, b);
    case 's': return symlink(a, b);
    case 'e': return fallocate(*h, 0, at, len);
    case 'z': return fallocate(*h, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, len);
    case 'M': return map_write(*h, at, len, seed, 0);
    case 'Y': return map_write(*h, at, len, seed, 1);
    case 'F': return std_write(a, b, len, seed, 0);
    case 'G': return std_write(a, b, len, seed, 1);
    case 'x': { // pass the handle through dup2, as redirections do
        int to = dup(*h);
        if (to < 0) return -1;
        close(*h);
        *h = to;
        return 0;
    }
    }
    fprintf(stderr, "opexec: no operation %c\n", op);
    exit(254);
}

int main(int argc, char **argv) {
    char line[1024], op, a[300], b[300];
    int h;
    long at, len, seed;
    if (argc != 2 || chdir(argv[1]) != 0) return 254;
    for (int i = 0; i < HANDLES; i++) handle[i] = -1;
    // Buffered unless the test is to know at any moment how far we are.
    setvbuf(stdout, NULL, getenv("OPEXEC_ACK") ? _IOLBF : _IOFBF, 1 << 16);
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == '.') { // end of a part: the test does something meanwhile
            puts("done");
            fflush(stdout);
            continue;
        }
        if (sscanf(line, "%c %d %299s %299s %ld %ld %ld", &op, &h, a, b, &at, &len, &seed) != 7) return 254;
        errno = 0;
        long r = one(op, &handle[h], a, b, at, len, seed);
        printf("%ld %d\n", r, r < 0 ? errno : 0);
    }
    pause();
    return 0;
}
