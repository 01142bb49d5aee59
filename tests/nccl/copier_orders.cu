/* SPDX-License-Identifier: Apache-2.0
 * Scenes of GIN's large puts, of the kernel that joins them, and of the thread that launches it
 * (copy_slots.h, copier.h), in which the thread sanitizer reports a race if one of their orders is
 * missing. Only weaken_copier.py can build it: with copies of these files that can leave out any of
 * the orders, and that call the marks below, where what an order keeps apart is atomic, and so no
 * race.
 *
 *     copier_orders ask|joint */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <vector>
#include "nccl.h"

/* Of one that asks, by puts' numbers: written behind the number of units, and read by who has read
 * the put's number. */
enum { ASK_ROUNDS = 400, JOINT_ROUNDS = 400, N_SLOTS = 64 };
static bool is_asking, has_failed;
static uint64_t n_puts, left_mark[ASK_ROUNDS + 1], served_mark, slot_mark[N_SLOTS];

static void mark_left()
{
    if (is_asking) {
        n_puts++;
        left_mark[n_puts] = n_puts;
    }
}

static void mark_looked(uint64_t n_asked)
{
    if (is_asking && left_mark[n_asked] != n_asked)
        __atomic_store_n(&has_failed, true, __ATOMIC_RELAXED);
}

/* By the kernel's last block, behind the number that it has served. */
static void mark_served()
{
    served_mark++;
}

/* Before a put gives a slot back, and once another has it. */
static void mark_used(uint32_t slot)
{
    if (slot_mark[slot] == 0)
        __atomic_store_n(&has_failed, true, __ATOMIC_RELAXED);
}
static void mark_taken(uint32_t slot)
{
    slot_mark[slot]++;
}

#define GSH_NCCL_COPIER_OPS gsh_test_ops
#include <nccl_device.h>
#include "dialects/nccl/kernels/copier.cu"
extern "C" {
#include "dialects/nccl/base/copier.h"
}

/* ---- what the thread calls ---- */

struct gshmemx_layer_scope;
extern "C" {
ncclResult_t gsh_nccl_fail(ncclResult_t result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    return result;
}
const char *gshmemx_device_name(void)
{
    return "cpu";
}
void gshmemx_layer_enter(void *, int, gshmemx_layer_scope *) {}
void gshmemx_layer_leave(const gshmemx_layer_scope *) {}
}

/* On the copier's thread, which has seen that a put asks, and that the kernel before has ended. The
 * put waits for this launch. */
static int help_marked(gsh_nccl_copies *copies)
{
    static uint64_t seen;
    seen += served_mark;
    mark_looked(__atomic_load_n(&copies->words->asked, __ATOMIC_RELAXED));
    return gsh_test_ops.help(copies);
}

static gsh_nccl_copies made;

static int create_kept(gsh_nccl_copies *copies)
{
    const int r = gsh_test_ops.create(copies);
    made = *copies;
    return r;
}

extern "C" const gsh_nccl_copier_ops gsh_nccl_copier_ops_cpu = {
    create_kept, gsh_test_ops.destroy, gsh_test_ops.begin_thread, help_marked, gsh_test_ops.refuse};

/* ---- puts ---- */

using namespace gshmem;

constexpr size_t n_bytes = 5 * GSHMEM_NCCL_COPY_UNIT;

static uint8_t byte_of(int round, size_t i)
{
    return (uint8_t)(round * 7 + i + i / 250);
}

static void fill(char *source, int round)
{
    for (size_t i = 0; i < n_bytes; i++)
        source[i] = (char)byte_of(round, i);
}

static void check(const char *dest, int round)
{
    for (size_t i = 0; i < n_bytes; i++)
        if ((uint8_t)dest[i] != byte_of(round, i))
            __atomic_store_n(&has_failed, true, __ATOMIC_RELAXED);
}

/* A thread that leaves all units to the kernel, and now and then waits until that has ended. */
__global__ void ask_kernel(gsh_nccl_copies copies, char *dest, char *source)
{
    for (int round = 1; round <= ASK_ROUNDS; round++) {
        fill(source, round);
        const nccl::joint_copy copy = {dest, source, n_bytes};
        const uint64_t ended = detail::load_relaxed(&copies.words->n_ended);
        const uint32_t i = nccl::ask_for_help(copies.slots, &copies.words->asked, &copy);
        gsh_nccl_copy_slot *const slot = &copies.slots->slots[i];
        while (detail::load_awaited(&slot->helped) != nccl::units_of(n_bytes))
            detail::spin_pause();
        detail::spin_done();
        detail::acquire_awaited();
        check(dest, round);
        detail::store_release(&slot->is_taken, 0u);
        while (round % 4 == 0 && detail::load_relaxed(&copies.words->n_ended) == ended)
            detail::spin_pause();
        detail::spin_done();
    }
}

__global__ void joint_kernel(gsh_nccl_copies copies, char *dest, char *source)
{
    for (int round = 1; round <= JOINT_ROUNDS; round++) {
        fill(source, round);
        const size_t rest =
            nccl::copy_jointly(copies.slots, &copies.words->asked, dest, source, n_bytes);
        memcpy(dest, source, rest);
        check(dest, round);
    }
}

int main(int argc, char **argv)
{
    static char bytes[2][2][n_bytes] __attribute__((aligned(16)));
    cudaStream_t streams[2];
    int pe = 0;
    is_asking = argc > 1 && strcmp(argv[1], "ask") == 0;
    gsh_nccl_copier *const copier = gsh_nccl_copier_create(&pe, 0);
    if (copier == nullptr || !gsh_nccl_copier_need(copier))
        return 2;
    for (int i = 0; i < (is_asking ? 1 : 2); i++) {
        (void)cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
        gshmem_launch(is_asking ? ask_kernel : joint_kernel, dim3(1), dim3(1), 0, streams[i], made,
                      bytes[i][0], bytes[i][1]);
    }
    for (int i = 0; i < (is_asking ? 1 : 2); i++) {
        (void)cudaStreamSynchronize(streams[i]);
        (void)cudaStreamDestroy(streams[i]);
    }
    gsh_nccl_copier_stop(copier);
    gsh_nccl_copier_end(copier);
    if (has_failed)
        fprintf(stderr, "copier_orders: what a put or a kernel has seen is older than promised\n");
    return has_failed ? 1 : 0;
}
