/* SPDX-License-Identifier: Apache-2.0
 * PyTorch's symmetric memory on gshmem's heap: the backend "GSHMEM", and memory for
 * torch.cuda.MemPool. torch.py compiles this file against the installed PyTorch, whose C++ classes
 * differ from version to version.
 *
 * An allocation is collective over all PEs, as gshmem_malloc is: all ranks make the same calls of
 * empty() in the same order. It holds the tensor's bytes, PyTorch's signal pad, and signals of our
 * own. Freeing is not collective, since a tensor ends when its process forgets it: free() only
 * marks the allocation, and the next allocation frees what all PEs have marked.
 *
 * Our signals: a word for each kind (barrier, put_signal), channel and PE, in which that PE has
 * arrived and its reader has not taken it yet. Only that PE adds 1, only the owner subtracts 1,
 * after it has seen 1 or more. */
#include <gshmem.h>
#include <gshmemx.h>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/symm_mem/SymmetricMemory.hpp>
#if defined(GSHMEM_TORCH_CUDA)
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#endif
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

namespace
{

namespace sm = c10d::symmetric_memory;

constexpr size_t n_channels = 64;
constexpr size_t alignment = 256;
constexpr size_t max_allocations = 64 * 64; /* at the same time */

#if defined(GSHMEM_TORCH_CUDA)
constexpr c10::DeviceType device_type = c10::DeviceType::CUDA;
#else
constexpr c10::DeviceType device_type = c10::DeviceType::CPU;
#endif

struct allocation {
    char *base = nullptr; /* nullptr: none has this number */
    size_t bytes = 0;     /* of the tensor */
    size_t pad = 0;       /* of PyTorch's signal pad */
    int device = -1;
    bool is_marked = false; /* the tensor has gone */
};

/* Raises RuntimeError in Python. Not by TORCH_CHECK, whose exception carries a stack trace that
 * PyTorch may look up symbols for: with it, a process on GPUs ended by a segmentation fault. */
[[noreturn]] void fail(const std::string &text)
{
    throw std::runtime_error("gshmem: " + text);
}

template <class Number> std::string text_of(Number n)
{
    return std::to_string(n);
}

/* Of _native and of Python, given by torch.py. */
struct {
    void (*wait_starts)(const char *what);
    void (*wait_ends)();
    int (*ensure)();
    void (*release)(int);
    void *(*save)();
    void (*restore)(void *);
} python;

/* While one lives, this thread may wait for other PEs: other threads of Python run, and Ctrl-C ends
 * the wait, in the main thread. Mutexes are taken after it is made: another thread might hold
 * Python's lock while it waits for one. what: a text that stays. */
class waiting
{
  public:
    explicit waiting(const char *what) : lock(python.ensure())
    {
        python.wait_starts(what);
        thread = python.save();
    }
    waiting(const waiting &) = delete;
    waiting &operator=(const waiting &) = delete;
    ~waiting()
    {
        python.restore(thread);
        python.wait_ends();
        python.release(lock);
    }

