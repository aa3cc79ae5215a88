/* SPDX-License-Identifier: Apache-2.0
 *
 * cad_test_module.c -- what modules can do to the rule that no reply shows undurable data.
 *
 *   cadtest.get key          GET; loaded with `write` it claims to be a write command
 *   cadtest.call command ... calls any command and replies with its reply or its error
 *   cadtest.thread key       GET, from a thread, while the client is blocked
 *   cadtest.bget key         the first element of a list; blocks until there is one
 */
#include "redismodule.h"
#include <pthread.h>
#include <string.h>

static int replyWithValue(RedisModuleCtx *ctx, RedisModuleString *key) {
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "GET", "s", key);
    int result = reply ? RedisModule_ReplyWithCallReply(ctx, reply) : RedisModule_ReplyWithNull(ctx);
    if (reply) RedisModule_FreeCallReply(reply);
    return result;
}

static int get(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    return replyWithValue(ctx, argv[1]);
}

static int call(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 2) return RedisModule_WrongArity(ctx);
    RedisModuleCallReply *reply =
        RedisModule_Call(ctx, RedisModule_StringPtrLen(argv[1], NULL), "vE", argv + 2, (size_t)argc - 2);
    if (!reply) return RedisModule_ReplyWithError(ctx, "ERR no such call");
    RedisModule_ReplyWithCallReply(ctx, reply);
    RedisModule_FreeCallReply(reply);
    return REDISMODULE_OK;
}

struct work {
    RedisModuleBlockedClient *client;
    RedisModuleString *key;
};

static void *inThread(void *argument) {
    struct work *work = argument;
    RedisModuleCtx *ctx = RedisModule_GetThreadSafeContext(work->client);
    RedisModule_ThreadSafeContextLock(ctx);
    replyWithValue(ctx, work->key);
    RedisModule_FreeString(ctx, work->key);
    RedisModule_ThreadSafeContextUnlock(ctx);
    RedisModule_FreeThreadSafeContext(ctx);
    RedisModule_UnblockClient(work->client, NULL);
    RedisModule_Free(work);
    return NULL;
}

static int thread(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    pthread_t id;
    if (argc != 2) return RedisModule_WrongArity(ctx);
    struct work *work = RedisModule_Alloc(sizeof(*work));
    work->key = RedisModule_CreateStringFromString(NULL, argv[1]);
    work->client = RedisModule_BlockClient(ctx, NULL, NULL, NULL, 0);
    if (pthread_create(&id, NULL, inThread, work) == 0) {
        pthread_detach(id);
        return REDISMODULE_OK;
    }
    RedisModule_AbortBlock(work->client);
    RedisModule_FreeString(NULL, work->key);
    RedisModule_Free(work);
    return RedisModule_ReplyWithError(ctx, "ERR no thread");
}

static int ready(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    (void)argc;
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "LINDEX", "sc", RedisModule_GetBlockedClientReadyKey(ctx), "0");
    if (!reply || RedisModule_CallReplyType(reply) != REDISMODULE_REPLY_STRING) return REDISMODULE_ERR;
    RedisModule_ReplyWithCallReply(ctx, reply);
    RedisModule_FreeCallReply(reply);
    return REDISMODULE_OK;
}

static int blockingGet(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    RedisModule_BlockClientOnKeys(ctx, ready, NULL, NULL, 0, argv + 1, 1, NULL);
    return REDISMODULE_OK;
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    int write = argc == 1 && !strcmp(RedisModule_StringPtrLen(argv[0], NULL), "write");
    if (RedisModule_Init(ctx, "cadtest", 1, REDISMODULE_APIVER_1) == REDISMODULE_ERR ||
        RedisModule_CreateCommand(ctx, "cadtest.get", get, write ? "write" : "readonly", 1, 1, 1) == REDISMODULE_ERR ||
        RedisModule_CreateCommand(ctx, "cadtest.call", call, "", 0, 0, 0) == REDISMODULE_ERR ||
        RedisModule_CreateCommand(ctx, "cadtest.thread", thread, "readonly", 1, 1, 1) == REDISMODULE_ERR ||
        RedisModule_CreateCommand(ctx, "cadtest.bget", blockingGet, "readonly", 1, 1, 1) == REDISMODULE_ERR)
        return REDISMODULE_ERR;
    return REDISMODULE_OK;
}
