/* SPDX-License-Identifier: Apache-2.0
 * The plug-in for mlx5 adapters (nic/mlx5) on a stand-in for its libraries (tests/standin): two PEs
 * of one process, whose queues this file writes entries into as kernels do. What each step asks of
 * the libraries, what comes of it when a call fails, keys that come and go, doorbells by a thread,
 * failures of entries. */
#include "tests/test.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "nic/mlx5/choose.h"
#include "nic/nic.h"

enum { DEPTH = 256, PART = 8192, HEAP = 4 * PART, QUEUES = 2 };

struct pe {
    struct gsh_adapter *adapter;
    struct gsh_adapter_site sites[QUEUES];
    uint8_t *heap;
    int fd; /* of the heap: the stand-in maps its file */
    int device_fd;
    uint64_t head[QUEUES];
    unsigned n_failed; /* atomic */
    bool is_silent;
    char failed[320];
};

static struct pe pes[2];
static const char *plugin, *nic_name = "mlx5_0";
static bool rings_for_kernels;

static void on_fail(void *context, int pe, bool is_silent, const char *text)
{
    struct pe *p = context;
    (void)pe;
    if (p->n_failed == 0) {
        snprintf(p->failed, sizeof(p->failed), "%s", text);
        p->is_silent = is_silent;
    }
    __atomic_add_fetch(&p->n_failed, 1, __ATOMIC_RELEASE);
}

/* Queues in memory of a device, which shares it by a descriptor. */
static bool are_queues_in_device;
static uint64_t device_bytes;

static enum gsh_result on_allocate(void *context, uint64_t bytes, void **memory)
{
    struct pe *p = context;
    p->device_fd = memfd_create("queues", MFD_CLOEXEC);
    CHECK_EQ(ftruncate(p->device_fd, (off_t)bytes), 0);
    *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->device_fd, 0);
    CHECK(*memory != MAP_FAILED);
    device_bytes = bytes;
    return GSH_OK;
}

static void on_release(void *context, void *memory)
{
    struct pe *p = context;
    munmap(memory, device_bytes);
    close(p->device_fd);
}

static enum gsh_result on_share(void *context, void *memory, uint64_t bytes, int *fd)
{
    const struct pe *p = context;
    (void)bytes;
    *fd = dup((uint8_t *)memory == p->heap ? p->fd : p->device_fd);
    return GSH_OK;
}

static uint8_t *queue_memory(const struct pe *p)
{
    return are_queues_in_device ? p->adapter->device_memory : p->adapter->memory;
}

/* What the next adapters are asked for. */
static int traffic_class, service_level, retry = 7, timeout = 18;

static struct gsh_adapter_options options_of(int me)
{
    return (struct gsh_adapter_options){.my_pe = me,
                                        .n_pes = 2,
                                        .name = nic_name,
                                        .settings = "",
                                        .plugin = plugin,
                                        .pci_bus = "",
                                        .gid = -1,
                                        .traffic_class = traffic_class,
                                        .service_level = service_level,
                                        .retry = retry,
                                        .timeout = timeout,
                                        .n_queues = QUEUES,
                                        .depth = DEPTH,
                                        .is_one_process = true,
                                        .context = &pes[me],
                                        .in_device = are_queues_in_device,
                                        .allocate = on_allocate,
                                        .release = on_release,
                                        .share = are_queues_in_device ? on_share : NULL,
                                        .fail = on_fail};
}

static void map_heap(struct pe *p)
{
    p->fd = memfd_create("heap", MFD_CLOEXEC);
    CHECK_EQ(ftruncate(p->fd, HEAP), 0);
    p->heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
    CHECK(p->heap != MAP_FAILED);
}

static enum gsh_result add(struct pe *p, uint64_t off, uint64_t bytes)
{
    return p->adapter->ops->add_region(p->adapter, p->heap + off, off, bytes);
}

/* Tells each PE the other one's key, as the runtime does. */
static void exchange_keys(void)
{
    for (int me = 0; me < 2; me++) {
        struct gsh_adapter *a = pes[me].adapter, *other = pes[1 - me].adapter;
        a->ops->set_remote_key(a, 1 - me, other->ops->own_key(other));
    }
}

