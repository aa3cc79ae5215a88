/* SPDX-License-Identifier: Apache-2.0
 *
 * sync_fault.c -- LD_PRELOAD object that makes fsync and fdatasync slow or fail.
 *
 * The file named by CAD_SYNC_FAULT holds one rule a line and is read at every sync:
 *
 *   fail <errno> <text>    syncs of files whose path contains <text> fail
 *   hold <text>            they wait until the rule is gone, and then run
 *
 * The first rule that matches wins. Every sync that ends is appended to
 * CAD_SYNC_FAULT.log as "<result> <size> <path>", with <result> 0 or an errno.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* 0: no rule, -1: hold, else the errno to return. Allocates nothing: a server that forks
 * meanwhile would leave its child an allocator whose lock nobody opens. */
static int rule_for(const char *path) {
    const char *rules = getenv("CAD_SYNC_FAULT");
    char text[4096], word[256];
    int code, fd = rules ? open(rules, O_RDONLY | O_CLOEXEC) : -1;
    if (fd == -1) return 0;
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len < 0) return 0;
    text[len] = '\0';
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        if (sscanf(line, "fail %d %255s", &code, word) == 2 && strstr(path, word)) return code;
        if (sscanf(line, "hold %255s", word) == 1 && strstr(path, word)) return -1;
    }
    return 0;
}

static void record(const char *path, off_t size, int result) {
    const char *rules = getenv("CAD_SYNC_FAULT");
    char name[512], line[4600];
    if (!rules) return;
    snprintf(name, sizeof(name), "%s.log", rules);
    int fd = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd == -1) return;
    int len = snprintf(line, sizeof(line), "%d %lld %s\n", result, (long long)size, path);
    if (write(fd, line, len) != len) abort();
    close(fd);
}

static int faulty(int fd, const char *function) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, function);
    char link[64], path[4096];
    struct stat st = {0};
    int code, result;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    if (len < 0) return real(fd);
    path[len] = '\0';

    /* A sync covers what the file held when it began. */
    fstat(fd, &st);
    while ((code = rule_for(path)) == -1) {
        struct timespec pause = {0, 2000000};
        nanosleep(&pause, NULL);
    }
    if (code) {
        result = -1;
        errno = code;
    } else {
        result = real(fd);
    }
    int saved = errno;
    record(path, st.st_size, result == 0 ? 0 : saved);
    errno = saved;
    return result;
}

int fsync(int fd) { return faulty(fd, "fsync"); }
int fdatasync(int fd) { return faulty(fd, "fdatasync"); }
