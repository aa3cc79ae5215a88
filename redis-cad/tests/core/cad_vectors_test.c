/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_vectors_test.c -- runs the scenarios of protocol/vectors that concern the update
 * index (part `dirty`) against cad_index.c. The grammar is in protocol/vectors/README.md.
 *
 *   cad_vectors_test DIRECTORY
 *
 * Each scenario must hold, and must fail for every wrong variant that it names (`catches`);
 * the variants are made here, around the calls. What Redis does not have is counted as
 * skipped. Every wrong line is printed; exit code 1 then.
 */
#include "../../src/cad_index.c"
#include <dirent.h>
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

static int listed(const char *item) { return *find(dirty, 0, item, strlen(item), hashOf(item)) != NULL; }

static long long required(const char *item) {
    if (mistake("absence-treated-as-durable") && !listed(item)) return 0;
    return cadIndexLookup(dirty, 0, item, strlen(item), hashOf(item));
}

static void touch(const char *item, long long offset) {
    long long barrier = cadIndexBarrier(dirty);
    if (mistake("first-touch-wins") && listed(item)) return;
    cadIndexStamp(dirty, 0, item, strlen(item), hashOf(item), offset, max_items);
    if (mistake("bound-drops-items")) dirty->barrier = barrier;
}

/* One line of the part `dirty`: 1 it holds, 0 it does not, -1 this core does not know it. */
static int run(char **word, int words) {
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
        if (strncmp(entry->d_name, "dirty-", 6)) continue; /* Of a part that this core does not have. */
        if (!strcmp(entry->d_name, "dirty-subtree.txt")) {
            printf("skipped %s: Redis has no trees\n", entry->d_name);
            skipped++;
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        *caught = '\0';
        if (passes(path) && catches(path)) passed++;
        else failed++;
    }
    closedir(directory);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed || !passed;
}
