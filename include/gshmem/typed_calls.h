/* SPDX-License-Identifier: Apache-2.0
 * The prototypes that exist with and without a context: gshmem/typed.h includes this for each,
 * after it has defined the names, GSHMEM_CALL, and the first parameter, GSHMEM_CTX. NAME ranges
 * over the type table's names, BITS over 8 16 32 64 128. */

/* Remote memory access by type (9.5, 9.8). nelems counts elements; with 0 nothing is copied.
 *
 *  p               stores value at dest on PE `pe`; returns at once, and the element arrives whole
 *  g               returns the element at source on PE `pe`
 *  put             copies this PE's source to dest, which is symmetric and names memory on PE `pe`;
 *                  on return source may be reused, but the data need not have arrived: fence
 *                  orders, quiet completes
 *  get             copies source, which is symmetric and names memory on PE `pe`, to this PE's
 *                  dest; on return the data are there
 *  put_nbi         as put, but source must not change until quiet
 *  get_nbi         as get, but dest must not be read until quiet
 *  iput            as put, but element i goes from source[i * sst] to dest[i * dst]; strides of at
 *                  least 1
 *  iget            as get, but element i goes from source[i * sst] to dest[i * dst]; strides of at
 *                  least 1
 *  put_signal      copies as put does, then changes the signal at sig_addr on the same PE by
 *                  sig_op, also with nelems 0; a reader that sees the signal sees these data, but
 *                  not necessarily those of earlier calls
 *  put_signal_nbi  the same, and source must not change until quiet
 */
