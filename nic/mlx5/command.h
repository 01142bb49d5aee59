/* SPDX-License-Identifier: Apache-2.0
 * The commands of an mlx5 adapter that the plug-in gives, by way of mlx5dv_devx_*: names, places of
 * their fields in bits, and how to write and read them. All numbers are big-endian. A field lies in
 * one word of 32 bits, or is two words. */
#ifndef GSH_MLX5_COMMAND_H
#define GSH_MLX5_COMMAND_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

enum gsh_mlx5_opcode {
    GSH_MLX5_QUERY_HCA_CAP = 0x100,
    GSH_MLX5_CREATE_MKEY = 0x200,
    GSH_MLX5_CREATE_CQ = 0x400,
    GSH_MLX5_CREATE_QP = 0x500,
    GSH_MLX5_RESET_TO_INIT = 0x502,
    GSH_MLX5_INIT_TO_RECEIVE = 0x503,
    GSH_MLX5_RECEIVE_TO_SEND = 0x504,
};

/* A field begins at bit `at` of its structure. */
#define GSH_MLX5_FIELD(at, bits) ((at) << 8 | (bits))

/* ---- every command ---- */

#define GSH_MLX5_OPCODE     GSH_MLX5_FIELD(0x00, 16)
#define GSH_MLX5_OP_MOD     GSH_MLX5_FIELD(0x30, 16)
#define GSH_MLX5_OUT_STATUS GSH_MLX5_FIELD(0x00, 8)
#define GSH_MLX5_OUT_REASON GSH_MLX5_FIELD(0x20, 32)
#define GSH_MLX5_OUT_NUMBER GSH_MLX5_FIELD(0x48, 24) /* of what was created */
#define GSH_MLX5_OUT_BYTES  16
#define GSH_MLX5_IN_BYTES   272 /* create a queue or key, without its list, and modify a queue */

/* ---- completion queues ---- */

#define GSH_MLX5_CQ_CONTEXT     16 /* byte in the command */
#define GSH_MLX5_CQ_UMEM_OFFSET GSH_MLX5_FIELD(0x280, 64)
#define GSH_MLX5_CQ_UMEM_ID     GSH_MLX5_FIELD(0x2c0, 32)
#define GSH_MLX5_CQ_UMEM_VALID  GSH_MLX5_FIELD(0x2e0, 1)
#define GSH_MLX5_CQC_RECORD_UMEM                                    \
    GSH_MLX5_FIELD(0x06, 1) /* its doorbell record lies in one, too \
                             */
#define GSH_MLX5_CQC_COLLAPSED GSH_MLX5_FIELD(0x0b, 1)
#define GSH_MLX5_CQC_OVERRUN   GSH_MLX5_FIELD(0x0e, 1) /* it may run over */
#define GSH_MLX5_CQC_RECORD_ID GSH_MLX5_FIELD(0x20, 32)
#define GSH_MLX5_CQC_LOG_SIZE  GSH_MLX5_FIELD(0x63, 5)
#define GSH_MLX5_CQC_UAR       GSH_MLX5_FIELD(0x68, 24)
#define GSH_MLX5_CQC_EQ        GSH_MLX5_FIELD(0xb8, 8)
#define GSH_MLX5_CQC_RECORD    GSH_MLX5_FIELD(0x1c0, 64)

/* ---- queue pairs ---- */

#define GSH_MLX5_QP_NUMBER      GSH_MLX5_FIELD(0x48, 24) /* which one a command modifies */
#define GSH_MLX5_QP_CONTEXT     24                       /* byte in each of these commands */
#define GSH_MLX5_QP_UMEM_OFFSET GSH_MLX5_FIELD(0x800, 64)
#define GSH_MLX5_QP_UMEM_ID     GSH_MLX5_FIELD(0x840, 32)
#define GSH_MLX5_QP_UMEM_VALID  GSH_MLX5_FIELD(0x860, 1)

