/* SPDX-License-Identifier: Apache-2.0
 * The entries, doorbells and completions of wire/wq.h: each byte of what the encoder writes, and,
 * where the system has the header of mlx5, that its structs and numbers are the same. */
#include "tests/test.h"
#include <stddef.h>
#include "wire/wq.h"

#ifdef GSH_HAVE_MLX5DV
#include <infiniband/mlx5dv.h>

#define SAME_SIZE(ours, theirs) GSH_WQ_ASSERT(sizeof(struct ours) == sizeof(struct theirs), #ours)
#define SAME(ours, field, theirs, its) \
    GSH_WQ_ASSERT(offsetof(struct ours, field) == offsetof(struct theirs, its), #ours "." #field)

SAME_SIZE(gsh_wq_control, mlx5_wqe_ctrl_seg);
SAME(gsh_wq_control, opmod_index_opcode, mlx5_wqe_ctrl_seg, opmod_idx_opcode);
SAME(gsh_wq_control, number_ds, mlx5_wqe_ctrl_seg, qpn_ds);
SAME(gsh_wq_control, signature, mlx5_wqe_ctrl_seg, signature);
SAME(gsh_wq_control, flags, mlx5_wqe_ctrl_seg, fm_ce_se);
SAME(gsh_wq_control, immediate, mlx5_wqe_ctrl_seg, imm);
SAME_SIZE(gsh_wq_remote, mlx5_wqe_raddr_seg);
SAME(gsh_wq_remote, address, mlx5_wqe_raddr_seg, raddr);
SAME(gsh_wq_remote, key, mlx5_wqe_raddr_seg, rkey);
SAME_SIZE(gsh_wq_data, mlx5_wqe_data_seg);
SAME(gsh_wq_data, bytes, mlx5_wqe_data_seg, byte_count);
SAME(gsh_wq_data, key, mlx5_wqe_data_seg, lkey);
SAME(gsh_wq_data, address, mlx5_wqe_data_seg, addr);
SAME_SIZE(gsh_wq_atomic, mlx5_wqe_atomic_seg);
SAME(gsh_wq_atomic, swap_add, mlx5_wqe_atomic_seg, swap_add);
SAME(gsh_wq_atomic, compare, mlx5_wqe_atomic_seg, compare);
SAME_SIZE(gsh_wq_completion, mlx5_cqe64);
SAME(gsh_wq_completion, immediate, mlx5_cqe64, imm_inval_pkey);
SAME(gsh_wq_completion, bytes, mlx5_cqe64, byte_cnt);
SAME(gsh_wq_completion, opcode_number, mlx5_cqe64, sop_drop_qpn);
SAME(gsh_wq_completion, index, mlx5_cqe64, wqe_counter);
SAME(gsh_wq_completion, signature, mlx5_cqe64, signature);
SAME(gsh_wq_completion, op_own, mlx5_cqe64, op_own);
SAME_SIZE(gsh_wq_completion, mlx5_err_cqe);
SAME(gsh_wq_completion, vendor_syndrome, mlx5_err_cqe, vendor_err_synd);
SAME(gsh_wq_completion, syndrome, mlx5_err_cqe, syndrome);
SAME(gsh_wq_completion, opcode_number, mlx5_err_cqe, s_wqe_opcode_qpn);
SAME(gsh_wq_completion, index, mlx5_err_cqe, wqe_counter);

#define SAME_NUMBER(ours, theirs) GSH_WQ_ASSERT((int)(ours) == (int)(theirs), #ours)
SAME_NUMBER(GSH_WQ_NOP, MLX5_OPCODE_NOP);
SAME_NUMBER(GSH_WQ_WRITE, MLX5_OPCODE_RDMA_WRITE);
SAME_NUMBER(GSH_WQ_WRITE_IMM, MLX5_OPCODE_RDMA_WRITE_IMM);
SAME_NUMBER(GSH_WQ_READ, MLX5_OPCODE_RDMA_READ);
SAME_NUMBER(GSH_WQ_CS, MLX5_OPCODE_ATOMIC_CS);
SAME_NUMBER(GSH_WQ_FA, MLX5_OPCODE_ATOMIC_FA);
SAME_NUMBER(GSH_WQ_MASKED_CS, MLX5_OPCODE_ATOMIC_MASKED_CS);
SAME_NUMBER(GSH_WQ_MASKED_FA, MLX5_OPCODE_ATOMIC_MASKED_FA);
SAME_NUMBER(GSH_WQ_FENCE, MLX5_WQE_CTRL_FENCE);
SAME_NUMBER(GSH_WQ_COMPLETE, MLX5_WQE_CTRL_CQ_UPDATE);
SAME_NUMBER(GSH_WQ_INLINE_BIT, MLX5_INLINE_SEG);
SAME_NUMBER(GSH_WQ_BLOCK, MLX5_SEND_WQE_BB);
SAME_NUMBER(GSH_WQ_DONE, MLX5_CQE_REQ);
SAME_NUMBER(GSH_WQ_GOT_WRITE_IMM, MLX5_CQE_RESP_WR_IMM);
SAME_NUMBER(GSH_WQ_ERROR, MLX5_CQE_REQ_ERR);
SAME_NUMBER(GSH_WQ_INVALID, MLX5_CQE_INVALID);
SAME_NUMBER(GSH_WQ_LOCAL_LENGTH, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
SAME_NUMBER(GSH_WQ_LOCAL_OPERATION, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
SAME_NUMBER(GSH_WQ_LOCAL_PROTECTION, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
SAME_NUMBER(GSH_WQ_FLUSHED, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
SAME_NUMBER(GSH_WQ_REMOTE_INVALID, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
SAME_NUMBER(GSH_WQ_REMOTE_ACCESS, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
SAME_NUMBER(GSH_WQ_REMOTE_OPERATION, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
SAME_NUMBER(GSH_WQ_RETRY_EXCEEDED, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
#endif

static void check_bytes(const void *memory, const char *expected)
{
    char text[2 * GSH_WQ_BLOCK + 1];
    const uint8_t *bytes = memory;
    for (size_t i = 0; i < strlen(expected) / 2; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    CHECK_STR(text, expected);
}

static void test_entry(void)
{
    struct gsh_wq_block b = {{0}};
    gsh_wq_fill_control(b.word, GSH_WQ_WRITE, 0, 0xabcdef, 3, GSH_WQ_COMPLETE | GSH_WQ_FENCE);
    gsh_wq_fill_remote(b.word, 0x0123456789abcdef, 0x00112233);
    gsh_wq_fill_data(b.word + 4, 0xfedcba9876543210, 0x40, 0x44556677);
    b.word[0] = gsh_wq_at_position(b.word[0], 0x5000000012345);
    check_bytes(&b, "00234508"
                    "abcdef03"
                    "00000088"
                    "00000000"
                    "0123456789abcdef"
                    "00112233"
                    "00000000"
                    "00000040"
                    "44556677"
                    "fedcba9876543210");
    gsh_wq_fill_control(b.word, GSH_WQ_MASKED_CS, GSH_WQ_MASKED_8, 1, 5, 0);
    check_bytes(&b, "09000014"
                    "00000105");
}

static void test_inline(void)
{
    struct gsh_wq_block b = {{0}};
    b.word[4] = gsh_wq_inline_bytes(28);
    check_bytes(&b.word[4], "8000001c");
    CHECK_EQ(gsh_wq_inline_ds(1), 3);
    CHECK_EQ(gsh_wq_inline_ds(12), 3);
    CHECK_EQ(gsh_wq_inline_ds(GSH_WQ_INLINE_MAX), 4);
    CHECK_EQ(gsh_wq_inline_ds(GSH_WQ_INLINE_MAX + 1), 5);
    CHECK_EQ(gsh_wq_inline_ds(GSH_WQ_INLINE2_MAX), 8);
}

static void test_doorbell(void)
{
    uint32_t record = gsh_wq_record(0x12345);
    uint64_t bell = gsh_wq_doorbell(0x12345, 0xabcdef);
    check_bytes(&record, "00002345");
    check_bytes(&bell, "00234500"
                       "abcdef00");
}

static uint32_t last_of(uint16_t index, unsigned opcode)
{
    struct gsh_wq_completion c = {.index = gsh_wq_be16(index), .op_own = (uint8_t)(opcode << 4)};
    uint32_t last;
    memcpy(&last, (const uint8_t *)&c + GSH_WQ_COMPLETION_LAST, sizeof(last));
    return last;
}

/* The position after a completed entry, from its 16 bits. */
static void test_completion(void)
{
    CHECK_EQ(gsh_wq_completed_opcode(last_of(0, GSH_WQ_ERROR)), GSH_WQ_ERROR);
    CHECK_EQ(gsh_wq_completed_opcode(last_of(0xffff, GSH_WQ_DONE)), GSH_WQ_DONE);
    CHECK_EQ(gsh_wq_completed_end(last_of(0, GSH_WQ_DONE), 0), 1);
    CHECK_EQ(gsh_wq_completed_end(last_of(7, GSH_WQ_DONE), 8), 8); /* nothing new */
    CHECK_EQ(gsh_wq_completed_end(last_of(2, GSH_WQ_DONE), 0x1fffe), 0x20003);
    for (uint64_t known = 0; known < 0x30000; known += 0x0fff) {
        for (uint64_t more = 0; more <= GSH_WQ_DEPTH_MAX; more += 0x7ff) {
            uint32_t last = last_of((uint16_t)(known + more - 1), GSH_WQ_DONE);
            CHECK_EQ(gsh_wq_completed_end(last, known), known + more);
        }
    }
}

int main(void)
{
#ifndef GSH_HAVE_MLX5DV
    puts("nic_wire: no infiniband/mlx5dv.h here: the layouts are compared with nothing");
#endif
    test_entry();
    test_inline();
    test_doorbell();
    test_completion();
    return test_result();
}
