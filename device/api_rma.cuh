/* SPDX-License-Identifier: Apache-2.0
 * Part of api.cuh, which includes it for the default context and for others: put, get and related
 * calls, by type, by element size and by bytes, for a thread [hd], a warp and a block. CALL in a
 * name below is the word in the public name, OP the template, E the element. */

/* ---- remote memory access by type ------------------------------------------------------------ */

#define GSHMEM_RMA(NAME, T)                                                                       \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(NAME##_p)(GSHMEM_CTX T * dest, T value,                \
                                                     int pe GSHMEM_SITE)                          \
    {                                                                                             \
        GSHMEM_EITHER(p(GSHMEM_HERE, dest, value, GSHMEM_TO(NAME##_p)),                           \
                      GSHMEM_CALL(NAME##_p)(GSHMEM_CTX_ARG dest, value, pe));                     \
    }                                                                                             \
    GSHMEM_LAZY GSHMEM_HD T GSHMEM_CALL(NAME##_g)(GSHMEM_CTX const T *source, int pe GSHMEM_SITE) \
    {                                                                                             \
        return GSHMEM_EITHER(g(GSHMEM_HERE, source, GSHMEM_TO(NAME##_g)),                         \
                             GSHMEM_CALL(NAME##_g)(GSHMEM_CTX_ARG source, pe));                   \
    }
GSHMEM_TYPES_RMA(GSHMEM_RMA)
#undef GSHMEM_RMA

/* TO: T *, or by size void *. */
#define GSHMEM_COPY(CALL, OP, TO, E)                                                         \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(CALL)(GSHMEM_CTX TO * dest, const TO *source,     \
                                                 size_t nelems, int pe GSHMEM_SITE)          \
    {                                                                                        \
        GSHMEM_EITHER(OP(GSHMEM_HERE, gshmem::group_thread(), (E *)dest, (const E *)source,  \
                         nelems, GSHMEM_TO(CALL)),                                           \
                      GSHMEM_CALL(CALL)(GSHMEM_CTX_ARG dest, source, nelems, pe));           \
    }                                                                                        \
    GSHMEM_LAZY GSHMEM_D void GSHMEM_GROUP_CALL(CALL##_warp)(                                \
        GSHMEM_CTX TO * dest, const TO *source, size_t nelems, int pe GSHMEM_SITE)           \
    {                                                                                        \
        gshmem::OP(GSHMEM_HERE, gshmem::group_warp(), (E *)dest, (const E *)source, nelems,  \
                   GSHMEM_GROUP_TO(CALL##_warp));                                            \
    }                                                                                        \
    GSHMEM_LAZY GSHMEM_D void GSHMEM_GROUP_CALL(CALL##_block)(                               \
        GSHMEM_CTX TO * dest, const TO *source, size_t nelems, int pe GSHMEM_SITE)           \
    {                                                                                        \
        gshmem::OP(GSHMEM_HERE, gshmem::group_block(), (E *)dest, (const E *)source, nelems, \
                   GSHMEM_GROUP_TO(CALL##_block));                                           \
    }
#define GSHMEM_STRIDED(CALL, OP, TO, E)                                                          \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(CALL)(GSHMEM_CTX TO * dest, const TO *source,         \
                                                 ptrdiff_t dst, ptrdiff_t sst, size_t nelems,    \
                                                 int pe GSHMEM_SITE)                             \
    {                                                                                            \
        GSHMEM_EITHER(OP(GSHMEM_HERE, gshmem::group_thread(), (E *)dest, (const E *)source, dst, \
                         sst, nelems, GSHMEM_TO(CALL)),                                          \
                      GSHMEM_CALL(CALL)(GSHMEM_CTX_ARG dest, source, dst, sst, nelems, pe));     \
    }                                                                                            \
    GSHMEM_LAZY GSHMEM_D void GSHMEM_GROUP_CALL(CALL##_warp)(                                    \
        GSHMEM_CTX TO * dest, const TO *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,     \
        int pe GSHMEM_SITE)                                                                      \
    {                                                                                            \
        gshmem::OP(GSHMEM_HERE, gshmem::group_warp(), (E *)dest, (const E *)source, dst, sst,    \
                   nelems, GSHMEM_GROUP_TO(CALL##_warp));                                        \
    }                                                                                            \
    GSHMEM_LAZY GSHMEM_D void GSHMEM_GROUP_CALL(CALL##_block)(                                   \
        GSHMEM_CTX TO * dest, const TO *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,     \
        int pe GSHMEM_SITE)                                                                      \
    {                                                                                            \
        gshmem::OP(GSHMEM_HERE, gshmem::group_block(), (E *)dest, (const E *)source, dst, sst,   \
                   nelems, GSHMEM_GROUP_TO(CALL##_block));                                       \
    }
#define GSHMEM_SIGNALLED(CALL, OP, TO, E)                                                          \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(CALL)(GSHMEM_CTX TO * dest, const TO *source,           \
                                                 size_t nelems, uint64_t *sig_addr,                \
                                                 uint64_t signal, int sig_op, int pe GSHMEM_SITE)  \
    {                                                                                              \
        GSHMEM_EITHER(                                                                             \
            OP(GSHMEM_HERE, gshmem::group_thread(), (E *)dest, (const E *)source, nelems,          \
               sig_addr, signal, sig_op, GSHMEM_TO(CALL)),                                         \
            GSHMEM_CALL(CALL)(GSHMEM_CTX_ARG dest, source, nelems, sig_addr, signal, sig_op, pe)); \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_D void GSHMEM_GROUP_CALL(CALL##_warp)(                                      \
        GSHMEM_CTX TO * dest, const TO *source, size_t nelems, uint64_t *sig_addr,                 \
        uint64_t signal, int sig_op, int pe GSHMEM_SITE)                                           \
    {                                                                                              \
        gshmem::OP(GSHMEM_HERE, gshmem::group_warp(), (E *)dest, (const E *)source, nelems,        \
                   sig_addr, signal, sig_op, GSHMEM_GROUP_TO(CALL##_warp));                        \
    }                                                                                              \
    GSHMEM_LAZY GSHMEM_D void GSHMEM_GROUP_CALL(CALL##_block)(                                     \
        GSHMEM_CTX TO * dest, const TO *source, size_t nelems, uint64_t *sig_addr,                 \
        uint64_t signal, int sig_op, int pe GSHMEM_SITE)                                           \
    {                                                                                              \
        gshmem::OP(GSHMEM_HERE, gshmem::group_block(), (E *)dest, (const E *)source, nelems,       \
                   sig_addr, signal, sig_op, GSHMEM_GROUP_TO(CALL##_block));                       \
    }

#define GSHMEM_RMA(NAME, T)                                                         \
    GSHMEM_COPY(NAME##_put, put, T, gshmem::detail::moved_as<T>)                    \
    GSHMEM_COPY(NAME##_get, get, T, gshmem::detail::moved_as<T>)                    \
    GSHMEM_COPY(NAME##_put_nbi, put_nbi, T, gshmem::detail::moved_as<T>)            \
    GSHMEM_COPY(NAME##_get_nbi, get_nbi, T, gshmem::detail::moved_as<T>)            \
    GSHMEM_STRIDED(NAME##_iput, iput, T, gshmem::detail::moved_as<T>)               \
    GSHMEM_STRIDED(NAME##_iget, iget, T, gshmem::detail::moved_as<T>)               \
    GSHMEM_SIGNALLED(NAME##_put_signal, put_signal, T, gshmem::detail::moved_as<T>) \
    GSHMEM_SIGNALLED(NAME##_put_signal_nbi, put_signal_nbi, T, gshmem::detail::moved_as<T>)
GSHMEM_TYPES_RMA(GSHMEM_RMA)
#undef GSHMEM_RMA

/* ---- by element size, and by bytes: elements need only the alignment of a byte --------------- */

#define GSHMEM_SIZED(BITS, BYTES)                                                          \
    GSHMEM_COPY(put##BITS, put, void, gshmem::detail::element<BYTES>)                      \
    GSHMEM_COPY(get##BITS, get, void, gshmem::detail::element<BYTES>)                      \
    GSHMEM_COPY(put##BITS##_nbi, put_nbi, void, gshmem::detail::element<BYTES>)            \
    GSHMEM_COPY(get##BITS##_nbi, get_nbi, void, gshmem::detail::element<BYTES>)            \
    GSHMEM_STRIDED(iput##BITS, iput, void, gshmem::detail::element<BYTES>)                 \
    GSHMEM_STRIDED(iget##BITS, iget, void, gshmem::detail::element<BYTES>)                 \
    GSHMEM_SIGNALLED(put##BITS##_signal, put_signal, void, gshmem::detail::element<BYTES>) \
    GSHMEM_SIGNALLED(put##BITS##_signal_nbi, put_signal_nbi, void, gshmem::detail::element<BYTES>)
GSHMEM_SIZES(GSHMEM_SIZED)
#undef GSHMEM_SIZED

GSHMEM_COPY(putmem, put, void, unsigned char)
GSHMEM_COPY(getmem, get, void, unsigned char)
GSHMEM_COPY(putmem_nbi, put_nbi, void, unsigned char)
GSHMEM_COPY(getmem_nbi, get_nbi, void, unsigned char)
GSHMEM_SIGNALLED(putmem_signal, put_signal, void, unsigned char)
GSHMEM_SIGNALLED(putmem_signal_nbi, put_signal_nbi, void, unsigned char)
#undef GSHMEM_COPY
#undef GSHMEM_STRIDED
#undef GSHMEM_SIGNALLED

/* ---- blocks of elements ---------------------------------------------------------------------- */

#define GSHMEM_BLOCKS(CALL, OP, TO, E)                                                             \
    GSHMEM_LAZY GSHMEM_HD void GSHMEM_CALL(CALL)(GSHMEM_CTX TO * dest, const TO *source,           \
                                                 ptrdiff_t dst, ptrdiff_t sst, size_t bsize,       \
                                                 size_t nblocks, int pe GSHMEM_SITE)               \
    {                                                                                              \
        GSHMEM_EITHER(                                                                             \
            OP(GSHMEM_HERE, gshmem::group_thread(), (E *)dest, (const E *)source, dst, sst, bsize, \
               nblocks, GSHMEM_TO(CALL)),                                                          \
            GSHMEM_CALL(CALL)(GSHMEM_CTX_ARG dest, source, dst, sst, bsize, nblocks, pe));         \
    }
#define GSHMEM_RMA(NAME, T)                                            \
    GSHMEM_BLOCKS(NAME##_ibput, ibput, T, gshmem::detail::moved_as<T>) \
    GSHMEM_BLOCKS(NAME##_ibget, ibget, T, gshmem::detail::moved_as<T>)
GSHMEM_TYPES_RMA(GSHMEM_RMA)
#undef GSHMEM_RMA
#define GSHMEM_SIZED(BITS, BYTES)                                           \
    GSHMEM_BLOCKS(ibput##BITS, ibput, void, gshmem::detail::element<BYTES>) \
    GSHMEM_BLOCKS(ibget##BITS, ibget, void, gshmem::detail::element<BYTES>)
GSHMEM_SIZES(GSHMEM_SIZED)
#undef GSHMEM_SIZED
#undef GSHMEM_BLOCKS
