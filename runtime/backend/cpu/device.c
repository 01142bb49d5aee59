/* SPDX-License-Identifier: Apache-2.0
 * The CPU row of the device table: direct accesses to mapped memory; calls on streams are in
 * stream.c, kernels are the executor's (cpu/).
 *
 * For the thread sanitizer, user data moves by plain accesses; p, AMOs and signals release; waits
 * acquire. That is stronger than the memory model: the sanitizer does not understand fences, and
 * the host side does not imitate them as device/memory_cpu.cuh does. So it reports a missing wait
 * or quiet, but not a fence missing from host code between a put and a p. */

#include "runtime/backend/cpu/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cpu/cpu.h"
#include "cpu/stream.h"
#include "gshmem.h"
#include "proxy/proxy.h"
#include "base/env.h"
#include "base/pages.h"
#include "base/atomic.h"
#include "base/log.h"
#include "base/util.h"
#include "runtime/far/far.h"
#include "runtime/instance/end.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "runtime/backend/modules.h"
#include "wire/half.h"

/* ---- set-up ---- */

static enum gsh_result cpu_upload(struct gsh_instance *pe, const struct gsh_state *state)
{
    gshmemx_cpu_device_set_state(pe->device, state);
    return gsh_modules_fill(pe, state);
}

static enum gsh_result cpu_module_init(struct gsh_instance *pe, void *module, bool is_library)
{
    (void)pe;
    (void)module;
    return gsh_fail(GSH_ERR_UNSUPPORTED, "a %s cannot be used: kernels run on the CPU device",
                    is_library ? "CUlibrary" : "CUmodule");
}

static void cpu_finish(struct gsh_instance *pe)
{
    if (pe->device != NULL) {
        gshmemx_cpu_device_destroy(pe->device);
        pe->device = NULL;
    }
}

static uint64_t cpu_count_unfinished(struct gsh_instance *pe, uint64_t *n_waiting)
{
    return gsh_streams_count_unfinished(pe->device, n_waiting);
}

static enum gsh_result cpu_map_host(struct gsh_instance *pe, void *memory, size_t bytes,
                                    uint64_t *device_address)
{
    (void)pe;
    (void)bytes;
    *device_address = (uint64_t)(uintptr_t)memory;
    return GSH_OK;
}

static void cpu_unmap_host(struct gsh_instance *pe, void *memory)
{
    (void)pe;
    (void)memory;
}

/* Only checks that the memory exists: threads copy it as it is. */
static enum gsh_result cpu_pin(struct gsh_instance *pe, void *memory, size_t bytes, bool *is_device)
{
    const uintptr_t page = gsh_page_size(), start = (uintptr_t)memory & -page;
    (void)pe;
    *is_device = false;
    return msync((void *)start, (uintptr_t)memory + bytes - start, MS_ASYNC) == 0
               ? GSH_OK
               : gsh_note(GSH_ERR_ARG, "no memory is at [%p, %p + %zu): freed, or never allocated",
                          memory, memory, bytes);
}

static void cpu_unpin(struct gsh_instance *pe, void *memory, size_t bytes)
{
    (void)pe;
    (void)memory;
    (void)bytes;
}

/* ---- host-initiated ---- */

/* memmove: a get or put to this PE itself may name the same object twice. */
static enum gsh_result cpu_proxy_copy(struct gsh_instance *pe, void *dest, const void *source,
                                      size_t bytes)
{
    (void)pe;
    memmove(dest, source, bytes);
    return GSH_OK;
}

/* Complete on return in all contexts, as are the calls below. */
static enum gsh_result cpu_copy(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                const void *source, size_t bytes)
{
    (void)ctx;
    return cpu_proxy_copy(pe, dest, source, bytes);
}

/* Inlined with a constant size below, so that each element is one load and one store. */
static inline void copy_elements(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst,
                                 size_t elem_bytes, size_t nelems)
{
    ptrdiff_t size = (ptrdiff_t)elem_bytes;
    for (size_t i = 0; i < nelems; i++) {
        memcpy(dest + (ptrdiff_t)i * dst * size, source + (ptrdiff_t)i * sst * size, elem_bytes);
    }
}

static enum gsh_result cpu_copy_strided(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                        const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                        size_t elem_bytes, size_t nelems)
{
    (void)pe;
    (void)ctx;
    switch (elem_bytes) {
    case 1:
        copy_elements(dest, source, dst, sst, 1, nelems);
        break;
    case 2:
        copy_elements(dest, source, dst, sst, 2, nelems);
        break;
    case 4:
        copy_elements(dest, source, dst, sst, 4, nelems);
        break;
    case 8:
        copy_elements(dest, source, dst, sst, 8, nelems);
        break;
    default:
        copy_elements(dest, source, dst, sst, elem_bytes, nelems);
    }
    return GSH_OK;
}

