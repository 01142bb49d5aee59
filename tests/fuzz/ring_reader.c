/* SPDX-License-Identifier: Apache-2.0
 * Whatever a kernel writes into a ring: the reader takes whole requests for PEs that exist, with
 * ranges that do not wrap around, or refuses the ring for good. */
#include "tests/fuzz/fuzz.h"

#include "proxy/ring/reader.h"
#include "wire/far_op.h"

#define SLOTS GSH_RING_MIN_SLOTS

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

static void check_range(uint64_t start, uint64_t bytes)
{
    FUZZ_CHECK(bytes > 0 && bytes <= UINT64_MAX - start);
}

static void check_strided(uint64_t start, ptrdiff_t stride, const struct gsh_request *q)
{
    __uint128_t bytes = (__uint128_t)(q->nelems - 1) * (uint64_t)stride + 1;
    FUZZ_CHECK(q->nelems > 0 && q->elem_bytes > 0 && stride >= 1);
    FUZZ_CHECK(bytes <= UINT64_MAX && bytes * q->elem_bytes <= UINT64_MAX - start);
}

static void check(const struct gsh_request *q, int n_pes, uint64_t before)
{
    FUZZ_CHECK(q->pe >= 0 && q->pe < n_pes);
    FUZZ_CHECK(q->position > before && q->position <= before + GSH_RING_MAX_SLOTS);
    switch (q->op) {
    case GSH_FAR_PUT:
    case GSH_FAR_GET:
        check_range(q->remote_off, q->bytes);
        check_range((uintptr_t)q->local, q->bytes);
        break;
    case GSH_FAR_P:
        FUZZ_CHECK(q->local == NULL && q->bytes > 0 && q->bytes <= GSH_RING_INLINE_MAX);
        break;
    case GSH_FAR_PUT_SIGNAL:
        FUZZ_CHECK(q->bytes > 0);
        FUZZ_CHECK(q->local != NULL || q->bytes <= GSH_RING_SIGNAL_MAX);
        break;
    case GSH_FAR_G:
        FUZZ_CHECK(q->word_bytes <= 8 && (q->word_bytes & (q->word_bytes - 1)) == 0);
        FUZZ_CHECK(q->word_bytes > 0 && q->is_fetch);
        break;
    case GSH_FAR_AMO:
        FUZZ_CHECK(gsh_amo_exists(q->amo_op, q->word_bytes));
        break;
    case GSH_FAR_IPUT:
    case GSH_FAR_IGET:
        check_strided(q->remote_off, q->remote_stride, q);
        check_strided((uintptr_t)q->local, q->local_stride, q);
        break;
    default:
        FUZZ_CHECK(q->op == GSH_FAR_FENCE || q->op == GSH_FAR_QUIET);
    }
}

/* First byte: bit 0, laps are as they should be; bit 1, the ring is in its second lap; bits 2-7,
 * where reading begins. Second byte: the number of PEs. Then the slots. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct gsh_ring_slot slots[SLOTS];
    static struct gsh_ring_cpu cpu;
    struct fuzz_input in = {data, bytes};
    struct gsh_ring_reader reader;
    struct gsh_request request;
    unsigned mode = (unsigned)fuzz_take(&in, 1);
    int n_pes = (int)fuzz_take(&in, 1) + 1;
    uint64_t at = (mode >> 2) * (SLOTS / 64) + (mode & 2 ? SLOTS : 0);
    cpu.cpu_tail = at;
    for (uint64_t i = 0; i < SLOTS; i++) { /* already read, or of the lap before */
        uint64_t lap = GSH_RING_LAP_BIT(at, SLOTS) ^ (i < at % SLOTS ? 0 : GSH_RING_LAP);
        slots[i] = (struct gsh_ring_slot){{lap, lap}};
    }
    for (uint64_t i = 0; i < SLOTS && in.bytes > 0; i++) {
        struct gsh_ring_slot *slot = &slots[(at + i) % SLOTS];
        for (int k = 0; k < 2; k++) {
            slot->word[k] = fuzz_take(&in, 8);
            if (mode & 1) {
                slot->word[k] &= ~GSH_RING_LAP;
                slot->word[k] |= GSH_RING_LAP_BIT(at + i, SLOTS);
            }
        }
    }
    FUZZ_CHECK(gsh_ring_reader_init(&reader, slots, SLOTS, &cpu, NULL, n_pes) == GSH_OK);
    for (uint64_t before = at;; before = reader.position) {
        bool has;
        enum gsh_result r = gsh_ring_reader_next(&reader, &request, &has);
        if (r != GSH_OK) {
            FUZZ_CHECK(r == GSH_ERR_BUG && !has);
            FUZZ_CHECK(gsh_ring_reader_next(&reader, &request, &has) == r && !has);
            break;
        }
        if (!has) {
            FUZZ_CHECK(cpu.cpu_tail == reader.position);
            break;
        }
        FUZZ_CHECK(reader.position == request.position && cpu.cpu_tail <= reader.position);
        FUZZ_CHECK(reader.position <= at + SLOTS);
        check(&request, n_pes, before);
        if (request.is_fetch) {
            gsh_ring_reader_reply(&reader, request.ticket, request.operand);
        }
    }
    return 0;
}
