/* SPDX-License-Identifier: Apache-2.0
 * See info_nic.h. The host writes the entries that kernels would, one at a time. */
#include "tools/info_nic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/cuda.h"
#include "base/env.h"
#include "base/util.h"
#include "nic/nic.h"

#define DEPTH     256u
#define BATCH     100u /* blocks of one row, at most */
#define PART      ((uint64_t)1 << 20)
#define BYTES     (2 * PART)
#define WORD      64u            /* offset of the target's word */
#define CELL      128u           /* of what comes back */
#define SOURCE    UINT64_C(8192) /* of bytes to copy, and where they go */
#define LIMIT_NS  5000000000u
#define ALIGNMENT 65536u

struct side {
    struct gsh_adapter *adapter;
    struct gsh_adapter_site site;
    uint8_t *memory;
    uint64_t queue_bytes; /* of device_memory */
    uint64_t head;
    unsigned n_failed; /* atomic */
    char failed[320];
};

struct check {
    struct side sides[2];
    uint64_t base[GSH_WQ_WORDS * BATCH]; /* the entries of one row */
    uint32_t n_blocks, last_blocks;      /* last: of the last of them */
    unsigned n_rows, n_wrong;
    bool is_over; /* a queue has failed: nothing more can be tried */
};

/* ---- rows ---- */

__attribute__((format(printf, 4, 5))) static bool row(struct check *c, const char *name,
                                                      bool is_good, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    printf("  %-44s %-6s %s\n", name, is_good ? "ok" : "WRONG", text);
    c->n_rows++;
    c->n_wrong += !is_good;
    return is_good;
}

static bool step(struct check *c, const char *name, enum gsh_result r)
{
    return row(c, name, r == GSH_OK, "%s", r == GSH_OK ? "" : gsh_last_error());
}

/* What the list in GSHMEM_NIC came to. */
static bool open_row(struct check *c, enum gsh_result r)
{
    return row(c, "opening, port and address", r == GSH_OK, "%s",
               r == GSH_OK ? c->sides[0].adapter->name : gsh_last_error());
}

/* ---- a GPU ---- */

#ifdef GSH_HAVE_CUDA

static CUcontext gpu; /* of GPU 0, once use_gpu has found it */

/* For the calling thread; false: there is none. */
static bool use_gpu(void)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    return cuda != NULL && (gpu != NULL || cuda->DevicePrimaryCtxRetain(&gpu, 0) == CUDA_SUCCESS) &&
           cuda->CtxSetCurrent(gpu) == CUDA_SUCCESS;
}

static enum gsh_result share(void *context, void *memory, uint64_t bytes, int *fd)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    (void)context;
    if (cuda->MemGetHandleForAddressRange == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "this driver of CUDA has no dma-buf");
    }
    return gsh_cuda_note(cuda->MemGetHandleForAddressRange(fd, (CUdeviceptr)(uintptr_t)memory,
                                                           bytes,
                                                           CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
                         "cuMemGetHandleForAddressRange");
}

/* One of them is in the GPU's memory. */
static enum gsh_result copy_by_gpu(void *dest, const void *source, uint64_t bytes)
{
    return gsh_cuda_note(
        gsh_cuda()->Memcpy((CUdeviceptr)(uintptr_t)dest, (CUdeviceptr)(uintptr_t)source, bytes),
        "cuMemcpy");
}

static enum gsh_result allocate_on_gpu(const void *zeros, uint64_t bytes, void **memory)
{
    CUdeviceptr p = 0;
    enum gsh_result r = gsh_cuda_note(gsh_cuda()->MemAlloc(&p, bytes), "cuMemAlloc");
    *memory = (void *)(uintptr_t)p;
    return r == GSH_OK ? copy_by_gpu(*memory, zeros, bytes) : r;
}

static void free_on_gpu(void *memory)
{
    (void)gsh_cuda()->MemFree((CUdeviceptr)(uintptr_t)memory);
}

#else

static enum gsh_result (*const share)(void *, void *, uint64_t, int *) = NULL;

static bool use_gpu(void)
{
    return false;
}