/* release: pairs with the acquire of a wait for this word, after a fence in between (see above). */
static enum gsh_result cpu_store(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                 uint64_t bits, size_t bytes)
{
    (void)pe;
    (void)ctx;
    switch (bytes) {
    case 1:
        __atomic_store_n((uint8_t *)dest, (uint8_t)bits, __ATOMIC_RELEASE);
        break;
    case 2:
        __atomic_store_n((uint16_t *)dest, (uint16_t)bits, __ATOMIC_RELEASE);
        break;
    case 4:
        __atomic_store_n((uint32_t *)dest, (uint32_t)bits, __ATOMIC_RELEASE);
        break;
    default:
        __atomic_store_n((uint64_t *)dest, bits, __ATOMIC_RELEASE);
    }
    return GSH_OK;
}

/* acquire: pairs with the release of any signal, and with a fence before any store or AMO. */
static enum gsh_result cpu_load(struct gsh_instance *pe, const void *source, size_t elem_bytes,
                                size_t nelems, void *out)
{
    (void)pe;
    for (size_t i = 0; i < nelems; i++) {
        switch (elem_bytes) {
        case 1:
            ((uint8_t *)out)[i] = __atomic_load_n((const uint8_t *)source + i, __ATOMIC_ACQUIRE);
            break;
        case 2:
            ((uint16_t *)out)[i] = __atomic_load_n((const uint16_t *)source + i, __ATOMIC_ACQUIRE);
            break;
        case 4:
            ((uint32_t *)out)[i] = __atomic_load_n((const uint32_t *)source + i, __ATOMIC_ACQUIRE);
            break;
        default:
            ((uint64_t *)out)[i] = __atomic_load_n((const uint64_t *)source + i, __ATOMIC_ACQUIRE);
        }
    }
    return GSH_OK;
}

