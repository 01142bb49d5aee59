/* SPDX-License-Identifier: Apache-2.0
 * Proves what kernels' calls do in checking builds, in one process without a PE. With
 * -DGSHMEM_CHECKS=1 or -DDEBUG_BUILD: sizes that are no multiple of 4 or of a packet's, that end
 * beyond a channel's memories, or that no trigger has room for end the process with a line that
 * says so, and the largest right ones do not. With -DDEBUG_BUILD each kind of wait asserts after
 * maxSpinCount polls, and with a negative one never; without it none does. */
#include <mscclpp/bulk_device.hpp>
#include <mscclpp/concurrency_device.hpp>
#include <mscclpp/copy_device.hpp>
#include <mscclpp/fifo.hpp>
#include <mscclpp/memory_channel_device.hpp>
#include <mscclpp/port_channel_device.hpp>
#include <gshmem/launch.h>

#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

using namespace mscclpp;

#if defined(DEBUG_BUILD)
constexpr bool asserts_spins = true;
#else
constexpr bool asserts_spins = false;
#endif

constexpr uint64_t n_bytes = 64; /* of a channel's memories */

struct both {
    alignas(16) char dst[n_bytes], src[n_bytes], packets[2 * n_bytes];
    uint64_t token, expected, remote, flush_done;
    uint32_t started, counter;
    DeviceSyncer syncer;
    DeviceSemaphore gate;
};

__device__ static MemoryChannelDeviceHandle channel_of(both *b)
{
    return MemoryChannelDeviceHandle({&b->token, &b->expected, &b->remote, nullptr}, b->dst, b->src,
                                     b->packets, n_bytes, n_bytes);
}

