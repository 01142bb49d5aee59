/* SPDX-License-Identifier: Apache-2.0
 * The model adapter (nic/model), driven by hand: two PEs of one process, whose queues this file
 * writes entries into as kernels do. Each operation, what keys allow, errors and what follows them,
 * order, each injected fault, and each mistake that the model must find. Between processes: in the
 * end, by a child that writes into this process's memory. */
#include "tests/test.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "nic/model/model.h"
#include "nic/model/queue.h"
#include "nic/model/round.h"

enum { DEPTH = 256, HEAP = 8192, QUEUES = 2 };

struct pe {
    struct gsh_adapter *adapter;
    struct gsh_model *model;
    struct gsh_adapter_site sites[QUEUES];
    uint8_t *heap;
    uint64_t head[QUEUES];
    uint32_t key; /* of the other PE's heap */
    unsigned n_failed;
    char failed[320];
};

static struct pe pes[2];

/* As if the heaps lay in devices, which only copy reaches. */
static bool is_device, is_device_gone;
static unsigned n_copies;
/* Queues in memory of the device, which only copy reaches if the heaps lie there, too. */
static bool are_queues_in_device;

static enum gsh_result on_copy(void *context, void *dest, const void *source, uint64_t bytes)
{
    const struct pe *p = context;
    const uint8_t *d = dest, *s = source;
    const bool is_in_heap = (d >= p->heap && d + bytes <= p->heap + HEAP) ||
                            (s >= p->heap && s + bytes <= p->heap + HEAP);
    CHECK(is_in_heap || are_queues_in_device); /* its own PE's */
    n_copies++;
    memcpy(dest, source, bytes);
    return is_device_gone ? GSH_ERR_SYSTEM : GSH_OK;
}

static enum gsh_result on_allocate(void *context, uint64_t bytes, void **memory)
{
    (void)context;
    *memory = aligned_alloc(4096, bytes);
    CHECK(*memory != NULL);
    memset(*memory, 0, bytes);
    return GSH_OK;
}

static void on_release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static uint8_t *queue_memory(const struct pe *p)
{
    return are_queues_in_device ? p->adapter->device_memory : p->adapter->memory;
}

static void on_fail(void *context, int pe, bool is_silent, const char *text)
{
    struct pe *p = context;
    (void)pe;
    CHECK_EQ(is_silent, strstr(text, "does not answer") != NULL);
    p->n_failed++;
    snprintf(p->failed, sizeof(p->failed), "%s", text);
}

static void make(int me, const char *settings, bool is_one_process)
{
    struct pe *p = &pes[me];
    struct gsh_adapter_options options = {.my_pe = me,
                                          .n_pes = 2,
                                          .name = "model",
                                          .settings = settings,
                                          .n_queues = QUEUES,
                                          .depth = DEPTH,
                                          .is_one_process = is_one_process,
                                          .context = p,
                                          .copy = is_device ? on_copy : NULL,
                                          .in_device = are_queues_in_device,
                                          .allocate = on_allocate,
                                          .release = on_release,
                                          .fail = on_fail};
    int fd = memfd_create("heap", MFD_CLOEXEC);
    *p = (struct pe){0};
    CHECK_EQ(ftruncate(fd, HEAP), 0);
    p->heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(p->heap != MAP_FAILED);
    if (!CHECK_EQ(gsh_adapter_create(&options, &p->adapter), GSH_OK)) {
        exit(1);
    }
    p->model = (struct gsh_model *)p->adapter;
    CHECK_EQ(p->adapter->ops->add_region(p->adapter, p->heap, 0, HEAP), GSH_OK);
    close(fd); /* the adapter has its own */
}

static void join(int me, const void *address, size_t bytes)
{
    struct pe *p = &pes[me];
    const struct gsh_adapter_ops *ops = p->adapter->ops;
    CHECK_EQ(ops->set_peer(p->adapter, 1 - me, address, bytes), GSH_OK);
    p->key = ops->remote_key(p->adapter, 1 - me);
    for (uint32_t i = 0; i < QUEUES; i++) {
        CHECK_EQ(ops->create_queue(p->adapter, i, &p->sites[i]), GSH_OK);
        CHECK_EQ(ops->connect_queue(p->adapter, i, 1 - me, i, 0), GSH_OK);
    }
}

static void begin(const char *settings)
{
    const void *address;
    size_t bytes;
    make(0, settings, true);
    make(1, settings, true);
    for (int me = 0; me < 2; me++) {
        struct gsh_adapter *other = pes[1 - me].adapter;
        CHECK_EQ(other->ops->address(other, &address, &bytes), GSH_OK);
        join(me, address, bytes);
    }
}

