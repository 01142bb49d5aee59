/* SPDX-License-Identifier: Apache-2.0
 * Proves what a file with kernels gets from nvshmem.h alone: collective launches and cooperative
 * groups; that the headers that programs include by their paths exist; and that calls and types are
 * those that programs name. */
#include <nvshmem.h>

/* Every thread of every block meets every other one, twice; words: how many have begun, how many
 * saw them all, and the latter of another PE. */
__global__ static void count(int *words, int threads)
{
    atomicAdd(words, 1);
    cooperative_groups::this_grid().sync();
    if (words[0] == threads)
        atomicAdd(words + 1, 1);
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        nvshmem_int_p(words + 2, words[1], (nvshmem_my_pe() + 1) % nvshmem_n_pes());
        nvshmem_barrier_all();
    }
}

#include <bootstrap_device_host/nvshmem_uniqueid.h>
#include <device/nvshmem_coll_defines.cuh>
#include <device/nvshmem_device_macros.h>
#include <device/nvshmemx_coll_defines.cuh>
#include <device/tile/nvshmemx_tile_api_defines.cuh>
#include <host/nvshmem_coll_api.h>
#include <host/nvshmem_macros.h>
#include <host/nvshmemx_coll_api.h>
#include <type_traits>

template <class T, class U> static constexpr bool is_same = std::is_same<T, U>::value;
static_assert(is_same<nvshmemx_uniqueid_v1, nvshmemx_uniqueid_t> &&
                  is_same<nvshmemx_uniqueid_args_v1, nvshmemx_uniqueid_args_t> &&
                  is_same<nvshmemx_init_args_v2, nvshmemx_init_args_t> &&
                  is_same<nvshmemx_init_attr_v2, nvshmemx_init_attr_t> &&
                  is_same<nvshmem_team_config_v2, nvshmem_team_config_t> &&
                  sizeof(nvshmemx_init_args_v1) == sizeof(nvshmemx_init_args_v2) &&
                  sizeof(nvshmem_team_config_v1) == sizeof(nvshmem_team_config_v2),
              "each version of a type has its name");
[[maybe_unused]] static uint64_t (*const of_its_type)(uint64_t *) = nvshmem_signal_fetch;
static_assert(is_same<decltype(&nvshmem_signal_fetch<>), uint64_t (*)(uint64_t *)>, "its type");
#define IS_ORDER(CALL) is_same<decltype(&CALL), void (*)(int, nvshmemx_qp_handle_t *, int)>
static_assert(IS_ORDER(nvshmemx_qp_quiet) && IS_ORDER(nvshmemx_qp_quiet_warp) &&
                  IS_ORDER(nvshmemx_qp_quiet_block) && IS_ORDER(nvshmemx_qp_fence) &&
                  IS_ORDER(nvshmemx_qp_fence_warp) && IS_ORDER(nvshmemx_qp_fence_block),
              "their type");

static int pe_main(int, char **)
{
    nvshmem_init();
    int *words = (int *)nvshmem_calloc(3, sizeof(int));
    int threads = 0, grid = 0, got = 0;
    void *args[] = {&words, &threads};
    assert(nvshmemx_collective_launch_query_gridsize((const void *)count, 32, args, 0, &grid) == 0);
    assert(grid >= 1);
    grid = grid < 4 ? grid : 4;
    threads = grid * 32;
    assert(nvshmemx_collective_launch((const void *)count, grid, 32, args, 0, 0) == 0);
    assert(cudaDeviceSynchronize() == cudaSuccess);
    cudaMemcpy(&got, words + 2, sizeof(got), cudaMemcpyDefault);
    nvshmem_finalize();
    return got != threads;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
