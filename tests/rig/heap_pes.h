/* SPDX-License-Identifier: Apache-2.0
 * Runs a function as several PEs, spread over processes and their threads, each with a bootstrap,
 * descriptor passing and options for a heap. On host memory and on the model of CUDA; with
 * GSH_TEST_CUDA=1 on GPUs instead of both. */
#ifndef GSH_TEST_HEAP_PES_H
#define GSH_TEST_HEAP_PES_H

#include <sys/mman.h>
#include "base/atomic.h"
#include "base/log.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/fdpass.h"
#include "bootstrap/shm.h"
#include "heap/heap.h"
#include "tests/rig/cuda_model.h"
#include "tests/rig/pes.h"

#define PES_MAX   8
#define PES_KIB   ((uint64_t)1 << 10)
#define PES_MIB   ((uint64_t)1 << 20)
#define PES_RANGE ((uint64_t)1 << 28)
#define PES_TEAMS 3

struct pes_shared {
    struct gsh_shm_area areas[PES_MAX];
    struct gsh_shm_area team_areas[PES_TEAMS][PES_MAX];
    uint32_t is_gone[PES_MAX]; /* set by a PE before it dies */
};

enum pes_kind {
    PES_HOST,
    PES_MODEL,        /* CUDA's kind of memory on the model */
    PES_MODEL_FABRIC, /* shared by FABRIC handles */
    PES_GPU,
};

struct pes {
    int rank, n, n_processes;
    enum pes_kind kind;
    struct pes_shared *shared;
    struct gsh_shm_area *areas[PES_MAX];
    struct gsh_bootstrap base, *bootstrap;
    struct gsh_fdpass *fdpass;
    int pe_of_slot[PES_MAX];
    bool is_same_process[PES_MAX];
    struct gsh_heap_options options;
    void (*main)(struct pes *pe);
};

static int pes_process(const struct pes *pe, int rank)
{
    return rank * pe->n_processes / pe->n;
}

static enum gsh_result pes_wait(void *context, unsigned *backoff, uint64_t *start_ns, int rank)
{
    struct pes *pe = context;
    (void)start_ns;
    if (gsh_load_acquire_u32(&pe->shared->is_gone[rank])) {
        return gsh_note(GSH_ERR_PEER, "PE %d is gone", rank);
    }
    gsh_backoff(backoff);
    return GSH_OK;
}

/* This PE ends here, as if killed. */
__attribute__((unused, noreturn)) static void pes_die(struct pes *pe)
{
    gsh_store_release_u32(&pe->shared->is_gone[pe->rank], 1);
    _exit(0);
}

static void pes_barrier(struct pes *pe)
{
    CHECK(pe->bootstrap->ops->barrier(pe->bootstrap) == GSH_OK);
}

/* ---- memory of either kind ---- */

#ifdef GSH_HAVE_CUDA
static void pes_take_gpu(struct pes *pe)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUcontext context = NULL;
    int n_devices = 0;
    if (!cuda) {
        test_skip("needs a GPU, there is none");
    }
    CHECK(cuda->DeviceGetCount(&n_devices) == CUDA_SUCCESS);
    CHECK(cuda->DeviceGet(&pe->options.cuda_device, pe->rank % n_devices) == CUDA_SUCCESS);
    CHECK(cuda->DevicePrimaryCtxRetain(&context, pe->options.cuda_device) == CUDA_SUCCESS);
    CHECK(cuda->CtxSetCurrent(context) == CUDA_SUCCESS);
}

/* Once in each process, before its PEs start. */
static void pes_install(enum pes_kind kind)
{
    if (kind == PES_HOST) {
        return;
    }
    gsh_cuda_override(NULL);
    const struct gsh_cuda *driver = kind == PES_GPU ? gsh_cuda() : NULL;
    if (kind == PES_GPU && !driver) {
        test_skip("needs a GPU, there is none");
    }
    model_install(driver);
}

static void pes_choose_memory(struct pes *pe)
{
    if (pe->kind == PES_HOST) {
        return;
    }
    pe->options.kind = GSH_MEMORY_CUDA;
    pe->options.cuda_device = pe->rank;
    pe->options.fabric = pe->kind == PES_MODEL_FABRIC;
    if (pe->kind == PES_GPU) {
        pes_take_gpu(pe);
    }
}