  private:
    int lock;
    void *thread;
};

size_t round_up(size_t n)
{
    return (n + alignment - 1) / alignment * alignment;
}

/* A process group, or a group that the program has named by set_group_info. */
sm::GroupInfo group_of(const std::string &name)
{
    c10::intrusive_ptr<c10d::ProcessGroup> group;
    try {
        group = c10d::resolve_process_group(name);
    } catch (const c10::Error &) {
        return sm::get_group_info(name);
    }
    return {group->getRank(), group->getSize(), group->getStore()};
}

/* The ranks of a group as PEs, which all its members tell each other. */
std::vector<int> pes_of(const std::string &name, const sm::GroupInfo &group)
{
    auto key = [&](int rank) { return "gshmem/" + name + "/" + text_of(rank); };
    std::string own = text_of(gshmem_my_pe());
    group.store->set(key(group.rank), std::vector<uint8_t>(own.begin(), own.end()));
    std::vector<int> pes;
    for (int rank = 0; rank < group.world_size; rank++) {
        auto text = group.store->get(key(rank));
        int pe = std::atoi(std::string(text.begin(), text.end()).c_str());
        if (pe < 0 || pe >= gshmem_n_pes())
            fail("rank " + text_of(rank) + " of group " + name + " says that it is PE " +
                 text_of(pe) + " of " + text_of(gshmem_n_pes()));
        pes.push_back(pe);
    }
    return pes;
}

class memory : public sm::SymmetricMemory
{
  public:
    memory(const allocation &a, size_t offset, const std::vector<int> &pes, int rank)
        : of(a), offset(offset), pes(pes), rank(rank)
    {
        for (int pe : pes) {
            char *there = static_cast<char *>(gshmem_ptr(a.base, pe));
            if (there == nullptr)
                fail("rendezvous: PE " + text_of(pe) +
                     " is not near: its memory is not mapped here");
            buffers.push_back(there);
            pads.push_back(there + round_up(a.bytes));
        }
        auto on_device = [&](const std::vector<void *> &v) {
            auto words = at::empty({(int64_t)v.size()}, at::TensorOptions().dtype(at::kLong));
            memcpy(words.data_ptr(), v.data(), v.size() * sizeof(void *));
            return device_type == c10::DeviceType::CPU ? words : words.to(get_device());
        };
        buffers_there = on_device(buffers);
        pads_there = on_device(pads);
    }

    ~memory() override
    {
        if (sm::is_finalizing()) { /* the process ends, and the tensors' allocator has ended */
            buffers_there.unsafeReleaseTensorImpl();
            pads_there.unsafeReleaseTensorImpl();
        }
    }

    std::vector<void *> get_buffer_ptrs() override { return buffers; }
    std::vector<void *> get_signal_pad_ptrs() override { return pads; }
    void **get_buffer_ptrs_dev() override { return static_cast<void **>(buffers_there.data_ptr()); }
    void **get_signal_pad_ptrs_dev() override
    {
        return static_cast<void **>(pads_there.data_ptr());
    }
    size_t get_buffer_size() override { return of.bytes; }
    size_t get_offset() override { return offset; }
    bool has_multicast_support() override { return false; }
    void *get_multicast_ptr() override { return nullptr; }
    int get_rank() override { return rank; }
    int get_world_size() override { return (int)pes.size(); }
    c10::Device get_device() override
    {
        return c10::Device(device_type,
                           device_type == c10::DeviceType::CPU ? -1 : (c10::DeviceIndex)of.device);
    }
    const std::vector<int> &get_rank_to_global_rank() override { return pes; }
    bool world_within_direct_access() override { return true; }

    void barrier(int channel, size_t timeout_ms) override
    {
        for (size_t i = 0; i < pes.size(); i++)
            arrive(0, channel, (int)i);
        for (size_t i = 0; i < pes.size(); i++)
            take("barrier", "barrier of symmetric memory", 0, channel, (int)i, timeout_ms);
    }

    void put_signal(int to, int channel, size_t) override { arrive(1, channel, to); }
    void wait_signal(int from, int channel, size_t timeout_ms) override
    {
        take("wait_signal", "wait_signal of symmetric memory", 1, channel, from, timeout_ms);
    }

  private:
    /* This PE's word in which PE `pe` arrives. */
    uint64_t *word(size_t kind, int channel, int pe) const
    {
        uint64_t *words =
            reinterpret_cast<uint64_t *>(of.base + round_up(of.bytes) + round_up(of.pad));
        return words + (kind * n_channels + (size_t)channel) * (size_t)gshmem_n_pes() + (size_t)pe;
    }

    int check(int channel, int other) const
    {
        if (channel < 0 || (size_t)channel >= n_channels)
            fail("channel is " + text_of(channel) + ", and there are " + text_of(n_channels));
        if (other < 0 || (size_t)other >= pes.size())
            fail("rank is " + text_of(other) + ", and there are " + text_of(pes.size()));
        return pes[(size_t)other];
    }