/* The first failure of some step. */
static enum gsh_result begin(void)
{
    enum gsh_result r = GSH_OK;
    for (int me = 0; me < 2; me++) {
        pes[me] = (struct pe){0};
        map_heap(&pes[me]);
    }
    for (int me = 0; r == GSH_OK && me < 2; me++) {
        struct gsh_adapter_options options = options_of(me);
        r = gsh_adapter_create(&options, &pes[me].adapter);
    }
    for (int me = 0; r == GSH_OK && me < 2; me++) {
        struct gsh_adapter *a = pes[me].adapter, *other = pes[1 - me].adapter;
        const void *blob;
        size_t bytes;
        CHECK_EQ(other->ops->address(other, &blob, &bytes), GSH_OK);
        r = a->ops->set_peer(a, 1 - me, blob, bytes);
        for (uint32_t i = 0; r == GSH_OK && i < QUEUES; i++) {
            r = a->ops->create_queue(a, i, &pes[me].sites[i]);
        }
    }
    for (int me = 0; r == GSH_OK && me < 2; me++) {
        struct gsh_adapter *a = pes[me].adapter;
        for (uint32_t i = 0; r == GSH_OK && i < QUEUES; i++) {
            r = a->ops->connect_queue(a, i, 1 - me, i, pes[1 - me].sites[i].number);
        }
        r = r == GSH_OK ? a->ops->start(a, rings_for_kernels) : r;
    }
    for (int me = 0; r == GSH_OK && me < 2; me++) {
        r = add(&pes[me], 0, PART);
    }
    if (r == GSH_OK) {
        exchange_keys();
    }
    return r;
}

static void end(void)
{
    for (int me = 0; me < 2; me++) {
        gsh_adapter_destroy(&pes[me].adapter);
    }
    for (int me = 0; me < 2; me++) {
        munmap(pes[me].heap, HEAP);
        close(pes[me].fd);
    }
}

static void must_begin(void)
{
    if (!CHECK_EQ(begin(), GSH_OK)) {
        fprintf(stderr, "%s\n", gsh_last_error());
        exit(1);
    }
}

/* ---- entries ---- */

static void write_entry(struct pe *p, uint32_t q, uint32_t opcode, uint32_t ds,
                        const uint64_t *words)
{
    struct gsh_wq_block b = {0}, *all = (void *)(queue_memory(p) + p->sites[q].entries);
    gsh_wq_fill_control(b.word, opcode, 0, p->sites[q].number, ds, GSH_WQ_COMPLETE);
    memcpy(b.word + 2, words, 8 * 2 * (size_t)(ds - 1));
    b.word[0] = gsh_wq_at_position(b.word[0], p->head[q]);
    all[p->head[q]++ % DEPTH] = b;
}

static void ring(struct pe *p, uint32_t q)
{
    uint8_t *memory = p->adapter->memory, *registers = p->adapter->registers;
    uint32_t *record = (uint32_t *)(void *)(queue_memory(p) + p->sites[q].record);
    uint8_t *bell = rings_for_kernels ? memory + p->sites[q].doorbell
                                      : registers + p->sites[q].doorbell_register;
    __atomic_store_n(record, gsh_wq_record(p->head[q]), __ATOMIC_RELEASE);
    __atomic_store_n((uint64_t *)(void *)bell, gsh_wq_doorbell(p->head[q], p->sites[q].number),
                     __ATOMIC_RELEASE);
}

static void copy_entry(int me, uint32_t q, uint32_t opcode, uint64_t remote, uint64_t local,
                       uint32_t bytes)
{
    struct pe *p = &pes[me];
    struct gsh_adapter *a = p->adapter;
    uint64_t w[4] = {gsh_wq_be64(remote), gsh_wq_be32(a->ops->remote_key(a, 1 - me))};
    gsh_wq_fill_data(w + 2, local, bytes, a->local_key);
    write_entry(p, q, opcode, 3, w);
    ring(p, q);
}

static void add_entry(int me, uint32_t q, uint64_t remote, uint64_t value, uint64_t local)
{
    struct pe *p = &pes[me];
    struct gsh_adapter *a = p->adapter;
    uint64_t w[6] = {gsh_wq_be64(remote), gsh_wq_be32(a->ops->remote_key(a, 1 - me)),
                     gsh_wq_be64(value), 0};
    gsh_wq_fill_data(w + 4, local, 8, a->local_key);
    write_entry(p, q, GSH_WQ_FA, 4, w);
    ring(p, q);
}