/* A half: the others change the word around it, too. */
static uint64_t amo_16(enum gsh_amo_op op, uint16_t *half, uint16_t operand)
{
    uint32_t *word = (uint32_t *)((uintptr_t)half & ~(uintptr_t)3);
    unsigned shift = ((uintptr_t)half & 2) * 8;
    uint32_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE), now;
    uint16_t before, after;
    do {
        before = (uint16_t)(seen >> shift);
        if (op == GSH_AMO_FETCH) {
            break;
        }
        after = op == GSH_AMO_FLOAT_ADD ? gsh_half_sum(before, operand) : operand;
        now = (seen & ~((uint32_t)0xffff << shift)) | (uint32_t)after << shift;
    } while (
        !__atomic_compare_exchange_n(word, &seen, now, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    return op == GSH_AMO_SET ? 0 : before;
}

/* Adds numbers, in words that hold their bits. */
#define ADD_NUMBER(NAME, NUMBER, WORD)                                                   \
    static uint64_t NAME(WORD *word, WORD operand)                                       \
    {                                                                                    \
        WORD seen = __atomic_load_n(word, __ATOMIC_ACQUIRE), now;                        \
        NUMBER sum, value;                                                               \
        memcpy(&value, &operand, sizeof(value));                                         \
        do {                                                                             \
            memcpy(&sum, &seen, sizeof(sum));                                            \
            sum += value;                                                                \
            memcpy(&now, &sum, sizeof(now));                                             \
        } while (!__atomic_compare_exchange_n(word, &seen, now, false, __ATOMIC_ACQ_REL, \
                                              __ATOMIC_ACQUIRE));                        \
        return seen;                                                                     \
    }
ADD_NUMBER(add_float, float, uint32_t)
ADD_NUMBER(add_double, double, uint64_t)
#undef ADD_NUMBER

static uint64_t amo_32(enum gsh_amo_op op, uint32_t *word, uint32_t operand, uint32_t cond)
{
    switch (op) {
    case GSH_AMO_FETCH:
        return __atomic_load_n(word, __ATOMIC_ACQUIRE);
    case GSH_AMO_SET:
        __atomic_store_n(word, operand, __ATOMIC_RELEASE);
        return 0;
    case GSH_AMO_SWAP:
        return __atomic_exchange_n(word, operand, __ATOMIC_ACQ_REL);
    case GSH_AMO_CSWAP:
        __atomic_compare_exchange_n(word, &cond, operand, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return cond;
    case GSH_AMO_ADD:
        return __atomic_fetch_add(word, operand, __ATOMIC_ACQ_REL);
    case GSH_AMO_FLOAT_ADD:
        return add_float(word, operand);
    case GSH_AMO_AND:
        return __atomic_fetch_and(word, operand, __ATOMIC_ACQ_REL);
    case GSH_AMO_OR:
        return __atomic_fetch_or(word, operand, __ATOMIC_ACQ_REL);
    default:
        return __atomic_fetch_xor(word, operand, __ATOMIC_ACQ_REL);
    }
}

static uint64_t amo_64(enum gsh_amo_op op, uint64_t *word, uint64_t operand, uint64_t cond)
{
    switch (op) {
    case GSH_AMO_FETCH:
        return __atomic_load_n(word, __ATOMIC_ACQUIRE);
    case GSH_AMO_SET:
        __atomic_store_n(word, operand, __ATOMIC_RELEASE);
        return 0;
    case GSH_AMO_SWAP:
        return __atomic_exchange_n(word, operand, __ATOMIC_ACQ_REL);
    case GSH_AMO_CSWAP:
        __atomic_compare_exchange_n(word, &cond, operand, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return cond;
    case GSH_AMO_ADD:
        return __atomic_fetch_add(word, operand, __ATOMIC_ACQ_REL);
    case GSH_AMO_FLOAT_ADD:
        return add_double(word, operand);
    case GSH_AMO_AND:
        return __atomic_fetch_and(word, operand, __ATOMIC_ACQ_REL);
    case GSH_AMO_OR:
        return __atomic_fetch_or(word, operand, __ATOMIC_ACQ_REL);
    default:
        return __atomic_fetch_xor(word, operand, __ATOMIC_ACQ_REL);
    }
}

static enum gsh_result cpu_proxy_amo(struct gsh_instance *pe, enum gsh_amo_op op, void *address,
                                     size_t bytes, uint64_t operand, uint64_t cond, uint64_t *old)
{
    (void)pe;
    uint64_t before = bytes == 2   ? amo_16(op, address, (uint16_t)operand)
                      : bytes == 4 ? amo_32(op, address, (uint32_t)operand, (uint32_t)cond)
                                   : amo_64(op, address, operand, cond);
    if (old != NULL) {
        *old = before;
    }
    return GSH_OK;
}

static enum gsh_result cpu_amo(struct gsh_instance *pe, gsh_context ctx, enum gsh_amo_op op,
                               void *address, size_t bytes, uint64_t operand, uint64_t cond,
                               uint64_t *old)
{
    (void)ctx;
    return cpu_proxy_amo(pe, op, address, bytes, operand, cond, old);
}

static enum gsh_result cpu_quiet_all(struct gsh_instance *pe)
{
    (void)pe;
    gshmemx_cpu_fence();
    return GSH_OK;
}

static enum gsh_result cpu_quiet(struct gsh_instance *pe, gsh_context ctx)
{
    (void)ctx;
    return cpu_quiet_all(pe);
}

static enum gsh_result cpu_synchronize(struct gsh_instance *pe)
{
    struct gsh_cpu_device *current = gshmemx_cpu_device_current();
    gshmemx_cpu_device_synchronize(current);
    if (pe->device != current) {
        gshmemx_cpu_device_synchronize(pe->device);
    }
    return GSH_OK;
}

/* Streams belong to the calling thread, and launches on them name their PE. */
static bool cpu_enter(struct gsh_instance *pe)
{
    (void)pe;
    return false;
}

static void cpu_leave(struct gsh_instance *pe, bool entered)
{
    (void)pe;
    (void)entered;
}

/* ---- topology ---- */

#define HEAP_GRANULE (2ull << 20)
#define HOST_RANGE   (64ull << 30) /* the most that one PE's heap takes by default */
/* Host memory is quick to allocate, and others need it, too. */
#define KEEP_LIMIT ((uint64_t)64 << 20)

static enum gsh_result cpu_attr(struct gsh_instance *pe, struct gsh_device_attr *attr)
{
    (void)pe;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    attr->memory_bytes = gsh_min_u64((uint64_t)pages * (uint64_t)page, HOST_RANGE);
    snprintf(attr->name, sizeof(attr->name), "cpu");
    return GSH_OK;
}

static const char *cpu_route(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                             const struct gsh_device_attr *theirs, int other)
{
    (void)mine;
    (void)theirs;
    return gsh_instance_of(pe, other) != NULL ? "thread" : "memory";
}

static void cpu_pci_address(struct gsh_instance *pe, char *out, size_t bytes)
{
    (void)pe;
    (void)bytes;
    out[0] = '\0';
}

static const struct gsh_device_ops cpu_ops = {
    .name = "cpu",
    .memory = GSH_MEMORY_HOST,
    .is_memory_host = true,
    .can_wake = true,
    .reaches_node = true,
    .keep_limit_bytes = KEEP_LIMIT,
    .coll_table = &gsh_coll_table_cpu,
    .stride_unit_bytes = HEAP_GRANULE,
    .attr = cpu_attr,
    .route = cpu_route,
    .pci_address = cpu_pci_address,
    .upload = cpu_upload,
    .module_init = cpu_module_init,
    .finish = cpu_finish,
    .count_unfinished = cpu_count_unfinished,
    .map_host = cpu_map_host,
    .unmap_host = cpu_unmap_host,
    .map_registers = cpu_map_host,
    .pin = cpu_pin,
    .unpin = cpu_unpin,
    .copy = cpu_copy,
    .copy_nbi = cpu_copy,
    .copy_strided = cpu_copy_strided,
    .store = cpu_store,
    .load = cpu_load,
    .amo = cpu_amo,
    .coll = gsh_cpu_coll,
    .quiet = cpu_quiet,
    .quiet_all = cpu_quiet_all,
    .enter = cpu_enter,
    .leave = cpu_leave,
    .synchronize = cpu_synchronize,
    .proxy_copy = cpu_proxy_copy,
    .proxy_amo = cpu_proxy_amo,
    .stream_copy = gsh_cpu_stream_copy,
    .stream_signal = gsh_cpu_stream_signal,
    .stream_copy_strided = gsh_cpu_stream_copy_strided,
    .stream_store = gsh_cpu_stream_store,
    .stream_wait = gsh_cpu_stream_wait,
    .stream_sync = gsh_cpu_stream_sync,
    .stream_coll = gsh_cpu_stream_coll,
    .stream_quiet = gsh_cpu_stream_quiet,
    .stream_far = gsh_cpu_stream_far,
    .stream_trace = gsh_cpu_stream_trace,
    .stream_synchronize = gsh_cpu_stream_synchronize,
};

/* ---- the executor's device ---- */

static void executor_report(void *context)
{
    gsh_end_if_reported(context);
}

static void executor_fatal(void *context, const char *message)
{
    gsh_abort(context, 1, "%s", message);
}

static void executor_thread_start(void *context)
{
    const struct gsh_instance *pe = context;
    gsh_log_set_pe(pe->my_pe);
}

/* Lets proxy and adapter progress while a block's threads only wait, perhaps for their work. */
static bool executor_help(void *context)
{
    struct gsh_instance *pe = context;
    if (pe->proxy == NULL) {
        return false;
    }
    gsh_proxy_help(pe->proxy);
    if (gsh_far_has_nic(pe)) {
        gsh_far_nic_help(pe);
    }
    return true;
}

int gshmemx_cpu_device_count(void)
{
    /* Set by gshmemrun, also on other hosts; by Open MPI; by Hydra; by Slurm. */
    static const char *const of_launcher[] = {"GSHMEM_N_RANKS", "GSHMEM_THREADS",
                                              "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                              "SLURM_STEP_TASKS_PER_NODE"};
    const char *least = gsh_env_text("GSHMEM_CPU_DEVICES");
    int count = least != NULL ? atoi(least) : 1;
    if (gsh_instance_current() != NULL) {
        const int n_pes = gshmem_team_n_pes(GSHMEMX_TEAM_NODE);
        count = n_pes > count ? n_pes : count;
    } else {
        for (size_t i = 0; i < sizeof(of_launcher) / sizeof(of_launcher[0]); i++) {
            const char *text = secure_getenv(of_launcher[i]);
            int number = text != NULL ? atoi(text) : 0;
            count = number > count ? number : count;
        }
    }
    return count > 1 ? count : 1;
}

static bool is_only_pe_of_process(const struct gsh_instance *pe)
{
    for (int i = 0; i < pe->n_pes; i++) {
        if (i != pe->my_pe && gsh_is_of_process(pe, i)) {
            return false;
        }
    }
    return true;
}

void gsh_device_cpu_describe(struct gsh_instance *pe)
{
    pe->device_ops = &cpu_ops;
}

enum gsh_result gsh_device_cpu_init(struct gsh_instance *pe)
{
    struct gsh_cpu_config config = {
        .stack_bytes = pe->env.cpu_stack_bytes,
        .fatal = executor_fatal,
        .report = executor_report,
        .thread_start = executor_thread_start,
        .help = executor_help,
        .context = pe,
    };
    pe->device_ops = &cpu_ops;
    if (pe->device != NULL) {
        return GSH_OK; /* made by gsh_setup_prepare */
    }
    pe->device = gshmemx_cpu_device_create(&config);
    if (pe->device == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for the CPU device");
    }
    gshmemx_cpu_device_bind(pe->device);
    /* Threads that never called init act for the process's only PE (binding.h). */
    if (is_only_pe_of_process(pe)) {
        gshmemx_cpu_device_bind_default(pe->device);
    }
    return GSH_OK;
}
