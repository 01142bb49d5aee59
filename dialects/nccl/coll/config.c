/* SPDX-License-Identifier: Apache-2.0
 * See config.h. */
#include "dialects/nccl/coll/config.h"

#include <string.h>
#include "dialects/nccl/coll/selection.h"
#include "dialects/nccl/comm/launch.h"
#include "dialects/nccl/group/group.h"
#include "runtime/layer.h"

enum { LEAST_VERSION = 22800, MOST_CLUSTER = 8, MOST_POLICY = 3 };
/* 2.31's ends there. */
#define LEAST_BYTES offsetof(ncclCollConfig_t, launchCompletionEvent)

static _Thread_local bool has_config;
static _Thread_local struct gsh_nccl_coll_config kept;

static ncclResult_t refuse_value(const char *call, const char *field, int value)
{
    return gsh_nccl_fail(ncclInvalidArgument, "%s: %s is %d in the config", call, field, value);
}

static bool is_within(int value, int least, int most)
{
    return value == NCCL_CONFIG_UNDEF_INT || (value >= least && value <= most);
}

static ncclResult_t check_values(const char *call, const ncclCollConfig_t *c)
{
    const struct {
        const char *name;
        int value, least, most;
    } fields[] = {
        {"minCTAs", c->minCTAs, 1, INT_MAX},
        {"maxCTAs", c->maxCTAs, 1, INT_MAX},
        {"nvlsCTAs", c->nvlsCTAs, 1, INT_MAX},
        {"cgaClusterSize", c->cgaClusterSize, 0, MOST_CLUSTER},
        {"forceAlgSelection", c->forceAlgSelection, 0, 1},
        {"CTAPolicy", c->CTAPolicy, 0, MOST_POLICY},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (!is_within(fields[i].value, fields[i].least, fields[i].most)) {
            return refuse_value(call, fields[i].name, fields[i].value);
        }
    }
    return c->minCTAs != NCCL_CONFIG_UNDEF_INT && !is_within(c->maxCTAs, c->minCTAs, INT_MAX)
               ? gsh_nccl_fail(ncclInvalidArgument,
                               "%s: minCTAs is %d and maxCTAs %d in the config", call, c->minCTAs,
                               c->maxCTAs)
               : ncclSuccess;
}

/* Whether it has fields that this library does not know, and sets one. */
static bool sets_more(const ncclCollConfig_t *c)
{
    enum { MOST = 4096 };
    const char *bytes = (const char *)c;
    if (c->size > MOST) {
        return true;
    }
    for (size_t at = sizeof(*c); at + sizeof(int) <= c->size; at += sizeof(int)) {
        int word;
        memcpy(&word, bytes + at, sizeof(word));
        if (word != NCCL_CONFIG_UNDEF_INT && word != 0) {
            return true;
        }
    }
    return false;
}

/* No launch has more. */
static unsigned blocks_of(int n)
{
    return n == NCCL_CONFIG_UNDEF_INT        ? 0
           : n > GSH_NCCL_CONFIG_MOST_BLOCKS ? GSH_NCCL_CONFIG_MOST_BLOCKS
                                             : (unsigned)n;
}

ncclResult_t gsh_nccl_config_begin(const char *call, enum gsh_nccl_kind kind,
                                   const ncclCollConfig_t *config)
{
    ncclResult_t r = ncclSuccess;
    if (config == NULL) {
        return ncclSuccess;
    }
    if (config->magic != NCCL_API_MAGIC || config->size < LEAST_BYTES ||
        config->version < LEAST_VERSION) {
        r = gsh_nccl_fail(ncclInvalidArgument,
                          "%s: the config (size %zu, magic 0x%x, version %u) was not made by "
                          "NCCL_COLLCONFIG_INITIALIZER",
                          call, config->size, config->magic, config->version);
    } else if (sets_more(config)) {
        r = gsh_nccl_fail(ncclInvalidArgument,
                          "%s: the config (size %zu, version %u) is newer than this library, and "
                          "sets a field that it does not know",
                          call, config->size, config->version);
    } else {
        r = check_values(call, config);
    }
    if (r == ncclSuccess) {
        r = gsh_nccl_selection_check(call, kind, config->algSelection,
                                     config->forceAlgSelection == 0);
    }
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    has_config = true;
    kept = (struct gsh_nccl_coll_config){
        .least_blocks = blocks_of(config->minCTAs),
        .most_blocks = blocks_of(config->maxCTAs),
        .event = config->size > LEAST_BYTES ? config->launchCompletionEvent : NULL};
    return ncclSuccess;
}

ncclResult_t gsh_nccl_config_end(ncclResult_t r)
{
    has_config = false;
    return r;
}

static ncclResult_t run_configured(const struct gsh_nccl_call *call)
{
    const struct gsh_nccl_coll_config *c = &call->collective.config;
    const int error =
        c->event != NULL ? gsh_nccl_stream_ops()->record(c->event, call->collective.stream) : 0;
    if (error != 0) {
        return gsh_nccl_fail(ncclUnhandledCudaError,
                             "%s: launchCompletionEvent cannot be recorded: error %d", call->name,
                             error);
    }
    gshmemx_layer_limit_blocks(c->least_blocks, c->most_blocks);
    ncclResult_t r = call->configured(call);
    gshmemx_layer_limit_blocks(0, 0);
    return r;
}

void gsh_nccl_config_apply(struct gsh_nccl_call *call)
{
    if (has_config) {
        call->collective.config = kept;
        call->configured = call->run;
        call->run = run_configured;
    }
}
