/* SPDX-License-Identifier: Apache-2.0
 * How long NCCL's collectives take on ordinary memory, that of cudaMalloc, with any libnccl.so.2.
 *
 *     PROGRAM LIBRARY [--one] [--graph] [--windows] [--groups] [--ranks=N] [--sizes=8,1024,...]
 *             [--operations=all_reduce,...] [--quick]
 *
 * Each rank is a process with a GPU; with --one a single thread drives all ranks, each call in a
 * group. --graph: the calls of a sample are one CUDA graph. --windows: symmetric windows on memory
 * of ncclMemAlloc instead. --groups: each four calls are a group. Bytes are those of the larger
 * buffer, as nccl-tests counts them.
 *
 * Prints a line for each row,
 * "VERSION,processes|one,direct|graph[-windows][-groups],OPERATION,BYTES,US": the median of 15
 * samples on rank 0's stream, each the mean of 5 to 50 calls between events, after calls that warm
 * up. Afterwards every rank compares what it got with what the host computes: all of it up to 1
 * MiB, above that the ends of each rank's part. Ends with status 1 if one is wrong.
 */
#include <algorithm>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nccl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define NEED(call, good)                                                       \
    do {                                                                       \
        if ((call) != (good)) {                                                \
            fprintf(stderr, "%s:%d: %s: failed\n", __FILE__, __LINE__, #call); \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)
#define NCCL(call) NEED(nccl.call, ncclSuccess)
#define CUDA(call) NEED(call, cudaSuccess)

namespace
{

/* The library's functions. */
#define FUNCTION(name) decltype(&nccl##name) name
struct {
    FUNCTION(GetVersion);
    FUNCTION(GetUniqueId);
    FUNCTION(CommInitRank);
    FUNCTION(CommDestroy);
    FUNCTION(GroupStart);
    FUNCTION(GroupEnd);
    FUNCTION(AllReduce);
    FUNCTION(AllGather);
    FUNCTION(ReduceScatter);
    FUNCTION(Broadcast);
    FUNCTION(Reduce);
    FUNCTION(AlltoAll);
    FUNCTION(Send);
    FUNCTION(Recv);
    FUNCTION(Gather);
    FUNCTION(Scatter);
    FUNCTION(MemAlloc);
    FUNCTION(MemFree);
    FUNCTION(CommWindowRegister);
    FUNCTION(CommWindowDeregister);
} nccl;

/* The last is an exchange of parts between all by sends and receives of one group. */
enum operation {
    ALL_REDUCE,
    ALL_GATHER,
    REDUCE_SCATTER,
    BROADCAST,
    REDUCE,
    ALL_TO_ALL,
    SEND_RECV,
    GATHER,
    SCATTER,
    ALL_TO_ALL_V
};
const char *const names[] = {"all_reduce", "all_gather",  "reduce_scatter", "broadcast",
                             "reduce",     "all_to_all",  "send_recv",      "gather",
                             "scatter",    "all_to_all_v"};
constexpr int n_operations = 10;

struct options {
    const char *library = nullptr;
    int n = 2;
    bool is_one = false, has_graph = false, has_windows = false, has_groups = false,
         is_quick = false;
    std::vector<size_t> sizes;
    bool has[n_operations] = {}; /* to be measured */
};

/* What the processes of a job share. */
struct shared {
    ncclUniqueId id;
    pthread_barrier_t meeting;
};

struct rank {
    int number = 0;
    ncclComm_t comm = nullptr;
    cudaStream_t stream = nullptr;
    float *source = nullptr, *dest = nullptr;
    ncclWindow_t windows[2] = {};
};

struct job {
    options o;
    shared *all;
    std::vector<rank> mine; /* ranks that this process drives */
    int version;
    bool has_failed;

    void add(int number)
    {
        mine.emplace_back();
        mine.back().number = number;
    }
    void meet() const
    {
        if (!o.is_one)
            pthread_barrier_wait(&all->meeting);
    }
    void use(const rank &r) const
    {
        int n_gpus = 0;
        if (cudaGetDeviceCount(&n_gpus) == cudaSuccess && n_gpus > 0)
            CUDA(cudaSetDevice(r.number % n_gpus));
    }
};

/* ---- calls ----------------------------------------------------------------------------------- */

void call_rank(const job &j, const rank &r, operation op, size_t count)
{
    const size_t part = count / (size_t)j.o.n;
    const int next = (r.number + 1) % j.o.n, before = (r.number + j.o.n - 1) % j.o.n;
    switch (op) {
    case ALL_REDUCE:
        NCCL(AllReduce(r.source, r.dest, count, ncclFloat, ncclSum, r.comm, r.stream));
        break;
    case ALL_GATHER:
        NCCL(AllGather(r.source, r.dest, part, ncclFloat, r.comm, r.stream));
        break;
    case REDUCE_SCATTER:
        NCCL(ReduceScatter(r.source, r.dest, part, ncclFloat, ncclSum, r.comm, r.stream));
        break;
    case BROADCAST:
        NCCL(Broadcast(r.source, r.dest, count, ncclFloat, 0, r.comm, r.stream));
        break;
    case REDUCE:
        NCCL(Reduce(r.source, r.dest, count, ncclFloat, ncclSum, 0, r.comm, r.stream));
        break;
    case ALL_TO_ALL:
        NCCL(AlltoAll(r.source, r.dest, part, ncclFloat, r.comm, r.stream));
        break;
    case SEND_RECV:
        NCCL(Send(r.source, count, ncclFloat, next, r.comm, r.stream));
        NCCL(Recv(r.dest, count, ncclFloat, before, r.comm, r.stream));
        break;
    case GATHER:
        NCCL(Gather(r.source, r.dest, part, ncclFloat, 0, r.comm, r.stream));
        break;
    case SCATTER:
        NCCL(Scatter(r.source, r.dest, part, ncclFloat, 0, r.comm, r.stream));
        break;
    case ALL_TO_ALL_V:
        for (int i = 0; i < j.o.n; i++) {
            NCCL(Send(r.source + (size_t)i * part, part, ncclFloat, i, r.comm, r.stream));
            NCCL(Recv(r.dest + (size_t)i * part, part, ncclFloat, i, r.comm, r.stream));
        }
        break;
    }
}

void call(const job &j, operation op, size_t count)
{
    const bool is_group = j.mine.size() > 1 || op == SEND_RECV || op == ALL_TO_ALL_V;
    if (is_group)
        NCCL(GroupStart());
    for (const rank &r : j.mine)
        call_rank(j, r, op, count);
    if (is_group)
        NCCL(GroupEnd());
}

/* That many calls, with --groups four in a group. */
void call_often(const job &j, operation op, size_t count, int calls)
{
    for (int i = 0; i < calls; i++) {
        if (j.o.has_groups && i % 4 == 0)
            NCCL(GroupStart());
        call(j, op, count);
        if (j.o.has_groups && (i % 4 == 3 || i + 1 == calls))
            NCCL(GroupEnd());
    }
}

/* ---- samples --------------------------------------------------------------------------------- */

void wait_for_all(const job &j)
{
    for (const rank &r : j.mine)
        CUDA(cudaStreamSynchronize(r.stream));
}

/* Microseconds of the first rank's stream around `calls` calls that enqueue() makes at once; one
 * enqueue() before it keeps the GPU busy meanwhile. */
template <class F> double sample(const job &j, int calls, F enqueue)
{
    float ms = 0;
    const rank &first = j.mine[0];
    cudaEvent_t begin, end;
    j.use(first);
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    wait_for_all(j);
    j.meet();
    enqueue();
    j.use(first);
    CUDA(cudaEventRecord(begin, first.stream));
    enqueue();
    j.use(first);
    CUDA(cudaEventRecord(end, first.stream));
    wait_for_all(j);
    CUDA(cudaEventElapsedTime(&ms, begin, end));
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    return 1e3 * ms / calls;
}

template <class F> double median(const job &j, int calls, F enqueue)
{
    const int n = j.o.is_quick ? 1 : 15;
    std::vector<double> us;
    for (int i = -1; i < n; i++) {
        const double one = sample(j, calls, enqueue);
        if (i >= 0)
            us.push_back(one);
    }
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
}

#if defined(__CUDACC__)
/* A graph for each rank that this process drives. */
double median_of_graphs(const job &j, int calls, operation op, size_t count)
{
    std::vector<cudaGraphExec_t> graphs(j.mine.size());
    for (const rank &r : j.mine) {
        j.use(r);
        CUDA(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeRelaxed));
    }
    call_often(j, op, count, calls);
    for (size_t i = 0; i < j.mine.size(); i++) {
        cudaGraph_t captured;
        j.use(j.mine[i]);
        CUDA(cudaStreamEndCapture(j.mine[i].stream, &captured));
        CUDA(cudaGraphInstantiate(&graphs[i], captured, 0));
        CUDA(cudaGraphDestroy(captured));
    }
    const double us = median(j, calls, [&] {
        for (size_t i = 0; i < j.mine.size(); i++) {
            j.use(j.mine[i]);
            CUDA(cudaGraphLaunch(graphs[i], j.mine[i].stream));
        }
    });
    for (size_t i = 0; i < j.mine.size(); i++) {
        j.use(j.mine[i]);
        CUDA(cudaGraphExecDestroy(graphs[i]));
    }
    return us;
}
#else
double median_of_graphs(const job &, int, operation, size_t)
{
    fprintf(stderr, "the CPU device has no graphs\n");
    _exit(2);
}
#endif

/* ---- proof ----------------------------------------------------------------------------------- */

/* Whole numbers, so sums are exact. */
float value(int of_rank, size_t i)
{
    return (float)((i * 7 + (size_t)of_rank * 3) % 13 + 1);
}

float expected(const job &j, const rank &r, operation op, size_t count, size_t i)
{
    const size_t part = count / (size_t)j.o.n;
    if (op == BROADCAST)
        return value(0, i);
    if (op == SEND_RECV)
        return value((r.number + j.o.n - 1) % j.o.n, i);
    if (op == ALL_GATHER || op == GATHER)
        return value((int)(i / part), i % part);
    if (op == SCATTER)
        return value(0, (size_t)r.number * part + i);
    if (op == ALL_TO_ALL || op == ALL_TO_ALL_V)
        return value((int)(i / part), (size_t)r.number * part + i % part);
    float sum = 0;
    for (int from = 0; from < j.o.n; from++)
        sum += value(from, op == REDUCE_SCATTER ? (size_t)r.number * part + i : i);
    return sum;
}

void compare(job *j, const rank &r, operation op, size_t count, size_t first, size_t n)
{
    std::vector<float> host(n);
    CUDA(cudaMemcpy(host.data(), r.dest + first, n * sizeof(float), cudaMemcpyDefault));
    for (size_t i = 0; i < n; i++)
        if (host[i] != expected(*j, r, op, count, first + i)) {
            fprintf(stderr, "%s of %zu bytes: element %zu is wrong on rank %d\n", names[op],
                    count * sizeof(float), first + i, r.number);
            j->has_failed = true;
            return;
        }
}

void verify(job *j, operation op, size_t count)
{
    const size_t parts = (size_t)j->o.n, end = 16384;
    for (const rank &r : j->mine) {
        j->use(r);
        if ((op == REDUCE || op == GATHER) && r.number != 0)
            continue;
        const size_t n = op == REDUCE_SCATTER || op == SCATTER ? count / parts : count,
                     part = n / parts;
        if (n <= 1 << 18) {
            compare(j, r, op, count, 0, n);
            continue;
        }
        for (size_t p = 0; p < parts; p++) {
            compare(j, r, op, count, p * part, end);
            compare(j, r, op, count, (p + 1) * part - end, end);
        }
    }
}

/* ---- a job ----------------------------------------------------------------------------------- */

void measure(job *j, operation op, size_t bytes)
{
    const size_t count = bytes / sizeof(float);
    const int calls = j->o.is_quick ? 2 : bytes <= 1 << 20 ? 50 : bytes <= 16 << 20 ? 20 : 5;
    for (const rank &r : j->mine) {
        j->use(r);
        CUDA(cudaMemset(r.dest, 0xff, bytes));
        CUDA(cudaDeviceSynchronize());
    }
    j->meet();
    for (int i = 0; i < 3; i++)
        call(*j, op, count);
    wait_for_all(*j);
    const double us = j->o.has_graph ? median_of_graphs(*j, calls, op, count)
                                     : median(*j, calls, [&] { call_often(*j, op, count, calls); });
    if (j->mine[0].number == 0) {
        printf("%d,%s,%s%s%s,%s,%zu,%.3f\n", j->version, j->o.is_one ? "one" : "processes",
               j->o.has_graph ? "graph" : "direct", j->o.has_windows ? "-windows" : "",
               j->o.has_groups ? "-groups" : "", names[op], bytes, us);
        fflush(stdout);
    }
    verify(j, op, count);
    j->meet();
}

void make_buffers(const job &j, rank *r, size_t bytes)
{
    float **buffers[] = {&r->source, &r->dest};
    for (float **buffer : buffers)
        if (j.o.has_windows)
            NCCL(MemAlloc((void **)buffer, bytes));
        else
            CUDA(cudaMalloc((void **)buffer, bytes));
    std::vector<float> host(bytes / sizeof(float));
    for (size_t i = 0; i < host.size(); i++)
        host[i] = value(r->number, i);
    CUDA(cudaMemcpy(r->source, host.data(), bytes, cudaMemcpyDefault));
    CUDA(cudaStreamCreate(&r->stream));
}

void find(void *library, const char *name, void **function)
{
    *function = dlsym(library, name);
    if (*function == nullptr) {
        fprintf(stderr, "the library has no %s\n", name);
        _exit(1);
    }
}
#define FIND(name) find(lib, "nccl" #name, (void **)&nccl.name)

/* The library opens here, after the fork: a copied process must not hold its threads' locks. */
void open_library(job *j)
{
    void *lib = dlopen(j->o.library, RTLD_NOW | RTLD_LOCAL);
    if (lib == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(1);
    }
    FIND(GetVersion);
    FIND(GetUniqueId);
    FIND(CommInitRank);
    FIND(CommDestroy);
    FIND(GroupStart);
    FIND(GroupEnd);
    FIND(AllReduce);
    FIND(AllGather);
    FIND(ReduceScatter);
    FIND(Broadcast);
    FIND(Reduce);
    FIND(AlltoAll);
    FIND(Send);
    FIND(Recv);
    FIND(Gather);
    FIND(Scatter);
    FIND(MemAlloc);
    FIND(MemFree);
    FIND(CommWindowRegister);
    FIND(CommWindowDeregister);
    NCCL(GetVersion(&j->version));
}

template <class F> void in_group(F f)
{
    NCCL(GroupStart());
    f();
    NCCL(GroupEnd());
}

int run(job *j)
{
    const size_t most = *std::max_element(j->o.sizes.begin(), j->o.sizes.end());
    open_library(j);
    if (j->mine[0].number == 0)
        NCCL(GetUniqueId(&j->all->id));
    j->meet();
    in_group([&] {
        for (rank &r : j->mine) {
            j->use(r);
            NCCL(CommInitRank(&r.comm, j->o.n, j->all->id, r.number));
        }
    });
    for (rank &r : j->mine) {
        j->use(r);
        make_buffers(*j, &r, most);
    }
    for (int i = 0; i < 2 && j->o.has_windows; i++)
        in_group([&] {
            for (rank &r : j->mine) {
                j->use(r);
                NCCL(CommWindowRegister(r.comm, i == 0 ? r.source : r.dest, most, &r.windows[i],
                                        NCCL_WIN_COLL_SYMMETRIC));
            }
        });
    for (int op = 0; op < n_operations; op++)
        for (size_t bytes : j->o.has[op] ? j->o.sizes : std::vector<size_t>())
            measure(j, (operation)op, bytes);
    for (rank &r : j->mine)
        for (int i = 0; i < 2 && j->o.has_windows; i++)
            NCCL(CommWindowDeregister(r.comm, r.windows[i]));
    in_group([&] {
        for (rank &r : j->mine)
            NCCL(CommDestroy(r.comm));
    });
    return j->has_failed;
}

/* Kills the others as soon as one fails: they would wait for it for ever. */
int run_processes(job *j)
{
    std::vector<pid_t> pids;
    int status = 0, failed = 0;
    for (int i = 0; i < j->o.n; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            j->add(i);
            const int result = run(j);
            fflush(stdout);
            _exit(result);
        }
        NEED(pid > 0, true);
        pids.push_back(pid);
    }
    while (wait(&status) > 0)
        if (status != 0 && !failed) {
            failed = 1;
            for (pid_t pid : pids)
                kill(pid, SIGKILL);
        }
    return failed;
}

/* Their names, with commas between them. */
bool read_operations(const char *list, options *o)
{
    while (*list != 0) {
        const size_t n = strcspn(list, ",");
        int op = 0;
        while (op < n_operations && (strlen(names[op]) != n || strncmp(names[op], list, n) != 0))
            op++;
        if (op == n_operations)
            return false;
        o->has[op] = true;
        list += list[n] == ',' ? n + 1 : n;
    }
    return true;
}

bool read_options(int argc, char **argv, options *o)
{
    bool has_some = false;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--one") == 0) {
            o->is_one = true;
        } else if (strcmp(a, "--graph") == 0) {
            o->has_graph = true;
        } else if (strcmp(a, "--windows") == 0) {
            o->has_windows = true;
        } else if (strcmp(a, "--groups") == 0) {
            o->has_groups = true;
        } else if (strcmp(a, "--quick") == 0) {
            o->is_quick = true;
        } else if (strncmp(a, "--ranks=", 8) == 0) {
            o->n = atoi(a + 8);
        } else if (strncmp(a, "--sizes=", 8) == 0) {
            char *next = argv[i] + 7;
            while (*next != 0)
                o->sizes.push_back(strtoull(next + 1, &next, 10));
        } else if (strncmp(a, "--operations=", 13) == 0) {
            has_some = true;
            if (!read_operations(a + 13, o))
                return false;
        } else if (a[0] != '-' && o->library == nullptr) {
            o->library = a;
        } else {
            return false;
        }
    }
    if (o->sizes.empty() && o->is_quick)
        o->sizes = {64, 1 << 16};
    if (o->sizes.empty())
        for (int i : {3, 10, 12, 14, 16, 18, 20, 21, 22, 24, 26, 28})
            o->sizes.push_back((size_t)1 << i);
    for (bool &has : o->has)
        has = has || !has_some;
    bool is_good = o->library != nullptr && o->n > 0;
    for (size_t bytes : o->sizes)
        is_good = is_good && bytes > 0 && bytes % (sizeof(float) * (size_t)o->n) == 0;
    return is_good;
}

} // namespace

int main(int argc, char **argv)
{
    job j = {};
    if (!read_options(argc, argv, &j.o)) {
        fprintf(stderr,
                "usage: %s LIBRARY [--one] [--graph] [--windows] [--groups] [--ranks=N] "
                "[--sizes=8,1024,...] [--operations=all_reduce,...] [--quick]\nsizes are bytes, "
                "multiples of 4 times the number of ranks\n",
                argv[0]);
        return 2;
    }
    j.all = (shared *)mmap(nullptr, sizeof *j.all, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NEED(j.all == MAP_FAILED, false);
    pthread_barrierattr_t attr;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&j.all->meeting, &attr, (unsigned)j.o.n);
    if (!j.o.is_one)
        return run_processes(&j);
    for (int i = 0; i < j.o.n; i++)
        j.add(i);
    return run(&j);
}
