/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_vectors_test.c -- runs the scenarios of protocol/vectors that concern the update
 * index (part `dirty`) and the age of undurable updates (part `window`) against
 * cad_index.c and cad_window.c. The grammar is in protocol/vectors/README.md.
 *
 *   cad_vectors_test DIRECTORY
 *
 * Each scenario must hold, and must fail for every wrong variant that it names (`catches`);
 * the variants are made here, around the calls. What Redis does not have is listed with
 * its reason and counted as skipped. Every wrong line is printed; exit code 1 then.
 */
#include "../../src/cad_index.c"
#include "../../src/cad_window.c"
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define EPOCH_SHIFT 40 /* An offset of Redis stands for epoch:counter; the order is the same. */
#define MAX_WORDS 16

static cadIndex *dirty;
static size_t max_items;
static const char *variant = ""; /* The mistake that is tried, or nothing. */

static int mistake(const char *name) { return !strcmp(variant, name); }

static long long indexOf(const char *word) {
    long long epoch, counter;
    if (!strcmp(word, "none")) return -1;
    if (sscanf(word, "%lld:%lld", &epoch, &counter) != 2) return -2;
    return (epoch << EPOCH_SHIFT) + counter;
}

static uint64_t hashOf(const char *key) {
    uint64_t hash = 1469598103934665603ULL;
    while (*key) hash = (hash ^ (unsigned char)*key++) * 1099511628211ULL;
    return hash;
}

static int listed(const char *item) {
    enterWaiting(dirty);
    return find(dirty, hashOf(item)) != 0;
}

static long long required(const char *item) {
    if (mistake("absence-treated-as-durable") && !listed(item)) return 0;
    return cadIndexLookup(dirty, 0, hashOf(item));
}

static void touch(const char *item, long long offset) {
    long long barrier = cadIndexBarrier(dirty);
    if (mistake("first-touch-wins") && listed(item)) return;
    cadIndexStamp(dirty, 0, hashOf(item), offset, max_items);
    if (mistake("bound-drops-items")) dirty->barrier = barrier;
}

/* A window counts bytes of the stream: an index stands for the offset at its entry's end. */
static struct {
    long long now, age, bytes, tail, durable;
    struct { long long index, offset; } entry[16];
    int entries;
} window;

static long long us(const char *word) {
    char *unit;
    long long number = strtoll(word, &unit, 10);
    return number * (!strcmp(unit, "s") ? 1000000 : !strcmp(unit, "ms") ? 1000 : 1);
}

static long long offsetOf(const char *word) {
    for (int j = 0; j < window.entries; j++)
        if (window.entry[j].index == indexOf(word)) return window.entry[j].offset;
    return 0;
}

static int admits(void) {
    return !cadWindowFull(window.tail, window.durable, window.now, mistake("window-ignores-bytes") ? LLONG_MAX : window.bytes,
                          mistake("window-ignores-age") ? LLONG_MAX : window.age);
}

static int undurable(void) {
    int above = 0;
    for (int j = 0; j < window.entries; j++) above += window.entry[j].offset > window.durable;
    return above;
}

/* One line of the part `window`, as `run`. */
static int runWindow(char **word, int words) {
    if (words == 7 && !strcmp(word[0], "window")) {
        memset(&window, 0, sizeof(window));
        cadWindowReset(0);
        if (mistake("window-open-from-the-start")) cadWindowDurable(0);
        window.bytes = strtoll(word[4], NULL, 10);
        window.age = us(word[6]);
    } else if (words == 2 && !strcmp(word[0], "at")) {
        window.now = us(word[1]);
    } else if (words == 2 && !strcmp(word[0], "durable")) {
        cadWindowDurable(window.durable = offsetOf(word[1]));
    } else if (words == 4 && !strcmp(word[0], "appended") && window.entries < 16) {
        window.tail += strtoll(word[3], NULL, 10);
        window.entry[window.entries].index = indexOf(word[1]);
        window.entry[window.entries++].offset = window.tail;
        cadWindowWritten(window.tail, window.durable, window.now, window.age);
    } else if (words == 4 && !strcmp(word[0], "==") && !strcmp(word[1], "admits")) {
        if (offsetOf(word[2]) != window.tail) return -1; /* Redis asks for the newest only. */
        return admits() == !strcmp(word[3], "yes");
    } else if (words == 3 && !strcmp(word[0], "==") && !strcmp(word[1], "bytes")) {
        return window.tail - window.durable == strtoll(word[2], NULL, 10);
    } else if (words == 3 && !strcmp(word[0], "==") && !strcmp(word[1], "txns")) {
        return undurable() == strtol(word[2], NULL, 10); /* A count of the scenario: Redis bounds none. */
    } else if (words == 3 && !strcmp(word[0], "==") && !strcmp(word[1], "age")) {
        return cadWindowAge(window.durable, window.now) == us(word[2]);
    } else {
        return -1;
    }
    return 1;
}

static int in_window; /* The part of this scenario. */

