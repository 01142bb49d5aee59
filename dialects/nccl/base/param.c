/* SPDX-License-Identifier: Apache-2.0
 * NCCL's parameters: there are none. gshmem is configured by environment variables. */
#include <stddef.h>
#include "dialects/nccl/base/error.h"

static ncclResult_t no_parameter(const char *call, const char *key)
{
    return gsh_nccl_fail(ncclInvalidArgument, "%s: there is no parameter %s", call,
                         key != NULL ? key : "(NULL)");
}

static ncclResult_t no_handle(const char *call, const void *h)
{
    return gsh_nccl_fail(ncclInvalidArgument, "%s: %p is no parameter", call, h);
}

ncclResult_t ncclParamBind(ncclParamHandle_t **out, const char *key)
{
    (void)out;
    return no_parameter("ncclParamBind", key);
}

ncclResult_t ncclParamGetParameter(const char *key, const char **value, int *valueLen)
{
    (void)value, (void)valueLen;
    return no_parameter("ncclParamGetParameter", key);
}

ncclResult_t ncclParamGetAllParameterKeys(const char ***table, int *tableLen)
{
    static const char *none[1];
    if (table == NULL || tableLen == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "ncclParamGetAllParameterKeys: a pointer for a result is NULL");
    }
    *table = none;
    *tableLen = 0;
    return ncclSuccess;
}

void ncclParamDumpAll(void) {}

ncclResult_t ncclParamGet(ncclParamHandle_t *h, void *out, int maxLen, int *len)
{
    (void)out, (void)maxLen, (void)len;
    return no_handle("ncclParamGet", h);
}

ncclResult_t ncclParamGetStr(ncclParamHandle_t *h, const char **out)
{
    (void)out;
    return no_handle("ncclParamGetStr", h);
}

#define GET(SUFFIX, TYPE)                                              \
    ncclResult_t ncclParamGet##SUFFIX(ncclParamHandle_t *h, TYPE *out) \
    {                                                                  \
        (void)out;                                                     \
        return no_handle("ncclParamGet" #SUFFIX, h);                   \
    }
GET(I8, int8_t)
GET(I16, int16_t)
GET(I32, int32_t)
GET(I64, int64_t)
GET(U8, uint8_t)
GET(U16, uint16_t)
GET(U32, uint32_t)
GET(U64, uint64_t)
#undef GET
