/* SPDX-License-Identifier: Apache-2.0
 * Every RMA call behind one signature: a row per type (25 names, 5 sizes, mem), in it one function
 * per place, each a switch over the operations. The only place in the tests that spells the names.
 */
#ifndef GSH_TEST_CALLS_CUH
#define GSH_TEST_CALLS_CUH

#include "tests/rig/pe.cuh"

enum op {
    op_put,
    op_get,
    op_put_nbi,
    op_get_nbi,
    op_put_signal,
    op_put_signal_nbi,
    op_iput,
    op_iget,
    op_p,
    op_g,
    n_ops
};
static const char *const op_names[n_ops] = {
    "put", "get", "put_nbi", "get_nbi", "put_signal", "put_signal_nbi", "iput", "iget", "p", "g",
};

enum place { place_host, place_thread, place_warp, place_block, place_stream, n_places };
static const char *const place_names[n_places] = {"host", "thread", "warp", "block", "stream"};

struct call {
    void *dest;
    const void *source;
    size_t nelems;
    ptrdiff_t dst, sst;
    uint64_t *sig;
    uint64_t signal;
    int sig_op;
    int pe;
};

static inline HD bool op_is_get(int op)
{
    return op == op_get || op == op_get_nbi || op == op_iget || op == op_g;
}
static inline HD bool op_is_strided(int op)
{
    return op == op_iput || op == op_iget;
}
static inline HD bool op_is_element(int op)
{
    return op == op_p || op == op_g;
}
static inline HD bool op_has_signal(int op)
{
    return op == op_put_signal || op == op_put_signal_nbi;
}

/* clang-format off */
/* The arms of a switch. X: the prefix; PUT and GET: the names without it; S: the suffix; further
 * arguments are appended to the call's, including their comma. */
#define BULK(X, PUT, GET, S, ...)                                                                  \
    case op_put: X##PUT##S(d, s, c.nelems, c.pe __VA_ARGS__); break;                               \
    case op_get: X##GET##S(d, s, c.nelems, c.pe __VA_ARGS__); break;                               \
    case op_put_nbi: X##PUT##_nbi##S(d, s, c.nelems, c.pe __VA_ARGS__); break;                     \
    case op_get_nbi: X##GET##_nbi##S(d, s, c.nelems, c.pe __VA_ARGS__); break;                     \
    case op_put_signal:                                                                            \
        X##PUT##_signal##S(d, s, c.nelems, c.sig, c.signal, c.sig_op, c.pe __VA_ARGS__); break;    \
    case op_put_signal_nbi:                                                                        \
        X##PUT##_signal_nbi##S(d, s, c.nelems, c.sig, c.signal, c.sig_op, c.pe __VA_ARGS__); break;
#define STRIDED(X, IPUT, IGET, S, ...)                                                             \
    case op_iput: X##IPUT##S(d, s, c.dst, c.sst, c.nelems, c.pe __VA_ARGS__); break;               \
    case op_iget: X##IGET##S(d, s, c.dst, c.sst, c.nelems, c.pe __VA_ARGS__); break;
#define ELEMENT(X, P, G, S, ...)                                                                   \
    case op_p: X##P##S(d, *s, c.pe __VA_ARGS__); break;                                            \
    case op_g: *d = X##G##S(s, c.pe __VA_ARGS__); break;
#define NO_ARMS(...)

/* A row: its functions, from the names of its calls; ISTRIDED and IELEMENT are the macros above, or
 * NO_ARMS where the row has no such calls. T: what the calls point to. */
#define ROW(ROWNAME, T, BYTES, PUT, GET, ISTRIDED, IPUT, IGET, IELEMENT, P, G)                     \
    struct ROWNAME##_calls {                                                                       \
        static HD void thread(int op, const call &c)                                               \
        {                                                                                          \
            T *d = (T *)c.dest;                                                                    \
            const T *s = (const T *)c.source;                                                      \
            switch (op) {                                                                          \
                BULK(gshmem_, PUT, GET, )                                                          \
                ISTRIDED(gshmem_, IPUT, IGET, )                                                    \
                IELEMENT(gshmem_, P, G, )                                                          \
            default: break;                                                                        \
            }                                                                                      \
        }                                                                                          \
        static __device__ void warp(int op, const call &c)                                         \
        {                                                                                          \
            T *d = (T *)c.dest;                                                                    \
            const T *s = (const T *)c.source;                                                      \
            switch (op) {                                                                          \
                BULK(gshmemx_, PUT, GET, _warp)                                                    \
                ISTRIDED(gshmemx_, IPUT, IGET, _warp)                                              \
            default: break;                                                                        \
            }                                                                                      \
        }                                                                                          \
        static __device__ void block(int op, const call &c)                                        \
        {                                                                                          \
            T *d = (T *)c.dest;                                                                    \
            const T *s = (const T *)c.source;                                                      \
            switch (op) {                                                                          \
                BULK(gshmemx_, PUT, GET, _block)                                                   \
                ISTRIDED(gshmemx_, IPUT, IGET, _block)                                             \
            default: break;                                                                        \
            }                                                                                      \
        }                                                                                          \
        static void on_stream(int op, const call &c, cudaStream_t stream)                          \
        {                                                                                          \
            T *d = (T *)c.dest;                                                                    \
            const T *s = (const T *)c.source;                                                      \
            switch (op) {                                                                          \
                BULK(gshmemx_, PUT, GET, _on_stream, , stream)                                     \
                ISTRIDED(gshmemx_, IPUT, IGET, _on_stream, , stream)                               \
                IELEMENT(gshmemx_, P, G, _on_stream, , stream)                                     \
            default: break;                                                                        \
            }                                                                                      \
        }                                                                                          \
    };
