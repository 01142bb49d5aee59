/* SPDX-License-Identifier: Apache-2.0
 * MPI's collectives for coll.cu on the CPU device, as host calls: mpirun starts the processes,
 * gshmem makes them PEs, and the buffers are in its heap. */
#ifndef GSHMEM_PERFTEST_MPI_PEER_H
#define GSHMEM_PERFTEST_MPI_PEER_H

#include <mpi.h>
#include "perftest/pe.h"

namespace perftest
{

struct mpi_peer {
    void begin(bench *b) const
    {
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0, is_up = 0;
        MPI_Initialized(&is_up);
        if (!is_up)
            MPI_Init(nullptr, nullptr);
        MPI_Get_library_version(version, &length);
        b->out.note("peer", std::string(version).substr(0, 40));
    }
    void end() const { MPI_Finalize(); }
    void all_reduce(float *dest, const float *source, size_t n) const
    {
        MPI_Allreduce(source, dest, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    void reduce_scatter(float *dest, const float *source, size_t n) const
    {
        MPI_Reduce_scatter_block(source, dest, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    void all_gather(float *dest, const float *source, size_t n) const
    {
        MPI_Allgather(source, (int)n, MPI_FLOAT, dest, (int)n, MPI_FLOAT, MPI_COMM_WORLD);
    }
    void all_to_all(float *dest, const float *source, size_t n) const
    {
        MPI_Alltoall(source, (int)n, MPI_FLOAT, dest, (int)n, MPI_FLOAT, MPI_COMM_WORLD);
    }
    /* In place, in MPI's sense: the root's source is its dest. */
    void broadcast(const bench &b, float *dest, const float *source, size_t n) const
    {
        MPI_Bcast(b.leads() ? const_cast<float *>(source) : dest, (int)n, MPI_FLOAT, 0,
                  MPI_COMM_WORLD);
    }
};
static const mpi_peer mpi;

} // namespace perftest

#endif