static void end(void)
{
    for (int me = 0; me < 2; me++) {
        gsh_adapter_destroy(&pes[me].adapter);
        munmap(pes[me].heap, HEAP);
    }
}

static void run(void)
{
    for (unsigned i = 0; i < 100000; i++) {
        if (gsh_model_round(pes[0].model) + gsh_model_round(pes[1].model) == 0) {
            return;
        }
    }
    CHECK(!"the model does not come to an end");
}

/* ---- writing entries ---- */

static struct gsh_wq_block *block_at(struct pe *p, uint32_t q, uint64_t position)
{
    struct gsh_wq_block *all = (void *)(queue_memory(p) + p->sites[q].entries);
    return &all[position % DEPTH];
}

/* Writes an entry of these words from the third on, and a NOP if it takes two blocks. */
static void write_entry(struct pe *p, uint32_t q, uint32_t opcode, uint32_t opmod, uint32_t ds,
                        uint32_t flags, const uint64_t *words)
{
    struct gsh_wq_block b[2] = {0};
    uint64_t *all = (uint64_t *)(void *)b;
    gsh_wq_fill_control(all, opcode, opmod, p->sites[q].number, ds, flags);
    memcpy(all + 2, words, 8 * 2 * (size_t)(ds - 1));
    all[0] = gsh_wq_at_position(all[0], p->head[q]);
    for (uint32_t i = 0; i < (ds + 3) / 4; i++) {
        *block_at(p, q, p->head[q]++) = b[i];
    }
}

static void ring_at(struct pe *p, uint32_t q, uint64_t record, uint64_t bell)
{
    uint8_t *memory = p->adapter->memory;
    uint64_t *d = (uint64_t *)(void *)(memory + p->sites[q].doorbell);
    if (p->sites[q].record != GSH_ADAPTER_NO_RECORD) {
        uint32_t *r = (uint32_t *)(void *)(queue_memory(p) + p->sites[q].record);
        __atomic_store_n(r, gsh_wq_record(record), __ATOMIC_RELEASE);
    }
    __atomic_store_n(d, gsh_wq_doorbell(bell, p->sites[q].number), __ATOMIC_RELEASE);
}

static void ring(struct pe *p, uint32_t q)
{
    ring_at(p, q, p->head[q], p->head[q]);
}

static struct gsh_wq_completion *completion(struct pe *p, uint32_t q)
{
    return (void *)((uint8_t *)p->adapter->memory + p->sites[q].completion);
}

static void copy_entry(struct pe *p, uint32_t q, uint32_t opcode, uint64_t remote, uint32_t rkey,
                       const void *local, uint32_t bytes, uint32_t lkey, uint32_t flags)
{
    uint64_t w[4] = {gsh_wq_be64(remote), gsh_wq_be32(rkey)};
    gsh_wq_fill_data(w + 2, (uint64_t)(uintptr_t)local, bytes, lkey);
    write_entry(p, q, opcode, 0, 3, flags | GSH_WQ_COMPLETE, w);
}

static void put(struct pe *p, uint32_t q, uint64_t remote, const void *local, uint32_t bytes)
{
    copy_entry(p, q, GSH_WQ_WRITE, remote, p->key, local, bytes, p->adapter->local_key, 0);
}

static void get(struct pe *p, uint32_t q, uint64_t remote, void *local, uint32_t bytes)
{
    copy_entry(p, q, GSH_WQ_READ, remote, p->key, local, bytes, p->adapter->local_key, 0);
}

static uint64_t former; /* of atomics */

static void atomic8(struct pe *p, uint32_t q, uint32_t opcode, uint64_t remote, uint64_t a,
                    uint64_t b)
{
    uint64_t w[6] = {gsh_wq_be64(remote), gsh_wq_be32(p->key), gsh_wq_be64(a), gsh_wq_be64(b)};
    gsh_wq_fill_data(w + 4, (uint64_t)(uintptr_t)&former, 8, p->adapter->local_key);
    write_entry(p, q, opcode, opcode == GSH_WQ_MASKED_FA ? GSH_WQ_MASKED_8 : 0, 4, GSH_WQ_COMPLETE,
                w);
}

static void atomic4(struct pe *p, uint32_t q, uint32_t opcode, uint64_t remote, uint32_t a,
                    uint32_t b, uint32_t c, uint32_t d)
{
    uint64_t w[6] = {gsh_wq_be64(remote), gsh_wq_be32(p->key), gsh_wq_pair(a, b),
                     gsh_wq_pair(c, d)};
    gsh_wq_fill_data(w + 4, (uint64_t)(uintptr_t)&former, 4, p->adapter->local_key);
    write_entry(p, q, opcode, GSH_WQ_MASKED_4, 4, GSH_WQ_COMPLETE, w);
}

