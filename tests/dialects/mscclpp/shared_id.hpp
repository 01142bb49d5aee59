/* SPDX-License-Identifier: Apache-2.0
 * The unique id by which the PEs of a job make a communicator of MSCCL++'s: PE 0 makes it, and all
 * get it over the heap. Collective over all PEs. */
#ifndef TEST_MSCCLPP_SHARED_ID_HPP
#define TEST_MSCCLPP_SHARED_ID_HPP

#include <gshmem.h>
#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>

inline mscclpp::UniqueId shared_id(int me)
{
    char *symmetric = static_cast<char *>(gshmem_malloc(mscclpp::UniqueIdBytes));
    mscclpp::UniqueId id = {};
    if (me == 0) {
        id = mscclpp::TcpBootstrap::createUniqueId();
        mscclpp::gpuMemcpy(symmetric, reinterpret_cast<const char *>(id.data()),
                           mscclpp::UniqueIdBytes, cudaMemcpyHostToDevice);
    }
    gshmem_barrier_all();
    gshmem_broadcastmem(GSHMEM_TEAM_WORLD, symmetric, symmetric, mscclpp::UniqueIdBytes, 0);
    mscclpp::gpuMemcpy(reinterpret_cast<char *>(id.data()), static_cast<const char *>(symmetric),
                       mscclpp::UniqueIdBytes, cudaMemcpyDeviceToHost);
    gshmem_barrier_all();
    gshmem_free(symmetric);
    return id;
}

#endif