static void nap(void)
{
    const struct timespec t = {.tv_nsec = 100000};
    nanosleep(&t, NULL);
}

static void await(int me)
{
    struct pe *p = &pes[me];
    while (!p->adapter->ops->is_idle(p->adapter, 0, QUEUES)) {
        nap();
    }
}

/* Until the adapter has told of a failure; a quiet would not end. */
static void await_failure(int me)
{
    struct pe *p = &pes[me];
    while (__atomic_load_n(&p->n_failed, __ATOMIC_ACQUIRE) == 0) {
        nap();
    }
    CHECK(!p->adapter->ops->is_idle(p->adapter, 0, QUEUES));
}

static uint64_t *word(int me, uint64_t off)
{
    return (uint64_t *)(void *)(pes[me].heap + off);
}

/* ---- what it does ---- */

static void test_entries(const char *name, bool by_thread)
{
    nic_name = name;
    rings_for_kernels = by_thread;
    must_begin();
    for (int me = 0; me < 2; me++) {
        for (uint64_t i = 0; i < DEPTH + 30; i++) { /* each in both queues */
            *word(me, 8 * (i % 64)) = 1000 * (uint64_t)me + i;
            copy_entry(me, 0, GSH_WQ_WRITE, 1024, 8 * (i % 64), 8);
            copy_entry(me, 1, GSH_WQ_WRITE, 1032, 8 * (i % 64), 8);
            await(me);
            CHECK_EQ(*word(1 - me, 1024), 1000 * (uint64_t)me + i);
            CHECK_EQ(*word(1 - me, 1032), 1000 * (uint64_t)me + i);
        }
        add_entry(me, 0, 1024, 5, 2048);
        await(me);
        CHECK_EQ(*word(1 - me, 1024), 1000 * (uint64_t)me + DEPTH + 29 + 5);
        CHECK_EQ(*word(me, 2048), 1000 * (uint64_t)me + DEPTH + 29);
        copy_entry(me, 1, GSH_WQ_READ, 1024, 2056, 8);
        await(me);
        CHECK_EQ(*word(me, 2056), *word(1 - me, 1024));
        CHECK_STR(pes[me].failed, "");
    }
    end();
    nic_name = "mlx5_0";
    rings_for_kernels = false;
}

/* Memory grows, also beyond a hole, and goes. */
static void test_regions(void)
{
    must_begin();
    const uint32_t first = pes[0].adapter->ops->remote_key(pes[0].adapter, 1);
    for (int me = 0; me < 2; me++) {
        CHECK_EQ(add(&pes[me], PART, PART), GSH_OK);
        CHECK_EQ(add(&pes[me], 3 * PART, PART), GSH_OK);
    }
    *word(0, PART - 8) = 77; /* the former key is good for the former memory */
    copy_entry(0, 0, GSH_WQ_WRITE, 512, PART - 8, 8);
    await(0);
    CHECK_EQ(*word(1, 512), 77);
    exchange_keys();
    CHECK(first != pes[0].adapter->ops->remote_key(pes[0].adapter, 1));
    memset(pes[0].heap + PART - 64, 0x5a, 128);
    copy_entry(0, 0, GSH_WQ_WRITE, PART - 48, PART - 64, 100); /* over the end of a region */
    copy_entry(0, 0, GSH_WQ_WRITE, 4 * PART - 8, PART - 8, 8);
    await(0);
    CHECK_EQ(memcmp(pes[0].heap + PART - 64, pes[1].heap + PART - 48, 100), 0);
    CHECK_EQ(*word(1, 4 * PART - 8), 0x5a5a5a5a5a5a5a5a);
    CHECK_EQ(pes[1].adapter->ops->remove_region(pes[1].adapter, 3 * PART), GSH_OK);
    CHECK_EQ(pes[1].adapter->ops->remove_region(pes[1].adapter, 3 * PART), GSH_ERR_ARG);
    CHECK_STR(gsh_last_error(), "NIC mlx5_0: no region begins at offset 0x6000");
    CHECK_STR(pes[0].failed, "");
    copy_entry(0, 1, GSH_WQ_WRITE, 4 * PART - 8, PART - 8, 8);
    await_failure(0);
    CHECK(strstr(pes[0].failed, "NIC mlx5_0: queue 2 to PE 1, index 0: WRITE failed, syndrome 0x13 "
                                "(remote access error") == pes[0].failed);
    end();
    must_begin(); /* into the hole */
    copy_entry(0, 0, GSH_WQ_READ, 2 * PART, 0, 8);
    await_failure(0);
    CHECK(strstr(pes[0].failed, "READ failed, syndrome 0x13") != NULL);
    end();
}