static void pes_copy(void *dest, const void *source, size_t bytes)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CHECK(cuda->Memcpy((CUdeviceptr)(uintptr_t)dest, (CUdeviceptr)(uintptr_t)source, bytes) ==
          CUDA_SUCCESS);
    /* A copy from pageable memory returns before the data have arrived. */
    CHECK(cuda->StreamSynchronize(NULL) == CUDA_SUCCESS);
}

/* Checks that this process holds nothing of CUDA. */
static void pes_check_released(void)
{
    CHECK_EQ(model.n_ranges, 0);
    CHECK_EQ(model.n_handles, 0);
    CHECK_EQ(model.n_mappings, 0);
}
#else
static void pes_install(enum pes_kind kind)
{
    if (kind != PES_HOST) {
        test_skip("needs a build with CUDA");
    }
}

static void pes_choose_memory(struct pes *pe)
{
    (void)pe;
}

static void pes_copy(void *dest, const void *source, size_t bytes)
{
    memcpy(dest, source, bytes);
}

static void pes_check_released(void) {}
#endif

static void pes_store(struct pes *pe, uint64_t address, uint64_t value)
{
    if (pe->options.kind == GSH_MEMORY_CUDA) {
        pes_copy((void *)(uintptr_t)address, &value, sizeof(value));
    } else {
        *(uint64_t *)(uintptr_t)address = value;
    }
}

static uint64_t pes_load(struct pes *pe, uint64_t address)
{
    uint64_t value = 0;
    if (pe->options.kind == GSH_MEMORY_CUDA) {
        pes_copy(&value, (void *)(uintptr_t)address, sizeof(value));
    } else {
        value = *(uint64_t *)(uintptr_t)address;
    }
    return value;
}

/* The address at PE target of what this PE has at ptr. */
static uint64_t pes_peer(struct pes *pe, struct gsh_heap *heap, const void *ptr, int target)
{
    int64_t slot = 0;
    while (pe->pe_of_slot[slot] != target) {
        slot++;
    }
    return (uint64_t)(uintptr_t)ptr +
           (uint64_t)((slot - pe->options.my_slot) * (int64_t)gsh_heap_stride(heap));
}

/* ---- starting PEs ---- */

/* All PEs of other processes, as in init: later exchanges open nothing that stays. */
static void pes_meet(struct pes *pe, int process)
{
    int ranks[PES_MAX], fds[PES_MAX], n = 0;
    for (int i = 0; i < pe->n; i++) {
        if (pes_process(pe, i) != process) {
            ranks[n++] = i;
        }
    }
    CHECK(gsh_fdpass_exchange(pe->fdpass, ranks, n, UINT64_MAX, -1, fds) == GSH_OK);
    gsh_fdpass_shut(pe->fdpass);
}

static void pes_set_up(struct pes *pe)
{
    static const uint8_t job_base[16] = "gshmem heap test";
    uint8_t job[16];
    memcpy(job, job_base, sizeof(job));
    pid_t parent = pe->n_processes > 1 ? getppid() : getpid();
    memcpy(job, &parent, sizeof(parent));
    /* Each process numbers its slots in an order of its own. */
    int turn = pes_process(pe, pe->rank);
    for (int s = 0; s < pe->n; s++) {
        pe->pe_of_slot[s] = (s + turn) % pe->n;
        pe->is_same_process[s] =
            pe->pe_of_slot[s] != pe->rank && pes_process(pe, pe->pe_of_slot[s]) == turn;
        if (pe->pe_of_slot[s] == pe->rank) {
            pe->options.my_slot = s;
        }
        pe->areas[s] = &pe->shared->areas[s];
    }
    pe->base.rank = pe->rank;
    pe->base.size = pe->n;
    if (!CHECK(gsh_bootstrap_shm_create(&pe->base, pe->rank, pe->n, pe->areas, NULL, pes_wait, pe,
                                        &pe->bootstrap) == GSH_OK)) {
        exit(1);
    }
    if (pe->n_processes > 1) {
        CHECK(gsh_fdpass_create(job, pe->rank, 20000000000u, &pe->fdpass) == GSH_OK);
        pes_meet(pe, turn);
    }
    pe->options.bootstrap = pe->bootstrap;
    pe->options.fdpass = pe->fdpass;
    pe->options.stride_bytes = PES_RANGE;
    pe->options.n_slots = pe->n;
    pe->options.pe_of_slot = pe->pe_of_slot;
    pe->options.is_same_process = pe->is_same_process;
    pe->options.internal_bytes = 100 * PES_KIB;
    pes_choose_memory(pe);
}