    void arrive(size_t kind, int channel, int to)
    {
        int pe = check(channel, to);
        uint64_t *there = word(kind, channel, gshmem_my_pe());
#if defined(GSHMEM_TORCH_CUDA)
        gshmemx_signal_op_on_stream(there, 1, GSHMEM_SIGNAL_ADD, pe, stream());
#else
        std::atomic_thread_fence(
            std::memory_order_seq_cst); /* tensors' stores come before: partner in take */
        gshmem_quiet();
        gshmemx_signal_op(there, 1, GSHMEM_SIGNAL_ADD, pe);
#endif
    }

#if !defined(GSHMEM_TORCH_CUDA)
    static void await(const char *call, uint64_t *here, int channel, int from, size_t timeout_ms)
    {
        if (timeout_ms == 0)
            gshmem_uint64_wait_until(here, GSHMEM_CMP_GE, 1);
        auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
        while (timeout_ms != 0 && !gshmem_uint64_test(here, GSHMEM_CMP_GE, 1))
            if (std::chrono::steady_clock::now() >= end)
                fail(std::string(call) + ": rank " + text_of(from) + " has not come within " +
                     text_of(timeout_ms) + " ms on channel " + text_of(channel));
    }
#endif

    void take(const char *call, const char *wait, size_t kind, int channel, int from,
              size_t timeout_ms)
    {
        uint64_t *here = word(kind, channel, check(channel, from));
#if defined(GSHMEM_TORCH_CUDA)
        (void)call, (void)wait,
            (void)timeout_ms; /* the library's limit GSHMEM_WAIT_TIMEOUT holds */
        gshmemx_signal_wait_until_on_stream(here, GSHMEM_CMP_GE, 1, stream());
        gshmemx_signal_op_on_stream(here, ~(uint64_t)0, GSHMEM_SIGNAL_ADD, gshmem_my_pe(),
                                    stream());
#else
        if (!gshmem_uint64_test(here, GSHMEM_CMP_GE, 1)) {
            waiting until_it_has_come(wait);
            await(call, here, channel, from, timeout_ms);
        }
        std::atomic_thread_fence(std::memory_order_seq_cst);
        gshmem_uint64_atomic_add(here, ~(uint64_t)0, gshmem_my_pe());
#endif
    }

#if defined(GSHMEM_TORCH_CUDA)
    gshmemx_stream_t stream() const
    {
        return (gshmemx_stream_t)c10::cuda::getCurrentCUDAStream((c10::DeviceIndex)of.device)
            .stream();
    }
#endif

    allocation of;
    size_t offset;
    std::vector<int> pes;
    int rank;
    std::vector<void *> buffers, pads;
    at::Tensor buffers_there, pads_there;
};

class allocator : public sm::SymmetricMemoryAllocator
{
  public:
    void *alloc(size_t size, int device, const std::optional<std::string> &) override
    {
        waiting for_all("empty of symmetric memory");
        std::lock_guard<std::mutex> one_at_a_time(collective);
        free_marked();
        allocation a;
        a.bytes = size;
        a.pad = sm::get_signal_pad_size();
        a.device = device;
        size_t words = 2 * n_channels * (size_t)gshmem_n_pes() * sizeof(uint64_t);
        std::unique_lock<std::mutex> lock(mutex);
        size_t i = 0;
        while (i < max_allocations && all[i].base != nullptr)
            i++;
        lock.unlock();
        if (i == max_allocations)
            fail("there are " + text_of(max_allocations) + " symmetric allocations already");
        a.base = static_cast<char *>(gshmem_calloc(round_up(size) + round_up(a.pad) + words, 1));
        if (a.base == nullptr)
            fail("no " + text_of(size) +
                 " bytes of symmetric memory on all PEs, or they asked for different sizes; PE 0 "
                 "has printed which");
        lock.lock();
        all[i] = a;
        return a.base;
    }

    void free(void *p) override
    {
        std::lock_guard<std::mutex> lock(mutex);
        if (allocation *a = find(p))
            a->is_marked = true;
    }

    size_t get_alloc_size(void *p) override
    {
        std::lock_guard<std::mutex> lock(mutex);
        allocation *a = find(p);
        if (a == nullptr)
            fail("get_alloc_size: not memory of the backend GSHMEM");
        return a->bytes;
    }

