/* SPDX-License-Identifier: Apache-2.0
 * See names.h. */
#include "nic/names.h"

#include <stddef.h>
#include "wire/wq.h"

const char *gsh_nic_opcode_name(unsigned opcode)
{
    static const struct {
        unsigned opcode;
        const char *name;
    } names[] = {{GSH_WQ_NOP, "NOP"},
                 {GSH_WQ_WRITE, "WRITE"},
                 {GSH_WQ_WRITE_IMM, "WRITE_IMM"},
                 {GSH_WQ_READ, "READ"},
                 {GSH_WQ_CS, "compare-swap"},
                 {GSH_WQ_FA, "fetch-add"},
                 {GSH_WQ_MASKED_CS, "masked compare-swap"},
                 {GSH_WQ_MASKED_FA, "masked fetch-add"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].opcode == opcode) {
            return names[i].name;
        }
    }
    return NULL;
}

const char *gsh_nic_syndrome_name(unsigned syndrome)
{
    switch (syndrome) {
    case GSH_WQ_LOCAL_LENGTH:
        return "local length error";
    case GSH_WQ_LOCAL_OPERATION:
        return "local operation error";
    case GSH_WQ_LOCAL_PROTECTION:
        return "local protection error: the local key does not allow it";
    case GSH_WQ_FLUSHED:
        return "flushed: an entry before it has failed";
    case GSH_WQ_REMOTE_INVALID:
        return "remote invalid request";
    case GSH_WQ_REMOTE_ACCESS:
        return "remote access error: the remote key does not allow it";
    case GSH_WQ_REMOTE_OPERATION:
        return "remote operation error";
    case GSH_WQ_RETRY_EXCEEDED:
        return "retries exceeded: the other end does not answer";
    default:
        return "unknown";
    }
}
