/* SPDX-License-Identifier: Apache-2.0
 * Whatever kernels write into the model NIC's queues, other PEs tell of theirs, and
 * GSHMEM_NIC_MODEL says: entries touch the memory of their keys alone, positions never run past
 * what may be taken, and what a kernel makes of a completion is a position within a lap of what it
 * knows. */
#include "tests/fuzz/fuzz.h"

#include "nic/model/create.h"
#include "nic/model/model.h"
#include "nic/model/round.h"

enum { DEPTH = 256, HEAP = 4096, STEPS = 64, ROUNDS = 500 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

static void on_fail(void *context, int pe, bool is_silent, const char *text)
{
    (void)pe, (void)is_silent;
    FUZZ_CHECK(text[0] != '\0');
    *(bool *)context = true;
}

static struct gsh_model *make(int me, const char *settings, bool *has_failed, uint8_t *heap)
{
    struct gsh_adapter_options options = {.my_pe = me,
                                          .n_pes = 2,
                                          .name = "model",
                                          .settings = settings,
                                          .n_queues = 1,
                                          .depth = DEPTH,
                                          .is_one_process = true,
                                          .context = has_failed,
                                          .fail = on_fail};
    struct gsh_adapter *a = NULL;
    FUZZ_CHECK(gsh_model_create(&options, &a) == GSH_OK);
    FUZZ_CHECK(a->ops->add_region(a, heap, 0, HEAP) == GSH_OK);
    return gsh_model_of(a);
}

static void join(struct gsh_model *model, struct gsh_model *other, struct gsh_adapter_site *site)
{
    struct gsh_adapter *a = &model->base;
    FUZZ_CHECK(a->ops->set_peer(a, 1 - a->options.my_pe, &other->address, sizeof(other->address)) ==
               GSH_OK);
    FUZZ_CHECK(a->ops->create_queue(a, 0, site) == GSH_OK);
    FUZZ_CHECK(a->ops->connect_queue(a, 0, 1 - a->options.my_pe, 0, 0) == GSH_OK);
    /* addresses of the process are not made up by others */
    model->port->sheet->keys[0].value = 0;
}

/* One block. Mode, bit 0: its index and queue are right; bit 1: its keys. */
static void write_block(struct fuzz_input *in, struct gsh_model *model, const uint64_t position,
                        struct gsh_wq_block *to, unsigned mode)
{
    uint64_t word[GSH_WQ_WORDS];
    for (unsigned i = 0; i < GSH_WQ_WORDS; i++) {
        word[i] = fuzz_take(in, 8);
    }
    if (mode & 1) {
        static const uint8_t opcodes[] = {GSH_WQ_NOP,       GSH_WQ_WRITE,    GSH_WQ_WRITE_IMM,
                                          GSH_WQ_READ,      GSH_WQ_CS,       GSH_WQ_FA,
                                          GSH_WQ_MASKED_CS, GSH_WQ_MASKED_FA};
        const uint32_t opmod = (uint32_t)word[0] & 0xff, ds = 1 + ((uint32_t)word[0] >> 8) % 8;
        gsh_wq_fill_control(word, opcodes[(word[0] >> 16) % sizeof(opcodes)], opmod, 1, ds,
                            (uint32_t)(word[1] & 0xff));
        word[0] = gsh_wq_at_position(word[0], position);
    }
    if (mode & 2) { /* addresses near the heap */
        word[2] = gsh_wq_be64(word[2] % (HEAP + 64));
        word[3] = gsh_wq_be32(model->peers[1].key);
        word[4] = gsh_wq_pair((uint32_t)word[4] % (HEAP + 64) |
                                  ((word[4] >> 60 & 1) != 0 ? GSH_WQ_INLINE_BIT : 0),
                              model->heap_key);
        word[5] = gsh_wq_be64(word[5] % (HEAP + 64));
    }
    memcpy(to, word, sizeof(word));
}

static void run(struct gsh_model *one, struct gsh_model *other)
{
    for (unsigned i = 0; i < ROUNDS && gsh_model_round(one) + gsh_model_round(other) > 0; i++) {
        const struct gsh_model_queue *q = &one->queues[0];
        FUZZ_CHECK(q->completed <= q->executed && q->executed <= q->taken);
        FUZZ_CHECK(q->taken - q->completed <= DEPTH);
    }
}

/* As kernels read it (device/post.cuh): *known is a position that is complete. */
static void read_completion(uint32_t last, uint64_t *known)
{
    FUZZ_CHECK(gsh_wq_completed_opcode(last) <= GSH_WQ_INVALID);
    if (gsh_wq_completed_opcode(last) == GSH_WQ_DONE) {
        const uint64_t done = gsh_wq_completed_end(last, *known);
        FUZZ_CHECK(done >= *known && done - *known <= UINT16_MAX);
        FUZZ_CHECK((uint16_t)(done - 1) == gsh_wq_be16((uint16_t)last));
        *known = done;
    }
}

static void fuzz_entries(struct fuzz_input *in)
{
    bool has_failed = false;
    uint8_t *heaps[2] = {calloc(1, HEAP), calloc(1, HEAP)};
    char settings[64];
    struct gsh_adapter_site sites[2];
    const unsigned delay = (unsigned)fuzz_take(in, 1), seed = (unsigned)fuzz_take(in, 1);
    const unsigned bells = (unsigned)fuzz_take(in, 1);
    snprintf(settings, sizeof(settings), "delay=%u,seed=%u,late_bell=%u,record=%u", delay % 2, seed,
             bells % 4, (bells & 4) == 0);
    struct gsh_model *one = make(0, settings, &has_failed, heaps[0]);
    struct gsh_model *other = make(1, settings, &has_failed, heaps[1]);
    join(one, other, &sites[0]);
    join(other, one, &sites[1]);
    uint8_t *memory = one->base.memory;
    struct gsh_wq_block *blocks = (void *)(memory + sites[0].entries);
    uint64_t head = 0, known = 0;
    for (unsigned step = 0; step < STEPS && in->bytes > 0; step++) {
        const unsigned mode = (unsigned)fuzz_take(in, 1);
        const uint64_t wrong = (mode & 4) != 0 ? fuzz_take(in, 2) : 0;
        write_block(in, one, head, &blocks[head % DEPTH], mode);
        head++;
        if (mode & 8) {
            if (sites[0].record != GSH_ADAPTER_NO_RECORD) {
                *(uint32_t *)(void *)(memory + sites[0].record) = gsh_wq_record(head + wrong);
            }
            *(uint64_t *)(void *)(memory + sites[0].doorbell) =
                gsh_wq_doorbell(head + (mode & 16 ? wrong : 0), 1 + (mode >> 5) % 2);
            run(one, other);
            uint32_t last;
            memcpy(&last, memory + sites[0].completion + GSH_WQ_COMPLETION_LAST, sizeof(last));
            read_completion(last, &known);
            FUZZ_CHECK(has_failed || known <= one->queues[0].completed);
        }
        read_completion((uint32_t)wrong << 8, &(uint64_t){head});
    }
    one->base.ops->destroy(&one->base);
    other->base.ops->destroy(&other->base);
    free(heaps[0]);
    free(heaps[1]);
}

/* What another PE tells of itself. */
static void fuzz_address(struct fuzz_input *in)
{
    bool has_failed = false;
    uint8_t *heap = calloc(1, HEAP), blob[sizeof(struct gsh_model_address) + 8];
    struct gsh_model *model = make(0, "", &has_failed, heap);
    struct gsh_model_address address;
    const unsigned mode = (unsigned)fuzz_take(in, 1);
    fuzz_take_bytes(in, blob, sizeof(blob));
    memcpy(&address, blob, sizeof(address));
    if (mode & 1) { /* of this process, where ports have numbers */
        address.process = model->address.process;
        address.id = model->address.id + (mode >> 1) % 2;
    }
    address.pid = model->address.pid;
    address.fd = (int32_t)((uint32_t)address.fd % 8);
    address.n_links %= 4096;
    memcpy(blob, &address, sizeof(address));
    const size_t bytes = mode & 64 ? mode % sizeof(blob) : sizeof(address);
    if (model->base.ops->set_peer(&model->base, 1, blob, bytes) == GSH_OK) {
        FUZZ_CHECK(bytes == sizeof(address) && model->peers[1].view.sheet != NULL);
    }
    model->base.ops->destroy(&model->base);
    free(heap);
}

static void fuzz_settings(struct fuzz_input *in)
{
    struct gsh_model_settings s;
    char *text = fuzz_take_text(in);
    if (gsh_model_read_settings(text, &s) == GSH_OK) {
        FUZZ_CHECK(s.lose_pe >= -1 && s.deny_pe >= -1 && s.break_pe >= -1);
    }
    free(text);
}

/* First byte: which. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    switch (fuzz_take(&in, 1) % 8) {
    case 0:
        fuzz_settings(&in);
        break;
    case 1:
        fuzz_address(&in);
        break;
    default:
        fuzz_entries(&in);
    }
    return 0;
}