/* ---- failures ---- */

static void test_lost(void)
{
    CHECK_EQ(setenv("STANDIN_MODEL", "delay=0,lose=0@2", 1), 0);
    must_begin();
    CHECK_EQ(unsetenv("STANDIN_MODEL"), 0);
    for (unsigned i = 0; i < 3; i++) {
        copy_entry(0, 0, GSH_WQ_WRITE, 512, 0, 8);
        if (i < 2) {
            await(0);
        }
    }
    await_failure(0);
    CHECK(strstr(pes[0].failed, "index 2: WRITE failed, syndrome 0x15 (retries exceeded") != NULL);
    CHECK(pes[0].is_silent);
    for (unsigned i = 0; i < 20; i++) {
        nap();
    }
    CHECK_EQ(pes[0].n_failed, 1); /* told once */
    end();
}

/* Every call of the libraries fails once; nothing of theirs is left then, which the stand-in sees
 * to. */
static void test_refusals(void)
{
    static const struct {
        const char *call, *text;
    } cases[] = {
        {"mlx5dv_open_device:1", "NIC mlx5_0: it cannot be opened with DevX: "},
        {"ibv_query_port:1", "NIC mlx5_0: port 1: Invalid argument"},
        {"ibv_get_device_list:1", "adapters of verbs: no list of them: Input/output error"},
        {"ibv_alloc_pd:2", "NIC mlx5_0: no protection domain: "},
        {"mlx5dv_init_obj:1", "NIC mlx5_0: no protection domain: "},
        {"mlx5dv_devx_query_eqn:1", "NIC mlx5_0: no event queue: "},
        {"mlx5dv_devx_alloc_uar:1", "NIC mlx5_0: no page of doorbells: "},
        {"mlx5dv_devx_umem_reg:2", "NIC mlx5_0: no memory of "},
        {"ibv_create_ah:1", "NIC mlx5_0: no way to the NIC of PE 1 was found"},
        {"mlx5dv_init_obj:3", "NIC mlx5_0: no way to the NIC of PE 1 was found"},
        {"mlx5dv_devx_obj_create:1", "NIC mlx5_0: no completion queue: "},
        {"mlx5dv_devx_obj_create:4", "NIC mlx5_0: no queue pair: "},
        {"mlx5dv_devx_obj_modify:1", "NIC mlx5_0: a queue pair does not become ready: "},
        {"mlx5dv_devx_obj_modify:5", "NIC mlx5_0: a queue pair does not join another: "},
        {"mlx5dv_devx_obj_modify:8", "NIC mlx5_0: a queue pair does not become able to send: "},
        {"ibv_reg_mr_iova2:1", "NIC mlx5_0: it does not reach 8192 bytes: "},
        {"mlx5dv_devx_obj_create:10", "NIC mlx5_0: no key of 1 pieces: "},
    };
    for (size_t i = 0; i < GSH_ARRAY_LEN(cases); i++) {
        CHECK_EQ(setenv("STANDIN_FAIL", cases[i].call, 1), 0);
        CHECK(begin() != GSH_OK);
        if (strstr(gsh_last_error(), cases[i].text) != gsh_last_error()) {
            CHECK_STR(gsh_last_error(), cases[i].text);
        }
        end();
    }
    struct rlimit before, little;
    CHECK_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    little = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &little), 0);
    CHECK_EQ(setenv("STANDIN_FAIL", "ibv_reg_mr_iova2:1", 1), 0);
    CHECK(begin() != GSH_OK);
    CHECK(strstr(gsh_last_error(), " (RLIMIT_MEMLOCK is 0 KiB: set it with ulimit -l unlimited)") !=
          NULL);
    end();
    CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
    CHECK_EQ(setenv("STANDIN_FAIL", "mlx5dv_devx_general_cmd:1", 1), 0); /* it need not say */
    must_begin();
    end();
    CHECK_EQ(unsetenv("STANDIN_FAIL"), 0);
}

