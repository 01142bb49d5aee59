/* SPDX-License-Identifier: Apache-2.0
 * Ranks of programs written for MSCCL++, with and without gshmemrun: processes, or threads of one.
 *
 *     PROGRAM processes N    N processes of one host
 *     PROGRAM hosts N        the same, which take themselves for hosts of their own
 *     PROGRAM threads N      N threads
 *     PROGRAM far-threads N  the same, connected as ranks of different hosts are
 *     gshmemrun -n N [--threads] PROGRAM    the PEs of a job, which has memory of its own besides;
 *         PEs that are far by the job's own routes (GSHMEM_NODE_PES=1) are so here, too
 *
 * FAR_BY=IB0 in the environment: ranks of different hosts are connected by it, not by Ethernet.
 * With GSHMEM_TRANSPORT=ucx it must go over UCX. */
#ifndef GSH_TEST_HOST_RANKS_HPP
#define GSH_TEST_HOST_RANKS_HPP

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gshmemx.h>
#include <mscclpp/core.hpp>

#include "tests/test.h"

struct Rank {
    int rank, n;
    bool is_far; /* from all others */
    bool is_thread;
    bool is_pe;
    mscclpp::UniqueId id;
};

/* Host memory of whole pages, which nothing else shares, as memory that is registered while other
 * threads run must be. */
template <class T> class OwnPages
{
  public:
    explicit OwnPages(size_t n, T value = 0) : n_(n)
    {
        void *p = mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
        if (p == MAP_FAILED) {
            std::perror("mmap");
            std::abort();
        }
        data_ = static_cast<T *>(p);
        std::fill(data_, data_ + n, value);
    }
    OwnPages(const OwnPages &) = delete;
    OwnPages &operator=(const OwnPages &) = delete;
    ~OwnPages() { munmap(data_, n_ * sizeof(T)); }
    T *data() { return data_; }
    size_t size() const { return n_; }
    T &operator[](size_t i) { return data_[i]; }

  private:
    size_t n_;
    T *data_;
};

inline mscclpp::Transport far_transport()
{
    const char *by = std::getenv("FAR_BY");
    return by && strcmp(by, "IB0") == 0 ? mscclpp::Transport::IB0 : mscclpp::Transport::Ethernet;
}

/* Where UCX need not be there, IB0 to IB7 may go over TCP. */
inline bool is_carried_as_it_says(const mscclpp::Connection &connection)
{
    const char *ucx = std::getenv("GSHMEM_TRANSPORT");
    const std::string by = connection.carrier();
    const mscclpp::Transport transport = connection.transport();
    if (transport == mscclpp::Transport::CudaIpc || transport == mscclpp::Transport::Ethernet) {
        return by == (transport == mscclpp::Transport::CudaIpc ? "memory" : "TCP");
    }
    return by == "UCX" || (by == "TCP" && !(ucx && strcmp(ucx, "ucx") == 0));
}

/* Whether the call throws that code; its text goes to *why. */
template <class Call> bool throws(mscclpp::ErrorCode code, Call call, std::string *why = nullptr)
{
    try {
        call();
    } catch (const mscclpp::Error &e) {
        if (why) {
            *why = e.what();
        }
        if (e.getErrorCode() == code && std::string(e.what()).size() > 10) {
            return true;
        }
        std::fprintf(stderr, "threw: %s\n", e.what());
        return false;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "threw another class: %s\n", e.what());
        return false;
    }
    std::fprintf(stderr, "threw nothing\n");
    return false;
}

/* An exception ends the program: otherwise others would wait for this rank. */
inline int run_rank(int (*run)(const Rank &), const Rank &rank)
{
    try {
        return run(rank);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "rank %d: %s\n", rank.rank, e.what());
        std::fflush(nullptr);
        _exit(1);
    }
}

/* The id is made by rank 0 and reaches the others through a pipe, so that none of them has a
 * thread when it forks. */
inline int run_processes(int (*run)(const Rank &), int n, bool is_far)
{
    std::vector<int> write_ends;
    std::vector<pid_t> children;
    for (int rank = n - 1; rank >= 0; rank--) {
        int ends[2];
        if (rank > 0 && pipe(ends) != 0) {
            return 1;
        }
        const pid_t child = fork();
        if (child == 0) {
            Rank mine = {rank, n, is_far, false, false, {}};
            alarm(600); /* the parent's ends the parent alone */
            if (is_far) {
                setenv("MSCCLPP_HOSTID", ("host" + std::to_string(rank)).c_str(), 1);
            }
            if (rank == 0) {
                mine.id = mscclpp::TcpBootstrap::createUniqueId();
                for (const int fd : write_ends) {
                    CHECK(write(fd, mine.id.data(), mine.id.size()) == (ssize_t)mine.id.size());
                }
            } else {
                close(ends[1]);
                CHECK(read(ends[0], mine.id.data(), mine.id.size()) == (ssize_t)mine.id.size());
            }
            const int failed = run_rank(run, mine);
            std::fflush(nullptr);
            std::exit(failed);
        }
        children.push_back(child);
        if (rank > 0) {
            close(ends[0]);
            write_ends.push_back(ends[1]);
        }
    }
    for (const int fd : write_ends) {
        close(fd);
    }
    int failed = 0;
    for (const pid_t child : children) {
        int status = 1;
        failed |= waitpid(child, &status, 0) != child || status != 0;
    }
    return failed;
}

inline int run_threads(int (*run)(const Rank &), int n, bool is_far)
{
    const mscclpp::UniqueId id = mscclpp::TcpBootstrap::createUniqueId();
    std::vector<std::thread> threads;
    std::vector<int> failed(static_cast<size_t>(n), 1);
    for (int rank = 0; rank < n; rank++) {
        threads.emplace_back([=, &failed] {
            failed[static_cast<size_t>(rank)] = run_rank(run, {rank, n, is_far, true, false, id});
        });
    }
    int any = 0;
    for (size_t i = 0; i < threads.size(); i++) {
        threads[i].join();
        any |= failed[i];
    }
    return any;
}

inline int (*run_of_pe)(const Rank &);

inline int run_pe(int, char **)
{
    gshmem_init();
    const int pe = gshmem_my_pe(), n = gshmem_n_pes();
    auto *id = static_cast<mscclpp::UniqueId *>(gshmem_malloc(sizeof(mscclpp::UniqueId)));
    if (pe == 0) {
        *id = mscclpp::TcpBootstrap::createUniqueId();
        for (int to = 1; to < n; to++) {
            gshmem_putmem(id, id, sizeof(*id), to);
        }
    }
    gshmem_barrier_all();
    const std::string route = gshmemx_route_name((pe + 1) % n);
    const bool is_far = route == "loop" || route == "ucx";
    const int failed =
        run_rank(run_of_pe, {pe, n, is_far, route == "thread" || route == "loop", true, *id});
    gshmem_barrier_all();
    gshmem_finalize();
    return failed;
}

inline int run_ranks(int argc, char **argv, int (*run)(const Rank &))
{
    const std::string way = argc == 3 ? argv[1] : "";
    const int n = argc == 3 ? std::atoi(argv[2]) : 0;
    alarm(600); /* whoever is left behind ends, too */
    if (way == "threads" || way == "far-threads") {
        return run_threads(run, n, way == "far-threads");
    }
    if (way == "processes" || way == "hosts") {
        return run_processes(run, n, way == "hosts");
    }
    if (argc == 1) {
        run_of_pe = run;
        return gshmemx_run(run_pe, argc, argv);
    }
    std::fprintf(stderr, "usage: %s processes|hosts|threads|far-threads N\n", argv[0]);
    return 2;
}

#endif
