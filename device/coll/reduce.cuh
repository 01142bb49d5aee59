/* SPDX-License-Identifier: Apache-2.0
 * The collectives that compute: reduce, reducescatter and the scans. Elements are added up in the
 * order of the members (far.cuh: of each node, then of the nodes), so the result has the same bits
 * on every PE and in every run. Ways as in move.cuh; a direct reduce is a reduce-scatter, from the
 * members' source, and an all-gather, into their dest, of one part for each member. */
#ifndef GSHMEM_COLL_REDUCE_CUH
#define GSHMEM_COLL_REDUCE_CUH

#include "device/coll/choose.cuh"
#include "device/coll/element.cuh"
#include "device/coll/flagged.cuh"
#include "device/coll/grid.cuh"
#include "device/coll/move.cuh"
#include "device/coll/team.cuh"

namespace gshmem
{
namespace detail
{

/* ---- flagged ----------------------------------------------------------------------------------
 */

template <class Op, class T, class C, class G>
__device__ inline void reduce_flagged(const flagged<C> &f, G g, T *dest, const T *source,
                                      uint64_t nelems)
{
    const uint64_t bytes = nelems * sizeof(T);
    flagged_add<Op, T>(
        f, g, lines_of(bytes), f.call.n,
        [=](int, uint32_t line) { return load_line(source, bytes, line); },
        [=](uint32_t line, uint64_t sum) { store_line(dest, bytes, line, sum); });
}

template <class Op, class T, class C, class G>
__device__ inline void reducescatter_flagged(const flagged<C> &f, G g, T *dest, const T *source,
                                             uint64_t nelems)
{
    const uint64_t bytes = nelems * sizeof(T);
    flagged_add<Op, T>(
        f, g, lines_of(bytes), f.call.n,
        [=](int member, uint32_t line) {
            return load_line(source + (uint64_t)member * nelems, bytes, line);
        },
        [=](uint32_t line, uint64_t sum) { store_line(dest, bytes, line, sum); });
}

/* All lines are received, also those of members behind this one: see the buffers' invariants. */
template <bool is_inclusive, class T, class C, class G>
__device__ inline void scan_flagged(const flagged<C> &f, G g, T *dest, const T *source,
                                    uint64_t nelems)
{
    const uint64_t bytes = nelems * sizeof(T);
    flagged_add<op_sum, T>(
        f, g, lines_of(bytes), is_inclusive ? f.call.me + 1 : f.call.me,
        [=](int, uint32_t line) { return load_line(source, bytes, line); },
        [=](uint32_t line, uint64_t sum) { store_line(dest, bytes, line, sum); });
}

/* ---- direct ------------------------------------------------------------------------------------
 */

/* Units of dest, on all members or this PE alone, from those at(from) to at(from_end - 1), by all
 * threads of the group. dest may be one of these. One V at a time, n_ahead of them on their way. */
template <class Op, class T, class V, int n_ahead, class C, class G, class At>
__device__ __forceinline__ void add_up(const coll_call<C> &k, G g, T *dest, uint64_t n_units,
                                       int from, int from_end, bool to_all, At at)
{
    V *out = reinterpret_cast<V *>(dest);
    GSHMEM_NO_UNROLL
    for (uint64_t u = g.rank(); u < n_units; u += (uint64_t)g.size() * n_ahead) {
        sum_of<T, V> sum[n_ahead];
        V v[n_ahead];
        auto load_from = [&](int m) {
            const V *its = reinterpret_cast<const V *>(at(m));
            GSHMEM_UNROLL
            for (int a = 0; a < n_ahead; a++)
                if (u + (uint64_t)a * g.size() < n_units)
                    v[a] = load_fresh(its + u + (uint64_t)a * g.size());
        };
        GSHMEM_UNROLL
        for (int a = 0; a < n_ahead; a++)
            v[a] = V{};
        load_from(from);
        GSHMEM_UNROLL
        for (int a = 0; a < n_ahead; a++)
            sum[a].open(v[a]);
        GSHMEM_NO_UNROLL
        for (int m = from + 1; m < from_end; m++) {
            load_from(m);
            GSHMEM_UNROLL
            for (int a = 0; a < n_ahead; a++)
                sum[a].template add<Op>(v[a]);
        }
        GSHMEM_UNROLL
        for (int a = 0; a < n_ahead; a++) {
            const uint64_t unit = u + (uint64_t)a * g.size();
            if (unit >= n_units)
                continue;
            const V result = sum[a].close();
            if (!to_all) {
                store_element(out + unit, result);
                continue;
            }
            GSHMEM_NO_UNROLL
            for (int i = 0; i < k.n; i++)
                store_out(k.at(out, k.after(i)) + unit, result);
        }
    }
}

/* The same on the CPU device: some at a time, in loops of a fixed length, which compilers turn into
 * vector instructions. */
template <class Op, class T, class C, class G, class At>
__device__ inline void add_up_pieces(const coll_call<C> &k, G g, T *dest, uint64_t nelems, int from,
                                     int from_end, bool to_all, At at)
{
    typedef accumulator<T> A;
    constexpr uint64_t n = 1024 / sizeof(T);
    typename A::type sum[n] = {};
    T piece[n];
    for (uint64_t first = g.rank() * n; first < nelems; first += g.size() * n) {
        const uint64_t count = nelems - first < n ? nelems - first : n;
        for (int m = from; m < from_end; m++) {
            const T *its = at(m) + first;
            if (count < n) {
                memcpy(piece, its, count * sizeof(T));
                its = piece;
            }
            if (m == from)
                for (uint64_t i = 0; i < n; i++)
                    sum[i] = A::open(its[i]);
            else
                for (uint64_t i = 0; i < n; i++)
                    sum[i] = Op::of(sum[i], A::open(its[i]));
        }
        for (uint64_t i = 0; i < n; i++)
            piece[i] = A::close(sum[i]);
        for (int i = 0; i < (to_all ? k.n : 1); i++)
            memcpy(k.at(dest, to_all ? k.after(i) : k.me) + first, piece, count * sizeof(T));
    }
}

/* The same for nelems elements, by vectors where all sides are aligned to them; places: of dest and
 * of what at() gives, bits of which any may be set. */
template <class Op, class T, class C, class G, class At>
__device__ inline void add_up_at(const coll_call<C> &k, G g, T *dest, uint64_t places,
                                 uint64_t nelems, int from, int from_end, bool to_all, At at)
{
    if constexpr (is_cpu_device) {
        add_up_pieces<Op>(k, g, dest, nelems, from, from_end, to_all, at);
        return;
    }
    constexpr uint64_t per_vector = sizeof(vec16) / sizeof(T);
    const bool is_aligned = ((reinterpret_cast<uint64_t>(dest) | places) & 15) == 0;
    const uint64_t n_vectors = is_aligned ? nelems / per_vector : 0, done = n_vectors * per_vector;
    add_up<Op, T, vec16, 2>(k, g, dest, n_vectors, from, from_end, to_all, at);
    add_up<Op, T, tail_word<T>, 1>(k, g, dest + done, nelems - done, from, from_end, to_all,
                                   [=](int m) { return at(m) + done; });
}

/* The same from the source of the members [from, from_end). */
template <class Op, class T, class C, class G>
__device__ __forceinline__ void add_up_all(const coll_call<C> &k, G g, T *dest, const T *source,
                                           uint64_t nelems, int from, int from_end, bool to_all)
{
    add_up_at<Op>(k, g, dest, reinterpret_cast<uint64_t>(source), nelems, from, from_end, to_all,
                  [&k, source](int m) { return k.at(source, m); });
}

/* Member m's part of nelems elements: whole vectors, except in the last. */
struct part {
    uint64_t begin, n;
};
template <class T> __device__ __forceinline__ part part_of(uint64_t nelems, int m, int n)
{
    constexpr uint64_t unit = 128 / sizeof(T);
    const uint64_t each = ((nelems + (uint64_t)n - 1) / (uint64_t)n + unit - 1) / unit * unit;
    const uint64_t begin = each * (uint64_t)m;
    if (begin >= nelems)
        return {0, 0};
    return {begin, nelems - begin < each ? nelems - begin : each};
}

template <class Op, class T, class C, class G>
__device__ GSHMEM_OUT_OF_LINE void reduce_direct(coll_call<C> k, G g, T *dest, const T *source,
                                                 uint64_t nelems)
{
    meeting<C, G> all(k, g);
    const part mine = part_of<T>(nelems, k.me, k.n);
    all.meet();
    add_up_all<Op>(k, g, dest + mine.begin, source + mine.begin, mine.n, 0, k.n, true);
    all.meet(true);
}

template <class Op, class T, class C, class G>
__device__ GSHMEM_OUT_OF_LINE void reducescatter_direct(coll_call<C> k, G g, T *dest,
                                                        const T *source, uint64_t nelems)
{
    meeting<C, G> all(k, g);
    all.meet();
    add_up_all<Op>(k, g, dest, source + (uint64_t)k.me * nelems, nelems, 0, k.n, false);
    all.meet(true);
}

/* The last member first: when it may write its dest, the others have read what they need of its
 * source only if that is another place. So in place every member waits for those behind it. */
template <bool is_inclusive, class T, class C, class G>
__device__ GSHMEM_OUT_OF_LINE void scan_direct(coll_call<C> k, G g, T *dest, const T *source,
                                               uint64_t nelems)
{
    meeting<C, G> all(k, g);
    const int end = is_inclusive ? k.me + 1 : k.me;
    const bool is_in_place = dest == source;
    all.meet();
    GSHMEM_NO_UNROLL
    for (int m = k.n - 1; m >= 0; m--) {
        if (m == k.me && end > 0)
            add_up_all<op_sum>(k, g, dest, source, nelems, 0, end, false);
        else if (m == k.me)
            for (uint64_t i = g.rank(); i < nelems; i += g.size())
                store_element(reinterpret_cast<tail_word<T> *>(dest) + i, tail_word<T>{});
        if (is_in_place || m == 0)
            all.meet(m == 0);
    }
}

} // namespace detail
} // namespace gshmem

#endif
