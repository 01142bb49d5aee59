/* SPDX-License-Identifier: Apache-2.0
 * Proves that every call a kernel can make compiles, in kernels and (those marked [hd]) on the host
 * of the same file: names are generated from the type table. With device_compile_second.cu it
 * proves that several files with kernels link, without device linking. Runs nothing. */
#include <gshmem_device.cuh>

/* Operands of the calls; only the types matter. */
struct operands {
    void *dest, *source;
    size_t nelems, *indices;
    int *status, pe, cmp;
    uint64_t *sig_addr, signal, *sink;
    ptrdiff_t stride;
};

template <class T> __host__ __device__ T zero()
{
    const char bits[sizeof(T)] = {};
    T value;
    memcpy(static_cast<void *>(&value), bits, sizeof(T));
    return value;
}

template <class T> __host__ __device__ void sink(const operands &o, const T &value)
{
    memcpy(o.sink, &value, sizeof(T));
}

#define COPY_ARGS   dest, source, o.nelems, o.pe
#define STRIDE_ARGS dest, source, o.stride, o.stride, o.nelems, o.pe
#define SIGNAL_ARGS dest, source, o.nelems, o.sig_addr, o.signal, GSHMEM_SIGNAL_ADD, o.pe

/* ---- [hd]: the same text on both sides ------------------------------------------------------- */

