/* SPDX-License-Identifier: Apache-2.0
 * All-to-all exchanges of small elements within an LSA team; the data carry their own flags. */
#ifndef GSHMEM_NCCL_LL_A2A_H
#define GSHMEM_NCCL_LL_A2A_H

#include "lsa_barrier.h"

/* Block `block` of a handle. In an epoch at most one sender writes each slot of each rank; a
 * receiver that has all that it waits for moves on with endEpoch. A rank must have heard from all
 * ranks of the team in an epoch before it ends it: then two buffers of slots are enough. An element
 * takes (sizeof + 7) / 8 slots; slot is the first one, in units of elements. */
template <class Coop> class ncclLLA2ASession
{
    typedef gshmem::detail::words2 line;
    Coop coop;
    const ncclDevComm &comm;
    ncclTeam team;
    uint32_t n_slots, epoch;
    line *lines; /* [0]: the epoch */

    template <class Type> __device__ __forceinline__ static constexpr uint32_t lines_of()
    {
        return (uint32_t)((sizeof(Type) + 7) / 8);
    }
    __device__ __forceinline__ line *buffer() const
    {
        return lines + 1 + (epoch % 2) * (size_t)n_slots;
    }
    __device__ __forceinline__ static bool is_of(const line &l, uint32_t of)
    {
        return (uint32_t)(l.low >> 32) == of && (uint32_t)(l.high >> 32) == of;
    }
    template <class Type> __device__ __forceinline__ void check_slot(int slot) const
    {
        gshmem::nccl::check_below(comm.state, "ncclLLA2ASession, slot", slot,
                                  n_slots / lines_of<Type>());
    }
    template <class Type> __device__ __forceinline__ void store(line *to, const Type &data) const
    {
        uint64_t words[lines_of<Type>()] = {};
        memcpy(words, &data, sizeof(Type));
        const uint64_t flag = (uint64_t)epoch << 32;
        GSHMEM_UNROLL
        for (uint32_t i = 0; i < lines_of<Type>(); i++)
            gshmem::detail::store_relaxed_words(
                to + i, {(uint32_t)words[i] | flag, (uint32_t)(words[i] >> 32) | flag});
    }
    template <class Type> __device__ __forceinline__ Type load(const line *from GSHMEM_SITE) const
    {
        using namespace gshmem;
        uint64_t words[lines_of<Type>()];
        Type data;
        for (uint32_t i = 0; i < lines_of<Type>(); i++) {
            detail::spin polls;
            line l = detail::load_relaxed_words(from + i);
            while (!is_of(l, epoch)) {
                polls.keep_polling(GSHMEM_HERE_OF(*comm.state), GSH_REPORT_WAIT_TIMEOUT,
                                   "ncclLLA2ASession", -1, GSHMEM_CMP_EQ, &from[i].low,
                                   (uint64_t)epoch << 32, l.low);
                l = detail::load_relaxed_words(from + i);
            }
            polls.done();
            words[i] = (uint32_t)l.low | l.high << 32;
        }
        memcpy(&data, words, sizeof(Type));
        return data;
    }

  public:
    __device__ __forceinline__ ncclLLA2ASession(Coop group, const ncclDevComm &devComm,
                                                ncclTeam lsa_team, ncclLLA2AHandle handle,
                                                uint32_t block, int maxElts, bool multimem = false,
                                                ncclMultimemHandle mmHandle = {})
        : coop(group), comm(devComm), team(lsa_team), n_slots(handle.nSlots)
    {
        (void)multimem, (void)mmHandle, (void)maxElts;
        char *p = static_cast<char *>(ncclGetResourceBufferLocalPointer(comm, handle.bufHandle));
        lines = reinterpret_cast<line *>(p + block * GSHMEM_NCCL_LLA2A_BLOCK_BYTES(n_slots));
        epoch = (uint32_t)lines[0].low + 1;
    }

    ncclLLA2ASession(const ncclLLA2ASession &) = delete;

    __device__ __forceinline__ ~ncclLLA2ASession()
    {
        coop.sync();
        if (coop.thread_rank() == 0)
            lines[0].low = epoch - 1;
        coop.sync();
    }

    /* Each by one thread. */
    template <class Type> __device__ __forceinline__ void send(int peer, int slot, Type data)
    {
        gshmem::nccl::check_below(comm.state, "ncclLLA2ASession, peer", peer,
                                  (uint64_t)team.nRanks);
        check_slot<Type>(slot);
        const int64_t away = (int64_t)(peer - team.rank) * team.stride * comm.lsa_stride;
        char *there = reinterpret_cast<char *>(buffer() + (size_t)slot * lines_of<Type>()) + away;
        store(reinterpret_cast<line *>(there), data);
    }

    template <class Type> __device__ __forceinline__ void bcast(int slot, Type data)
    {
        for (int i = 0; i < team.nRanks; i++) {
            const int peer = team.rank + i;
            send(peer < team.nRanks ? peer : peer - team.nRanks, slot, data);
        }
    }

    template <class Type> __device__ __forceinline__ Type recv(int slot GSHMEM_SITE)
    {
        check_slot<Type>(slot);
        return load<Type>(buffer() + (size_t)slot * lines_of<Type>() GSHMEM_PASS_SITE);
    }

    /* Receives slots start, start + stride, ...: count of them, from Min to Max. */
    template <int Min, int Max, class Type>
    __device__ __forceinline__ void recvUnrolled(int start, int count, int stride,
                                                 Type (&vals)[Max] GSHMEM_SITE)
    {
        GSHMEM_UNROLL
        for (int i = 0; i < Max; i++)
            if (i < Min || i < count)
                vals[i] = recv<Type>(start + i * stride GSHMEM_PASS_SITE);
    }

    template <int Unroll, class Elt, class EltToAcc, class Reduce>
    __device__ __forceinline__ auto recvReduce(int start, int count, int stride, EltToAcc eltToAcc,
                                               Reduce red GSHMEM_SITE)
    {
        auto sum = eltToAcc(recv<Elt>(start GSHMEM_PASS_SITE));
        for (int i = 1; i < count; i++)
            sum = red(sum, eltToAcc(recv<Elt>(start + i * stride GSHMEM_PASS_SITE)));
        return sum;
    }

    __device__ __forceinline__ void endEpoch(Coop group)
    {
        group.sync();
        epoch +=
            epoch == ~0u - 1 ? 4 : 1; /* never 0, the value in cleared lines; parity alternates */
    }
};

#endif