#define RMA(NAME, T)                                                                               \
    void GSHMEM_CALL(NAME##_p)(GSHMEM_CTX T * dest, T value, int pe);                              \
    T GSHMEM_CALL(NAME##_g)(GSHMEM_CTX const T *source, int pe);                                   \
    void GSHMEM_CALL(NAME##_put)(GSHMEM_CTX T * dest, const T *source, size_t nelems, int pe);     \
    void GSHMEM_CALL(NAME##_get)(GSHMEM_CTX T * dest, const T *source, size_t nelems, int pe);     \
    void GSHMEM_CALL(NAME##_put_nbi)(GSHMEM_CTX T * dest, const T *source, size_t nelems, int pe); \
    void GSHMEM_CALL(NAME##_get_nbi)(GSHMEM_CTX T * dest, const T *source, size_t nelems, int pe); \
    void GSHMEM_CALL(NAME##_iput)(GSHMEM_CTX T * dest, const T *source, ptrdiff_t dst,             \
                                  ptrdiff_t sst, size_t nelems, int pe);                           \
    void GSHMEM_CALL(NAME##_iget)(GSHMEM_CTX T * dest, const T *source, ptrdiff_t dst,             \
                                  ptrdiff_t sst, size_t nelems, int pe);                           \
    void GSHMEM_CALL(NAME##_put_signal)(GSHMEM_CTX T * dest, const T *source, size_t nelems,       \
                                        uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);  \
    void GSHMEM_CALL(NAME##_put_signal_nbi)(GSHMEM_CTX T * dest, const T *source, size_t nelems,   \
                                            uint64_t *sig_addr, uint64_t signal, int sig_op,       \
                                            int pe);
GSHMEM_TYPES_RMA(RMA)
#undef RMA

/* The same by element size; elements need only byte alignment. */
#define SIZED(BITS, BYTES)                                                                         \
    void GSHMEM_CALL(put##BITS)(GSHMEM_CTX void *dest, const void *source, size_t nelems, int pe); \
    void GSHMEM_CALL(get##BITS)(GSHMEM_CTX void *dest, const void *source, size_t nelems, int pe); \
    void GSHMEM_CALL(put##BITS##_nbi)(GSHMEM_CTX void *dest, const void *source, size_t nelems,    \
                                      int pe);                                                     \
    void GSHMEM_CALL(get##BITS##_nbi)(GSHMEM_CTX void *dest, const void *source, size_t nelems,    \
                                      int pe);                                                     \
    void GSHMEM_CALL(iput##BITS)(GSHMEM_CTX void *dest, const void *source, ptrdiff_t dst,         \
                                 ptrdiff_t sst, size_t nelems, int pe);                            \
    void GSHMEM_CALL(iget##BITS)(GSHMEM_CTX void *dest, const void *source, ptrdiff_t dst,         \
                                 ptrdiff_t sst, size_t nelems, int pe);                            \
    void GSHMEM_CALL(put##BITS##_signal)(GSHMEM_CTX void *dest, const void *source, size_t nelems, \
                                         uint64_t *sig_addr, uint64_t signal, int sig_op, int pe); \
    void GSHMEM_CALL(put##BITS##_signal_nbi)(GSHMEM_CTX void *dest, const void *source,            \
                                             size_t nelems, uint64_t *sig_addr, uint64_t signal,   \
                                             int sig_op, int pe);
GSHMEM_SIZES(SIZED)
#undef SIZED

/* Blocks (OpenSHMEM 1.6): nblocks of bsize elements each; block i goes from source + i * sst to
 * dest + i * dst, strides in elements and at least 1. */
#define BLOCKS(NAME, T)                                                                  \
    void GSHMEM_CALL(NAME##_ibput)(GSHMEM_CTX T * dest, const T *source, ptrdiff_t dst,  \
                                   ptrdiff_t sst, size_t bsize, size_t nblocks, int pe); \
    void GSHMEM_CALL(NAME##_ibget)(GSHMEM_CTX T * dest, const T *source, ptrdiff_t dst,  \
                                   ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
GSHMEM_TYPES_RMA(BLOCKS)
#undef BLOCKS
#define SIZED(BITS, BYTES)                                                                  \
    void GSHMEM_CALL(ibput##BITS)(GSHMEM_CTX void *dest, const void *source, ptrdiff_t dst, \
                                  ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);     \
    void GSHMEM_CALL(ibget##BITS)(GSHMEM_CTX void *dest, const void *source, ptrdiff_t dst, \
                                  ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
GSHMEM_SIZES(SIZED)
#undef SIZED

/* Atomics (9.7) on the word at the symmetric address dest (or source) on PE `pe`, which is aligned
 * to its size. Each is atomic with every other gshmem atomic on that word, from any PE, host or
 * kernel, by any route, and orders nothing else: fence orders it after earlier puts. The fetching
 * forms return the value that was there before; the others return at once. compare_swap stores
 * value only if the word equals cond. */
#define AMO(NAME, T)                                                                         \
    T GSHMEM_CALL(NAME##_atomic_compare_swap)(GSHMEM_CTX T * dest, T cond, T value, int pe); \
    T GSHMEM_CALL(NAME##_atomic_fetch_inc)(GSHMEM_CTX T * dest, int pe);                     \
    void GSHMEM_CALL(NAME##_atomic_inc)(GSHMEM_CTX T * dest, int pe);                        \
    T GSHMEM_CALL(NAME##_atomic_fetch_add)(GSHMEM_CTX T * dest, T value, int pe);            \
    void GSHMEM_CALL(NAME##_atomic_add)(GSHMEM_CTX T * dest, T value, int pe);
GSHMEM_TYPES_AMO_STD(AMO)
#undef AMO
#define AMO(NAME, T)                                                           \
    T GSHMEM_CALL(NAME##_atomic_fetch)(GSHMEM_CTX const T *source, int pe);    \
    void GSHMEM_CALL(NAME##_atomic_set)(GSHMEM_CTX T * dest, T value, int pe); \
    T GSHMEM_CALL(NAME##_atomic_swap)(GSHMEM_CTX T * dest, T value, int pe);
GSHMEM_TYPES_AMO_EXT(AMO)
#undef AMO
#define AMO(NAME, T)                                                              \
    T GSHMEM_CALL(NAME##_atomic_fetch_and)(GSHMEM_CTX T * dest, T value, int pe); \
    void GSHMEM_CALL(NAME##_atomic_and)(GSHMEM_CTX T * dest, T value, int pe);    \
    T GSHMEM_CALL(NAME##_atomic_fetch_or)(GSHMEM_CTX T * dest, T value, int pe);  \
    void GSHMEM_CALL(NAME##_atomic_or)(GSHMEM_CTX T * dest, T value, int pe);     \
    T GSHMEM_CALL(NAME##_atomic_fetch_xor)(GSHMEM_CTX T * dest, T value, int pe); \
    void GSHMEM_CALL(NAME##_atomic_xor)(GSHMEM_CTX T * dest, T value, int pe);
GSHMEM_TYPES_AMO_BIT(AMO)
#undef AMO

/* Non-blocking forms of the fetching calls (9.7.2): after quiet, *fetch, which may be any memory of
 * this PE, holds the previous value. A call may nevertheless block. */
#define FETCH(OP, NAME, T) \
    void GSHMEM_CALL(NAME##_atomic_##OP##_nbi)(GSHMEM_CTX T * fetch, T * dest, T value, int pe);
#define AMO(NAME, T)                                                                         \
    void GSHMEM_CALL(NAME##_atomic_compare_swap_nbi)(GSHMEM_CTX T * fetch, T * dest, T cond, \
                                                     T value, int pe);                       \
    void GSHMEM_CALL(NAME##_atomic_fetch_inc_nbi)(GSHMEM_CTX T * fetch, T * dest, int pe);   \
    FETCH(fetch_add, NAME, T)
GSHMEM_TYPES_AMO_STD(AMO)
#undef AMO
#define AMO(NAME, T)                                                                          \
    void GSHMEM_CALL(NAME##_atomic_fetch_nbi)(GSHMEM_CTX T * fetch, const T *source, int pe); \
    FETCH(swap, NAME, T)
GSHMEM_TYPES_AMO_EXT(AMO)
#undef AMO
#define AMO(NAME, T)          \
    FETCH(fetch_and, NAME, T) \
    FETCH(fetch_or, NAME, T)  \
    FETCH(fetch_xor, NAME, T)
GSHMEM_TYPES_AMO_BIT(AMO)
#undef AMO
#undef FETCH