#define GSH_MLX5_QPC_KIND         GSH_MLX5_FIELD(0x08, 8) /* 0: a reliable connection */
#define GSH_MLX5_QPC_PATH_STATE   GSH_MLX5_FIELD(0x13, 2)
#define GSH_MLX5_QPC_PD           GSH_MLX5_FIELD(0x28, 24)
#define GSH_MLX5_QPC_MTU          GSH_MLX5_FIELD(0x40, 3)
#define GSH_MLX5_QPC_LOG_MESSAGE  GSH_MLX5_FIELD(0x43, 5)
#define GSH_MLX5_QPC_LOG_SEND     GSH_MLX5_FIELD(0x51, 4) /* blocks */
#define GSH_MLX5_QPC_CLOCK        GSH_MLX5_FIELD(0x58, 2)
#define GSH_MLX5_QPC_UAR          GSH_MLX5_FIELD(0x68, 24)
#define GSH_MLX5_QPC_USER_INDEX   GSH_MLX5_FIELD(0x88, 24)
#define GSH_MLX5_QPC_REMOTE       GSH_MLX5_FIELD(0xa8, 24)
#define GSH_MLX5_QPC_LOG_SENT     GSH_MLX5_FIELD(0x388, 3) /* READs and atomics under way */
#define GSH_MLX5_QPC_RETRY        GSH_MLX5_FIELD(0x38d, 3)
#define GSH_MLX5_QPC_RETRY_BUSY   GSH_MLX5_FIELD(0x390, 3)
#define GSH_MLX5_QPC_SEND_CQ      GSH_MLX5_FIELD(0x3e8, 24)
#define GSH_MLX5_QPC_LOG_RECEIVED GSH_MLX5_FIELD(0x488, 3) /* as LOG_SENT, of the other end's */
#define GSH_MLX5_QPC_ATOMICS      GSH_MLX5_FIELD(0x48c, 4)
#define GSH_MLX5_QPC_MAY_READ     GSH_MLX5_FIELD(0x490, 1)
#define GSH_MLX5_QPC_MAY_WRITE    GSH_MLX5_FIELD(0x491, 1)
#define GSH_MLX5_QPC_MAY_ATOMIC   GSH_MLX5_FIELD(0x492, 1)
#define GSH_MLX5_QPC_BUSY_DELAY   GSH_MLX5_FIELD(0x4a3, 5)
#define GSH_MLX5_QPC_RECEIVE_CQ   GSH_MLX5_FIELD(0x4e8, 24)
#define GSH_MLX5_QPC_RECORD       GSH_MLX5_FIELD(0x500, 64)
#define GSH_MLX5_QPC_RECEIVES     GSH_MLX5_FIELD(0x565, 3)
#define GSH_MLX5_QPC_RECORD_UMEM  GSH_MLX5_FIELD(0x683, 1)
#define GSH_MLX5_QPC_RECORD_ID    GSH_MLX5_FIELD(0x720, 32)

/* The path to the other end, which begins at bit 0xc0 of that context. */
#define GSH_MLX5_PATH           24 /* byte in the context */
#define GSH_MLX5_PATH_PKEY      GSH_MLX5_FIELD(0x10, 16)
#define GSH_MLX5_PATH_GRH       GSH_MLX5_FIELD(0x28, 1)
#define GSH_MLX5_PATH_LID       GSH_MLX5_FIELD(0x30, 16)
#define GSH_MLX5_PATH_TIMEOUT   GSH_MLX5_FIELD(0x40, 5)
#define GSH_MLX5_PATH_GID_INDEX GSH_MLX5_FIELD(0x48, 8)
#define GSH_MLX5_PATH_HOPS      GSH_MLX5_FIELD(0x58, 8)
#define GSH_MLX5_PATH_CLASS     GSH_MLX5_FIELD(0x64, 8)
#define GSH_MLX5_PATH_GID       16 /* byte in the path; 16 bytes */
#define GSH_MLX5_PATH_DSCP      GSH_MLX5_FIELD(0x10a, 6)
#define GSH_MLX5_PATH_UDP_PORT  GSH_MLX5_FIELD(0x110, 16)
#define GSH_MLX5_PATH_PRIORITY  GSH_MLX5_FIELD(0x121, 3)
#define GSH_MLX5_PATH_LEVEL     GSH_MLX5_FIELD(0x124, 4)
#define GSH_MLX5_PATH_PORT      GSH_MLX5_FIELD(0x128, 8)
#define GSH_MLX5_PATH_MAC_HIGH  GSH_MLX5_FIELD(0x130, 16)
#define GSH_MLX5_PATH_MAC_LOW   GSH_MLX5_FIELD(0x140, 32)

