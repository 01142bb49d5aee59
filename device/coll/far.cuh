/* SPDX-License-Identifier: Apache-2.0
 * Collectives of teams of which not all members are mapped, by one block: puts, near and far ones,
 * between barriers of the team's lane. Reductions gather a piece of every member's source in a work
 * area of each, and add it up there.
 *
 * The work area has two halves; a piece goes into half e mod 2, e being the lane's epoch before the
 * barrier that follows the puts. A member that has passed that barrier knows that all have come to
 * it, and so have read what the barrier before it announced: the other half is free. */
#ifndef GSHMEM_COLL_FAR_CUH
#define GSHMEM_COLL_FAR_CUH

#include "device/coll/element.cuh"
#include "device/coll/move.cuh"
#include "device/coll/team.cuh"
#include "device/rma.cuh"

namespace gshmem
{
namespace detail
{

/* A put to a member, this PE included. Its completion is left to the barrier that follows. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void put_to(coll_call<C> k, G, uint8_t *dest, const uint8_t *source,
                                          uint64_t bytes, int member)
{
    if (bytes > 0 && !(member == k.me && dest == source))
        apart<put_general<false, false, may_be_far, G, C>>(k.c, static_cast<void *>(dest),
                                                           static_cast<const void *>(source),
                                                           (size_t)bytes, k.pe(member), k.name);
}

/* The same of a word, by one thread. */
template <class C>
__device__ __forceinline__ void word_to(const coll_call<C> &k, uint64_t *dest, uint64_t value,
                                        int member)
{
    apart<p_elsewhere<uint64_t, C>>(k.c, dest, value, k.pe(member), k.name);
}

template <class C, class G> __device__ GSHMEM_OUT_OF_LINE void far_barrier(coll_call<C> k, G g)
{
    sync_team<true>(k.c, g, k.team, k.lane, k.name);
}

template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void fcollect_far(coll_call<C> k, G g, uint8_t *dest,
                                                const uint8_t *source, uint64_t bytes,
                                                uint64_t begin)
{
    far_barrier(k, g); /* every dest may be written */
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++)
        put_to(k, g, plus(dest, begin), source, bytes, k.after(i));
    far_barrier(k, g);
}

template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void alltoall_far(coll_call<C> k, G g, uint8_t *dest,
                                                const uint8_t *source, uint64_t bytes)
{
    far_barrier(k, g);
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++) {
        const int member = k.after(i);
        put_to(k, g, plus(dest, (uint64_t)k.me * bytes), plus(source, (uint64_t)member * bytes),
               bytes, member);
    }
    far_barrier(k, g);
}

template <class C, class G, class T>
__device__ GSHMEM_OUT_OF_LINE void alltoalls_far(coll_call<C> k, G g, T *dest, const T *source,
                                                 ptrdiff_t dst, ptrdiff_t sst, size_t nelems)
{
    far_barrier(k, g);
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++) {
        const int member = k.after(i);
        iput(k.c, g, dest + (ptrdiff_t)(k.me * nelems) * dst,
             source + (ptrdiff_t)(member * nelems) * sst, dst, sst, nelems, k.pe(member), k.name);
    }
    far_barrier(k, g);
}

/* Down a binomial tree: in round r the members that have the data give them to those 2^r further.
 */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void broadcast_far(coll_call<C> k, G g, uint8_t *dest,
                                                 const uint8_t *source, uint64_t bytes, int root)
{
    const int place = (k.me - root + k.n) % k.n;
    far_barrier(k, g);
    GSHMEM_NO_UNROLL
    for (int distance = 1; distance < k.n; distance *= 2) {
        if (place < distance && place + distance < k.n)
            put_to(k, g, dest, k.me == root ? source : dest, bytes, (k.me + distance) % k.n);
        far_barrier(k, g);
    }
    if (k.me == root)
        put_to(k, g, dest, source, bytes, root);
    g.sync();
}

/* ---- by way of the work area -------------------------------------------------------------------
 */

/* This PE's half for the coming barrier, or for the one that was n_ago barriers ago; a slot for
 * each member. */
template <class C> struct work {
    uint8_t *half;
    uint64_t slot_bytes;

    __device__ __forceinline__ explicit work(const coll_call<C> &k, uint64_t n_ago = 0)
    {
        const gsh_team_state &t = *k.team;
        slot_bytes = t.work_slot_bytes;
        const uint64_t half_bytes = slot_bytes * (uint64_t)k.n;
        half = reinterpret_cast<uint8_t *>(state_of(k.c).base) + t.work_off +
               (uint64_t)k.lane * 2 * half_bytes +
               ((load_plain(&k.area()->epoch) - n_ago) & 1) * half_bytes;
    }
    __device__ __forceinline__ uint8_t *slot(int member) const
    {
        return plus(half, (uint64_t)member * slot_bytes);
    }
};