static enum gsh_result allocate_on_gpu(const void *zeros, uint64_t bytes, void **memory)
{
    (void)zeros;
    (void)bytes;
    *memory = NULL;
    return GSH_ERR_UNSUPPORTED;
}

static void free_on_gpu(void *memory)
{
    (void)memory;
}

static enum gsh_result copy_by_gpu(void *dest, const void *source, uint64_t bytes)
{
    (void)dest;
    (void)source;
    (void)bytes;
    return GSH_ERR_UNSUPPORTED;
}

#endif

/* GSHMEM_NIC_MEMORY=gpu: of GPU 0, else of the host. */
static enum gsh_result allocate(void *context, uint64_t bytes, void **memory)
{
    struct side *s = context;
    void *zeros = aligned_alloc(ALIGNMENT, gsh_align_up(bytes, ALIGNMENT));
    if (zeros == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for the NIC's queues");
    }
    memset(zeros, 0, bytes);
    s->queue_bytes = bytes;
    if (!use_gpu()) {
        *memory = zeros;
        return GSH_OK;
    }
    enum gsh_result r = allocate_on_gpu(zeros, bytes, memory);
    free(zeros);
    return r;
}

static void release(void *context, void *memory)
{
    (void)context;
    if (use_gpu()) {
        free_on_gpu(memory);
    } else {
        free(memory);
    }
}

static bool is_of_queues(const struct side *s, const void *p)
{
    const uintptr_t first = (uintptr_t)s->adapter->device_memory;
    return first != 0 && (uintptr_t)p - first < s->queue_bytes;
}

/* For the model, whose thread copies entries out of a GPU. */
static enum gsh_result copy_any(void *context, void *dest, const void *source, uint64_t bytes)
{
    const struct side *s = context;
    if ((is_of_queues(s, dest) || is_of_queues(s, source)) && use_gpu()) {
        return copy_by_gpu(dest, source, bytes);
    }
    memcpy(dest, source, bytes);
    return GSH_OK;
}

/* ---- two PEs ---- */

static void on_fail(void *context, int pe, bool is_silent, const char *text)
{
    struct side *s = context;
    (void)pe;
    (void)is_silent;
    if (s->n_failed == 0) {
        snprintf(s->failed, sizeof(s->failed), "%s", text);
    }
    __atomic_add_fetch(&s->n_failed, 1, __ATOMIC_RELEASE);
}

static struct gsh_adapter_options options_of(const struct gsh_env *env, int pe, struct side *side)
{
    const bool in_device = strcmp(env->nic_memory, "gpu") == 0;
    const bool is_by_gpu = in_device && use_gpu();
    return (struct gsh_adapter_options){
        .my_pe = pe,
        .n_pes = 2,
        .name = env->nic,
        .settings = env->nic_model,
        .plugin = env->nic_plugin,
        .pci_bus = "",
        .port = env->nic_port,
        .gid = env->nic_gid,
        .traffic_class = env->nic_traffic_class,
        .service_level = env->nic_service_level,
        .retry = env->nic_retry,
        .timeout = env->nic_timeout,
        .n_queues = 1,
        .depth = DEPTH,
        .is_one_process = true,
        .context = side,
        .in_device = in_device,
        .allocate = allocate,
        .release = release,
        .share = is_by_gpu ? share : NULL,
        .copy = is_by_gpu && gsh_adapter_is_model(env->nic) ? copy_any : NULL,
        .fail = on_fail};
}

static enum gsh_result create(const struct gsh_env *env, struct check *c)
{
    enum gsh_result r = GSH_OK;
    for (int i = 0; r == GSH_OK && i < 2; i++) {
        struct side *s = &c->sides[i];
        struct gsh_adapter_options options = options_of(env, i, s);
        options.my_pe = 0; /* both take the same adapter */
        r = gsh_adapter_create(&options, &s->adapter);
    }
    return r;
}

