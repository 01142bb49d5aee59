/* SPDX-License-Identifier: Apache-2.0
 * Stamps the typed and sized puts and gets on a stream from the type table, as typed.c does the
 * host calls. The _nbi forms are the blocking ones: see stream.c. */
#include "gshmemx.h"
#include "runtime/api/host_calls.h"

/* NAME_on_stream(dest, source, nelems, pe, stream) through one of gsh_put_on_stream and _get. */
#define PLAIN(NAME, BODY, P, BYTES)                                                     \
    void NAME(P *dest, const P *source, size_t nelems, int pe, gshmemx_stream_t stream) \
    {                                                                                   \
        BODY(#NAME, dest, source, nelems, BYTES, pe, stream);                           \
    }
#define STRIDED(NAME, BODY, P, BYTES)                                                        \
    void NAME(P *dest, const P *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe, \
              gshmemx_stream_t stream)                                                       \
    {                                                                                        \
        BODY(#NAME, dest, source, dst, sst, nelems, BYTES, pe, stream);                      \
    }
#define SIGNAL(NAME, P, BYTES)                                                                     \
    void NAME(P *dest, const P *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,        \
              int sig_op, int pe, gshmemx_stream_t stream)                                         \
    {                                                                                              \
        gsh_put_signal_on_stream(#NAME, dest, source, nelems, BYTES, sig_addr, signal, sig_op, pe, \
                                 stream);                                                          \
    }

#define RMA(NAME, T)                                                                             \
    void gshmemx_##NAME##_p_on_stream(T *dest, T value, int pe, gshmemx_stream_t stream)         \
    {                                                                                            \
        gsh_p_on_stream("gshmemx_" #NAME "_p_on_stream", dest, &value, sizeof(T), pe, stream);   \
    }                                                                                            \
    T gshmemx_##NAME##_g_on_stream(const T *source, int pe, gshmemx_stream_t stream)             \
    {                                                                                            \
        T value;                                                                                 \
        gsh_g_on_stream("gshmemx_" #NAME "_g_on_stream", &value, source, sizeof(T), pe, stream); \
        return value;                                                                            \
    }                                                                                            \
    PLAIN(gshmemx_##NAME##_put_on_stream, gsh_put_on_stream, T, sizeof(T))                       \
    PLAIN(gshmemx_##NAME##_get_on_stream, gsh_get_on_stream, T, sizeof(T))                       \
    PLAIN(gshmemx_##NAME##_put_nbi_on_stream, gsh_put_on_stream, T, sizeof(T))                   \
    PLAIN(gshmemx_##NAME##_get_nbi_on_stream, gsh_get_on_stream, T, sizeof(T))                   \
    STRIDED(gshmemx_##NAME##_iput_on_stream, gsh_iput_on_stream, T, sizeof(T))                   \
    STRIDED(gshmemx_##NAME##_iget_on_stream, gsh_iget_on_stream, T, sizeof(T))                   \
    SIGNAL(gshmemx_##NAME##_put_signal_on_stream, T, sizeof(T))                                  \
    SIGNAL(gshmemx_##NAME##_put_signal_nbi_on_stream, T, sizeof(T))
GSHMEM_TYPES_GPU(RMA)
#undef RMA

#define SIZED(BITS, BYTES)                                                   \
    PLAIN(gshmemx_put##BITS##_on_stream, gsh_put_on_stream, void, BYTES)     \
    PLAIN(gshmemx_get##BITS##_on_stream, gsh_get_on_stream, void, BYTES)     \
    PLAIN(gshmemx_put##BITS##_nbi_on_stream, gsh_put_on_stream, void, BYTES) \
    PLAIN(gshmemx_get##BITS##_nbi_on_stream, gsh_get_on_stream, void, BYTES) \
    STRIDED(gshmemx_iput##BITS##_on_stream, gsh_iput_on_stream, void, BYTES) \
    STRIDED(gshmemx_iget##BITS##_on_stream, gsh_iget_on_stream, void, BYTES) \
    SIGNAL(gshmemx_put##BITS##_signal_on_stream, void, BYTES)                \
    SIGNAL(gshmemx_put##BITS##_signal_nbi_on_stream, void, BYTES)
GSHMEM_SIZES(SIZED)
#undef SIZED
#undef SIGNAL
#undef STRIDED
#undef PLAIN