/* Entries and records in a device's memory: as dma-buf, or not at all. */
static void test_queues_in_device(void)
{
    are_queues_in_device = true;
#if !defined(__SANITIZE_THREAD__) /* it takes the adapter's own mapping for other words */
    test_entries("mlx5_0", false);
    test_entries("mlx5_1", true);
#endif
    nic_name = "mlx5_0";
    CHECK_EQ(setenv("STANDIN_FAIL", "mlx5dv_devx_umem_reg_ex:2", 1), 0);
    CHECK(begin() != GSH_OK);
    CHECK(strstr(gsh_last_error(), "NIC mlx5_0: no queues in GPU memory: ") == gsh_last_error());
    end();
    CHECK_EQ(unsetenv("STANDIN_FAIL"), 0);
    are_queues_in_device = rings_for_kernels = false;
}

static void test_options(void)
{
    struct gsh_adapter_options o = options_of(0);
    struct gsh_adapter *a = NULL;
    o.retry = 8;
    CHECK_EQ(gsh_adapter_create(&o, &a), GSH_ERR_ARG);
    CHECK_STR(gsh_last_error(), "GSHMEM_NIC_RETRY=8 is more than 7");
    o = options_of(0);
    o.port = 2;
    CHECK_EQ(gsh_adapter_create(&o, &a), GSH_ERR_SYSTEM);
    CHECK_STR(gsh_last_error(), "NIC mlx5_0: port 2: Invalid argument");
    o = options_of(0);
    o.gid = 3;
    CHECK_EQ(gsh_adapter_create(&o, &a), GSH_ERR_ARG);
    CHECK_STR(gsh_last_error(), "NIC mlx5_0: port 1 has no GID 3");
    o = options_of(0);
    o.name = "mlx5_2";
    CHECK_EQ(gsh_adapter_create(&o, &a), GSH_ERR_UNSUPPORTED);
    CHECK_STR(gsh_last_error(), "NIC mlx5_2: no port is active");
    for (int pe = 0; pe < 3; pe++) { /* where none is named, those with an active port are taken */
        o.name = "";
        o.my_pe = pe;
        CHECK_EQ(gsh_adapter_create(&o, &a), GSH_OK);
        CHECK_STR(a->name, pe == 1 ? "mlx5_1" : "mlx5_0");
        gsh_adapter_destroy(&a);
    }
    o.name = "mlx5_0,mlx5_1:1";
    CHECK_EQ(gsh_adapter_create(&o, &a), GSH_ERR_ARG);
    CHECK_STR(gsh_last_error(), "GSHMEM_NIC=mlx5_0,mlx5_1:1: 'mlx5_1:1' is no name of a NIC; "
                                "GSHMEM_NIC_PORT sets the port");
    o.my_pe = 0;
    o.name = "mlx5,qib_0";
    CHECK_EQ(gsh_adapter_create(&o, &a), GSH_ERR_ARG);
    o.name = "";
    o.my_pe = 1; /* of the devices that are equally near, each PE takes another */
    CHECK_EQ(gsh_adapter_create(&o, &a), GSH_OK);
    uint8_t blob[64] = {0};
    CHECK_EQ(a->ops->set_peer(a, 0, blob, 7), GSH_ERR_ARG);
    CHECK_EQ(a->ops->set_peer(a, 0, blob, sizeof(struct gsh_mlx5_address)), GSH_ERR_ARG);
    CHECK_STR(gsh_last_error(), "NIC mlx5_1: PE 0 has another kind of NIC");
    struct gsh_adapter *other = NULL;
    const void *its = NULL;
    size_t bytes = 0;
    o.name = "mlx5_5 ,\tmlx5_0"; /* one that is not here is passed over */
    CHECK_EQ(gsh_adapter_create(&o, &other), GSH_OK);
    CHECK_STR(other->name, "mlx5_0");
    CHECK_EQ(other->ops->address(other, &its, &bytes), GSH_OK);
    CHECK_EQ(a->ops->set_peer(a, 0, its, bytes), GSH_ERR_ARG);
    CHECK_STR(gsh_last_error(),
              "NIC mlx5_1: it is of InfiniBand, and PE 0's of RoCE: GSHMEM_NIC must name NICs of "
              "one network");
    gsh_adapter_destroy(&other);
    gsh_adapter_destroy(&a);
    o.plugin = "/nowhere/libgshmem_mlx5.so";
    CHECK_EQ(gsh_adapter_create(&o, &a), GSH_ERR_UNSUPPORTED);
}