#define TYPED(NAME, T)                                                                             \
    ROW(NAME, T, sizeof(T), NAME##_put, NAME##_get, STRIDED, NAME##_iput, NAME##_iget, ELEMENT,    \
        NAME##_p, NAME##_g)
#define SIZED(BITS, BYTES)                                                                         \
    ROW(bits##BITS, void, BYTES, put##BITS, get##BITS, STRIDED, iput##BITS, iget##BITS, NO_ARMS, , )
GSHMEM_TYPES_GPU(TYPED)
GSHMEM_SIZES(SIZED)
ROW(mem, void, 1, putmem, getmem, NO_ARMS, , , NO_ARMS, , )
#undef TYPED
#undef SIZED
#undef ROW
#undef NO_ARMS
#undef ELEMENT
#undef STRIDED
#undef BULK
/* clang-format on */

/* What the second of three blocks lends the library; the third lends twice as much. The CPU device
 * has no use for it. */
#if defined(__CUDACC__)
constexpr size_t lent_unit = 32768;
#else
constexpr size_t lent_unit = 0;
#endif

/* Each group of the kernel's threads makes its share of the calls. A block may have any shape, and
 * its last warp any number of threads. */
template <class Calls, int where> __global__ void run_calls(int op, const call *calls, int n)
{
    GSHMEM_DYNAMIC_SHARED(char, shared);
    const size_t lent = blockIdx.x % 3 * lent_unit;
    if (lent > 0)
        gshmem::lend_shared(shared, lent);
    const int threads = (int)(blockDim.x * blockDim.y * blockDim.z);
    const int rank = (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
    const int size = where == place_thread ? 1 : where == place_warp ? 32 : threads;
    const int groups = (threads + size - 1) / size; /* of a block */
    for (int i = (int)blockIdx.x * groups + rank / size; i < n; i += (int)gridDim.x * groups) {
        if (where == place_thread)
            Calls::thread(op, calls[i]);
        else if (where == place_warp)
            Calls::warp(op, calls[i]);
        else
            Calls::block(op, calls[i]);
    }
    if (lent > 0)
        gshmem::take_back_shared();
    gshmem_quiet();
}

template <class Calls, int where>
static void launch_run(unsigned grid, dim3 block, int op, const call *calls, int n,
                       cudaStream_t stream)
{
    constexpr size_t shared = 2 * lent_unit;
    cudaFuncSetAttribute(run_calls<Calls, where>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         (int)shared);
    gshmem_launch((run_calls<Calls, where>), dim3(grid), block, shared, stream, op, calls, n);
}

template <class Calls>
static void launch_calls(int where, unsigned grid, dim3 block, int op, const call *calls, int n,
                         cudaStream_t stream)
{
    if (where == place_thread)
        launch_run<Calls, place_thread>(grid, block, op, calls, n, stream);
    else if (where == place_warp)
        launch_run<Calls, place_warp>(grid, block, op, calls, n, stream);
    else
        launch_run<Calls, place_block>(grid, block, op, calls, n, stream);
}

struct type_row {
    const char *name;
    size_t size;
    size_t align; /* of both sides */
    bool has_strided, has_element;
    void (*on_host)(int op, const call &c);
    void (*on_stream)(int op, const call &c, cudaStream_t stream);
    void (*launch)(int where, unsigned grid, dim3 block, int op, const call *calls, int n,
                   cudaStream_t stream);
};

static const type_row type_rows[] = {
#define TYPED(NAME, T)        \
    {#NAME,                   \
     sizeof(T),               \
     sizeof(T),               \
     true,                    \
     true,                    \
     NAME##_calls::thread,    \
     NAME##_calls::on_stream, \
     launch_calls<NAME##_calls>},
#define SIZED(BITS, BYTES)          \
    {#BITS,                         \
     BYTES,                         \
     1,                             \
     true,                          \
     false,                         \
     bits##BITS##_calls::thread,    \
     bits##BITS##_calls::on_stream, \
     launch_calls<bits##BITS##_calls>},
    GSHMEM_TYPES_GPU(TYPED) GSHMEM_SIZES(SIZED)
#undef TYPED
#undef SIZED
        {"mem", 1, 1, false, false, mem_calls::thread, mem_calls::on_stream,
         launch_calls<mem_calls>},
};
enum { n_types = sizeof type_rows / sizeof type_rows[0] };

static inline bool op_exists(int op, const type_row *type, int where)
{
    if (op_is_strided(op))
        return type->has_strided;
    if (op_is_element(op))
        return type->has_element && where != place_warp && where != place_block;
    return true;
}

#endif
