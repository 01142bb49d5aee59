/* SPDX-License-Identifier: Apache-2.0
 * The collectives that only move data: broadcast, fcollect, collect, alltoall, alltoalls; by bytes.
 * Ways, of which choose.cuh takes one:
 * - flagged: one flight of data that carry their flags (flagged.cuh);
 * - direct: all members have come; each stores what it has straight into the others' dest; all have
 *   done so;
 * - far, where some member cannot be mapped: the same by puts, between barriers of the team. */
#ifndef GSHMEM_COLL_MOVE_CUH
#define GSHMEM_COLL_MOVE_CUH

#include "device/coll/choose.cuh"
#include "device/coll/element.cuh"
#include "device/coll/flagged.cuh"
#include "device/coll/grid.cuh"
#include "device/coll/team.cuh"
#include "device/copy.cuh"

namespace gshmem
{
namespace detail
{

template <class T> __device__ __forceinline__ T *plus(T *p, uint64_t bytes)
{
    return reinterpret_cast<T *>(reinterpret_cast<uint64_t>(p) + bytes);
}

/* The calling block's share of that many bytes, in whole lines of the cache. */
struct share {
    uint64_t begin, bytes;
};
template <class G> __device__ __forceinline__ share share_of(G g, uint64_t bytes)
{
    const uint64_t each = ((bytes + g.n_blocks() - 1) / g.n_blocks() + 127) & ~(uint64_t)127;
    const uint64_t begin = each * g.block();
    if (begin >= bytes)
        return {0, 0};
    return {begin, bytes - begin < each ? bytes - begin : each};
}

/* The calling block's share of a copy to a near member, or to itself. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void store_share(coll_call<C> k, G g, uint8_t *dest,
                                               const uint8_t *source, uint64_t bytes, int member)
{
    const share s = share_of(g, bytes);
    auto b = g.block_part();
    if (s.bytes > 0 && !(member == k.me && dest == source))
        copy<direction::put, false, decltype(b)>({b.rank(), b.size()},
                                                 k.at(plus(dest, s.begin), member),
                                                 plus(source, s.begin), s.bytes);
}

/* ---- fcollect ----------------------------------------------------------------------------------
 */

template <class C, class G>
__device__ inline void fcollect_flagged(const flagged<C> &f, G g, uint8_t *dest,
                                        const uint8_t *source, uint64_t bytes)
{
    flagged_exchange(
        f, g, lines_of(bytes), [=](int, uint32_t line) { return load_line(source, bytes, line); },
        [=](int member, uint32_t line, uint64_t data) {
            store_line(plus(dest, (uint64_t)member * bytes), bytes, line, data);
        });
}

template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void fcollect_direct(coll_call<C> k, G g, uint8_t *dest,
                                                   const uint8_t *source, uint64_t bytes)
{
    meeting<C, G> all(k, g);
    all.meet();
    GSHMEM_NO_UNROLL
    for (int i = 1; i <= k.n; i++) /* itself last, while the others' bytes are on their way */
        store_share(k, g, plus(dest, (uint64_t)k.me * bytes), source, bytes, k.after(i));
    all.meet(true);
}

/* ---- alltoall ----------------------------------------------------------------------------------
 */

template <class C, class G>
__device__ inline void alltoall_flagged(const flagged<C> &f, G g, uint8_t *dest,
                                        const uint8_t *source, uint64_t bytes)
{
    flagged_exchange(
        f, g, lines_of(bytes),
        [=](int member, uint32_t line) {
            return load_line(plus(source, (uint64_t)member * bytes), bytes, line);
        },
        [=](int member, uint32_t line, uint64_t data) {
            store_line(plus(dest, (uint64_t)member * bytes), bytes, line, data);
        });
}

template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void alltoall_direct(coll_call<C> k, G g, uint8_t *dest,
                                                   const uint8_t *source, uint64_t bytes)
{
    meeting<C, G> all(k, g);
    all.meet();
    GSHMEM_NO_UNROLL
    for (int i = 1; i <= k.n; i++) {
        const int member = k.after(i);
        store_share(k, g, plus(dest, (uint64_t)k.me * bytes),
                    plus(source, (uint64_t)member * bytes), bytes, member);
    }
    all.meet(true);
}

/* Strided blocks: element i of the block for a member is at (i + member * nelems) * stride. */
template <class C, class G, class T>
__device__ GSHMEM_OUT_OF_LINE void alltoalls_direct(coll_call<C> k, G g, T *dest, const T *source,
                                                    ptrdiff_t dst, ptrdiff_t sst, size_t nelems)
{
    meeting<C, G> all(k, g);
    all.meet();
    GSHMEM_NO_UNROLL
    for (int i = 0; i < k.n; i++) {
        const int member = k.after(i);
        T *to = k.at(dest, member) + (ptrdiff_t)((uint64_t)k.me * nelems) * dst;
        const T *from = source + (ptrdiff_t)((uint64_t)member * nelems) * sst;
        GSHMEM_NO_UNROLL
        for (size_t e = g.rank(); e < nelems; e += g.size())
            store_out(to + (ptrdiff_t)e * dst, load_plain(from + (ptrdiff_t)e * sst));
    }
    all.meet(true);
}

/* ---- broadcast ---------------------------------------------------------------------------------
 */

/* A word from every member to every other, so that the buffers turn for all of them; the root's
 * are the data. */
template <class C, class G>
__device__ inline void broadcast_flagged(const flagged<C> &f, G g, uint8_t *dest,
                                         const uint8_t *source, uint64_t bytes, int root)
{
    const coll_call<C> &k = f.call;
    const uint32_t n_lines = lines_of(bytes), n_others = (uint32_t)k.n - 1;
    if (k.me == root)
        flagged_send(f, g, n_lines,
                     [=](int, uint32_t line) { return load_line(source, bytes, line); });
    for (uint32_t i = g.rank(); k.me != root && i < n_others; i += g.size())
        f.send(k.after(1 + (int)i), 0, 0);
    constexpr int n_ahead = lines_ahead<G>::n;
    uint64_t data[n_ahead];
    words2 seen[n_ahead];
    if (k.me == root)
        in_batches<n_ahead>(
            g, n_lines, [&](int a, uint32_t line) { data[a] = load_line(source, bytes, line); },
            [&](int a, uint32_t line) { store_line(dest, bytes, line, data[a]); });
    else
        in_batches<n_ahead>(
            g, n_lines, [&](int a, uint32_t line) { seen[a] = f.look(root, line); },
            [&](int a, uint32_t line) {
                store_line(dest, bytes, line, f.receive(root, line, seen[a]));
            });
    for (uint32_t i = g.rank(); i < n_others; i += g.size()) {
        const int member = k.after(1 + (int)i);
        if (member != root)
            f.receive(member, 0);
    }
}

/* Each member passes a part of the root's data on to all others, so that the root's link carries
 * them once. */
template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void broadcast_direct(coll_call<C> k, G g, uint8_t *dest,
                                                    const uint8_t *source, uint64_t bytes, int root)
{
    meeting<C, G> all(k, g);
    all.meet();
    if (k.n == 2 || bytes < 4096) {
        GSHMEM_NO_UNROLL
        for (int i = 1; k.me == root && i <= k.n; i++)
            store_share(k, g, dest, source, bytes, k.after(i));
        all.meet(true);
        return;
    }
    const uint64_t each = ((bytes + (uint64_t)k.n - 1) / (uint64_t)k.n + 127) & ~(uint64_t)127;
    auto part = [=](int m) {
        const uint64_t begin = each * (uint64_t)m;
        return begin >= bytes ? 0 : bytes - begin < each ? bytes - begin : each;
    };
    /* the root's part of member m goes to m, which then gives it to the others */
    GSHMEM_NO_UNROLL
    for (int i = 0; k.me == root && i < k.n; i++) {
        const int member = k.after(i);
        store_share(k, g, plus(dest, each * (uint64_t)member),
                    plus(source, each * (uint64_t)member), part(member), member);
    }
    all.meet();
    const uint64_t begin = each * (uint64_t)k.me;
    const uint8_t *from = k.me == root ? source : dest;
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.n; i++)
        store_share(k, g, plus(dest, begin), plus(from, begin), part(k.me), k.after(i));
    all.meet(true);
    /* the root's own dest: all of it */
    if (k.me == root)
        store_share(k, g, dest, source, bytes, root);
    g.block_part().sync();
}

/* ---- collect -----------------------------------------------------------------------------------
 */

/* Where this PE's part begins, when every member has told its bytes. */
template <class C, class G>
__device__ inline uint64_t exchange_counts(const coll_call<C> &k, G g, uint64_t bytes)
{
    /* Every thread looks at all counts: each is a line that stays where it is during the call. */
    const flagged<C> f(k);
    f.begin(g);
    uint64_t before = 0;
    GSHMEM_NO_UNROLL
    for (uint32_t i = g.rank(); i < (uint32_t)k.n - 1; i += g.size())
        f.send(k.after(1 + (int)i), 0, bytes);
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.n; i++) {
        const int member = k.after(i);
        const uint64_t its = f.receive(member, 0);
        before += member < k.me ? its : 0;
    }
    return before;
}

template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void collect_direct(coll_call<C> k, G g, uint8_t *dest,
                                                  const uint8_t *source, uint64_t bytes)
{
    const uint64_t begin = exchange_counts(k, g, bytes);
    meeting<C, G> all(k, g);
    all.meet();
    GSHMEM_NO_UNROLL
    for (int i = 1; i <= k.n; i++)
        store_share(k, g, plus(dest, begin), source, bytes, k.after(i));
    all.meet(true);
}

} // namespace detail
} // namespace gshmem

#endif