enum {
    GSH_MLX5_PATH_MIGRATED = 3,
    GSH_MLX5_NO_RECEIVES = 3,
    GSH_MLX5_ATOMICS_TO_8_BYTES = 3,
    GSH_MLX5_NO_USER_INDEX = 0xffffff,
};

/* ---- keys ---- */

#define GSH_MLX5_KEY_CONTEXT       16                        /* byte in the command */
#define GSH_MLX5_KEY_LIST_BYTES    GSH_MLX5_FIELD(0x300, 32) /* in units of 16 */
#define GSH_MLX5_KEYC_ATOMIC       GSH_MLX5_FIELD(0x11, 1)
#define GSH_MLX5_KEYC_REMOTE_WRITE GSH_MLX5_FIELD(0x12, 1)
#define GSH_MLX5_KEYC_REMOTE_READ  GSH_MLX5_FIELD(0x13, 1)
#define GSH_MLX5_KEYC_LOCAL_WRITE  GSH_MLX5_FIELD(0x14, 1)
#define GSH_MLX5_KEYC_LOCAL_READ   GSH_MLX5_FIELD(0x15, 1)
#define GSH_MLX5_KEYC_MODE         GSH_MLX5_FIELD(0x16, 2)
#define GSH_MLX5_KEYC_QP           GSH_MLX5_FIELD(0x20, 24)
#define GSH_MLX5_KEYC_VARIANT      GSH_MLX5_FIELD(0x38, 8)
#define GSH_MLX5_KEYC_PD           GSH_MLX5_FIELD(0x68, 24)
#define GSH_MLX5_KEYC_START        GSH_MLX5_FIELD(0x80, 64)
#define GSH_MLX5_KEYC_BYTES        GSH_MLX5_FIELD(0xc0, 64)
#define GSH_MLX5_KEYC_LIST_BYTES   GSH_MLX5_FIELD(0x1a0, 32)

enum {
    GSH_MLX5_KEY_OF_KEYS = 2, /* a mode: a list of pieces of other keys */
    GSH_MLX5_ANY_QP = 0xffffff,
};

/* A piece of another key, one after the other from the key's first address on. */
struct gsh_mlx5_piece {
    uint32_t bytes, key; /* big-endian, as the next */
    uint64_t address;
};

/* ---- abilities ---- */

#define GSH_MLX5_CAP_BYTES      (16 + 4096)
#define GSH_MLX5_CAP_CONTEXT    16
#define GSH_MLX5_CAP_LOG_LIST   GSH_MLX5_FIELD(0x11a, 6) /* of the general ones */
#define GSH_MLX5_CAP_ROCE_CLOCK GSH_MLX5_FIELD(0x1e, 2)  /* of RoCE's */
#define GSH_MLX5_CAP_GENERAL    (0 << 1 | 1)             /* GSH_MLX5_OP_MOD: as they are now */
#define GSH_MLX5_CAP_ROCE       (4 << 1 | 1)

/* ---- fields ---- */

static inline void gsh_mlx5_set(uint8_t *context, uint32_t field, uint64_t value)
{
    const uint32_t at = field >> 8, bits = field & 0xff;
    uint32_t word;
    if (bits == 64) {
        value = htobe64(value);
        memcpy(context + at / 8, &value, sizeof(value));
        return;
    }
    const uint32_t shift = 32 - at % 32 - bits;
    const uint32_t mask = (bits == 32 ? UINT32_MAX : (1u << bits) - 1) << shift;
    memcpy(&word, context + at / 32 * 4, sizeof(word));
    word = htobe32((be32toh(word) & ~mask) | ((uint32_t)value << shift & mask));
    memcpy(context + at / 32 * 4, &word, sizeof(word));
}

static inline uint64_t gsh_mlx5_get(const uint8_t *context, uint32_t field)
{
    const uint32_t at = field >> 8, bits = field & 0xff;
    uint64_t value;
    uint32_t word;
    if (bits == 64) {
        memcpy(&value, context + at / 8, sizeof(value));
        return be64toh(value);
    }
    memcpy(&word, context + at / 32 * 4, sizeof(word));
    word = be32toh(word) >> (32 - at % 32 - bits);
    return bits == 32 ? word : word & ((1u << bits) - 1);
}

#endif