static enum gsh_result introduce(struct check *c)
{
    enum gsh_result r = GSH_OK;
    for (int i = 0; r == GSH_OK && i < 2; i++) {
        struct gsh_adapter *a = c->sides[i].adapter, *other = c->sides[1 - i].adapter;
        const void *blob = NULL;
        size_t bytes = 0;
        r = other->ops->address(other, &blob, &bytes);
        r = r == GSH_OK ? a->ops->set_peer(a, 1 - i, blob, bytes) : r;
    }
    return r;
}

static enum gsh_result make_queues(struct check *c)
{
    enum gsh_result r = GSH_OK;
    for (int i = 0; r == GSH_OK && i < 2; i++) {
        struct gsh_adapter *a = c->sides[i].adapter;
        r = a->ops->create_queue(a, 0, &c->sides[i].site);
    }
    return r;
}

static enum gsh_result connect_queues(struct check *c)
{
    enum gsh_result r = GSH_OK;
    for (int i = 0; r == GSH_OK && i < 2; i++) {
        struct gsh_adapter *a = c->sides[i].adapter;
        r = a->ops->connect_queue(a, 0, 1 - i, 0, c->sides[1 - i].site.number);
    }
    for (int i = 0; r == GSH_OK && i < 2; i++) {
        r = c->sides[i].adapter->ops->start(c->sides[i].adapter, false);
    }
    return r;
}

/* In two regions, as after a growth. */
static enum gsh_result register_memory(struct check *c)
{
    enum gsh_result r = GSH_OK;
    for (int i = 0; r == GSH_OK && i < 2; i++) {
        struct side *s = &c->sides[i];
        r = s->adapter->ops->add_region(s->adapter, s->memory, 0, PART);
        r = r == GSH_OK
                ? s->adapter->ops->add_region(s->adapter, s->memory + PART, PART, BYTES - PART)
                : r;
    }
    for (int i = 0; r == GSH_OK && i < 2; i++) {
        struct gsh_adapter *a = c->sides[i].adapter, *other = c->sides[1 - i].adapter;
        if (a->ops->own_key != NULL) {
            a->ops->set_remote_key(a, 1 - i, other->ops->own_key(other));
        }
    }
    return r;
}

/* ---- entries ---- */

static uint64_t local_address(const struct check *c, uint64_t off)
{
    const struct side *s = &c->sides[0];
    return (s->adapter->flags & GSH_NIC_ALL_MEMORY) != 0 ? (uint64_t)(uintptr_t)(s->memory + off)
                                                         : off;
}

/* Adds an entry of PE 0's; returns its words. */
static uint64_t *entry(struct check *c, uint32_t opcode, uint32_t opmod, uint32_t ds,
                       uint64_t remote_off)
{
    const struct side *s = &c->sides[0];
    uint64_t *word = c->base + (size_t)GSH_WQ_WORDS * c->n_blocks;
    gsh_wq_fill_control(word, opcode, opmod, s->site.number, ds, 0);
    word[0] = gsh_wq_at_position(word[0], s->head + c->n_blocks);
    if (ds > 1) {
        gsh_wq_fill_remote(word, remote_off, s->adapter->ops->remote_key(s->adapter, 1));
    }
    c->last_blocks = (ds + 3) / 4;
    c->n_blocks += c->last_blocks;
    return word;
}

static void copy(struct check *c, uint32_t opcode, uint64_t remote, uint64_t local, uint32_t bytes)
{
    uint64_t *word = entry(c, opcode, 0, 3, remote);
    gsh_wq_fill_data(word + 4, local_address(c, local), bytes, c->sides[0].adapter->local_key);
}

static void put_inline(struct check *c, uint64_t remote, uint64_t local, uint32_t bytes)
{
    uint64_t *word = entry(c, GSH_WQ_WRITE, 0, gsh_wq_inline_ds(bytes), remote);
    word[4] = gsh_wq_inline_bytes(bytes);
    memcpy((uint8_t *)(word + 4) + 4, c->sides[0].memory + local, bytes);
}

