/* SPDX-License-Identifier: Apache-2.0
 *
 * What hiredis does against a server: hiredis_check PORT sync|async all|held
 */
#include "hiredis.h"
#include "async.h"
#include "adapters/poll.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMANDS 200

static void fail(const char *what, const char *got) {
    fprintf(stderr, "hiredis: %s: %s\n", what, got ? got : "(nil)");
    exit(1);
}

/* `expected` NULL: nil; "*": whatever is no error. */
static void expect(redisReply *reply, const char *expected, const char *what) {
    char number[32];
    if (!reply) fail(what, "no reply");
    const char *got = reply->type == REDIS_REPLY_NIL ? NULL : reply->str;
    if (reply->type == REDIS_REPLY_INTEGER) {
        snprintf(number, sizeof(number), "%lld", reply->integer);
        got = number;
    }
    if (reply->type == REDIS_REPLY_ERROR) fail(what, reply->str);
    if (expected && !strcmp(expected, "*")) return;
    if (!expected != !got || (got && strcmp(expected, got))) fail(what, got);
}

static void call(redisContext *c, const char *expected, const char *command) {
    redisReply *reply = redisCommand(c, command);
    expect(reply, expected, command);
    freeReplyObject(reply);
}

static void sync_calls(int port, int everything) {
    redisContext *c = redisConnect("127.0.0.1", port);
    if (!c || c->err) fail("connect", c ? c->errstr : NULL);
    call(c, "OK", "SET held hiredis");
    call(c, "hiredis", "GET held");
    if (everything) {
        call(c, NULL, "GET absent");
        call(c, "OK", "SET n 41");
        call(c, "42", "INCR n");
        call(c, NULL, "BLPOP nothing 0.2");
        call(c, "OK", "MULTI");
        call(c, "QUEUED", "INCR n");
        call(c, "*", "EXEC");
        for (int j = 0; j < COMMANDS; j++) redisAppendCommand(c, "SET p%d %d", j, j);
        for (int j = 0; j < COMMANDS; j++) redisAppendCommand(c, "GET p%d", j);
        for (int j = 0; j < 2 * COMMANDS; j++) {
            char number[16];
            redisReply *reply;
            if (redisGetReply(c, (void **)&reply) != REDIS_OK) fail("pipeline", c->errstr);
            snprintf(number, sizeof(number), "%d", j - COMMANDS);
            expect(reply, j < COMMANDS ? "OK" : number, "pipeline");
            freeReplyObject(reply);
        }
    }
    redisFree(c);
}

static int answered;

static void on_reply(redisAsyncContext *c, void *reply, void *expected) {
    (void)c;
    expect(reply, expected, "async");
    answered++;
}

static void async_calls(int port, int everything) {
    redisAsyncContext *c = redisAsyncConnect("127.0.0.1", port);
    int sent = 2;
    if (!c || c->err || redisPollAttach(c) != REDIS_OK) fail("connect", c ? c->errstr : NULL);
    redisAsyncCommand(c, on_reply, "OK", "SET held hiredis-async");
    redisAsyncCommand(c, on_reply, "hiredis-async", "GET held");
    for (int j = 0; everything && j < COMMANDS; j++) {
        redisAsyncCommand(c, on_reply, "*", "INCR counter");
        redisAsyncCommand(c, on_reply, "*", "GET counter");
        sent += 2;
    }
    while (answered < sent && !c->err) redisPollTick(c, 1.0);
    if (answered < sent) fail("async", c->errstr);
    redisAsyncFree(c);
}

int main(int argc, char **argv) {
    if (argc != 4) return 254;
    int everything = !strcmp(argv[3], "all");
    if (!strcmp(argv[2], "sync")) sync_calls(atoi(argv[1]), everything);
    else async_calls(atoi(argv[1]), everything);
    return 0;
}
