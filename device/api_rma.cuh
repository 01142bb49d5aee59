/* SPDX-License-Identifier: Apache-2.0
 * Part of api.cuh: put, get and their kin, by type, by element size and by bytes, for a thread
 * [hd], a warp and a block. CALL in a name below is the word in the public name, OP the template.
 */
#ifndef GSHMEM_API_RMA_CUH
#define GSHMEM_API_RMA_CUH

/* ---- remote memory access by type ------------------------------------------------------------ */

#define GSHMEM_RMA(NAME, T)                                                    \
    GSHMEM_HD void gshmem_##NAME##_p(T *dest, T value, int pe)                 \
    {                                                                          \
        GSHMEM_EITHER(p(GSHMEM_HERE, dest, value, pe, "gshmem_" #NAME "_p"),   \
                      gshmem_##NAME##_p(dest, value, pe));                     \
    }                                                                          \
    GSHMEM_HD T gshmem_##NAME##_g(const T *source, int pe)                     \
    {                                                                          \
        return GSHMEM_EITHER(g(GSHMEM_HERE, source, pe, "gshmem_" #NAME "_g"), \
                             gshmem_##NAME##_g(source, pe));                   \
    }
GSHMEM_TYPES_RMA(GSHMEM_RMA)
#undef GSHMEM_RMA

/* CALL is put, get, put_nbi, get_nbi. */
#define GSHMEM_COPY(CALL, NAME, T)                                                                 \
    GSHMEM_HD void gshmem_##NAME##_##CALL(T *dest, const T *source, size_t nelems, int pe)         \
    {                                                                                              \
        GSHMEM_EITHER(CALL(GSHMEM_HERE, gshmem::group_thread(), dest, source, nelems, pe,          \
                           "gshmem_" #NAME "_" #CALL),                                             \
                      gshmem_##NAME##_##CALL(dest, source, nelems, pe));                           \
    }                                                                                              \
    GSHMEM_D void gshmemx_##NAME##_##CALL##_warp(T *dest, const T *source, size_t nelems, int pe)  \
    {                                                                                              \
        gshmem::CALL(GSHMEM_HERE, gshmem::group_warp(), dest, source, nelems, pe,                  \
                     "gshmemx_" #NAME "_" #CALL "_warp");                                          \
    }                                                                                              \
    GSHMEM_D void gshmemx_##NAME##_##CALL##_block(T *dest, const T *source, size_t nelems, int pe) \
    {                                                                                              \
        gshmem::CALL(GSHMEM_HERE, gshmem::group_block(), dest, source, nelems, pe,                 \
                     "gshmemx_" #NAME "_" #CALL "_block");                                         \
    }
#define GSHMEM_RMA(NAME, T)       \
    GSHMEM_COPY(put, NAME, T)     \
    GSHMEM_COPY(get, NAME, T)     \
    GSHMEM_COPY(put_nbi, NAME, T) \
    GSHMEM_COPY(get_nbi, NAME, T)
GSHMEM_TYPES_RMA(GSHMEM_RMA)
#undef GSHMEM_RMA
#undef GSHMEM_COPY

/* CALL is iput, iget. */
#define GSHMEM_STRIDED(CALL, NAME, T)                                                             \
    GSHMEM_HD void gshmem_##NAME##_##CALL(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
                                          size_t nelems, int pe)                                  \
    {                                                                                             \
        GSHMEM_EITHER(CALL(GSHMEM_HERE, gshmem::group_thread(), dest, source, dst, sst, nelems,   \
                           pe, "gshmem_" #NAME "_" #CALL),                                        \
                      gshmem_##NAME##_##CALL(dest, source, dst, sst, nelems, pe));                \
    }                                                                                             \
    GSHMEM_D void gshmemx_##NAME##_##CALL##_warp(T *dest, const T *source, ptrdiff_t dst,         \
                                                 ptrdiff_t sst, size_t nelems, int pe)            \
    {                                                                                             \
        gshmem::CALL(GSHMEM_HERE, gshmem::group_warp(), dest, source, dst, sst, nelems, pe,       \
                     "gshmemx_" #NAME "_" #CALL "_warp");                                         \
    }                                                                                             \
    GSHMEM_D void gshmemx_##NAME##_##CALL##_block(T *dest, const T *source, ptrdiff_t dst,        \
                                                  ptrdiff_t sst, size_t nelems, int pe)           \
    {                                                                                             \
        gshmem::CALL(GSHMEM_HERE, gshmem::group_block(), dest, source, dst, sst, nelems, pe,      \
                     "gshmemx_" #NAME "_" #CALL "_block");                                        \
    }
#define GSHMEM_RMA(NAME, T)       \
    GSHMEM_STRIDED(iput, NAME, T) \
    GSHMEM_STRIDED(iget, NAME, T)
GSHMEM_TYPES_RMA(GSHMEM_RMA)
#undef GSHMEM_RMA
#undef GSHMEM_STRIDED

/* CALL is put_signal, put_signal_nbi. */
#define GSHMEM_SIGNALLED(CALL, NAME, T)                                                            \
    GSHMEM_HD void gshmem_##NAME##_##CALL(T *dest, const T *source, size_t nelems,                 \
                                          uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    {                                                                                              \
        GSHMEM_EITHER(CALL(GSHMEM_HERE, gshmem::group_thread(), dest, source, nelems, sig_addr,    \
                           signal, sig_op, pe, "gshmem_" #NAME "_" #CALL),                         \
                      gshmem_##NAME##_##CALL(dest, source, nelems, sig_addr, signal, sig_op, pe)); \
    }                                                                                              \
    GSHMEM_D void gshmemx_##NAME##_##CALL##_warp(T *dest, const T *source, size_t nelems,          \
                                                 uint64_t *sig_addr, uint64_t signal, int sig_op,  \
                                                 int pe)                                           \
    {                                                                                              \
        gshmem::CALL(GSHMEM_HERE, gshmem::group_warp(), dest, source, nelems, sig_addr, signal,    \
                     sig_op, pe, "gshmemx_" #NAME "_" #CALL "_warp");                              \
    }                                                                                              \
    GSHMEM_D void gshmemx_##NAME##_##CALL##_block(T *dest, const T *source, size_t nelems,         \
                                                  uint64_t *sig_addr, uint64_t signal, int sig_op, \
                                                  int pe)                                          \
    {                                                                                              \
        gshmem::CALL(GSHMEM_HERE, gshmem::group_block(), dest, source, nelems, sig_addr, signal,   \
                     sig_op, pe, "gshmemx_" #NAME "_" #CALL "_block");                             \
    }
#define GSHMEM_RMA(NAME, T)               \
    GSHMEM_SIGNALLED(put_signal, NAME, T) \
    GSHMEM_SIGNALLED(put_signal_nbi, NAME, T)
GSHMEM_TYPES_RMA(GSHMEM_RMA)
#undef GSHMEM_RMA
#undef GSHMEM_SIGNALLED

/* ---- by element size, and by bytes: elements need only the alignment of a byte --------------- */

#define GSHMEM_COPY(CALL, OP, E)                                                                 \
    GSHMEM_HD void gshmem_##CALL(void *dest, const void *source, size_t nelems, int pe)          \
    {                                                                                            \
        GSHMEM_EITHER(OP(GSHMEM_HERE, gshmem::group_thread(), (E *)dest, (const E *)source,      \
                         nelems, pe, "gshmem_" #CALL),                                           \
                      gshmem_##CALL(dest, source, nelems, pe));                                  \
    }                                                                                            \
    GSHMEM_D void gshmemx_##CALL##_warp(void *dest, const void *source, size_t nelems, int pe)   \
    {                                                                                            \
        gshmem::OP(GSHMEM_HERE, gshmem::group_warp(), (E *)dest, (const E *)source, nelems, pe,  \
                   "gshmemx_" #CALL "_warp");                                                    \
    }                                                                                            \
    GSHMEM_D void gshmemx_##CALL##_block(void *dest, const void *source, size_t nelems, int pe)  \
    {                                                                                            \
        gshmem::OP(GSHMEM_HERE, gshmem::group_block(), (E *)dest, (const E *)source, nelems, pe, \
                   "gshmemx_" #CALL "_block");                                                   \
    }
#define GSHMEM_STRIDED(CALL, OP, E)                                                              \
    GSHMEM_HD void gshmem_##CALL(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,   \
                                 size_t nelems, int pe)                                          \
    {                                                                                            \
        GSHMEM_EITHER(OP(GSHMEM_HERE, gshmem::group_thread(), (E *)dest, (const E *)source, dst, \
                         sst, nelems, pe, "gshmem_" #CALL),                                      \
                      gshmem_##CALL(dest, source, dst, sst, nelems, pe));                        \
    }                                                                                            \
    GSHMEM_D void gshmemx_##CALL##_warp(void *dest, const void *source, ptrdiff_t dst,           \
                                        ptrdiff_t sst, size_t nelems, int pe)                    \
    {                                                                                            \
        gshmem::OP(GSHMEM_HERE, gshmem::group_warp(), (E *)dest, (const E *)source, dst, sst,    \
                   nelems, pe, "gshmemx_" #CALL "_warp");                                        \
    }                                                                                            \
    GSHMEM_D void gshmemx_##CALL##_block(void *dest, const void *source, ptrdiff_t dst,          \
                                         ptrdiff_t sst, size_t nelems, int pe)                   \
    {                                                                                            \
        gshmem::OP(GSHMEM_HERE, gshmem::group_block(), (E *)dest, (const E *)source, dst, sst,   \
                   nelems, pe, "gshmemx_" #CALL "_block");                                       \
    }
#define GSHMEM_SIGNALLED(CALL, OP, E)                                                             \
    GSHMEM_HD void gshmem_##CALL(void *dest, const void *source, size_t nelems,                   \
                                 uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)         \
    {                                                                                             \
        GSHMEM_EITHER(OP(GSHMEM_HERE, gshmem::group_thread(), (E *)dest, (const E *)source,       \
                         nelems, sig_addr, signal, sig_op, pe, "gshmem_" #CALL),                  \
                      gshmem_##CALL(dest, source, nelems, sig_addr, signal, sig_op, pe));         \
    }                                                                                             \
    GSHMEM_D void gshmemx_##CALL##_warp(void *dest, const void *source, size_t nelems,            \
                                        uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)  \
    {                                                                                             \
        gshmem::OP(GSHMEM_HERE, gshmem::group_warp(), (E *)dest, (const E *)source, nelems,       \
                   sig_addr, signal, sig_op, pe, "gshmemx_" #CALL "_warp");                       \
    }                                                                                             \
    GSHMEM_D void gshmemx_##CALL##_block(void *dest, const void *source, size_t nelems,           \
                                         uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    {                                                                                             \
        gshmem::OP(GSHMEM_HERE, gshmem::group_block(), (E *)dest, (const E *)source, nelems,      \
                   sig_addr, signal, sig_op, pe, "gshmemx_" #CALL "_block");                      \
    }
#define GSHMEM_SIZED(BITS, BYTES)                                                    \
    GSHMEM_COPY(put##BITS, put, gshmem::detail::element<BYTES>)                      \
    GSHMEM_COPY(get##BITS, get, gshmem::detail::element<BYTES>)                      \
    GSHMEM_COPY(put##BITS##_nbi, put_nbi, gshmem::detail::element<BYTES>)            \
    GSHMEM_COPY(get##BITS##_nbi, get_nbi, gshmem::detail::element<BYTES>)            \
    GSHMEM_STRIDED(iput##BITS, iput, gshmem::detail::element<BYTES>)                 \
    GSHMEM_STRIDED(iget##BITS, iget, gshmem::detail::element<BYTES>)                 \
    GSHMEM_SIGNALLED(put##BITS##_signal, put_signal, gshmem::detail::element<BYTES>) \
    GSHMEM_SIGNALLED(put##BITS##_signal_nbi, put_signal_nbi, gshmem::detail::element<BYTES>)
GSHMEM_SIZES(GSHMEM_SIZED)
#undef GSHMEM_SIZED

GSHMEM_COPY(putmem, put, unsigned char)
GSHMEM_COPY(getmem, get, unsigned char)
GSHMEM_COPY(putmem_nbi, put_nbi, unsigned char)
GSHMEM_COPY(getmem_nbi, get_nbi, unsigned char)
GSHMEM_SIGNALLED(putmem_signal, put_signal, unsigned char)
GSHMEM_SIGNALLED(putmem_signal_nbi, put_signal_nbi, unsigned char)
#undef GSHMEM_COPY
#undef GSHMEM_STRIDED
#undef GSHMEM_SIGNALLED

#endif
