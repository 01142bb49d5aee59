/* SPDX-License-Identifier: Apache-2.0
 * Kernels of names.cu that call every form of reduction and copy, for multicast memory, too. */
#ifndef GSH_TEST_NCCL_NAMES_REDUCE_CUH
#define GSH_TEST_NCCL_NAMES_REDUCE_CUH

#include <cooperative_groups.h>
#include "tests/nccl/names_setup.cuh"

struct greater {
    template <class T> __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

/* Element i of rank r is i % 5 + r. */
template <class T> __device__ bool is_sum(const T *p, int i, int n)
{
    return static_cast<float>(p[i]) == (float)(i % 5 * n + n * (n - 1) / 2);
}
template <class T> __device__ bool is_of(const T *p, int i, int r)
{
    return static_cast<float>(p[i]) == (float)(i % 5 + r);
}

template <class T, class Coop>
__device__ void reduce_forms(const setup &s, faults *f, Coop coop,
                             ncclLsaBarrierSession<ncclCoopCta> &bar)
{
    const ncclCoopCta cta;
    const cuda::memory_order order = cuda::memory_order_acq_rel;
    const ncclTeam team = ncclTeamLsa(s.dev);
    const int n = team.nRanks, count = n_elements;
    const size_t apart = sizeof(layout::copies[0]);
    const ncclSymPtr<T> in(s.win, OFF(in)), out(s.win, OFF(out));
    T *const mine = in.localPtr(), *const sums = out.localPtr();
    T *const copies = (T *)ncclGetLocalPointer(s.win, OFF(copies));
    const auto sources = [=](int i) { return in.lsaPtr(i); };
    const auto dests = [=](int i) { return out.lsaPtr(i); };
    const auto locals = [=](int i) { return (T *)((char *)copies + apart * (size_t)i); };
    bar.sync(cta, order);
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        mine[i] = static_cast<T>((float)(i % 5 + team.rank));
    const auto check = [&](const T *p, bool is_reduced, int r) {
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            EXPECT(is_reduced ? is_sum(p, i, r) : is_of(p, i, r));
            const_cast<T *>(p)[i] = static_cast<T>(0.0f);
        }
        __syncthreads();
    };
    bar.sync(cta, order);
    /* N to 1 */
    ncclLsaReduceSum<T>(coop, sources, n, sums, count);
    check(sums, true, n);
    ncclLsaReduceSum<T>(coop, in, sums, count, team);
    check(sums, true, n);
    ncclLsaReduceSum<T>(coop, in, sums, count, s.dev);
    check(sums, true, n);
    ncclLsaReduceSum<T>(coop, s.win, OFF(in), sums, count, team);
    check(sums, true, n);
    ncclLsaReduceSum<T>(coop, s.win, OFF(in), sums, count, s.dev);
    check(sums, true, n);
    ncclLocalReduceSum<T>(coop, sources, n, sums, count);
    check(sums, true, n);
    ncclLsaReduceLsaCopy<T, Coop, decltype(sources), decltype(locals), greater, int, 4>(
        coop, sources, n, locals, 1, greater(), count);
    check(copies, false, n - 1);
    /* local: three copies, whose sum is three times one */
    ncclLocalCopy<T>(coop, mine, 3, copies, apart, count);
    ncclCoopCta().sync();
    ncclLocalReduceSum<T>(coop, 3, copies, apart, sums, count);
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        EXPECT(static_cast<float>(sums[i]) == (float)(3 * (i % 5 + team.rank)));
    for (int k = 0; k < 3; k++)
        check(locals(k), false, team.rank);
    ncclLocalCopy<T>(coop, mine, locals, 3, count);
    for (int k = 0; k < 3; k++)
        check(locals(k), false, team.rank);
    ncclLocalCopy<T>(coop, mine, 2, copies, apart, count);
    __syncthreads();
    ncclLocalReduceSumCopy<T>(coop, 1, copies, apart, 2, locals(1), apart, count);
    for (int k = 0; k < 3; k++)
        check(locals(k), false, team.rank);
    /* to all ranks: each form by one rank */
    for (int form = 0; form < 12; form++) {
        const int turn = form % n;
        bar.sync(cta, order);
        if (team.rank == turn) {
            if (form == 0)
                ncclLsaCopy<T>(coop, mine, dests, n, count);
            else if (form == 1)
                ncclLsaCopy<T>(coop, mine, out, count, team);
            else if (form == 2)
                ncclLsaCopy<T>(coop, mine, out, count, s.dev);
            else if (form == 3)
                ncclLsaCopy<T>(coop, mine, s.win, OFF(out), count, team);
            else if (form == 4)
                ncclLsaCopy<T>(coop, mine, s.win, OFF(out), count, s.dev);
            else if (form == 5)
                ncclLsaReduceSumCopy<T>(coop, in, out, count, team);
            else if (form == 6)
                ncclLsaReduceSumCopy<T>(coop, in, out, count, s.dev);
            else if (form == 7)
                ncclLsaReduceSumCopy<T>(coop, s.win, OFF(in), s.win, OFF(out), count, team);
            else if (form == 8)
                ncclLsaReduceSumCopy<T>(coop, s.win, OFF(in), s.win, OFF(out), count, s.dev);
            else if (form == 9)
                ncclLsaReduceSumCopy<T>(coop, in, team, out, team, count);
            else if (form == 10)
                ncclLsaReduceSumLsaCopy<T>(coop, sources, n, dests, n, count);
            else
                ncclLsaReduceLsaCopy<T>(coop, sources, n, dests, n, greater(), count);
        }
        bar.sync(cta, order);
        check(sums, form >= 5 && form < 11, form == 11 ? n - 1 : form >= 5 ? n : turn);
    }
}