/* An atomic of 8 or 4 bytes; which of the numbers count depends on it. */
static void atomic(struct check *c, uint32_t opcode, uint32_t bytes, const uint64_t *n)
{
    const bool is_masked = opcode == GSH_WQ_MASKED_FA || opcode == GSH_WQ_MASKED_CS;
    const bool is_long = opcode == GSH_WQ_MASKED_CS && bytes == 8;
    const uint32_t opmod = !is_masked ? 0 : bytes == 8 ? GSH_WQ_MASKED_8 : GSH_WQ_MASKED_4;
    uint64_t *word = entry(c, opcode, opmod, is_long ? 5 : 4, WORD);
    if (bytes == 8) {
        word[4] = gsh_wq_be64(n[0]);
        word[5] = gsh_wq_be64(n[1]);
    } else {
        word[4] = gsh_wq_pair((uint32_t)n[0], (uint32_t)n[1]);
        word[5] = gsh_wq_pair((uint32_t)n[2], (uint32_t)n[3]);
    }
    if (is_long) {
        word[6] = gsh_wq_be64(n[2]);
        word[7] = gsh_wq_be64(n[3]);
        word += 2;
    }
    gsh_wq_fill_data(word + 6, local_address(c, CELL), bytes, c->sides[0].adapter->local_key);
}

/* Into the memory of entries and records. A word is written whole, behind what was written before:
 * a release, which pairs with the adapter's look at a record. */
static void write_queue(struct side *s, uint64_t off, const void *bytes, uint64_t n)
{
    struct gsh_adapter *a = s->adapter;
    uint8_t *to = (uint8_t *)(a->device_memory != NULL ? a->device_memory : a->memory) + off;
    uint32_t word;
    if (a->device_memory != NULL && use_gpu()) {
        if (copy_by_gpu(to, bytes, n) != GSH_OK) {
            on_fail(s, 0, false, gsh_last_error());
        }
    } else if (n == sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        __atomic_store_n((uint32_t *)(void *)to, word, __ATOMIC_RELEASE);
    } else {
        memcpy(to, bytes, n);
    }
}

static void ring(struct side *s)
{
    struct gsh_adapter *a = s->adapter;
    uint8_t *memory = a->memory, *registers = a->registers;
    uint8_t *bell =
        registers != NULL ? registers + s->site.doorbell_register : memory + s->site.doorbell;
    const uint32_t record = gsh_wq_record(s->head);
    if (s->site.record != GSH_ADAPTER_NO_RECORD) {
        write_queue(s, s->site.record, &record, sizeof(record));
    }
    __sync_synchronize(); /* entries and record before the doorbell, also for an adapter */
    __atomic_store_n((uint64_t *)(void *)bell, gsh_wq_doorbell(s->head, s->site.number),
                     __ATOMIC_RELAXED);
    if (a->wake != NULL) {
        a->wake->call(a->wake->context);
    }
}

/* Posts the row's entries; whether they were complete in time, and how long it took. */
static bool post(struct check *c, uint64_t *took_ns)
{
    struct side *s = &c->sides[0];
    if (c->last_blocks > 1) {
        (void)entry(c, GSH_WQ_NOP, 0, 1, 0); /* the last entry takes one block */
    }
    c->base[GSH_WQ_WORDS * (c->n_blocks - 1) + 1] |= (uint64_t)GSH_WQ_COMPLETE << 24;
    for (uint32_t i = 0; i < c->n_blocks; i++) {
        write_queue(s, s->site.entries + (s->head + i) % DEPTH * GSH_WQ_BLOCK,
                    c->base + (size_t)GSH_WQ_WORDS * i, GSH_WQ_BLOCK);
    }
    s->head += c->n_blocks;
    c->n_blocks = 0;
    memset(c->base, 0, sizeof(c->base));
    const uint64_t start = gsh_now_ns();
    ring(s);
    while (!s->adapter->ops->is_idle(s->adapter, 0, 1) &&
           __atomic_load_n(&s->n_failed, __ATOMIC_ACQUIRE) == 0 &&
           gsh_now_ns() - start < LIMIT_NS) {
    }
    *took_ns = gsh_now_ns() - start;
    return s->adapter->ops->is_idle(s->adapter, 0, 1) && s->n_failed == 0;
}