/* Where this PE's part begins, when every member has told its bytes. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE uint64_t exchange_counts_far(coll_call<C> k, G g, uint64_t bytes)
{
    const work<C> w(k);
    uint64_t before = 0;
    g.sync();
    GSHMEM_NO_UNROLL
    for (int i = (int)g.rank(); i < k.n; i += (int)g.size()) {
        word_to(k, reinterpret_cast<uint64_t *>(w.slot(k.me)), bytes, k.after(i));
    }
    far_barrier(k, g);
    GSHMEM_NO_UNROLL
    for (int m = 0; m < k.me; m++)
        before += load_relaxed(reinterpret_cast<const uint64_t *>(w.slot(m)));
    return before;
}

/* Part m of n bytes, of which each but the last has `each`. */
__device__ __forceinline__ uint64_t part_bytes(uint64_t n, uint64_t each, int m)
{
    const uint64_t begin = each * (uint64_t)m;
    return begin >= n ? 0 : n - begin < each ? n - begin : each;
}

/* Member m gets, in this PE's slot there, part m of what this PE has: n bytes in parts of `each`,
 * or, where each is 0, all n bytes from source + m * apart. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void scatter_far(coll_call<C> k, G g, const uint8_t *source,
                                               uint64_t n, uint64_t each, uint64_t apart)
{
    uint8_t *const slot = work<C>(k).slot(k.me);
    g.sync(); /* all threads have read the epoch */
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++) {
        const int member = k.after(i);
        put_to(k, g, slot, plus(source, (uint64_t)member * apart),
               each == 0 ? n : part_bytes(n, each, member), member);
    }
    far_barrier(k, g);
}

/* This PE's part to the same place on all others. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void spread_far(coll_call<C> k, G g, uint8_t *part, uint64_t bytes)
{
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.n; i++)
        put_to(k, g, part, part, bytes, k.after(i));
    far_barrier(k, g);
}

/* dest[i], for n elements, from the slots of the members [0, end), after scatter_far. */
template <class Op, class T, class C, class G>
__device__ __forceinline__ void add_slots(const coll_call<C> &k, G g, T *dest, uint64_t n, int end)
{
    typedef accumulator<T> A;
    typedef tail_word<T> V;
    const work<C> w(k, 1);
    GSHMEM_NO_UNROLL
    for (uint64_t e = g.rank(); e < n; e += g.size()) {
        auto element = [&](int m) {
            return A::open(bit_cast<T>(load_fresh(reinterpret_cast<const V *>(w.slot(m)) + e)));
        };
        typename A::type sum = {};
        if (end > 0)
            sum = element(0);
        GSHMEM_NO_UNROLL
        for (int m = 1; m < end; m++)
            sum = Op::of(sum, element(m));
        store_element(reinterpret_cast<V *>(dest) + e, bit_cast<V>(A::close(sum)));
    }
}

/* dest[i], for nelems elements, is the reduction over the members [0, end) of what each has at
 * source + i, or, for a reducescatter, one part further for each member. */
template <class Op, class T, class C, class G>
__device__ GSHMEM_OUT_OF_LINE void add_up_far(coll_call<C> k, G g, T *dest, const T *source,
                                              uint64_t nelems, int end, bool is_scattered)
{
    const uint64_t most = k.team->work_slot_bytes / sizeof(T);
    const uint64_t apart = is_scattered ? nelems * sizeof(T) : 0;
    GSHMEM_NO_UNROLL
    for (uint64_t done = 0; done < nelems; done += most) {
        const uint64_t n = nelems - done < most ? nelems - done : most;
        scatter_far(k, g, reinterpret_cast<const uint8_t *>(source + done), n * sizeof(T), 0,
                    apart);
        add_slots<Op>(k, g, dest + done, n, end);
        g.sync();
    }
}

/* A reduce of what does not fit into one slot: each member adds up a part of each piece, and gives
 * it to all others. */
template <class Op, class T, class C, class G>
__device__ GSHMEM_OUT_OF_LINE void reduce_far(coll_call<C> k, G g, T *dest, const T *source,
                                              uint64_t nelems)
{
    const uint64_t slot = k.team->work_slot_bytes / sizeof(T), most = slot * (uint64_t)k.n;
    if (nelems <= slot) {
        add_up_far<Op>(k, g, dest, source, nelems, k.n, false);
        return;
    }
    GSHMEM_NO_UNROLL
    for (uint64_t done = 0; done < nelems; done += most) {
        const uint64_t n = nelems - done < most ? nelems - done : most;
        const uint64_t each = (n + (uint64_t)k.n - 1) / (uint64_t)k.n;
        const uint64_t own = part_bytes(n, each, k.me);
        T *const mine = dest + done + each * (uint64_t)k.me;
        scatter_far(k, g, reinterpret_cast<const uint8_t *>(source + done), n * sizeof(T),
                    each * sizeof(T), each * sizeof(T));
        add_slots<Op>(k, g, mine, own, k.n);
        g.sync();
        spread_far(k, g, reinterpret_cast<uint8_t *>(mine), own * sizeof(T));
    }
}

} // namespace detail
} // namespace gshmem

#endif
