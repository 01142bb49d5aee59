/* SPDX-License-Identifier: Apache-2.0
 * Collectives of the CPU row: the library's kernels, as one thread. */
#include "cpu/here.h"
#include "runtime/backend/cpu/device.h"
#include "runtime/instance/instance.h"
#include "wire/coll.h"

static void (*const entries[GSH_COLL_ALL_KERNELS])(void *) = {
    [GSH_COLL_KERNEL_move] = gsh_kernel_coll_move_on_cpu,
    [GSH_COLL_KERNEL_alltoalls] = gsh_kernel_coll_alltoalls_on_cpu,
    [GSH_COLL_KERNEL_far] = gsh_kernel_coll_far_on_cpu,
    [GSH_COLL_KERNEL_lines_move] = gsh_kernel_lines_move_on_cpu,
    [GSH_COLL_KERNEL_lines_sums_of_two] = gsh_kernel_lines_sums_of_two_on_cpu,
    [GSH_COLL_KERNEL_lines_long_move] = gsh_kernel_lines_long_move_on_cpu,
    [GSH_COLL_KERNEL_lines_long_sums_of_two] = gsh_kernel_lines_long_sums_of_two_on_cpu,
    [GSH_COLL_KERNEL_lines_of_two] = gsh_kernel_lines_of_two_on_cpu,
    [GSH_COLL_KERNEL_lines_of_more] = gsh_kernel_lines_of_more_on_cpu,
    [GSH_COLL_KERNEL_lines_read_move] = gsh_kernel_lines_read_move_on_cpu,
    [GSH_COLL_KERNEL_lines_read_sums_of_two] = gsh_kernel_lines_read_sums_of_two_on_cpu,
    [GSH_COLL_KERNEL_lines_read_of_two] = gsh_kernel_lines_read_of_two_on_cpu,
    [GSH_COLL_KERNEL_pieces_move] = gsh_kernel_pieces_move_on_cpu,
    [GSH_COLL_KERNEL_pieces_sums_of_two] = gsh_kernel_pieces_sums_of_two_on_cpu,
    [GSH_COLL_KERNEL_lines_short_move] = gsh_kernel_lines_short_move_on_cpu,
    [GSH_COLL_KERNEL_lines_short_sums] = gsh_kernel_lines_short_sums_on_cpu,
    [GSH_COLL_KERNEL_lines_short_move_by_4] = gsh_kernel_lines_short_move_by_4_on_cpu,
    [GSH_COLL_KERNEL_lines_short_sums_by_4] = gsh_kernel_lines_short_sums_by_4_on_cpu,
    [GSH_COLL_KERNEL_lines_steps_move] = gsh_kernel_lines_steps_move_on_cpu,
    [GSH_COLL_KERNEL_lines_steps_sums] = gsh_kernel_lines_steps_sums_on_cpu,
#define ENTRY(OP, NAME, T) [GSH_COLL_KERNEL_##OP##_##NAME] = gsh_kernel_coll_##OP##_##NAME##_on_cpu,
    GSH_REDUCE_KERNELS(ENTRY) GSH_SCAN_KERNELS(ENTRY) GSH_CPU_REDUCE_KERNELS(ENTRY)
        GSH_CPU_SCAN_KERNELS(ENTRY)
#undef ENTRY
};

static void *args_of(const struct gsh_coll_launch *launch)
{
    return launch->kernel >= GSH_COLL_KERNEL_COUNT ? (void *)launch->lines : (void *)launch->args;
}

/* On the caller's own stack: a launch would cost more than most collectives. */
enum gsh_result gsh_cpu_coll(struct gsh_instance *pe, const struct gsh_coll_launch *launch)
{
    gsh_cpu_execute(pe->device, entries[launch->kernel], args_of(launch));
    return GSH_OK;
}

enum gsh_result gsh_cpu_stream_coll(struct gsh_instance *pe, const struct gsh_coll_launch *launch,
                                    gsh_stream stream)
{
    size_t bytes =
        launch->kernel >= GSH_COLL_KERNEL_COUNT ? sizeof(*launch->lines) : sizeof(*launch->args);
    return gsh_cpu_launch_kernel(pe, entries[launch->kernel], args_of(launch), bytes, stream);
}