/* ---- what is tried ---- */

static uint64_t word_at(const struct side *s, uint64_t off)
{
    return __atomic_load_n((const uint64_t *)(const void *)(s->memory + off), __ATOMIC_ACQUIRE);
}

/* Posts, and says of the row: complete or not, and whether `bytes` bytes of PE `at` from `off` are
 * those of `expected`. */
static void try_bytes(struct check *c, const char *name, int at, uint64_t off, const void *expected,
                      uint64_t bytes)
{
    uint64_t ns = 0;
    if (c->is_over) {
        return;
    }
    if (!post(c, &ns)) {
        c->is_over = true;
        row(c, name, false, "%s",
            c->sides[0].n_failed > 0 ? c->sides[0].failed : "no completion within 5 seconds");
        return;
    }
    const uint8_t *there = c->sides[at].memory + off, *wanted = expected;
    for (uint64_t i = 0; i < bytes; i++) {
        if (there[i] != wanted[i]) {
            row(c, name, false, "byte %llu is 0x%02x and should be 0x%02x", (unsigned long long)i,
                there[i], wanted[i]);
            return;
        }
    }
    row(c, name, true, "%.1f us", (double)ns / 1000);
}

static void try_copies(struct check *c)
{
    uint8_t *mine = c->sides[0].memory;
    static const struct {
        const char *name;
        uint32_t bytes;
    } puts[] = {{"WRITE, 8 bytes in the entry", 8},
                {"WRITE, 60 bytes in an entry of two blocks", 60},
                {"WRITE, 4096 bytes", 4096},
                {"WRITE, 64 KiB and a byte", 65537}};
    (void)entry(c, GSH_WQ_NOP, 0, 1, 0);
    try_bytes(c, "NOP", 0, 0, mine, 0);
    for (size_t i = 0; i < GSH_ARRAY_LEN(puts) && !c->is_over; i++) {
        if (puts[i].bytes <= GSH_WQ_INLINE2_MAX) {
            put_inline(c, SOURCE + 1000 * i, SOURCE, puts[i].bytes);
        } else {
            copy(c, GSH_WQ_WRITE, SOURCE + 1000 * i, SOURCE, puts[i].bytes);
        }
        try_bytes(c, puts[i].name, 1, SOURCE + 1000 * i, mine + SOURCE, puts[i].bytes);
    }
    copy(c, GSH_WQ_WRITE, PART - 300, SOURCE, 1000);
    try_bytes(c, "WRITE over the border of two regions", 1, PART - 300, mine + SOURCE, 1000);
    copy(c, GSH_WQ_READ, PART - 300, 2 * SOURCE + PART, 1000);
    try_bytes(c, "READ over it, from one region to another", 0, 2 * SOURCE + PART, mine + SOURCE,
              1000);
    copy(c, GSH_WQ_READ, SOURCE, CELL, 8);
    copy(c, GSH_WQ_WRITE, SOURCE, SOURCE + 512, 8);
    c->base[GSH_WQ_WORDS + 1] |= (uint64_t)GSH_WQ_FENCE << 24;
    uint64_t before = word_at(&c->sides[1], SOURCE);
    try_bytes(c, "READ, and a fenced WRITE of the same word", 0, CELL, &before, 8);
}