/* One line: 1 it holds, 0 it does not, -1 this core does not know it. */
static int run(char **word, int words) {
    if (!strcmp(word[0], "window")) in_window = 1;
    if (in_window) return runWindow(word, words);
    if (words == 5 && !strcmp(word[0], "dirty")) {
        max_items = strtoul(word[2], NULL, 10);
        if (!mistake("no-barrier-at-start")) cadIndexRaiseBarrier(dirty, indexOf(word[4]));
    } else if (words == 3 && !strcmp(word[0], "touch")) {
        touch(word[1], indexOf(word[2]));
    } else if (words == 2 && !strcmp(word[0], "durable")) {
        if (!mistake("durable-not-pruned")) cadIndexPrune(dirty, indexOf(word[1]), max_items);
    } else if (words == 2 && !strcmp(word[0], "resynchronised")) {
        if (!mistake("no-barrier-after-resync")) cadIndexRaiseBarrier(dirty, indexOf(word[1]));
    } else if (words == 4 && !strcmp(word[0], "==") && !strcmp(word[1], "required")) {
        return required(word[2]) == indexOf(word[3]);
    } else if (words == 3 && !strcmp(word[0], "==") && !strcmp(word[1], "barrier")) {
        return cadIndexBarrier(dirty) == indexOf(word[2]);
    } else if (words == 3 && !strcmp(word[0], "==") && !strcmp(word[1], "floor")) {
        return cadIndexFloor(dirty) == indexOf(word[2]);
    } else if (words == 3 && !strcmp(word[0], "==") && !strcmp(word[1], "size")) {
        return (long)cadIndexSize(dirty) == strtol(word[2], NULL, 10);
    } else {
        return -1;
    }
    return 1;
}

static char caught[512]; /* The variants that the scenario names. */

static int passes(const char *path) {
    char line[512], shown[512], *word[MAX_WORDS];
    int number = 0, good = 1, checks = 0;
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    dirty = cadIndexNew();
    in_window = 0;
    while (fgets(line, sizeof(line), f)) {
        int words = 0;
        number++;
        line[strcspn(line, "#\n")] = '\0';
        strcpy(shown, line);
        for (char *at = strtok(line, " "); at && words < MAX_WORDS; at = strtok(NULL, " ")) word[words++] = at;
        if (words == 0) continue;
        if (!strcmp(word[0], "catches")) {
            strcpy(caught, strstr(shown, word[1]));
            continue;
        }
        int held = run(word, words);
        checks += !strcmp(word[0], "==");
        if (held == 1) continue;
        if (!*variant) printf("%s:%d: %s: %s\n", path, number, held ? "unknown" : "does not hold", shown);
        good = 0;
    }
    fclose(f);
    cadIndexFree(dirty);
    return good && checks;
}

/* The scenario fails for every variant that it names. */
static int catches(const char *path) {
    char names[sizeof(caught)], *rest = names, *name;
    int good = *caught != '\0';
    strcpy(names, caught);
    while ((name = strsep(&rest, " "))) {
        if (!*name) continue;
        variant = name;
        if (passes(path)) {
            printf("%s does not catch %s\n", path, name);
            good = 0;
        }
        variant = "";
    }
    return good;
}

/* Scenarios, by the start of their names, that do not apply to this core. What is not named here must run. */
static struct { const char *start, *why; int files; } absent[] = {
    {"dirty-subtree", "Redis has no trees", 0},
    {"window-txns", "the window of Redis is bytes and time", 0},
    {"window-reopens", "the window of Redis is bytes and time", 0},
    {"window-others-were-faster", "the master's own disk counts in D: nobody is ahead of it", 0},
    {"replies", "a connection waits as a whole, in its output buffer: there is no queue to decide on", 0},
    {"leader", "D comes from Redis' own connections: no epochs, establishment or timed rounds yet", 0},
    {"follower", "a replica reports with Redis' own acknowledgements: no epochs or requests yet", 0},
    {"lease", "no leases yet", 0},
};
#define ABSENT (sizeof(absent) / sizeof(*absent))

static int isAbsent(const char *file) {
    for (size_t j = 0; j < ABSENT; j++)
        if (!strncmp(file, absent[j].start, strlen(absent[j].start))) return ++absent[j].files;
    return 0;
}

int main(int argc, char **argv) {
    int passed = 0, failed = 0, skipped = 0;
    struct dirent *entry;
    DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
    if (!directory) {
        fprintf(stderr, "usage: cad_vectors_test DIRECTORY\n");
        return 254;
    }
    while ((entry = readdir(directory))) {
        char path[1024];
        size_t len = strlen(entry->d_name);
        if (len < 4 || strcmp(entry->d_name + len - 4, ".txt")) continue;
        if (isAbsent(entry->d_name)) {
            skipped++;
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        *caught = '\0';
        if (passes(path) && catches(path)) passed++;
        else failed++;
    }
    closedir(directory);
    for (size_t j = 0; j < ABSENT; j++) printf("skipped %d of %s: %s\n", absent[j].files, absent[j].start, absent[j].why);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed || !passed;
}