static void masked8(struct pe *p, uint32_t q, uint64_t remote, uint64_t swap, uint64_t compare,
                    uint64_t swap_mask, uint64_t compare_mask)
{
    uint64_t w[8] = {gsh_wq_be64(remote),  gsh_wq_be32(p->key),    gsh_wq_be64(swap),
                     gsh_wq_be64(compare), gsh_wq_be64(swap_mask), gsh_wq_be64(compare_mask)};
    gsh_wq_fill_data(w + 6, (uint64_t)(uintptr_t)&former, 8, p->adapter->local_key);
    write_entry(p, q, GSH_WQ_MASKED_CS, GSH_WQ_MASKED_8, 5, GSH_WQ_COMPLETE, w);
}

static void go(struct pe *p, uint32_t q)
{
    former = 0;
    ring(p, q);
    run();
    CHECK_STR(p->failed, "");
}

static uint64_t *word_of(int pe, uint64_t off)
{
    return (uint64_t *)(void *)(pes[pe].heap + off);
}

/* ---- what it does ---- */

static void test_copies(void)
{
    static uint8_t source[3000], back[3000];
    struct pe *p = &pes[0];
    uint64_t w[10] = {gsh_wq_be64(4096), 0};
    begin("");
    for (unsigned i = 0; i < sizeof(source); i++) {
        source[i] = (uint8_t)(7 * i + 3);
    }
    put(p, 0, 17, source, sizeof(source));
    get(p, 0, 17, back, sizeof(back));
    go(p, 0);
    CHECK_EQ(memcmp(source, pes[1].heap + 17, sizeof(source)), 0);
    CHECK_EQ(memcmp(source, back, sizeof(source)), 0);
    CHECK_EQ(gsh_wq_be16(completion(p, 0)->index), 1);

    w[1] = gsh_wq_be32(p->key); /* inline, of two blocks */
    uint8_t *to = (uint8_t *)w + 20;
    w[2] = gsh_wq_inline_bytes(50);
    memcpy(to, source, 50);
    write_entry(p, 0, GSH_WQ_WRITE, 0, gsh_wq_inline_ds(50), GSH_WQ_COMPLETE, w);
    go(p, 0);
    CHECK_EQ(memcmp(source, pes[1].heap + 4096, 50), 0);

    w[0] = gsh_wq_be64(5000); /* three segments, of which one is inline */
    gsh_wq_fill_data(w + 2, (uint64_t)(uintptr_t)source, 100, p->adapter->local_key);
    gsh_wq_fill_data(w + 4, (uint64_t)(uintptr_t)(source + 1000), 11, p->adapter->local_key);
    w[6] = gsh_wq_inline_bytes(3) | (uint64_t)'a' << 32 | (uint64_t)'b' << 40 | (uint64_t)'c' << 48;
    w[7] = 0;
    write_entry(p, 0, GSH_WQ_WRITE, 0, 5, GSH_WQ_COMPLETE, w);
    go(p, 0);
    CHECK_EQ(memcmp(source, pes[1].heap + 5000, 100), 0);
    CHECK_EQ(memcmp(source + 1000, pes[1].heap + 5100, 11), 0);
    CHECK_EQ(memcmp("abc", pes[1].heap + 5111, 4), 0);
    end();
}

static void test_atomics(void)
{
    struct pe *p = &pes[0];
    uint64_t *at = word_of((begin(""), 1), 64);
    *at = 10;
    atomic8(p, 0, GSH_WQ_FA, 64, (uint64_t)-3, 0);
    go(p, 0);
    CHECK_EQ(*at, 7);
    CHECK_EQ(former, 10);
    atomic8(p, 0, GSH_WQ_CS, 64, 99, 8); /* swap, compare: unequal */
    go(p, 0);
    CHECK_EQ(*at, 7);
    atomic8(p, 0, GSH_WQ_CS, 64, 99, 7);
    go(p, 0);
    CHECK_EQ(*at, 99);
    CHECK_EQ(former, 7);
    *at = 0xff00ff00ff00ff00; /* xor: an add in which no bit carries */
    atomic8(p, 0, GSH_WQ_MASKED_FA, 64, 0x0ff00ff00ff00ff0, UINT64_MAX);
    go(p, 0);
    CHECK_EQ(*at, 0xff00ff00ff00ff00 ^ 0x0ff00ff00ff00ff0);
    *at = 0x00ff00ff; /* two fields of 32 bits: no carry between them */
    atomic8(p, 0, GSH_WQ_MASKED_FA, 64, 0x00000001ffffffff, 0x8000000080000000);
    go(p, 0);
    CHECK_EQ(*at, 0x0000000100ff00fe);
    masked8(p, 0, 64, 0xab00, 0x0100000000, 0xff00, 0xff00000000); /* a part, if another is so */
    go(p, 0);
    CHECK_EQ(*at, 0x0000000100ffabfe);
    CHECK_EQ(former, 0x0000000100ff00fe);
    masked8(p, 0, 64, 0, 0, UINT64_MAX, 0xff); /* compares unequal */
    go(p, 0);
    CHECK_EQ(*at, 0x0000000100ffabfe);
    *at = 0x5555555500000005; /* of 4 bytes: the upper half stays */
    atomic4(p, 0, GSH_WQ_MASKED_FA, 64, 0xffffffff, 0, 0, 0);
    go(p, 0);
    CHECK_EQ(*at, 0x5555555500000004);
    CHECK_EQ(former, 5);
    atomic4(p, 0, GSH_WQ_MASKED_CS, 68, 7, 0x55555555, 0xffffffff, 0xffffffff);
    go(p, 0);
    CHECK_EQ(*at, 0x0000000700000004);
    end();
}