/* The adapter gets the settings of a connection as they were asked for. */
static void test_path(const char *name)
{
    nic_name = name;
    traffic_class = 106;
    service_level = 3;
    retry = 5;
    timeout = 14;
    setenv("STANDIN_PATH", "106,3,5,14", 1);
    must_begin();
    end();
    static const char *const others[] = {"107,3,5,14", "106,2,5,14", "106,3,6,14", "106,3,5,13"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        setenv("STANDIN_PATH", others[i], 1);
        CHECK_EQ(begin(), GSH_ERR_SYSTEM);
        end();
    }
    unsetenv("STANDIN_PATH");
    traffic_class = service_level = 0;
    retry = 7;
    timeout = 18;
}

/* Which one each stripe of a PE gets: of some that are near, nearer and as near. */
static void test_stripes(void)
{
    static const unsigned near[] = {3, 5, 5, 1};
    struct gsh_adapter_options o = options_of(0);
    struct gsh_adapter *stripes[2] = {NULL, NULL};
    for (unsigned pe = 0; pe < 3; pe++) {
        CHECK_EQ(gsh_mlx5_choose_stripe(near, 4, pe, 0, 1), 1 + (int)pe % 2); /* share them out */
        CHECK_EQ(gsh_mlx5_choose_stripe(near, 4, pe, 0, 2), 1);
        CHECK_EQ(gsh_mlx5_choose_stripe(near, 4, pe, 1, 2), 2);
        CHECK_EQ(gsh_mlx5_choose_stripe(near, 4, pe, 2, 4), 0);
        CHECK_EQ(gsh_mlx5_choose_stripe(near, 4, pe, 3, 4), 3);
        CHECK_EQ(gsh_mlx5_choose_stripe(near, 4, pe, 4, 4), -1);
    }
    CHECK_EQ(gsh_mlx5_choose_stripe(near, 0, 0, 0, 1), -1);
    o.name = "mlx5_0,mlx5_1";
    o.n_stripes = 2;
    for (o.stripe = 0; o.stripe < 2; o.stripe++) {
        const void *blob = NULL;
        size_t bytes = 0;
        CHECK_EQ(gsh_adapter_create(&o, &stripes[o.stripe]), GSH_OK);
        CHECK_EQ(stripes[o.stripe]->ops->address(stripes[o.stripe], &blob, &bytes), GSH_OK);
        CHECK_EQ(((const struct gsh_mlx5_address *)blob)->is_ethernet, o.stripe == 0);
    }
    gsh_adapter_destroy(&stripes[0]);
    gsh_adapter_destroy(&stripes[1]);
    o.name = "mlx5_1";
    o.stripe = 1;
    CHECK_EQ(gsh_adapter_create(&o, &stripes[1]), GSH_ERR_ARG);
    CHECK_STR(
        gsh_last_error(),
        "GSHMEM_NIC_STRIPES=2 is more than the NICs of this machine that GSHMEM_NIC names: 1");
}

/* The second of those that it is asked about is nearest; a machine that is not known has none. */
static bool second_is_near(void *context, const char *pci_bus, const char *const *names, unsigned n,
                           unsigned *near)
{
    CHECK_STR(pci_bus, "0000:1b:00.0");
    for (unsigned i = 0; i < n; i++) {
        near[i] = strcmp(names[i], "mlx5_1") == 0 ? 2 : 1;
    }
    *(unsigned *)context = n;
    return n == 2;
}