/* The PEs of one process. */
struct pes_process {
    struct pes *pes;
    int first;
};

static void pes_thread(int thread, int n_threads, void *arg)
{
    const struct pes_process *process = arg;
    struct pes *pe = &process->pes[process->first + thread];
    (void)n_threads;
    pes_set_up(pe);
    pe->main(pe);
    gsh_fdpass_destroy(&pe->fdpass);
    pe->bootstrap->ops->destroy(pe->bootstrap);
}

static void pes_run_process(int process, int n_processes, void *arg)
{
    struct pes_process of = {.pes = arg};
    int end = 0;
    (void)n_processes;
    pes_install(of.pes->kind);
    while (pes_process(of.pes, of.first) < process) {
        of.first++;
    }
    for (end = of.first; end < of.pes->n && pes_process(of.pes, end) == process;) {
        end++;
    }
    test_on_threads(end - of.first, pes_thread, &of);
    pes_check_released();
}

/* Calls pe_main as n PEs in n_processes processes; with one process, in this one. */
static void pes_run(enum pes_kind kind, int n, int n_processes, void (*pe_main)(struct pes *pe))
{
    struct pes_shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct pes pes[PES_MAX] = {{0}};
    if (!CHECK(shared != MAP_FAILED)) {
        return;
    }
    for (int i = 0; i < n; i++) {
        pes[i] = (struct pes){.kind = kind,
                              .rank = i,
                              .n = n,
                              .n_processes = n_processes,
                              .shared = shared,
                              .main = pe_main};
    }
    /* Failures are expected here; their text is checked, not printed. */
    gsh_log_setup(getenv("GSHMEM_DEBUG") ? GSH_LOG_TRACE : GSH_LOG_NONE, GSH_LOG_ALL, NULL);
    /* The driver does not survive a fork, so this process never opens it. */
    if (n_processes > 1 || kind == PES_GPU) {
        test_in_processes(n_processes, pes_run_process, pes);
    } else {
        pes_run_process(0, 1, pes);
    }
    munmap(shared, sizeof(*shared));
}

/* As threads of one process, as processes, and mixed. */
static void pes_run_shapes(enum pes_kind kind, void (*pe_main)(struct pes *pe))
{
    pes_run(kind, 1, 1, pe_main);
    pes_run(kind, 3, 1, pe_main);
    pes_run(kind, 2, 2, pe_main);
    pes_run(kind, 4, 2, pe_main);
}

/* The same on every kind of memory. */
__attribute__((unused)) static void pes_run_all(void (*pe_main)(struct pes *pe))
{
    const char *text = getenv("GSH_TEST_CUDA");
    if (text && strcmp(text, "1") == 0) {
        pes_run_shapes(PES_GPU, pe_main);
        return;
    }
    pes_run_shapes(PES_HOST, pe_main);
#ifdef GSH_HAVE_CUDA
    pes_run_shapes(PES_MODEL, pe_main);
    pes_run_shapes(PES_MODEL_FABRIC, pe_main);
#endif
}

/* ---- what a process holds ---- */

/* Mappings of heap memory. */
__attribute__((unused)) static int pes_count_maps(void)
{
    int n = 0;
    char line[512];
    FILE *f = fopen("/proc/self/maps", "r");
    if (!CHECK(f != NULL)) {
        return -1;
    }
    while (fgets(line, sizeof(line), f)) {
        n += strstr(line, "memfd:gshmem") != NULL;
    }
    fclose(f);
    return n;
}

/* Addresses in use, reservations included. */
__attribute__((unused)) static uint64_t pes_count_address_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!CHECK(f != NULL)) {
        return 0;
    }
    CHECK(fscanf(f, "%llu", &pages) == 1);
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

#endif