/* A pattern of puts and adds over both queues, with several seeds: in each queue in order, and the
 * index goes round its 16 bits. */
static void test_order(void)
{
    struct pe *p = &pes[0];
    for (unsigned seed = 1; seed <= 3; seed++) {
        char settings[32];
        uint64_t value[DEPTH];
        snprintf(settings, sizeof(settings), "delay=2,seed=%u", seed);
        begin(settings);
        p->head[0] = 0;
        for (unsigned lap = 0; lap < 300; lap++) {
            for (unsigned i = 0; i < DEPTH; i++) {
                value[i] = lap * DEPTH + i;
                put(p, 0, 8, &value[i], 8);
            }
            ring(p, 0);
            run();
            CHECK_EQ(*word_of(1, 8), lap * DEPTH + DEPTH - 1);
        }
        CHECK(p->head[0] > 65536);
        CHECK_STR(p->failed, "");
        end();
    }
}

/* A WRITE may come before an earlier READ of the word, unless it is fenced; with some seed it
 * does. */
static unsigned overtakings(bool is_fenced)
{
    struct pe *p = &pes[0];
    unsigned n = 0;
    for (unsigned seed = 1; seed <= 60; seed++) {
        char settings[32];
        uint64_t seen = 5, value = 2;
        snprintf(settings, sizeof(settings), "delay=4,seed=%u", seed);
        begin(settings);
        *word_of(1, 8) = 1;
        get(p, 0, 8, &seen, 8);
        copy_entry(p, 0, GSH_WQ_WRITE, 8, p->key, &value, 8, p->adapter->local_key,
                   is_fenced ? GSH_WQ_FENCE : 0);
        go(p, 0);
        CHECK(seen == 1 || seen == 2);
        n += seen == 2;
        end();
    }
    return n;
}

static void test_immediate(void)
{
    struct pe *p = &pes[0];
    uint64_t value = 77, w[4] = {gsh_wq_be64(8), 0};
    begin("");
    pes[1].model->queues[0].link->n_receives = 1;
    w[1] = gsh_wq_be32(p->key);
    gsh_wq_fill_data(w + 2, (uint64_t)(uintptr_t)&value, 8, p->adapter->local_key);
    write_entry(p, 0, GSH_WQ_WRITE_IMM, 0, 3, GSH_WQ_COMPLETE, w);
    block_at(p, 0, 0)->word[1] |= (uint64_t)gsh_wq_be32(0x12345678) << 32;
    go(p, 0);
    CHECK_EQ(*word_of(1, 8), 77);
    CHECK_EQ(completion(&pes[1], 0)->op_own >> 4, GSH_WQ_GOT_WRITE_IMM);
    CHECK_EQ(gsh_wq_be32(completion(&pes[1], 0)->immediate), 0x12345678);
    end();
}

/* ---- errors ---- */

/* The entry that was written last fails so, those after it are flushed, and nothing follows. */
static void expect_error(struct pe *p, unsigned syndrome, const char *text)
{
    uint64_t value = 1, before = p->head[0] - 1;
    put(p, 0, 8, &value, 8);
    *word_of(1, 8) = 0;
    ring(p, 0);
    run();
    CHECK_EQ(p->n_failed, 1);
    if (strstr(p->failed, text) == NULL) {
        CHECK_STR(p->failed, text);
    }
    CHECK_EQ(*word_of(1, 8), 0);
    CHECK_EQ(completion(p, 0)->op_own >> 4, GSH_WQ_ERROR);
    CHECK_EQ(completion(p, 0)->syndrome, GSH_WQ_FLUSHED);
    CHECK_EQ(gsh_wq_be16(completion(p, 0)->index), (uint16_t)(before + 1));
    char expected[32];
    snprintf(expected, sizeof(expected), "syndrome 0x%02x", syndrome);
    CHECK(strstr(p->failed, expected) != NULL);
    end();
}

