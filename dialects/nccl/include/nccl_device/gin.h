/* SPDX-License-Identifier: Apache-2.0
 * GIN: one-sided transfers with signals, to every rank. Ranks reached by loads and stores are
 * written to directly, the others through gshmem's proxy.
 *
 * A context has its own signals and counters: a wait for a signal uses the context that the sender
 * used. Both are 64-bit words; waits compare their low `bits` modulo the range: the value has
 * reached `least` if it is less than half the range beyond it. */
#ifndef GSHMEM_NCCL_GIN_H
#define GSHMEM_NCCL_GIN_H

#include "gin_action.h"
#include "gin_copy.h"
#include "lsa_barrier.h"

/* Hints of backends, without effect. */
struct alignas(16) ncclGinDescriptorSmem {
    char bytes[64];
};
struct ncclGin_DescriptorSmem {
    ncclGinDescriptorSmem *descriptor;
};
struct ncclGin_SegmentDevice {
};
struct ncclGin_SegmentMixed {
};
struct ncclGin_SegmentHostNuma {
};

enum ncclGinSignalOp_t { ncclGinSignalInc, ncclGinSignalAdd };
/* For the functions of gin_c.h. */
enum ncclGinSignalType {
    NCCL_GIN_SIGNAL_TYPE_NONE,
    NCCL_GIN_SIGNAL_TYPE_VA, /* by window and offset */
    NCCL_GIN_SIGNAL_TYPE_INDEXED
};
typedef enum ncclGinSegmentType {
    ncclGinSegmentTypeDevice = 0,
    ncclGinSegmentTypeMixed = 1,
    ncclGinSegmentTypeHostNuma = 2
} ncclGinSegmentType_t;
enum ncclGinOptFlags : uint32_t {
    ncclGinOptFlagsDefault = 0,
    ncclGinOptFlagsMaySkipCreditCheck = 1,
    ncclGinOptFlagsAggregateRequests = 2
};
enum ncclGinResourceSharingMode {
    NCCL_GIN_RESOURCE_SHARING_GPU = 0,
    NCCL_GIN_RESOURCE_SHARING_CTA = 1,
    NCCL_GIN_RESOURCE_SHARING_THREAD = 2
};

namespace gshmem
{
namespace nccl
{

__device__ __forceinline__ bool has_reached(uint64_t seen, uint64_t least, int bits)
{
    return (int64_t)((seen - least) << (64 - bits)) >= 0;
}

__device__ __forceinline__ uint64_t low_bits(uint64_t value, int bits)
{
    return bits >= 64 ? value : value & (((uint64_t)1 << bits) - 1);
}

__device__ __forceinline__ char *byte_at(ncclWindow_t w, size_t offset)
{
    return reinterpret_cast<char *>(fixed(w->local)) + offset;
}

/* The integers that a value of n bytes consists of. */
template <size_t n> struct word_of_bytes {
    typedef uint8_t type;
};
template <> struct word_of_bytes<2> {
    typedef uint16_t type;
};
template <> struct word_of_bytes<4> {
    typedef uint32_t type;
};
template <> struct word_of_bytes<8> {
    typedef uint64_t type;
};

__device__ __forceinline__ uint64_t *word_at(ncclWindow_t w, size_t offset)
{
    return reinterpret_cast<uint64_t *>(byte_at(w, offset));
}

} // namespace nccl
} // namespace gshmem

/* ---- GIN ------------------------------------------------------------------------------------- */

