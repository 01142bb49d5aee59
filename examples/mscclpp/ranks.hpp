/* SPDX-License-Identifier: Apache-2.0
 * Shared by these examples: ranks, each a process with a GPU of its own. They are programs for
 * MSCCL++ and use nothing else.
 *
 *     PROGRAM N           N processes of one host
 *     PROGRAM N apart     the same, which take themselves for hosts of their own */
#ifndef RANKS_HPP
#define RANKS_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>

/* nvcc's launch, which a C++ compiler for the CPU device does not support. */
#if defined(__CUDACC__)
#define LAUNCH(kernel, blocks, threads, stream, ...) \
    kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__)
#else
#include <gshmem/launch.h>
#define LAUNCH(kernel, blocks, threads, stream, ...) \
    (void)gshmem_launch(kernel, blocks, threads, 0, stream, __VA_ARGS__)
#endif

struct Ranks {
    std::shared_ptr<mscclpp::TcpBootstrap> bootstrap;
    std::shared_ptr<mscclpp::Communicator> communicator;
    int rank, n;
    mscclpp::Transport transport; /* to the other ranks */
};

/* One for each peer; what belongs to this rank itself is not used. */
template <class T> using PerPeer = std::vector<T>;

inline PerPeer<mscclpp::Connection> connect(const Ranks &r)
{
    std::vector<std::shared_future<mscclpp::Connection>> coming((size_t)r.n);
    for (int peer = 0; peer < r.n; peer++)
        if (peer != r.rank)
            coming[(size_t)peer] = r.communicator->connect(r.transport, peer);
    PerPeer<mscclpp::Connection> connections((size_t)r.n);
    for (int peer = 0; peer < r.n; peer++)
        if (peer != r.rank)
            connections[(size_t)peer] = coming[(size_t)peer].get();
    return connections;
}

/* What each peer gives for mine. */
inline PerPeer<mscclpp::RegisteredMemory> exchange(const Ranks &r,
                                                   const mscclpp::RegisteredMemory &mine)
{
    for (int peer = 0; peer < r.n; peer++)
        if (peer != r.rank)
            r.communicator->sendMemory(mine, peer);
    PerPeer<mscclpp::RegisteredMemory> memories((size_t)r.n);
    for (int peer = 0; peer < r.n; peer++)
        if (peer != r.rank)
            memories[(size_t)peer] = r.communicator->recvMemory(peer).get();
    return memories;
}

inline PerPeer<mscclpp::Semaphore> build_semaphores(const Ranks &r,
                                                    const PerPeer<mscclpp::Connection> &connections)
{
    std::vector<std::shared_future<mscclpp::Semaphore>> coming((size_t)r.n);
    for (int peer = 0; peer < r.n; peer++)
        if (peer != r.rank)
            coming[(size_t)peer] = r.communicator->buildSemaphore(connections[(size_t)peer], peer);
    PerPeer<mscclpp::Semaphore> semaphores((size_t)r.n);
    for (int peer = 0; peer < r.n; peer++)
        if (peer != r.rank)
            semaphores[(size_t)peer] = coming[(size_t)peer].get();
    return semaphores;
}

/* A copy of these on the device. */
template <class T> std::shared_ptr<T> to_device(const std::vector<T> &values)
{
    std::shared_ptr<T> copy = mscclpp::detail::gpuCallocShared<T>(values.size());
    mscclpp::gpuMemcpy(copy.get(), values.data(), values.size(), cudaMemcpyHostToDevice);
    return copy;
}

/* A rank's part of the example: how many values were wrong. */
typedef int rank_main(const Ranks &r);

inline int run_rank(rank_main *f, int rank, int n, bool is_apart, const mscclpp::UniqueId &id)
{
    if (is_apart)
        setenv("MSCCLPP_HOSTID", ("host" + std::to_string(rank)).c_str(), 1);
    try {
        int n_gpus = 0;
        MSCCLPP_CUDATHROW(cudaGetDeviceCount(&n_gpus));
        MSCCLPP_CUDATHROW(cudaSetDevice(rank % n_gpus));
        Ranks r = {std::make_shared<mscclpp::TcpBootstrap>(rank, n), nullptr, rank, n,
                   is_apart ? mscclpp::Transport::Ethernet : mscclpp::Transport::CudaIpc};
        r.bootstrap->initialize(id);
        r.communicator = std::make_shared<mscclpp::Communicator>(r.bootstrap);
        const int wrong = f(r);
        r.bootstrap->barrier();
        if (wrong != 0)
            std::fprintf(stderr, "rank %d: %d wrong\n", rank, wrong);
        else if (rank == 0)
            std::printf("%d ranks: right\n", n);
        return wrong != 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
        return 1;
    }
}

/* The id reaches the other ranks through a pipe; no rank has a thread when it is forked. */
inline int run_ranks(int argc, char **argv, rank_main *f)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 2;
    const bool is_apart = argc > 2 && std::strcmp(argv[2], "apart") == 0;
    int ends[2], any = 0;
    if (n < 2 || pipe(ends) != 0)
        return 2;
    std::vector<pid_t> children;
    for (int rank = 0; rank < n; rank++) {
        const pid_t child = fork();
        if (child == 0) {
            mscclpp::UniqueId id = {};
            if (rank == 0) {
                id = mscclpp::TcpBootstrap::createUniqueId();
                for (int peer = 1; peer < n; peer++)
                    any |= write(ends[1], id.data(), id.size()) != (ssize_t)id.size();
            } else {
                any |= read(ends[0], id.data(), id.size()) != (ssize_t)id.size();
            }
            any |= run_rank(f, rank, n, is_apart, id);
            std::fflush(nullptr);
            _exit(any);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 1;
        any |= waitpid(child, &status, 0) != child || status != 0;
    }
    return any;
}

#endif