__global__ void reduce_kernel(setup s, faults *f)
{
    ncclLsaBarrierSession<ncclCoopCta> bar(ncclCoopCta(), s.dev, ncclTeamTagLsa(), 0);
    reduce_forms<float>(s, f, ncclCoopCta(), bar);
    reduce_forms<double>(s, f, cooperative_groups::this_thread_block(), bar);
}

__global__ void reduce_small_kernel(setup s, faults *f)
{
    ncclLsaBarrierSession<ncclCoopCta> bar(ncclCoopCta(), s.dev, ncclTeamTagLsa(), 0);
    reduce_forms<__half>(s, f, ncclCoopCta(), bar);
    reduce_forms<__nv_bfloat16>(s, f, ncclCoopCta(), bar);
    reduce_forms<int8_t>(s, f, ncclCoopCta(), bar);
    reduce_forms<uint64_t>(s, f, ncclCoopCta(), bar);
}

/* What the program chooses by multimemSupport compiles; whoever calls it without looks ends. */
__global__ void multimem_kernel(setup s, faults *f)
{
    (void)f;
    const ncclCoopCta c;
    const int n = 4;
    float *const p = (float *)ncclGetLocalPointer(s.win, 0);
    const ncclSymPtr<float> a(s.win, 0);
    const ncclTeam team = ncclTeamLsa(s.dev);
    const ncclMultimemHandle h = s.dev.lsaMultimem;
    const auto to = [=](int) { return p; };
    if (!s.is_for_multimem)
        return;
    ncclMultimemReduceSum<float>(c, a, p, n, h);
    ncclMultimemReduceSum<float>(c, p, p, n);
    ncclMultimemReduceSum<float>(c, s.win, 0, p, n, h);
    ncclMultimemCopy<float>(c, p, a, n, h);
    ncclMultimemCopy<float>(c, p, p, n);
    ncclMultimemCopy<float>(c, p, s.win, 0, n, h);
    ncclMultimemReduceSumCopy<float>(c, a, h, a, h, n);
    ncclMultimemReduceSumCopy<float>(c, p, p, n);
    ncclMultimemReduceSumCopy<float>(c, s.win, 0, h, s.win, 0, h, n);
    ncclLsaReduceSumMultimemCopy<float>(c, a, team, a, h, n);
    ncclLsaReduceSumMultimemCopy<float>(c, a, team, p, n);
    ncclLsaReduceSumMultimemCopy<float>(c, to, 1, to, 1, n);
    ncclMultimemReduceSumLsaCopy<float>(c, a, h, a, team, n);
    ncclMultimemReduceSumLsaCopy<float>(c, p, a, team, n);
    ncclMultimemReduceSumLsaCopy<float>(c, to, 1, to, 1, n);
    ncclMultimemReduceSumMultimemCopy<float>(c, to, 1, to, 1, n);
    ncclLsaReduceMultimemCopy<float>(c, to, 1, to, 1, greater(), n);
}

#endif