static void test_errors(void)
{
    struct pe *p = &pes[0];
    uint64_t value = 1;
    uint32_t key, local;
#define BEGIN                      \
    begin("delay=0");              \
    local = p->adapter->local_key; \
    key = p->key
    BEGIN;
    copy_entry(p, 0, GSH_WQ_WRITE, HEAP - 4, key, &value, 8, local, 0);
    expect_error(p, GSH_WQ_REMOTE_ACCESS, "queue 1 to PE 1, index 0: WRITE failed");
    BEGIN;
    copy_entry(p, 0, GSH_WQ_READ, 8, key + 1, &value, 8, local, 0);
    expect_error(p, GSH_WQ_REMOTE_ACCESS, "READ failed");
    BEGIN;
    copy_entry(p, 0, GSH_WQ_WRITE, 8, local, &value, 8, local, 0); /* not for others */
    expect_error(p, GSH_WQ_REMOTE_ACCESS, "the remote key does not allow it");
    BEGIN;
    copy_entry(p, 0, GSH_WQ_WRITE, 8, key, &value, 8, local + 7, 0);
    expect_error(p, GSH_WQ_LOCAL_PROTECTION, "the local key does not allow it");
    BEGIN;
    atomic8(p, 0, GSH_WQ_FA, 12, 1, 0);
    expect_error(p, GSH_WQ_REMOTE_INVALID, "fetch-add failed");
    BEGIN; /* of another protection domain */
    pes[1].model->port->sheet->keys[(key >> 8) - 1].domain = 2;
    put(p, 0, 16, &value, 8);
    expect_error(p, GSH_WQ_REMOTE_ACCESS, "WRITE failed");
    BEGIN; /* read-only */
    pes[1].model->port->sheet->keys[(key >> 8) - 1].rights = GSH_MODEL_REMOTE_READ;
    put(p, 0, 16, &value, 8);
    expect_error(p, GSH_WQ_REMOTE_ACCESS, "WRITE failed");
    BEGIN; /* a region that has gone */
    CHECK_EQ(pes[1].adapter->ops->remove_region(pes[1].adapter, 0), GSH_OK);
    put(p, 0, 16, &value, 8);
    expect_error(p, GSH_WQ_REMOTE_ACCESS, "WRITE failed");
    BEGIN; /* the other end is not ready */
    CHECK_EQ(gsh_model_set_state(&pes[1].model->queues[0], GSH_MODEL_RESET), GSH_OK);
    put(p, 0, 16, &value, 8);
    expect_error(p, GSH_WQ_RETRY_EXCEEDED, "the other end does not answer");
    BEGIN; /* no receive for it */
    copy_entry(p, 0, GSH_WQ_WRITE_IMM, 16, key, &value, 8, local, 0);
    expect_error(p, GSH_WQ_RETRY_EXCEEDED, "WRITE_IMM failed");
    BEGIN; /* the other PE has ended */
    gsh_model_port_close(pes[1].model->port);
    put(p, 0, 16, &value, 8);
    expect_error(p, GSH_WQ_RETRY_EXCEEDED, "does not answer");
#undef BEGIN
}

static void test_states(void)
{
    begin("");
    struct gsh_model_queue *q = &pes[0].model->queues[0];
    CHECK_EQ(gsh_model_set_state(q, GSH_MODEL_RESET), GSH_OK);
    CHECK_EQ(gsh_model_set_state(q, GSH_MODEL_TO_SEND), GSH_ERR_STATE);
    CHECK_EQ(gsh_model_set_state(q, GSH_MODEL_INIT), GSH_OK);
    CHECK_EQ(gsh_model_set_state(q, GSH_MODEL_INIT), GSH_ERR_STATE);
    CHECK_EQ(gsh_model_set_state(q, GSH_MODEL_TO_RECEIVE), GSH_OK);
    CHECK_EQ(gsh_model_set_state(q, GSH_MODEL_ERROR), GSH_OK);
    CHECK_EQ(gsh_model_set_state(q, GSH_MODEL_TO_SEND), GSH_ERR_STATE);
    end();
}

/* ---- faults ---- */

