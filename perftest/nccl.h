/* SPDX-License-Identifier: Apache-2.0
 * NCCL's collectives for coll.cu: gshmem starts the PEs and carries NCCL's id; the buffers are
 * NCCL's own, registered as symmetric windows. If PERFTEST_NCCL_PLAIN is set in the environment
 * they are ordinary GPU memory with NCCL's defaults. */
#ifndef GSHMEM_PERFTEST_NCCL_H
#define GSHMEM_PERFTEST_NCCL_H

#include <nccl.h>
#include "perftest/pe.h"

namespace perftest
{

inline void check_nccl(ncclResult_t r, const char *what, int line)
{
    if (r == ncclSuccess)
        return;
    fprintf(stderr, "perftest: line %d: %s: %s\n", line, what, ncclGetErrorString(r));
    gshmem_global_exit(1);
}
#define NCCL(call) ::perftest::check_nccl((call), #call, __LINE__)

struct nccl_peer {
    ncclComm_t comm;
    ncclWindow_t windows[2];
    char *own[2]; /* the bench's buffers */
    bool is_plain;

    void begin(bench *b)
    {
        ncclUniqueId *id = (ncclUniqueId *)gshmem_malloc(sizeof *id), mine;
        if (b->leads())
            NCCL(ncclGetUniqueId(&mine));
        if (b->leads())
            for (int pe = 0; pe < b->n; pe++)
                gshmem_putmem(id, &mine, sizeof mine, pe);
        gshmem_barrier_all();
        CUDA(cudaMemcpy(&mine, id, sizeof mine, cudaMemcpyDefault));
        NCCL(ncclCommInitRank(&comm, b->n, mine, b->me));
        int version = 0;
        NCCL(ncclGetVersion(&version));
        is_plain = getenv("PERFTEST_NCCL_PLAIN") != nullptr;
        b->out.note("peer", "NCCL " + std::to_string(version) +
                                (is_plain ? ", plain buffers" : ", symmetric windows"));
        own[0] = b->source;
        own[1] = b->dest;
        char **buffers[] = {&b->source, &b->dest};
        for (int i = 0; i < 2; i++) {
            if (is_plain)
                CUDA(cudaMalloc(buffers[i], b->bytes));
            else
                NCCL(ncclMemAlloc((void **)buffers[i], b->bytes));
            if (!is_plain)
                NCCL(ncclCommWindowRegister(comm, *buffers[i], b->bytes, &windows[i],
                                            NCCL_WIN_COLL_SYMMETRIC));
        }
        gshmem_barrier_all();
        gshmem_free(id);
    }
    void end(bench *b)
    {
        char *buffers[] = {b->source, b->dest};
        for (int i = 0; i < 2; i++) {
            if (!is_plain)
                NCCL(ncclCommWindowDeregister(comm, windows[i]));
            if (is_plain)
                CUDA(cudaFree(buffers[i]));
            else
                NCCL(ncclMemFree(buffers[i]));
        }
        b->source = own[0];
        b->dest = own[1];
        NCCL(ncclCommDestroy(comm));
    }
    void all_reduce(float *dest, const float *source, size_t n, cudaStream_t s) const
    {
        NCCL(ncclAllReduce(source, dest, n, ncclFloat, ncclSum, comm, s));
    }
    void reduce_scatter(float *dest, const float *source, size_t n, cudaStream_t s) const
    {
        NCCL(ncclReduceScatter(source, dest, n, ncclFloat, ncclSum, comm, s));
    }
    void all_gather(float *dest, const float *source, size_t n, cudaStream_t s) const
    {
        NCCL(ncclAllGather(source, dest, n, ncclFloat, comm, s));
    }
    void all_to_all(float *dest, const float *source, size_t n, cudaStream_t s) const
    {
        NCCL(ncclAlltoAll(source, dest, n, ncclFloat, comm, s));
    }
    void broadcast(float *dest, const float *source, size_t n, cudaStream_t s) const
    {
        NCCL(ncclBroadcast(source, dest, n, ncclFloat, 0, comm, s));
    }
};
static nccl_peer nccl;

} // namespace perftest

#endif