#define RMA(NAME, T)                                    \
    __host__ __device__ void rma_##NAME(operands o)     \
    {                                                   \
        T *dest = (T *)o.dest, *source = (T *)o.source; \
        gshmem_##NAME##_p(dest, zero<T>(), o.pe);       \
        sink(o, gshmem_##NAME##_g(source, o.pe));       \
        gshmem_##NAME##_put(COPY_ARGS);                 \
        gshmem_##NAME##_get(COPY_ARGS);                 \
        gshmem_##NAME##_put_nbi(COPY_ARGS);             \
        gshmem_##NAME##_get_nbi(COPY_ARGS);             \
        gshmem_##NAME##_iput(STRIDE_ARGS);              \
        gshmem_##NAME##_iget(STRIDE_ARGS);              \
        gshmem_##NAME##_put_signal(SIGNAL_ARGS);        \
        gshmem_##NAME##_put_signal_nbi(SIGNAL_ARGS);    \
    }
GSHMEM_TYPES_RMA(RMA)
#undef RMA

#define SIZED(BITS, BYTES)                            \
    __host__ __device__ void sized_##BITS(operands o) \
    {                                                 \
        void *dest = o.dest, *source = o.source;      \
        gshmem_put##BITS(COPY_ARGS);                  \
        gshmem_get##BITS(COPY_ARGS);                  \
        gshmem_put##BITS##_nbi(COPY_ARGS);            \
        gshmem_get##BITS##_nbi(COPY_ARGS);            \
        gshmem_iput##BITS(STRIDE_ARGS);               \
        gshmem_iget##BITS(STRIDE_ARGS);               \
        gshmem_put##BITS##_signal(SIGNAL_ARGS);       \
        gshmem_put##BITS##_signal_nbi(SIGNAL_ARGS);   \
    }
GSHMEM_SIZES(SIZED)
#undef SIZED

#define AMO(NAME, T)                                                    \
    __host__ __device__ void amo_std_##NAME(operands o)                 \
    {                                                                   \
        T *dest = (T *)o.dest;                                          \
        sink(o, gshmem_##NAME##_atomic_compare_swap(dest, 1, 2, o.pe)); \
        sink(o, gshmem_##NAME##_atomic_fetch_inc(dest, o.pe));          \
        gshmem_##NAME##_atomic_inc(dest, o.pe);                         \
        sink(o, gshmem_##NAME##_atomic_fetch_add(dest, 3, o.pe));       \
        gshmem_##NAME##_atomic_add(dest, 3, o.pe);                      \
    }
GSHMEM_TYPES_AMO_STD(AMO)
#undef AMO

#define AMO(NAME, T)                                         \
    __host__ __device__ void amo_ext_##NAME(operands o)      \
    {                                                        \
        T *dest = (T *)o.dest;                               \
        sink(o, gshmem_##NAME##_atomic_fetch(dest, o.pe));   \
        gshmem_##NAME##_atomic_set(dest, 1, o.pe);           \
        sink(o, gshmem_##NAME##_atomic_swap(dest, 2, o.pe)); \
    }
GSHMEM_TYPES_AMO_EXT(AMO)
#undef AMO

#define AMO(NAME, T)                                              \
    __host__ __device__ void amo_bit_##NAME(operands o)           \
    {                                                             \
        T *dest = (T *)o.dest;                                    \
        sink(o, gshmem_##NAME##_atomic_fetch_and(dest, 1, o.pe)); \
        gshmem_##NAME##_atomic_and(dest, 1, o.pe);                \
        sink(o, gshmem_##NAME##_atomic_fetch_or(dest, 2, o.pe));  \
        gshmem_##NAME##_atomic_or(dest, 2, o.pe);                 \
        sink(o, gshmem_##NAME##_atomic_fetch_xor(dest, 3, o.pe)); \
        gshmem_##NAME##_atomic_xor(dest, 3, o.pe);                \
    }
GSHMEM_TYPES_AMO_BIT(AMO)
#undef AMO

#define ALL_ARGS  ivars, o.nelems, o.status, GSHMEM_CMP_NE
#define SOME_ARGS ivars, o.nelems, o.indices, o.status, GSHMEM_CMP_NE
#define WAIT(NAME, T)                                                       \
    __host__ __device__ void wait_##NAME(operands o)                        \
    {                                                                       \
        T *ivars = (T *)o.dest, *values = (T *)o.source;                    \
        gshmem_##NAME##_wait_until(ivars, o.cmp, 1);                        \
        gshmem_##NAME##_wait_until_all(ALL_ARGS, 1);                        \
        sink(o, gshmem_##NAME##_wait_until_any(ALL_ARGS, 1));               \
        sink(o, gshmem_##NAME##_wait_until_some(SOME_ARGS, 1));             \
        gshmem_##NAME##_wait_until_all_vector(ALL_ARGS, values);            \
        sink(o, gshmem_##NAME##_wait_until_any_vector(ALL_ARGS, values));   \
        sink(o, gshmem_##NAME##_wait_until_some_vector(SOME_ARGS, values)); \
        sink(o, gshmem_##NAME##_test(ivars, o.cmp, 1));                     \
        sink(o, gshmem_##NAME##_test_all(ALL_ARGS, 1));                     \
        sink(o, gshmem_##NAME##_test_any(ALL_ARGS, 1));                     \
        sink(o, gshmem_##NAME##_test_some(SOME_ARGS, 1));                   \
        sink(o, gshmem_##NAME##_test_all_vector(ALL_ARGS, values));         \
        sink(o, gshmem_##NAME##_test_any_vector(ALL_ARGS, values));         \
        sink(o, gshmem_##NAME##_test_some_vector(SOME_ARGS, values));       \
    }
GSHMEM_TYPES_WAIT(WAIT)
#undef WAIT

__host__ __device__ void the_rest(operands o)
{
    char *dest = (char *)o.dest, *source = (char *)o.source, name[GSHMEM_MAX_NAME_LEN];
    int a, b, c;
    gshmem_putmem(COPY_ARGS);
    gshmem_getmem(COPY_ARGS);
    gshmem_putmem_nbi(COPY_ARGS);
    gshmem_getmem_nbi(COPY_ARGS);
    gshmem_putmem_signal(SIGNAL_ARGS);
    gshmem_putmem_signal_nbi(SIGNAL_ARGS);
    sink(o, gshmem_signal_fetch(o.sig_addr));
    sink(o, gshmem_signal_wait_until(o.sig_addr, GSHMEM_CMP_GE, 1));
    gshmemx_signal_op(o.sig_addr, 1, GSHMEM_SIGNAL_SET, o.pe);
    gshmem_fence();
    gshmem_quiet();
    sink(o, gshmem_barrier(GSHMEM_TEAM_SHARED));
    sink(o, gshmem_sync(GSHMEM_TEAM_SHARED));
    sink(o, gshmem_team_sync(GSHMEM_TEAM_WORLD));
    gshmem_barrier_all();
    gshmem_sync_all();
    sink(o, gshmem_my_pe() + gshmem_n_pes());
    gshmem_info_get_version(&a, &b);
    gshmem_info_get_name(name);
    gshmemx_vendor_get_version_info(&a, &b, &c);
    sink(o, gshmem_ptr(dest, o.pe));
    sink(o, gshmem_team_my_pe(GSHMEM_TEAM_SHARED));
    sink(o, gshmem_team_n_pes(GSHMEM_TEAM_SHARED));
    sink(o, gshmem_team_translate_pe(GSHMEM_TEAM_SHARED, a, GSHMEM_TEAM_WORLD));
    gshmem_global_exit(a + b + c + name[0]);
}
/* ---- kernels only ---------------------------------------------------------------------------- */

#define RMA(NAME, T)                                        \
    __device__ void groups_##NAME(operands o)               \
    {                                                       \
        T *dest = (T *)o.dest, *source = (T *)o.source;     \
        gshmemx_##NAME##_put_warp(COPY_ARGS);               \
        gshmemx_##NAME##_get_warp(COPY_ARGS);               \
        gshmemx_##NAME##_put_nbi_warp(COPY_ARGS);           \
        gshmemx_##NAME##_get_nbi_warp(COPY_ARGS);           \
        gshmemx_##NAME##_iput_warp(STRIDE_ARGS);            \
        gshmemx_##NAME##_iget_warp(STRIDE_ARGS);            \
        gshmemx_##NAME##_put_signal_warp(SIGNAL_ARGS);      \
        gshmemx_##NAME##_put_signal_nbi_warp(SIGNAL_ARGS);  \
        gshmemx_##NAME##_put_block(COPY_ARGS);              \
        gshmemx_##NAME##_get_block(COPY_ARGS);              \
        gshmemx_##NAME##_put_nbi_block(COPY_ARGS);          \
        gshmemx_##NAME##_get_nbi_block(COPY_ARGS);          \
        gshmemx_##NAME##_iput_block(STRIDE_ARGS);           \
        gshmemx_##NAME##_iget_block(STRIDE_ARGS);           \
        gshmemx_##NAME##_put_signal_block(SIGNAL_ARGS);     \
        gshmemx_##NAME##_put_signal_nbi_block(SIGNAL_ARGS); \
    }
GSHMEM_TYPES_RMA(RMA)
#undef RMA

#define SIZED(BITS, BYTES)                                 \
    __device__ void groups_##BITS(operands o)              \
    {                                                      \
        void *dest = o.dest, *source = o.source;           \
        gshmemx_put##BITS##_warp(COPY_ARGS);               \
        gshmemx_get##BITS##_warp(COPY_ARGS);               \
        gshmemx_put##BITS##_nbi_warp(COPY_ARGS);           \
        gshmemx_get##BITS##_nbi_warp(COPY_ARGS);           \
        gshmemx_iput##BITS##_warp(STRIDE_ARGS);            \
        gshmemx_iget##BITS##_warp(STRIDE_ARGS);            \
        gshmemx_put##BITS##_signal_warp(SIGNAL_ARGS);      \
        gshmemx_put##BITS##_signal_nbi_warp(SIGNAL_ARGS);  \
        gshmemx_put##BITS##_block(COPY_ARGS);              \
        gshmemx_get##BITS##_block(COPY_ARGS);              \
        gshmemx_put##BITS##_nbi_block(COPY_ARGS);          \
        gshmemx_get##BITS##_nbi_block(COPY_ARGS);          \
        gshmemx_iput##BITS##_block(STRIDE_ARGS);           \
        gshmemx_iget##BITS##_block(STRIDE_ARGS);           \
        gshmemx_put##BITS##_signal_block(SIGNAL_ARGS);     \
        gshmemx_put##BITS##_signal_nbi_block(SIGNAL_ARGS); \
    }
GSHMEM_SIZES(SIZED)
#undef SIZED

__device__ void groups_rest(operands o)
{
    void *dest = o.dest, *source = o.source;
    gshmemx_putmem_warp(COPY_ARGS);
    gshmemx_getmem_warp(COPY_ARGS);
    gshmemx_putmem_nbi_warp(COPY_ARGS);
    gshmemx_getmem_nbi_warp(COPY_ARGS);
    gshmemx_putmem_signal_warp(SIGNAL_ARGS);
    gshmemx_putmem_signal_nbi_warp(SIGNAL_ARGS);
    gshmemx_putmem_block(COPY_ARGS);
    gshmemx_getmem_block(COPY_ARGS);
    gshmemx_putmem_nbi_block(COPY_ARGS);
    gshmemx_getmem_nbi_block(COPY_ARGS);
    gshmemx_putmem_signal_block(SIGNAL_ARGS);
    gshmemx_putmem_signal_nbi_block(SIGNAL_ARGS);
    sink(o, gshmemx_barrier_warp(GSHMEM_TEAM_SHARED) + gshmemx_barrier_block(GSHMEM_TEAM_WORLD));
    sink(o,
         gshmemx_team_sync_warp(GSHMEM_TEAM_SHARED) + gshmemx_team_sync_block(GSHMEM_TEAM_WORLD));
    gshmemx_barrier_all_warp();
    gshmemx_barrier_all_block();
    gshmemx_sync_all_warp();
    gshmemx_sync_all_block();
}

/* ---- overloads and templates ----------------------------------------------------------------- */

#define RMA(NAME, T)                                        \
    __host__ __device__ void generic_rma_##NAME(operands o) \
    {                                                       \
        T *dest = (T *)o.dest, *source = (T *)o.source;     \
        gshmem_p(dest, zero<T>(), o.pe);                    \
        sink(o, gshmem_g(source, o.pe));                    \
        gshmem_put(COPY_ARGS);                              \
        gshmem_get_nbi(COPY_ARGS);                          \
        gshmem_iput(STRIDE_ARGS);                           \
        gshmem_put_signal(SIGNAL_ARGS);                     \
    }
GSHMEM_TYPES_RMA(RMA)
#undef RMA

#define AMO(NAME, T)                                         \
    __host__ __device__ void generic_bit_##NAME(operands o)  \
    {                                                        \
        T *ivars = (T *)o.dest;                              \
        sink(o, gshmem_atomic_fetch_and(ivars, (T)1, o.pe)); \
        gshmem_atomic_set(ivars, (T)1, o.pe);                \
        sink(o, gshmem_atomic_fetch_inc(ivars, o.pe));       \
        gshmem_wait_until(ivars, GSHMEM_CMP_NE, (T)1);       \
        sink(o, gshmem_test_some(SOME_ARGS, (T)1));          \
    }
GSHMEM_TYPES_AMO_BIT(AMO)
#undef AMO

__global__ void kernel_templates(double *dest, const double *source, size_t n, int pe)
{
    gshmem::put(gshmem::group_block(), dest, source, n, pe);
    gshmem::get(gshmem::group_warp(), dest, source, n, pe);
    gshmem::fence();
    gshmem::barrier(gshmem::group_block(), GSHMEM_TEAM_WORLD);
}

/* ---- to machine code ------------------------------------------------------------------------- */

/* The compiler has checked all of the above; it makes code for what a kernel calls. One type of
 * each width, since nothing else about a type matters here. */
#define KERNEL(FUNCTION)                          \
    __global__ void kernel_##FUNCTION(operands o) \
    {                                             \
        FUNCTION(o);                              \
    }
KERNEL(rma_char)
KERNEL(rma_half)
KERNEL(rma_double)
KERNEL(sized_32)
KERNEL(sized_128)
KERNEL(amo_std_int)
KERNEL(amo_std_size)
KERNEL(amo_ext_float)
KERNEL(amo_ext_double)
KERNEL(amo_bit_uint)
KERNEL(amo_bit_int64)
KERNEL(wait_short)
KERNEL(wait_uint)
KERNEL(wait_ptrdiff)
KERNEL(the_rest)
KERNEL(groups_float)
KERNEL(groups_8)
KERNEL(groups_rest)
KERNEL(generic_rma_bfloat16)
KERNEL(generic_bit_uint32)
#undef KERNEL

extern const void *second_unit(void);

int main(void)
{
    return second_unit() == nullptr;
}