static void test_near(void)
{
    unsigned n_asked = 0;
    struct gsh_adapter_options o = options_of(0);
    struct gsh_adapter *a = NULL;
    o.pci_bus = "0000:1b:00.0";
    o.nearness = second_is_near;
    o.context = &n_asked;
    static const struct {
        const char *names;
        unsigned n_asked; /* 0: there is no choice */
        const char *chosen;
    } cases[] = {{"mlx5_0,mlx5_1", 2, "mlx5_1"},
                 {"mlx5_0", 0, "mlx5_0"},
                 {"mlx5_0,mlx5_1,mlx5_2", 3, "mlx5_0"}};
    for (size_t i = 0; i < GSH_ARRAY_LEN(cases); i++) {
        n_asked = 0;
        o.name = cases[i].names;
        CHECK_EQ(gsh_adapter_create(&o, &a), GSH_OK);
        CHECK_STR(a->name, cases[i].chosen);
        CHECK_EQ(n_asked, cases[i].n_asked);
        gsh_adapter_destroy(&a);
    }
}

static void test_list(void)
{
    static const char *const expected[] = {
        "model|of GPUs it reaches those of PEs that are threads of one process", "mlx5_0|",
        "mlx5_1|", "mlx5_2|NIC mlx5_2: no port is active", "qib_0|it is none of the mlx5 family"};
    struct gsh_adapter_listing nic;
    unsigned n = 0;
    for (; gsh_adapter_list(plugin, n, &nic) && n < GSH_ARRAY_LEN(expected); n++) {
        char text[300];
        snprintf(text, sizeof(text), "%s|%s", nic.name, nic.lacks);
        CHECK_STR(text, expected[n]);
    }
    CHECK_EQ(n, GSH_ARRAY_LEN(expected));
    CHECK(gsh_adapter_list("/nowhere.so", 1, &nic));
    CHECK(strstr(nic.lacks, "mlx5 adapters: cannot open the plug-in") == nic.lacks);
    CHECK(!gsh_adapter_list("/nowhere.so", 2, &nic));
}

static void test_nearness(void)
{
    CHECK_EQ(gsh_mlx5_nearness("/sys/devices/pci0", "/sys/devices/pci0"), 3);
    CHECK_EQ(gsh_mlx5_nearness("/sys/devices/pci0/a/b", "/sys/devices/pci0/a/c"), 4);
    CHECK_EQ(gsh_mlx5_nearness("/sys/devices/pci0/a", "/sys/devices/pci0/ab"), 3);
    CHECK_EQ(gsh_mlx5_nearness("/sys/devices/pci0", "/sys/devices/pci0/a"), 3);
    CHECK_EQ(gsh_mlx5_nearness("/sys/devices/pci0", "/sys/devices/pci1"), 2);
}

/* A field is where it should be, and only there. */
static void test_fields(void)
{
    uint8_t in[GSH_MLX5_IN_BYTES] = {0};
    memset(in, 0xff, 16);
    gsh_mlx5_set(in, GSH_MLX5_QP_NUMBER, 0x123456);
    CHECK_EQ(in[8], 0xff);
    CHECK(in[9] == 0x12 && in[10] == 0x34 && in[11] == 0x56 && in[12] == 0xff);
    CHECK_EQ(gsh_mlx5_get(in, GSH_MLX5_QP_NUMBER), 0x123456);
    gsh_mlx5_set(in, GSH_MLX5_QP_UMEM_OFFSET, 0x0102030405060708);
    CHECK(in[0x100] == 1 && in[0x107] == 8);
    CHECK_EQ(gsh_mlx5_get(in, GSH_MLX5_QP_UMEM_OFFSET), 0x0102030405060708);
    gsh_mlx5_set(in, GSH_MLX5_QP_UMEM_VALID, 1);
    CHECK_EQ(in[0x10c], 0x80);
    gsh_mlx5_set(in, GSH_MLX5_OUT_REASON, 0xfedcba98); /* a whole word */
    CHECK_EQ(gsh_mlx5_get(in, GSH_MLX5_OUT_REASON), 0xfedcba98);
}

int main(int argc, char **argv)
{
    plugin = argc > 1 ? argv[1] : "libgshmem_mlx5.so";
    test_nearness();
    test_fields();
    test_entries("mlx5_0", false);
    test_entries("mlx5_1", true);
    test_regions();
    test_lost();
    test_refusals();
    test_queues_in_device();
    test_options();
    test_path("mlx5_0");
    test_path("mlx5_1");
    test_stripes();
    test_near();
    test_list();
    return test_result();
}