static void try_atomics(struct check *c)
{
    static const struct {
        const char *name;
        uint32_t opcode, bytes;
        uint64_t n[4], before, after;
    } rows[] = {
        {"fetch-add of 8 bytes", GSH_WQ_FA, 8, {5, 0, 0, 0}, 0xfffffffffffffffe, 3},
        {"compare-swap of 8 bytes, equal", GSH_WQ_CS, 8, {9, 7, 0, 0}, 7, 9},
        {"compare-swap of 8 bytes, unequal", GSH_WQ_CS, 8, {9, 7, 0, 0}, 8, 8},
        {"masked fetch-add of 8 bytes: xor",
         GSH_WQ_MASKED_FA,
         8,
         {0x0ff00ff00ff00ff0, UINT64_MAX, 0, 0},
         0xff00ff00ff00ff00,
         0xf0f0f0f0f0f0f0f0},
        {"masked compare-swap of 8 bytes: or",
         GSH_WQ_MASKED_CS,
         8,
         {0xff00, 0, 0xff00, 0},
         0x12345678,
         0x1234ff78},
        {"masked fetch-add of 4 bytes",
         GSH_WQ_MASKED_FA,
         4,
         {0xffffffff, 0, 0, 0},
         0x5555555500000000,
         0x55555555ffffffff},
        {"masked compare-swap of 4 bytes: swap",
         GSH_WQ_MASKED_CS,
         4,
         {7, 0, 0xffffffff, 0},
         0x5555555500000009,
         0x5555555500000007},
    };
    for (size_t i = 0; i < GSH_ARRAY_LEN(rows) && !c->is_over; i++) {
        memcpy(c->sides[1].memory + WORD, &rows[i].before, 8);
        memset(c->sides[0].memory + CELL, 0xee, 8);
        atomic(c, rows[i].opcode, rows[i].bytes, rows[i].n);
        try_bytes(c, rows[i].name, 1, WORD, &rows[i].after, 8);
        if (!c->is_over) {
            uint64_t old = 0, wanted = 0;
            memcpy(&old, c->sides[0].memory + CELL, rows[i].bytes);
            memcpy(&wanted, &rows[i].before, rows[i].bytes);
            row(c, "  and its former value", old == wanted, "0x%llx", (unsigned long long)old);
        }
    }
}

/* Many entries, round the queue's end; then what a key must refuse, after
 * which the queue is in error. */
static void try_limits(struct check *c)
{
    uint64_t ns = 0;
    bool is_good = !c->is_over;
    for (unsigned i = 0; is_good && i < 700; i++) {
        for (unsigned k = 0; k < BATCH; k++) {
            (void)entry(c, GSH_WQ_NOP, 0, 1, 0);
        }
        is_good = post(c, &ns);
    }
    if (c->is_over) {
        return;
    }
    c->is_over =
        !row(c, "70,000 entries: the index goes round 16 bits", is_good, "%s", c->sides[0].failed);
    if (!c->is_over) {
        copy(c, GSH_WQ_WRITE, BYTES + 4096, SOURCE, 8);
        const bool is_done = post(c, &ns);
        row(c, "WRITE beyond the memory is refused",
            !is_done && strstr(c->sides[0].failed, "syndrome 0x13") != NULL, "%s",
            is_done ? "it was carried out" : c->sides[0].failed);
    }
}

/* ---- with a GPU ---- */

#ifdef GSH_HAVE_CUDA

/* Whether the adapter reaches memory of GPU 0, and the GPU the adapter's doorbells. */
static void try_gpu(const struct gsh_env *env, struct check *c)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUdeviceptr memory = 0;
    struct side side = {0};
    struct gsh_adapter_options options = options_of(env, 0, &side);
    options.share = share;
    if (!use_gpu() || cuda->MemAlloc(&memory, BYTES) != CUDA_SUCCESS ||
        gsh_adapter_create(&options, &side.adapter) != GSH_OK) {
        printf("  (no GPU was tried)\n");
        return;
    }
    step(c, "the NIC reaches GPU memory",
         side.adapter->ops->add_region(side.adapter, (void *)(uintptr_t)memory, 0, BYTES));
    if (side.adapter->registers != NULL) {
        step(c, "the GPU reaches the NIC's doorbells",
             gsh_cuda_note(
                 cuda->MemHostRegister(side.adapter->registers, side.adapter->registers_bytes,
                                       CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                           CU_MEMHOSTREGISTER_IOMEMORY),
                 "cuMemHostRegister"));
        (void)cuda->MemHostUnregister(side.adapter->registers);
    }
    gsh_adapter_destroy(&side.adapter);
    (void)cuda->MemFree(memory);
}

#else

static void try_gpu(const struct gsh_env *env, struct check *c)
{
    (void)env;
    (void)c;
    printf("  (no GPU was tried: this build has no CUDA)\n");
}