    c10::intrusive_ptr<sm::SymmetricMemory>
    rendezvous(void *p, const std::optional<std::string> &group_name) override
    {
        if (!group_name.has_value())
            fail("rendezvous: no group is given");
        sm::GroupInfo group = group_of(*group_name);
        std::unique_lock<std::mutex> lock(mutex);
        auto found = memories.find({p, *group_name});
        if (found != memories.end())
            return found->second;
        allocation *a = find(p);
        if (a == nullptr)
            fail("rendezvous: the tensor is not of torch.distributed._symmetric_memory.empty with "
                 "the backend GSHMEM");
        allocation of = *a;
        lock.unlock(); /* the other members may come late */
        auto made = c10::make_intrusive<memory>(of, (size_t)(static_cast<char *>(p) - of.base),
                                                pes_of(*group_name, group), group.rank);
        lock.lock();
        return memories[{p, *group_name}] = made;
    }

    bool has_multicast_support(int) override { return false; }
    c10::DeviceType supported_device_type() override { return device_type; }
    std::string name() override { return "GSHMEM"; }

  private:
    allocation *find(void *p)
    {
        for (allocation &a : all)
            if (a.base != nullptr && p >= a.base && p < a.base + std::max<size_t>(a.bytes, 1))
                return &a;
        return nullptr;
    }

    /* Frees what all PEs have marked; the numbers of allocations are the same on all. */
    void free_marked()
    {
        constexpr size_t n = max_allocations / 64;
        if (marks == nullptr)
            marks = static_cast<uint64_t *>(gshmem_calloc(n, sizeof(uint64_t)));
        if (marks == nullptr)
            fail("no symmetric memory");
        uint64_t own[n] = {};
        std::unique_lock<std::mutex> lock(mutex);
        for (size_t i = 0; i < max_allocations; i++)
            own[i / 64] |= (uint64_t)all[i].is_marked << i % 64;
        lock.unlock();
        gshmem_putmem(marks, own, sizeof own, gshmem_my_pe());
        gshmem_quiet();
        gshmem_uint64_and_reduce(GSHMEM_TEAM_WORLD, marks, marks, n);
        gshmem_getmem(own, marks, sizeof own, gshmem_my_pe());
        for (size_t i = 0; i < max_allocations; i++)
            if (own[i / 64] >> i % 64 & 1) {
                lock.lock();
                char *base = all[i].base;
                for (auto m = memories.begin(); m != memories.end();) {
                    char *p = static_cast<char *>(m->first.first);
                    m = p >= base && p < base + std::max<size_t>(all[i].bytes, 1)
                            ? memories.erase(m)
                            : std::next(m);
                }
                all[i] = allocation();
                lock.unlock();
                gshmem_free(base);
            }
    }

    std::mutex collective; /* held during the calls that are collective */
    std::mutex mutex;      /* of what follows */
    std::vector<allocation> all = std::vector<allocation>(max_allocations);
    std::map<std::pair<void *, std::string>, c10::intrusive_ptr<memory>> memories;
    uint64_t *marks = nullptr; /* symmetric */
};

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

/* Before the others: addresses of functions. */
EXPORTED void gshmem_torch_tell_of_waits(void (*wait_starts)(const char *), void (*wait_ends)(),
                                         int (*ensure)(), void (*release)(int), void *(*save)(),
                                         void (*restore)(void *))
{
    python = {wait_starts, wait_ends, ensure, release, save, restore};
}

/* Once a process. */
EXPORTED void gshmem_torch_register(void)
{
    sm::register_availability("GSHMEM", c10::make_intrusive<allocator>());
}

/* For torch.cuda.MemPool: memory of the heap, collective over all PEs. The pool returns none of it
 * before its end. */
EXPORTED void *gshmem_torch_malloc(ssize_t bytes, int, void *)
{
    return gshmem_malloc((size_t)bytes);
}

EXPORTED void gshmem_torch_free(void *, size_t, int, void *) {}