/* backendMask: bits by backend number; here all backends are the same. */
template <unsigned backendMask> class ncclGin_BackendMask
{
    template <class Action> static constexpr bool is_none = gshmem::nccl::is_none<Action>::value;

    __device__ __forceinline__ gshmem::context base() const { return {*comm.state, 0}; }
    __device__ __forceinline__ void check_peer(ncclTeam team, int peer) const
    {
        using gshmem::nccl::check_below;
        check_below(comm.state, "ncclGin, peer", peer, (uint64_t)team.nRanks);
        check_below(comm.state, "ncclGin, peer as a rank of the world",
                    ncclTeamRankToWorld(comm, team, peer), (uint64_t)comm.nRanks);
    }
    __device__ __forceinline__ int pe_of(ncclTeam team, int peer) const
    {
        check_peer(team, peer);
        return comm.pe_of[ncclTeamRankToWorld(comm, team, peer)];
    }
    /* Whether the peer is in the LSA team, and the distance from this rank's memory to the peer's:
     * transfers to it do not read the PE's state. Checking builds leave this to gshmem. */
    __device__ __forceinline__ bool is_lsa(ncclTeam team, int peer, int64_t *away) const
    {
        const int i = ncclTeamRankToLsa(comm, team, peer);
        *away = (i - comm.lsaRank) * comm.lsa_stride;
#if defined(GSHMEM_CHECKS)
        check_peer(team, peer);
        return false;
#else
        return (unsigned)i < (unsigned)comm.lsaSize;
#endif
    }
    __device__ __forceinline__ uint64_t *signal_word(ncclGinSignal_t s) const
    {
        gshmem::nccl::check_below(comm.state, "ncclGin, signal", s, (uint64_t)comm.ginSignalCount);
        return comm.signals + (size_t)contextId * (uint32_t)comm.ginSignalCount + s;
    }
    __device__ __forceinline__ uint64_t *counter_word(ncclGinCounter_t c) const
    {
        gshmem::nccl::check_below(comm.state, "ncclGin, counter", c,
                                  (uint64_t)comm.ginCounterCount);
        return comm.counters + (size_t)contextId * (uint32_t)comm.ginCounterCount + c;
    }

    template <class Action>
    __device__ __forceinline__ auto word_of(const Action &a, int) const
        -> decltype((void)a.signal, (uint64_t *)0)
    {
        return signal_word(a.signal);
    }
    template <class Action>
    __device__ __forceinline__ uint64_t *word_of(const Action &a, long) const
    {
        return gshmem::nccl::word_at(a.signalWindow, a.signalOffset);
    }
    template <class Action>
    __device__ __forceinline__ gshmem::nccl::action of(const Action &a) const
    {
        return {word_of(a, 0), gshmem::nccl::value_of(a, 0)};
    }

    __device__ __forceinline__ void local(ncclGin_None) const {}
    template <class Action> __device__ __forceinline__ void local(Action a) const
    {
        /* The source has been read before a thread that sees the counter writes to it. */
        gshmem::detail::fence_release();
        gshmem::detail::reduce_add(counter_word(a.counter), (uint64_t)1);
    }

    template <class Group, class Remote, class Local>
    __device__ __forceinline__ void put_by(Group g, char *dest, const char *source, size_t bytes,
                                           int pe, Remote remote,
                                           Local local_action GSHMEM_SITE) const
    {
        using namespace gshmem;
        constexpr bool has_remote = !is_none<Remote>, has_local = !is_none<Local>;
        const context c = GSHMEM_HERE_OF(*comm.state);
        if constexpr (has_remote) {
            const nccl::action a = of(remote);
            /* near ones are ordered by the signal's own fence */
            constexpr int op =
                GSHMEM_SIGNAL_ADD | (nccl::is_weak<Remote>::value ? 0 : GSH_SIGNAL_STRONG);
            if constexpr (has_local)
                put_signal(c, g, dest, source, bytes, a.word, a.value, op, pe, "ncclGin::put");
            else
                put_signal_nbi(c, g, dest, source, bytes, a.word, a.value, op, pe, "ncclGin::put");
        } else if constexpr (has_local) {
            gshmem::put(c, g, dest, source, bytes, pe, "ncclGin::put");
        } else {
            put_nbi(c, g, dest, source, bytes, pe, "ncclGin::put");
        }
        if constexpr (has_local) {
            g.sync();
            if (g.rank() == 0)
                local(local_action);
        }
    }

    /* The same to a rank of the LSA team, whose memory is `away` bytes from this rank's. */
    template <class Group, class Remote, class Local>
    __device__ __forceinline__ void put_lsa(Group g, char *dest, const char *source, size_t bytes,
                                            int64_t away, Remote remote,
                                            Local local_action GSHMEM_SITE) const
    {
        using namespace gshmem;
        constexpr bool has_remote = !is_none<Remote>, has_local = !is_none<Local>;
        char *mapped = detail::as_global(dest + away);
        detail::pending_signal s = {nullptr, 0, GSHMEM_SIGNAL_ADD};
        if constexpr (has_remote) {
            const nccl::action a = of(remote);
            s.mapped = detail::as_global(
                reinterpret_cast<uint64_t *>(reinterpret_cast<char *>(a.word) + away));
            s.value = a.value;
        }
        g.sync();
        detail::spilled_during(&s, [&] { nccl::copy_by_any(comm, g, mapped, source, bytes); });
        if constexpr (has_remote)
            detail::finish_put_signal(g, s); /* the data come before the signal, which waits poll */
        else
            g.sync();
        if constexpr (has_local) {
            g.sync();
            if (g.rank() == 0)
                local(local_action);
        }
    }

    template <class Type>
    __device__ __forceinline__ void put_value(char *dest, const Type &value,
                                              int pe GSHMEM_SITE) const
    {
        typedef typename gshmem::nccl::word_of_bytes<sizeof(Type)>::type word;
        word words[sizeof(Type) / sizeof(word)];
        memcpy(words, &value, sizeof(Type));
        GSHMEM_UNROLL
        for (size_t i = 0; i < sizeof(Type) / sizeof(word); i++)
            gshmem::p(GSHMEM_HERE_OF(*comm.state), reinterpret_cast<word *>(dest) + i, words[i], pe,
                      "ncclGin::putValue");
    }

    /* The first thread waits. */
    template <class Coop>
    __device__ __forceinline__ void wait_on(Coop coop, const uint64_t *word, uint64_t least,
                                            int bits, cuda::memory_order order,
                                            const char *call GSHMEM_SITE) const
    {
        using namespace gshmem;
        if (coop.thread_rank() == 0) {
            (void)nccl::await_word(
                comm, word, [=](uint64_t seen) { return nccl::has_reached(seen, least, bits); },
                least, GSH_REPORT_WAIT_TIMEOUT, call, -1, 0 GSHMEM_PASS_SITE);
            if (detail::is_cpu_device || nccl::is_acquire(order))
                detail::acquire_awaited();
        }
        coop.sync();
    }

    /* The same within so many cycles of the first thread, which alone learns of a time-out. */
    template <class Coop>
    __device__ __forceinline__ ncclResult_t wait_within(Coop coop, const uint64_t *word,
                                                        uint64_t least, int bits,
                                                        cuda::memory_order order, const char *call,
                                                        uint64_t cycles GSHMEM_SITE) const
    {
        using namespace gshmem;
        bool has_come = true;
        if (coop.thread_rank() == 0) {
            has_come = nccl::await_word(
                comm, word, [=](uint64_t seen) { return nccl::has_reached(seen, least, bits); },
                least, GSH_REPORT_WAIT_TIMEOUT, call, -1,
                (cycles > 0 ? cycles : 1) GSHMEM_PASS_SITE);
            if (detail::is_cpu_device || nccl::is_acquire(order))
                detail::acquire_awaited();
        }
        coop.sync();
        return has_come ? ncclSuccess : ncclTimeout;
    }

    __device__ __forceinline__ uint64_t read_word(const uint64_t *word, int bits,
                                                  cuda::memory_order order) const
    {
        using namespace gshmem;
        const uint64_t value =
            nccl::is_acquire(order) ? detail::load_acquire(word) : detail::load_relaxed(word);
        return nccl::low_bits(detail::seen(word, value), bits);
    }

  public:
    const ncclDevComm &comm;
    uint32_t nConnections, connectionId, contextId;
    ncclGinResourceSharingMode resourceSharingMode;

    /* Context indices are taken modulo ginContextCount. */
    __device__ __forceinline__
    ncclGin_BackendMask(const ncclDevComm &devComm, int contextIndex,
                        ncclGinResourceSharingMode mode = NCCL_GIN_RESOURCE_SHARING_GPU)
        : comm(devComm), nConnections(1), connectionId(0),
          contextId((uint32_t)contextIndex % (uint32_t)devComm.ginContextCount),
          resourceSharingMode(mode)
    {
        gshmem::nccl::publish_earlier();
    }

    /* Copies from this rank's source to the peer's destination. The source may be reused after
     * flush; remoteAction and localAction notify the peer and this rank. */
    template <class Remote = ncclGin_None, class Local = ncclGin_None, class Coop = ncclCoopThread,
              class Descriptor = ncclGin_None, class Segment = ncclGin_None>
    __device__ __forceinline__ void put(
        ncclTeam team, int peer, ncclWindow_t dstWnd, size_t dstOffset, ncclWindow_t srcWnd,
        size_t srcOffset, size_t bytes, Remote remoteAction = {}, Local localAction = {},
        Coop coop = {}, Descriptor descriptor = {},
        cuda::thread_scope givenRelease = cuda::thread_scope_thread,
        cuda::thread_scope requiredRelease = cuda::thread_scope_device,
        uint32_t optFlags = ncclGinOptFlagsDefault, Segment segment = {} GSHMEM_SITE) const
    {
        (void)descriptor, (void)givenRelease, (void)requiredRelease, (void)optFlags, (void)segment;
        gshmem::nccl::check_offset(dstWnd, "ncclGin::put, dstOffset + bytes", dstOffset, bytes);
        gshmem::nccl::check_offset(srcWnd, "ncclGin::put, srcOffset + bytes", srcOffset, bytes);
        char *dest = gshmem::nccl::byte_at(dstWnd, dstOffset);
        const char *source = gshmem::nccl::byte_at(srcWnd, srcOffset);
        int64_t away;
        const bool is_near = is_lsa(team, peer, &away);
        gshmem::nccl::by_group(coop, [&](auto g) {
            if (__builtin_expect(is_near, 1))
                put_lsa(g, dest, source, bytes, away, remoteAction, localAction GSHMEM_PASS_SITE);
            else
                put_by(g, dest, source, bytes, pe_of(team, peer), remoteAction,
                       localAction GSHMEM_PASS_SITE);
        });
    }

    template <class Type, class Remote = ncclGin_None, class Local = ncclGin_None,
              class Coop = ncclCoopThread, class Descriptor = ncclGin_None,
              class Segment = ncclGin_None>
    __device__ __forceinline__ void put(
        ncclTeam team, int peer, ncclSymPtr<Type> dst, ncclSymPtr<Type> src, size_t nElts,
        Remote remoteAction = {}, Local localAction = {}, Coop coop = {},
        Descriptor descriptor = {}, cuda::thread_scope givenRelease = cuda::thread_scope_thread,
        cuda::thread_scope requiredRelease = cuda::thread_scope_device,
        uint32_t optFlags = ncclGinOptFlagsDefault, Segment segment = {} GSHMEM_SITE) const
    {
        put(team, peer, dst.window, dst.offset, src.window, src.offset, nElts * sizeof(Type),
            remoteAction, localAction, coop, descriptor, givenRelease, requiredRelease, optFlags,
            segment GSHMEM_PASS_SITE);
    }

    /* A value of at most 8 bytes; with 2, 4 or 8 the destination is aligned to that. */
    template <class Type, class Remote = ncclGin_None, class Coop = ncclCoopThread,
              class Descriptor = ncclGin_None>
    __device__ __forceinline__ void
    putValue(ncclTeam team, int peer, ncclWindow_t dstWnd, size_t dstOffset, Type value,
             Remote remoteAction = {}, Coop coop = {}, Descriptor descriptor = {},
             cuda::thread_scope givenRelease = cuda::thread_scope_thread,
             cuda::thread_scope requiredRelease = cuda::thread_scope_device,
             uint32_t optFlags = ncclGinOptFlagsDefault GSHMEM_SITE) const
    {
        static_assert(sizeof(Type) <= 8, "a value has at most 8 bytes");
        (void)descriptor, (void)givenRelease, (void)requiredRelease, (void)optFlags;
        gshmem::nccl::check_offset(dstWnd, "ncclGin::putValue, dstOffset + size", dstOffset,
                                   sizeof(Type));
        coop.sync();
        if (coop.thread_rank() == 0) {
            put_value(gshmem::nccl::byte_at(dstWnd, dstOffset), value,
                      pe_of(team, peer) GSHMEM_PASS_SITE);
            if constexpr (!is_none<Remote>)
                signal_by(team, peer, remoteAction GSHMEM_PASS_SITE);
        }
        coop.sync();
    }

    template <class Type, class Remote = ncclGin_None, class Coop = ncclCoopThread,
              class Descriptor = ncclGin_None>
    __device__ __forceinline__ void
    putValue(ncclTeam team, int peer, ncclSymPtr<Type> dst, Type value, Remote remoteAction = {},
             Coop coop = {}, Descriptor descriptor = {},
             cuda::thread_scope givenRelease = cuda::thread_scope_thread,
             cuda::thread_scope requiredRelease = cuda::thread_scope_device,
             uint32_t optFlags = ncclGinOptFlagsDefault GSHMEM_SITE) const
    {
        putValue(team, peer, dst.window, dst.offset, value, remoteAction, coop, descriptor,
                 givenRelease, requiredRelease, optFlags GSHMEM_PASS_SITE);
    }

    /* Copies from the peer's memory to this rank's; complete after flush. */
    template <class Coop = ncclCoopThread, class Descriptor = ncclGin_None,
              class Segment = ncclGin_None>
    __device__ __forceinline__ void get(
        ncclTeam team, int peer, ncclWindow_t remoteWnd, size_t remoteOffset, ncclWindow_t localWnd,
        size_t localOffset, size_t bytes, Coop coop = {}, Descriptor descriptor = {},
        uint32_t optFlags = ncclGinOptFlagsDefault, Segment segment = {} GSHMEM_SITE) const
    {
        (void)descriptor, (void)optFlags, (void)segment;
        gshmem::nccl::check_offset(remoteWnd, "ncclGin::get, remoteOffset + bytes", remoteOffset,
                                   bytes);
        gshmem::nccl::check_offset(localWnd, "ncclGin::get, localOffset + bytes", localOffset,
                                   bytes);
        char *dest = gshmem::nccl::byte_at(localWnd, localOffset);
        const char *source = gshmem::nccl::byte_at(remoteWnd, remoteOffset);
        const int pe = pe_of(team, peer);
        gshmem::nccl::by_group(coop, [&](auto g) {
            gshmem::get_nbi(GSHMEM_HERE_OF(*comm.state), g, dest, source, bytes, pe,
                            "ncclGin::get");
        });
    }

    /* For the library: a fence, which orders earlier puts to the peer first, then an addition to a
     * word of the peer's. */
    __device__ __forceinline__ void signal_at(ncclTeam team, int peer, uint64_t *word,
                                              uint64_t value, const char *call GSHMEM_SITE) const
    {
        using namespace gshmem;
        int64_t away;
        if (__builtin_expect(is_lsa(team, peer, &away), 1))
            detail::send_signal(detail::as_global(reinterpret_cast<uint64_t *>(
                                    reinterpret_cast<char *>(word) + away)),
                                value, GSHMEM_SIGNAL_ADD);
        else
            signal_op(GSHMEM_HERE_OF(*comm.state), word, value, GSHMEM_SIGNAL_ADD,
                      pe_of(team, peer), call);
    }

    __device__ __forceinline__ void fence_to(ncclTeam team, int peer GSHMEM_SITE) const
    {
        int64_t away;
        if (__builtin_expect(is_lsa(team, peer, &away), 1))
            gshmem::detail::fence_release();
        else
            gshmem::fence(GSHMEM_HERE_OF(*comm.state));
    }

    /* By one thread: as signal. */
    template <class Remote>
    __device__ __forceinline__ void signal_by(ncclTeam team, int peer,
                                              Remote remoteAction GSHMEM_SITE) const
    {
        signal(team, peer, remoteAction, ncclCoopThread(), ncclGin_None{},
               cuda::thread_scope_thread, cuda::thread_scope_device,
               ncclGinOptFlagsDefault GSHMEM_PASS_SITE);
    }

    /* The action alone: what was put to the peer earlier has settled before it. */
    template <class Remote, class Coop = ncclCoopThread, class Descriptor = ncclGin_None>
    __device__ __forceinline__ void
    signal(ncclTeam team, int peer, Remote remoteAction, Coop coop = {}, Descriptor descriptor = {},
           cuda::thread_scope givenRelease = cuda::thread_scope_thread,
           cuda::thread_scope requiredRelease = cuda::thread_scope_device,
           uint32_t optFlags = ncclGinOptFlagsDefault GSHMEM_SITE) const
    {
        using namespace gshmem;
        (void)descriptor, (void)givenRelease, (void)requiredRelease, (void)optFlags;
        coop.sync();
        if (coop.thread_rank() == 0) {
            const nccl::action a = of(remoteAction);
            fence_to(team, peer GSHMEM_PASS_SITE);
            signal_at(team, peer, a.word, a.value, "ncclGin::signal" GSHMEM_PASS_SITE);
        }
        coop.sync();
    }

    /* On return the sources of the group's puts may be reused, and its gets are complete. If no
     * rank is far this already holds once its threads have made their calls. */
    template <class Coop, class Descriptor = ncclGin_None>
    __device__ __forceinline__ void flush(
        Coop coop, cuda::memory_order order = cuda::memory_order_acquire,
        Descriptor descriptor = {} GSHMEM_SITE) const
    {
        (void)order, (void)descriptor;
        coop.sync();
        if (gshmem::detail::has_far(base())) {
            if (coop.thread_rank() == 0)
                gshmem::quiet(GSHMEM_HERE_OF(*comm.state));
            coop.sync();
        }
    }

    /* With a limit: the first thread gets ncclTimeout once so many cycles of clock64 have passed,
     * and nothing is known of the sources; the others get ncclSuccess. */
    template <class Coop, class Descriptor = ncclGin_None>
    __device__ __forceinline__ ncclResult_t flush(Coop coop, cuda::memory_order order,
                                                  Descriptor descriptor,
                                                  uint64_t timeoutCycles GSHMEM_SITE) const
    {
        (void)order, (void)descriptor;
        bool is_flushed = true;
        coop.sync();
        if (gshmem::detail::has_far(base())) {
            if (coop.thread_rank() == 0)
                is_flushed = gshmem::quiet_within(GSHMEM_HERE_OF(*comm.state), timeoutCycles);
            coop.sync();
        }
        return is_flushed ? ncclSuccess : ncclTimeout;
    }

    /* A flush of what went to one peer; wait completes it. */
    template <class Coop = ncclCoopThread, class Descriptor = ncclGin_None>
    __device__ __forceinline__ void
    flushAsync(ncclTeam team, int peer, ncclGinRequest_t *request, Coop coop = {},
               uint32_t optFlags = ncclGinOptFlagsDefault, Descriptor descriptor = {}) const
    {
        (void)optFlags, (void)descriptor;
        coop.sync();
        if (coop.thread_rank() == 0)
            *request = {{(uint64_t)(uint32_t)pe_of(team, peer), 1}};
    }

    template <class Coop = ncclCoopThread, class Descriptor = ncclGin_None>
    __device__ __forceinline__ void
    wait(ncclGinRequest_t &request, Coop coop = {}, Descriptor descriptor = {},
         cuda::memory_order order = cuda::memory_order_acquire GSHMEM_SITE) const
    {
        (void)request;
        flush(coop, order, descriptor GSHMEM_PASS_SITE);
    }

    template <class Coop, class Descriptor = ncclGin_None>
    __device__ __forceinline__ ncclResult_t wait(ncclGinRequest_t &request, Coop coop,
                                                 Descriptor descriptor, cuda::memory_order order,
                                                 uint64_t timeoutCycles GSHMEM_SITE) const
    {
        (void)request;
        return flush(coop, order, descriptor, timeoutCycles GSHMEM_PASS_SITE);
    }

    /* ---- signals: this rank's own ---- */

    __device__ __forceinline__ uint64_t
    readSignal(ncclGinSignal_t signal, int bits = 64,
               cuda::memory_order order = cuda::memory_order_acquire) const
    {
        return read_word(signal_word(signal), bits, order);
    }

    __device__ __forceinline__ uint64_t
    readSignal(ncclWindow_t window, size_t offset, int bits = 64,
               cuda::memory_order order = cuda::memory_order_acquire) const
    {
        return read_word(gshmem::nccl::word_at(window, offset), bits, order);
    }

    template <class Coop>
    __device__ __forceinline__ void
    waitSignal(Coop coop, ncclGinSignal_t signal, uint64_t least, int bits = 64,
               cuda::memory_order order = cuda::memory_order_acquire GSHMEM_SITE) const
    {
        wait_on(coop, signal_word(signal), least, bits, order,
                "ncclGin::waitSignal" GSHMEM_PASS_SITE);
    }

    template <class Coop>
    __device__ __forceinline__ void
    waitSignal(Coop coop, ncclWindow_t window, size_t offset, uint64_t least, int bits = 64,
               cuda::memory_order order = cuda::memory_order_acquire GSHMEM_SITE) const
    {
        wait_on(coop, gshmem::nccl::word_at(window, offset), least, bits, order,
                "ncclGin::waitSignal" GSHMEM_PASS_SITE);
    }

    /* With a limit: the first thread gets ncclTimeout once so many cycles of clock64 have passed;
     * the others get ncclSuccess. */
    template <class Coop>
    __device__ __forceinline__ ncclResult_t waitSignal(Coop coop, ncclGinSignal_t signal,
                                                       uint64_t least, int bits,
                                                       cuda::memory_order order,
                                                       uint64_t timeoutCycles GSHMEM_SITE) const
    {
        return wait_within(coop, signal_word(signal), least, bits, order, "ncclGin::waitSignal",
                           timeoutCycles GSHMEM_PASS_SITE);
    }

    template <class Coop>
    __device__ __forceinline__ ncclResult_t waitSignal(Coop coop, ncclWindow_t window,
                                                       size_t offset, uint64_t least, int bits,
                                                       cuda::memory_order order,
                                                       uint64_t timeoutCycles GSHMEM_SITE) const
    {
        return wait_within(coop, gshmem::nccl::word_at(window, offset), least, bits, order,
                           "ncclGin::waitSignal", timeoutCycles GSHMEM_PASS_SITE);
    }

    /* Resets the signal and its shadow to 0; nothing else may change it meanwhile. */
    __device__ __forceinline__ void resetSignal(ncclGinSignal_t signal) const
    {
        gshmem::detail::store_relaxed(signal_word(signal), (uint64_t)0);
        *getSignalShadowPtr(signal) = 0;
    }

    __device__ __forceinline__ void resetSignal(ncclWindow_t window, size_t offset) const
    {
        gshmem::detail::store_relaxed(gshmem::nccl::word_at(window, offset), (uint64_t)0);
    }

    /* A word beside each signal, for the program: the value reached so far. */
    __device__ __forceinline__ uint64_t *getSignalShadowPtr(ncclGinSignal_t signal) const
    {
        gshmem::nccl::check_below(comm.state, "ncclGin, signal", signal,
                                  (uint64_t)comm.ginSignalCount);
        return comm.shadows + (size_t)contextId * (uint32_t)comm.ginSignalCount + signal;
    }

    __device__ __forceinline__ void increaseSignalShadow(ncclGinSignal_t signal,
                                                         uint64_t delta) const
    {
        *getSignalShadowPtr(signal) += delta;
    }

    /* Returns when the signal has reached its shadow. */
    template <class Coop>
    __device__ __forceinline__ void
    waitSignalMeetShadow(Coop coop, ncclGinSignal_t signal, int bits = 64,
                         cuda::memory_order order = cuda::memory_order_acquire GSHMEM_SITE) const
    {
        waitSignal(coop, signal, *getSignalShadowPtr(signal), bits, order GSHMEM_PASS_SITE);
    }

    /* Returns when the signal is at least leastDelta beyond its shadow, and stores its value in the
     * shadow. *before and *delta, set on each thread, say where it was and how far it went. */
    template <class Coop, class Uint>
    __device__ __forceinline__ void
    waitSignalFollowShadow(Coop coop, ncclGinSignal_t signal, uint64_t leastDelta, Uint *before,
                           Uint *delta, int bits = 64,
                           cuda::memory_order order = cuda::memory_order_acquire GSHMEM_SITE) const
    {
        uint64_t *shadow = getSignalShadowPtr(signal);
        const uint64_t was = *shadow;
        waitSignal(coop, signal, was + leastDelta, bits, order GSHMEM_PASS_SITE);
        /* Threads that read at different times may see different values: the first one's is
         * used. */
        coop.sync();
        if (coop.thread_rank() == 0) {
            const uint64_t now = read_word(signal_word(signal), 64, order);
            *shadow = was + gshmem::nccl::low_bits(now - was, bits);
        }
        coop.sync();
        *before = (Uint)was;
        *delta = (Uint)(*shadow - was);
        coop.sync();
    }

    /* ---- counters: this rank's own ---- */

    __device__ __forceinline__ uint64_t
    readCounter(ncclGinCounter_t counter, int bits = 56,
                cuda::memory_order order = cuda::memory_order_acquire) const
    {
        return read_word(counter_word(counter), bits, order);
    }

    template <class Coop>
    __device__ __forceinline__ void
    waitCounter(Coop coop, ncclGinCounter_t counter, uint64_t least, int bits = 56,
                cuda::memory_order order = cuda::memory_order_acquire GSHMEM_SITE) const
    {
        wait_on(coop, counter_word(counter), least, bits, order,
                "ncclGin::waitCounter" GSHMEM_PASS_SITE);
    }

    template <class Coop>
    __device__ __forceinline__ ncclResult_t waitCounter(Coop coop, ncclGinCounter_t counter,
                                                        uint64_t least, int bits,
                                                        cuda::memory_order order,
                                                        uint64_t timeoutCycles GSHMEM_SITE) const
    {
        return wait_within(coop, counter_word(counter), least, bits, order, "ncclGin::waitCounter",
                           timeoutCycles GSHMEM_PASS_SITE);
    }

    __device__ __forceinline__ void resetCounter(ncclGinCounter_t counter) const
    {
        gshmem::detail::store_relaxed(counter_word(counter), (uint64_t)0);
    }
};

typedef ncclGin_BackendMask<NCCL_GIN_BACKEND_MASK_ALL> ncclGin;
/* backend: an ncclNetDeviceType or ncclGinType_t */
template <int backend> using ncclGin_BackendOne = ncclGin_BackendMask<1u << backend>;

#endif