static void test_faults(void)
{
    static const char *const harmless[] = {"late_bell=3", "twice=2", "stale=3",
                                           "late_bell=2,twice=2,stale=2,seed=9"};
    struct pe *p = &pes[0];
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
        begin(harmless[i]);
        for (unsigned n = 0; n < 500; n++) {
            atomic8(p, n % QUEUES, GSH_WQ_FA, 64, 1, 0);
            ring(p, n % QUEUES);
            if (n % 5 == 0) {
                run();
            }
        }
        run();
        CHECK_EQ(*word_of(1, 64), 500);
        CHECK_STR(p->failed, "");
        end();
    }
    static const struct {
        const char *settings;
        unsigned syndrome;
    } deadly[] = {{"delay=0,lose=1@0", GSH_WQ_RETRY_EXCEEDED},
                  {"delay=0,deny=1@0", GSH_WQ_REMOTE_ACCESS},
                  {"delay=0,break=1@0", GSH_WQ_LOCAL_OPERATION}};
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
        uint64_t value = 1;
        begin(deadly[i].settings);
        put(p, 0, 16, &value, 8);
        expect_error(p, deadly[i].syndrome, "queue 1 to PE 1, index 0: WRITE failed");
    }
}

/* The queue goes to error in the middle of what a warp has posted by one doorbell: what came before
 * is there and nothing after it, one line names the entry, and all are over. */
static void test_failed_batch(void)
{
    enum { N = 32, AT = 11 };
    static const char *const settings[] = {"break=1@11", "deny=1@11", "lose=1@11"};
    static const char *const what[] = {"WRITE failed, syndrome 0x02", "WRITE failed, syndrome 0x13",
                                       "WRITE failed, syndrome 0x15"};
    struct pe *p = &pes[0];
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        uint64_t value[N];
        char expected[96];
        begin(settings[i]);
        for (unsigned k = 0; k < N; k++) {
            value[k] = k + 1;
            put(p, 0, 64 + 8 * k, &value[k], 8);
        }
        ring(p, 0);
        run();
        for (unsigned k = 0; k < N; k++) {
            CHECK_EQ(*word_of(1, 64 + 8 * k), k < AT ? k + 1 : 0);
        }
        snprintf(expected, sizeof(expected), "the NIC's queue 1 to PE 1, index %d: %s", AT,
                 what[i]);
        CHECK_EQ(p->n_failed, 1);
        CHECK_EQ(strncmp(p->failed, expected, strlen(expected)), 0);
        CHECK_EQ(completion(p, 0)->syndrome, GSH_WQ_FLUSHED);
        CHECK_EQ(gsh_wq_be16(completion(p, 0)->index), N - 1);
        end();
    }
}

/* ---- mistakes ---- */

static void expect_misuse(struct pe *p, const char *text)
{
    run();
    CHECK_EQ(p->n_failed, 1);
    CHECK_STR(p->failed, text);
    end();
}

static void test_mistakes(void)
{
    struct pe *p = &pes[0];
    uint64_t value = 1;
    begin(""); /* the doorbell before its entry */
    put(p, 0, 8, &value, 8);
    p->head[0]++;
    ring(p, 0);
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 1, byte 1: the doorbell rang before "
                     "the entry was visible: the block holds index 0");
    begin(""); /* before its record */
    put(p, 0, 8, &value, 8);
    ring_at(p, 0, 0, 1);
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 0, byte 0: the doorbell names index 1 "
                     "before the doorbell record does: it is stale");
    begin("delay=4"); /* an entry that is written again too early */
    put(p, 0, 8, &value, 8);
    ring(p, 0);
    CHECK(gsh_model_round(p->model) > 0);
    ((uint8_t *)block_at(p, 0, 0))[41]++;
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 0, byte 41: the entry was overwritten "
                     "before its completion");
    begin(""); /* past what is complete */
    ring_at(p, 0, DEPTH + 1, DEPTH + 1);
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 257, byte 0: the doorbell record says "
                     "257: 257 blocks after what is complete, in a queue of 256");
    begin("record=0");
    ring_at(p, 0, 0, DEPTH + 1);
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 257, byte 0: the doorbell says 257: "
                     "257 blocks after what is complete, in a queue of 256");
    begin(""); /* another queue's entry, and doorbell */
    put(p, 0, 8, &value, 8);
    block_at(p, 0, 0)->word[0] ^= UINT64_C(3) << 48;
    ring(p, 0);
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 0, byte 4: the entry names queue 2");
    begin("");
    put(p, 0, 8, &value, 8);
    p->sites[0].number = 2;
    ring(p, 0);
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 0, byte 4: its doorbell names queue 2");
    begin("");
    put(p, 0, 8, &value, 8);
    block_at(p, 0, 0)->word[0] |= UINT64_C(0x77) << 24;
    ring(p, 0);
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 0, byte 3: the entry has the unknown "
                     "opcode 0x7f");
    begin("");
    put(p, 0, 8, &value, 8);
    block_at(p, 0, 0)->word[0] |= UINT64_C(0x3f) << 56;
    ring(p, 0);
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 0, byte 7: the entry takes 16 blocks; "
                     "the doorbell covers 1 more");
}

/* A queue of several completions: the owner bit changes with each lap, and none is overwritten that
 * the host has not taken. */