#endif

/* ---- all ---- */

static bool map_memory(struct check *c, int *fds)
{
    bool is_good = true;
    for (int i = 0; i < 2; i++) {
        fds[i] = memfd_create("gshmem-info", MFD_CLOEXEC); /* the model NIC wants a file */
        void *p = fds[i] >= 0 && ftruncate(fds[i], (off_t)BYTES) == 0
                      ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0)
                      : MAP_FAILED;
        c->sides[i].memory = p != MAP_FAILED ? p : NULL;
        is_good = is_good && p != MAP_FAILED;
    }
    for (uint64_t i = 0; is_good && i < BYTES; i++) {
        c->sides[0].memory[i] = (uint8_t)(i * 7 + (i >> 8));
    }
    return is_good;
}

static void try_all(const struct gsh_env *env, struct check *c)
{
    bool is_good = open_row(c, create(env, c)) && step(c, "a way between the two", introduce(c)) &&
                   step(c, "queues", make_queues(c)) && step(c, "connection", connect_queues(c)) &&
                   step(c, "host memory, and a key to it", register_memory(c));
    if (is_good) {
        try_copies(c);
        if (c->sides[0].adapter->options.copy == NULL) {
            try_atomics(c);
        } else {
            printf("  (no atomics: the model has none where it copies from a GPU)\n");
        }
        try_limits(c);
    }
    if (c->sides[0].adapter != NULL && c->sides[0].adapter->reads_cuda) {
        try_gpu(env, c);
    }
}

/* Whether this machine has a NIC that GSHMEM_NIC names; says so if not. */
static bool has_nic(const struct gsh_env *env)
{
    struct gsh_adapter_listing nic;
    unsigned n_there = 0;
    const bool is_any = env->nic[0] == '\0';
    if (gsh_list_has(env->nic, "model")) {
        return true;
    }
    for (unsigned i = 1; gsh_adapter_list(env->nic_plugin, i, &nic); i++) { /* 0: the model */
        n_there += nic.is_there;
        if (nic.is_there && (is_any || gsh_list_has(env->nic, nic.name))) {
            return true;
        }
    }
    if (n_there > 0) {
        fprintf(stderr,
                "gshmem-info: GSHMEM_NIC=%s: there is no such NIC here, and nothing was tried "
                "(gshmem-info --nics)\n",
                env->nic);
    } else {
        fprintf(stderr,
                "gshmem-info: there is no NIC here to which kernels can post by themselves, "
                "and nothing was tried (gshmem-info --nics)\n");
    }
    return false;
}

int gsh_info_check_nic(void)
{
    struct gsh_env env;
    struct check c = {0};
    int fds[2] = {-1, -1};
    if (gsh_env_read(&env) != GSH_OK) {
        return 1;
    }
    if (!has_nic(&env)) {
        return GSH_INFO_NO_NIC;
    }
    printf("NIC %s: between two PEs of this process, queues in memory of %s\n",
           env.nic[0] ? env.nic : "(the first)",
           strcmp(env.nic_memory, "gpu") != 0 ? "the host"
           : use_gpu()                        ? "GPU 0"
                                              : "the host, as there is no GPU");
    if (!map_memory(&c, fds)) {
        row(&c, "memory", false, "none");
    } else {
        try_all(&env, &c);
    }
    for (int i = 0; i < 2; i++) {
        gsh_adapter_destroy(&c.sides[i].adapter);
    }
    for (int i = 0; i < 2; i++) {
        if (c.sides[i].memory != NULL) {
            munmap(c.sides[i].memory, BYTES);
        }
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    printf("%u row%s, %u wrong%s\n", c.n_rows, GSH_PLURAL(c.n_rows), c.n_wrong,
           c.is_over ? "; what followed was not tried" : "");
    printf("Please report this table, also if nothing is wrong: gshmem has not yet been run on a "
           "real adapter. With it:\n"
           "gshmem-info, gshmem-info --nics, ibv_devinfo -v, uname -r, and whether nvidia-peermem "
           "is loaded.\n");
    return c.n_wrong > 0;
}
