/* SPDX-License-Identifier: Apache-2.0
 * Encryption of sockets, as NCCL lets programs ask for it: there is none. */
#include "dialects/nccl/base/error.h"

ncclResult_t ncclSetEncryption(const ncclEncryptionConfig_t *config)
{
    static const char call[] = "ncclSetEncryption";
    if (config == NULL || config->magic != NCCL_API_MAGIC || config->size < sizeof(*config) ||
        config->version < 22800) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: the config was not begun as NCCL_ENCRYPTION_CONFIG_INITIALIZER",
                             call);
    }
    if (config->mode == NCCL_ENCRYPTION_MODE_NONE) {
        return ncclSuccess;
    }
    if (config->mode != NCCL_ENCRYPTION_MODE_PSK) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: mode is %d in the config", call,
                             config->mode);
    }
    return gsh_nccl_fail(
        ncclInvalidUsage,
        "%s: nothing is encrypted: ranks prove the unique id's secret to each other, and what they "
        "tell each other carries tags under its key; keep the network between nodes private",
        call);
}