/* The heaps of PEs that have devices, by copies of each one's own. */
static void test_devices(void)
{
    struct pe *p = &pes[0];
    uint64_t w[6] = {gsh_wq_be64(40), 0};
    is_device = true;
    n_copies = 0;
    begin("");
    CHECK_EQ(p->adapter->flags, 0);
    CHECK(p->adapter->reads_cuda);
    for (unsigned i = 0; i < 3000; i++) {
        p->heap[i] = (uint8_t)(5 * i + 1);
    }
    put(p, 0, 4000, NULL, 3000); /* local addresses are offsets */
    get(p, 0, 4000, (void *)3100, 900);
    go(p, 0);
    CHECK_EQ(memcmp(p->heap, pes[1].heap + 4000, 3000), 0);
    CHECK_EQ(memcmp(p->heap, p->heap + 3100, 900), 0);
    CHECK_EQ(n_copies, 4);
    w[1] = gsh_wq_be32(p->key);
    w[2] = gsh_wq_inline_bytes(8) | (uint64_t)0x44332211 << 32;
    w[3] = 0x88776655;
    write_entry(p, 0, GSH_WQ_WRITE, 0, gsh_wq_inline_ds(8), GSH_WQ_COMPLETE, w);
    go(p, 0);
    CHECK_EQ(*word_of(1, 40), 0x8877665544332211);
    CHECK_EQ(n_copies, 5);
    atomic8(p, 0, GSH_WQ_FA, 64, 1, 0);
    expect_error(p, GSH_WQ_REMOTE_INVALID, "fetch-add failed, syndrome 0x12");
    begin("");
    is_device_gone = true;
    put(p, 0, 4000, NULL, 3000);
    expect_error(p, GSH_WQ_REMOTE_OPERATION, "WRITE failed, syndrome 0x14");
    is_device = is_device_gone = false;
}

/* Entries and records in memory of the device; the host's has neither. */
static void test_queues_in_device(bool is_copied)
{
    struct pe *p = &pes[0];
    uint64_t value = 77;
    is_device = is_copied;
    are_queues_in_device = true;
    begin("");
    CHECK(p->adapter->device_memory != NULL);
    CHECK(p->adapter->memory_bytes < DEPTH * GSH_WQ_BLOCK);
    CHECK_EQ(p->sites[0].record == GSH_ADAPTER_NO_RECORD, is_copied);
    for (unsigned i = 0; i < 2 * DEPTH; i++) {
        *word_of(0, 8) = value + i;
        put(p, i % 2, 16, is_copied ? (void *)8 : word_of(0, 8), 8);
        go(p, i % 2);
        CHECK_EQ(*word_of(1, 16), value + i);
        CHECK(p->adapter->ops->is_idle(p->adapter, 0, QUEUES));
    }
    end();
    begin("delay=4");
    put(p, 0, 8, is_copied ? (void *)8 : word_of(0, 8), 8);
    ring(p, 0);
    CHECK(gsh_model_round(p->model) > 0);
    ((uint8_t *)block_at(p, 0, 0))[41]++;
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 0, byte 41: the entry was overwritten "
                     "before its completion");
    is_device = are_queues_in_device = false;
}

static void test_owner(void)
{
    static struct gsh_wq_completion all[4];
    static uint32_t consumed;
    struct pe *p = &pes[0];
    uint64_t value = 1;
    begin("delay=0");
    struct gsh_model_queue *q = &p->model->queues[0];
    q->completions = all;
    q->n_completions = 4;
    q->consumed = &consumed;
    for (unsigned i = 0; i < 12; i++) {
        put(p, 0, 8, &value, 8);
        go(p, 0);
        CHECK_EQ(all[i % 4].op_own, i / 4 % 2);
        CHECK_EQ(gsh_wq_be16(all[i % 4].index), i);
        consumed = gsh_wq_be32(i + 1);
    }
    for (unsigned i = 0; i < 5; i++) {
        put(p, 0, 8, &value, 8);
    }
    ring(p, 0);
    expect_misuse(p, "the model NIC: queue 1 to PE 1, index 16, byte 63: the completion queue is "
                     "full: 4 completions, and the host has taken 12");
}