__device__ static PortChannelDeviceHandle port_of(both *b, FifoDeviceHandle fifo)
{
    return PortChannelDeviceHandle(0, {&b->token, &b->expected, nullptr}, fifo, 1, 0,
                                   &b->flush_done);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

enum size_case {
    RIGHT,
    PUT_ODD,
    PUT_BEYOND,
    PUT_FAR_BEYOND,
    GET_ODD,
    GET_BEYOND,
    READ_BEYOND,
    WRITE_BEYOND,
    LL16_ODD,
    LL8_ODD,
    PACKETS_BEYOND,
    UNPACK_ODD,
    UNPACK_BEYOND,
    COPY_ODD,
    TO_PACKETS_ODD,
    FROM_PACKETS_ODD,
    PORT_SIZE,
    PORT_TARGET,
    PORT_SOURCE,
    PORT_TARGET_MEMORY,
    PORT_SOURCE_MEMORY
};

__global__ static void call_by_size(both *b, FifoDeviceHandle fifo, size_case which)
{
    MemoryChannelDeviceHandle m = channel_of(b);
    PortChannelDeviceHandle p = port_of(b, fifo);
    const uint64_t too_much = 1ull << 32;
    switch (which) {
    case RIGHT:
        m.put(0, n_bytes, 0, 1);
        m.get(n_bytes - 4, n_bytes - 8, 4, 0, 1);
        m.write<int>(15, m.read<int>(15));
        m.putPackets<LL16Packet>(0, 32, 32, 0, 1, 1);
        m.putPackets<LL8Packet>(0, 32, 32, 0, 1, 1);
        copyToPackets<LL8Packet>(b->packets, b->src, n_bytes, 0, 1, 1);
        m.unpackPackets<LL8Packet>(0, 0, n_bytes, 0, 1, 1);
        copy(b->dst, b->src, n_bytes, 0, 1);
        p.put(too_much - 1, too_much - 1, too_much - 1);
        p.BasePortChannelDeviceHandle::put(511, 0, 511, 0, 4);
        break;
    case PUT_ODD:
        m.put(0, 5, 0, 1);
        break;
    case PUT_BEYOND:
        m.put(n_bytes - 4, 0, 8, 0, 1);
        break;
    case PUT_FAR_BEYOND:
        m.put(UINT64_MAX - 3, 0, 8, 0, 1);
        break;
    case GET_ODD:
        m.get(0, 6, 0, 1);
        break;
    case GET_BEYOND:
        m.get(0, n_bytes - 4, 8, 0, 1);
        break;
    case READ_BEYOND:
        b->dst[0] = (char)m.read<int>(16);
        break;
    case WRITE_BEYOND:
        m.write<int>(UINT64_MAX / 2, 1);
        break;
    case LL16_ODD:
        m.putPackets<LL16Packet>(0, 0, 12, 0, 1, 1);
        break;
    case LL8_ODD:
        m.putPackets<LL8Packet>(0, 0, 6, 0, 1, 1);
        break;
    case PACKETS_BEYOND:
        m.putPackets<LL8Packet>(0, 0, 36, 0, 1, 1);
        break;
    case UNPACK_ODD:
        m.unpackPackets<LL16Packet>(0, 0, 12, 0, 1, 0);
        break;
    case UNPACK_BEYOND:
        m.unpackPackets<LL16Packet>(0, n_bytes - 8, 16, 0, 1, 0);
        break;
    case COPY_ODD:
        copy(b->dst, b->src, 7, 0, 1);
        break;
    case TO_PACKETS_ODD:
        copyToPackets<LL16Packet>(b->packets, b->src, 4, 0, 1, 1);
        break;
    case FROM_PACKETS_ODD:
        copyFromPackets<LL8Packet>(b->src, b->packets, 5, 0, 1, 0);
        break;
    case PORT_SIZE:
        p.put(0, 0, too_much);
        break;
    case PORT_TARGET:
        p.putWithSignal(too_much, 0, 4);
        break;
    case PORT_SOURCE:
        p.put(0, too_much, 4);
        break;
    case PORT_TARGET_MEMORY:
        p.BasePortChannelDeviceHandle::put(512, 0, 0, 0, 4);
        break;
    case PORT_SOURCE_MEMORY:
        p.BasePortChannelDeviceHandle::put(0, 0, 513, 0, 4);
        break;
    }
}

static const struct {
    size_case which;
    const char *line;
} sizes[] = {
    {RIGHT, nullptr},
    {PUT_ODD, "a memory channel's put of 5 bytes: the size is no multiple of 4"},
    {PUT_BEYOND, "a memory channel's put of 8 bytes ends beyond the registered memory"},
    {PUT_FAR_BEYOND, "a memory channel's put of 8 bytes ends beyond the registered memory"},
    {GET_ODD, "a memory channel's get of 6 bytes: the size is no multiple of 4"},
    {GET_BEYOND, "a memory channel's get of 8 bytes ends beyond the registered memory"},
    {READ_BEYOND, "a memory channel's read of 4 bytes ends beyond the registered memory"},
    {WRITE_BEYOND, "a memory channel's write of 4 bytes ends beyond the registered memory"},
    {LL16_ODD, "a memory channel's putPackets of 12 bytes: the size is no multiple of 8"},
    {LL8_ODD, "a memory channel's putPackets of 6 bytes: the size is no multiple of 4"},
    {PACKETS_BEYOND, "a memory channel's putPackets of 72 bytes ends beyond the registered memory"},
    {UNPACK_ODD, "a memory channel's unpackPackets of 12 bytes: the size is no multiple of 8"},
    {UNPACK_BEYOND, "a memory channel's unpackPackets of 16 bytes ends beyond the registered"},
    {COPY_ODD, "a copy of 7 bytes: the size is no multiple of 4"},
    {TO_PACKETS_ODD, "a copy to packets of 4 bytes: the size is no multiple of 8"},
    {FROM_PACKETS_ODD, "a copy from packets of 5 bytes: the size is no multiple of 4"},
    {PORT_SIZE, "a port channel's size of 4294967296 does not fit into a trigger"},
    {PORT_TARGET, "a port channel's target offset of 4294967296 does not fit into a trigger"},
    {PORT_SOURCE, "a port channel's source offset of 4294967296 does not fit into a trigger"},
    {PORT_TARGET_MEMORY, "a port channel's target memory of 512 does not fit into a trigger"},
    {PORT_SOURCE_MEMORY, "a port channel's source memory of 513 does not fit into a trigger"},
};

/* ---- spins ----------------------------------------------------------------------------------- */

enum wait_case {
    SIGNAL,
    RELAXED,
    PORT_SIGNAL,
    PACKET_16,
    PACKET_8,
    UNPACK,
    ROOM,
    SYNC,
    FLUSH,
    SYNCER,
    GATE,
    POLL,
    N_WAITS
};

/* Block 0 waits, and polls at most so often; block 1 lets it, once block 0 has begun, and after
 * some looks of its own. */
__global__ static void wait_for_other(both *b, FifoDeviceHandle fifo, wait_case which,
                                      int64_t most_polls, bool is_answered)
{
    MemoryChannelDeviceHandle m = channel_of(b);
    PortChannelDeviceHandle p = port_of(b, fifo);
    if (blockIdx.x == 1) {
        if (!is_answered)
            return;
        for (uint32_t looks = 0; looks < 20;) {
            gshmem::detail::spin_pause();
            looks += atomicLoad<uint32_t, scopeDevice>(&b->started, memoryOrderAcquire) != 0;
        }
        copyToPackets<LL16Packet>(b->packets, b->src, 8, 0, 1, 1);
        copyToPackets<LL8Packet>(b->packets + 32, b->src, 4, 0, 1, 1);
        copyToPackets<LL16Packet>(b->packets + 48, b->src, 16, 0, 1, 1);
        atomicStore<uint64_t, scopeSystem>(fifo.tail, 4, memoryOrderRelease);
        atomicStore<uint64_t, scopeSystem>(&b->flush_done, 8, memoryOrderRelease);
        atomicStore<uint64_t, scopeSystem>(&b->token, 1, memoryOrderRelease);
        b->gate.release();
        if (which == SYNCER)
            b->syncer.sync(2, -1);
        return;
    }
    atomicStore<uint32_t, scopeDevice>(&b->started, 1, memoryOrderRelease);
    switch (which) {
    case SIGNAL:
        m.wait(most_polls);
        break;
    case RELAXED:
        m.relaxedWait(most_polls);
        break;
    case PORT_SIGNAL:
        p.wait(most_polls);
        break;
    case PACKET_16:
        m.unpackPacket<LL16Packet>(0, 1, most_polls);
        break;
    case PACKET_8:
        m.unpackPacket<LL8Packet>(4, 1, most_polls);
        break;
    case UNPACK:
        m.unpackPackets<LL16Packet>(48, 0, 16, 0, 1, 1, most_polls);
        break;
    case ROOM:
        for (int i = 0; i < 5; i++)
            fifo.push(ProxyTrigger(0, 0), most_polls);
        break;
    case SYNC:
        fifo.sync(fifo.push(ProxyTrigger(0, 0), -1), most_polls);
        break;
    case FLUSH:
        p.flush(most_polls);
        break;
    case SYNCER:
        b->syncer.sync(2, most_polls);
        break;
    case GATE:
        b->gate.acquire((int)most_polls);
        break;
    case POLL:
        POLL_MAYBE_JAILBREAK(
            (atomicLoad<uint64_t, scopeSystem>(&b->token, memoryOrderAcquire) == 0), most_polls);
        break;
    case N_WAITS:
        break;
    }
    b->counter = 1;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* In a process of its own, since this one has no device yet. What it printed, and how it ended. */
template <class Part> static std::string run_apart(Part part, int *status)
{
    int ends[2];
    std::string text;
    if (!CHECK(pipe(ends) == 0))
        return text;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        setenv("GSHMEM_WAIT_TIMEOUT", "0", 1); /* nothing but maxSpinCount ends a wait */
        alarm(110);
        both *b = nullptr;
        CHECK(cudaMallocHost(&b, sizeof(*b)) == cudaSuccess);
        memset(static_cast<void *>(b), 0, sizeof(*b));
        Fifo fifo(4);
        part(b, fifo.deviceHandle());
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        _exit(test_result() + (b->counter == 1 ? 2 : 0));
    }
    close(ends[1]);
    char piece[512];
    for (ssize_t n; (n = read(ends[0], piece, sizeof(piece))) > 0;)
        text.append(piece, (size_t)n);
    close(ends[0]);
    CHECK(waitpid(pid, status, 0) == pid);
    return text;
}

static void check(bool is_right, const char *what, int which, int status, const std::string &text)
{
    if (!CHECK(is_right))
        fprintf(stderr, "%s %d: status %d, %s\n", what, which, status, text.c_str());
}

int main()
{
    int status = 0;
    for (const auto &c : sizes) {
        const std::string text = run_apart(
            [&](both *b, FifoDeviceHandle fifo) {
                CHECK(gshmem_launch(call_by_size, 1, 1, 0, nullptr, b, fifo, c.which) ==
                      cudaSuccess);
            },
            &status);
        check(c.line == nullptr ? status == 0 && text.empty()
                                : status != 0 && text.find(c.line) != std::string::npos,
              "size", c.which, status, text);
    }
    for (int which = 0; which < N_WAITS; which++) {
        const auto wait = [&](int64_t most_polls, bool is_answered) {
            return run_apart(
                [&](both *b, FifoDeviceHandle fifo) {
                    CHECK(gshmem_launch(wait_for_other, 2, 1, 0, nullptr, b, fifo, (wait_case)which,
                                        most_polls, is_answered) == cudaSuccess);
                },
                &status);
        };
        const auto is_answered = [&] { return WIFEXITED(status) && WEXITSTATUS(status) == 2; };
        std::string text = wait(-1, true);
        check(is_answered(), "answered wait", which, status, text);
        if (asserts_spins) {
            text = wait(10, false);
            check(status != 0 && !is_answered() &&
                      text.find(which == POLL
                                    ? "memoryOrderAcquire) == 0"
                                    : "a wait has polled maxSpinCount times") != std::string::npos,
                  "wait", which, status, text);
        } else {
            text = wait(0, true);
            check(is_answered(), "wait of no polls", which, status, text);
        }
    }
    return test_result();
}