static void test_settings(void)
{
    static const char *const bad[] = {
        "seed",    "seed=",   "seed=x",         "seed=1x", "lose=1",
        "lose=1@", "speed=1", "seed=1;delay=2", "deny=@3", "delay=99999999999"};
    struct gsh_model_settings s;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_EQ(gsh_model_read_settings(bad[i], &s), GSH_ERR_ARG);
        CHECK(strstr(gsh_last_error(), "GSHMEM_NIC_MODEL: '") != NULL);
    }
    CHECK_EQ(gsh_model_read_settings("seed=5,amos=0,lose=2@77", &s), GSH_OK);
    CHECK(s.seed == 5 && !s.has_amos && s.lose_pe == 2 && s.lose_after == 77 && s.deny_pe == -1);
    struct gsh_adapter_options options = {.n_pes = 2, .name = "mlx6", .settings = ""};
    struct gsh_adapter *a = NULL;
    CHECK_EQ(gsh_adapter_create(&options, &a), GSH_ERR_ARG);
    CHECK_STR(gsh_last_error(),
              "GSHMEM_NIC=mlx6: there is no such NIC; gshmem-info --nics lists them");
    static const char *const nobodys[] = {"lose=2@1", "seed=3,deny=2@0", "break=2@7,lose=1@1"};
    options.name = "model";
    for (size_t i = 0; i < sizeof(nobodys) / sizeof(nobodys[0]); i++) {
        options.settings = nobodys[i];
        CHECK_EQ(gsh_adapter_create(&options, &a), GSH_ERR_ARG);
        CHECK_STR(gsh_last_error(),
                  "GSHMEM_NIC_MODEL: there is no PE 2 for a fault: the job has PEs 0 to 1");
    }
}

/* ---- another process ---- */

static void exchange(int me, int to, int from)
{
    struct gsh_adapter *a = pes[me].adapter;
    const void *address;
    uint8_t theirs[128];
    size_t bytes;
    CHECK_EQ(a->ops->address(a, &address, &bytes), GSH_OK);
    CHECK_EQ(write(to, address, bytes), bytes);
    CHECK_EQ(read(from, theirs, bytes), bytes);
    join(me, theirs, bytes);
    CHECK_EQ(write(to, "j", 1), 1);
    CHECK_EQ(read(from, theirs, 1), 1);
}

/* The child puts and adds, also to memory that comes later, and then to what has gone. */
static void child(int to, int from)
{
    char go_on;
    uint64_t value = 41;
    struct pe *p = &pes[1];
    make(1, "", false);
    exchange(1, to, from);
#define RUN                                 \
    ring(p, 0);                             \
    while (gsh_model_round(p->model) > 0) { \
    }                                       \
    CHECK_EQ(write(to, "d", 1), 1);         \
    CHECK_EQ(read(from, &go_on, 1), 1)
    put(p, 0, 128, &value, 8);
    atomic8(p, 0, GSH_WQ_FA, 128, 1, 0);
    RUN;
    put(p, 0, HEAP + 4096 - 4, &value, 8); /* over the end of a piece */
    RUN;
    CHECK_STR(p->failed, "");
    put(p, 0, HEAP + 4096, &value, 8);
    RUN;
    CHECK(strstr(p->failed, "syndrome 0x13") != NULL);
    _exit(test_result());
}

static void test_processes(void)
{
    int down[2], up[2], status;
    char done;
    CHECK(pipe(down) == 0 && pipe(up) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        child(up[1], down[0]);
    }
    make(0, "", false);
    exchange(0, down[1], up[0]);
    struct pe *p = &pes[0];
    CHECK_EQ(read(up[0], &done, 1), 1);
    CHECK_EQ(*word_of(0, 128), 42);
    uint8_t *more[2];
    for (int i = 0; i < 2; i++) {
        int fd = memfd_create("more", MFD_CLOEXEC);
        CHECK_EQ(ftruncate(fd, 4096), 0);
        more[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK_EQ(p->adapter->ops->add_region(p->adapter, more[i], HEAP + 4096 * (uint64_t)i, 4096),
                 GSH_OK);
        close(fd);
    }
    CHECK_EQ(write(down[1], "g", 1), 1);
    CHECK_EQ(read(up[0], &done, 1), 1);
    CHECK_EQ(more[0][4092], 41);
    CHECK_EQ(p->adapter->ops->remove_region(p->adapter, HEAP + 4096), GSH_OK);
    CHECK_EQ(write(down[1], "g", 1), 1);
    CHECK_EQ(read(up[0], &done, 1), 1);
    CHECK_EQ(write(down[1], "g", 1), 1);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    /* memory that no other process can map is refused */
    void *own = malloc(4096);
    CHECK_EQ(p->adapter->ops->add_region(p->adapter, own, 1 << 20, 4096), GSH_ERR_UNSUPPORTED);
    free(own);
    gsh_adapter_destroy(&p->adapter);
}

int main(void)
{
    test_copies();
    test_atomics();
    test_order();
    CHECK(overtakings(false) > 0);
    CHECK_EQ(overtakings(true), 0);
    test_immediate();
    test_errors();
    test_states();
    test_faults();
    test_failed_batch();
    test_mistakes();
    test_devices();
    test_queues_in_device(false);
    test_queues_in_device(true);
    test_owner();
    test_settings();
    test_processes();
    return test_result();
}
