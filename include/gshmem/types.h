/* SPDX-License-Identifier: Apache-2.0
 * The type table, constants and plain structs of the public API. Compiles as C17, C++17 and CUDA.
 * Names and values follow OpenSHMEM 1.5 and its GPU dialect, with the prefixes GSHMEM_, gshmem_ and
 * gshmemx_. Since 0.1. */
#ifndef GSHMEM_TYPES_H
#define GSHMEM_TYPES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* half and bfloat16 are CUDA's own types wherever C++ finds CUDA's headers. The CPU device has
 * types of the same names. A header that has GSHMEM_HALF_LATER defined only names the types, since
 * CUDA's headers take most of a small file's compile time; gshmem/typed.h defines them. */
#if defined(__cplusplus) && (defined(GSHMEM_DEVICE_CODE) || defined(__CUDACC__))
#define GSHMEM_HALF_TYPES 1
#elif defined(__cplusplus) && defined(__has_include)
#if __has_include(<cuda_bf16.h>) && __has_include(<cuda_fp16.h>)
#define GSHMEM_HALF_TYPES 1
#endif
#endif
#if defined(GSHMEM_HALF_TYPES) && defined(GSHMEM_HALF_LATER)
struct __half;
struct __nv_bfloat16;
#elif defined(GSHMEM_HALF_TYPES)
#include "gshmem/detail/half_types.h"
#endif
#ifdef GSHMEM_HALF_TYPES
typedef __half gshmem_half_t;
typedef __nv_bfloat16 gshmem_bfloat16_t;
#else
/* Storage only: the library moves these types, it does not compute with them. */
typedef struct {
    uint16_t bits;
} gshmem_half_t;
typedef struct {
    uint16_t bits;
} gshmem_bfloat16_t;
#endif

#if defined(__CUDACC__) && !defined(GSHMEM_HOST_ONLY)
#define GSHMEM_DEVICE_CODE 1
#endif

#include "gshmem/detail/macros.h"

/* A stream: the same type as cudaStream_t and CUstream. */
struct CUstream_st;
typedef struct CUstream_st *gshmemx_stream_t;

/* clang-format off */
/* One row per type: R(M, set columns..., NAME, C type), each column 0 or 1.
 *   distinct  no other row has this C type (the arms of _Generic)
 *   std       atomics: inc add compare_swap and their fetching forms
 *   ext       atomics: fetch set swap
 *   bit       atomics: and or xor
 *   wait      wait_until and test
 *   logic     reductions: and or xor
 *   arith     reductions: min max sum prod; scans
 * Every row is an RMA type. A set is chosen by GSHMEM_TYPES_<SET>(M), which calls M(NAME, type).
 * GPUs have no long double: it exists on the host and on the CPU device, in files that nvcc does
 * not compile, and not on streams. */
#if defined(__CUDACC__) && !defined(GSHMEM_HOST_ONLY)
#define GSHMEM_TYPE_TABLE(R, M) GSHMEM_TYPE_TABLE_GPU(R, M)
#else
#define GSHMEM_TYPE_TABLE(R, M)                          \
    R(M, 1, 0, 0, 0, 0, 0, 1, longdouble, long double)   \
    GSHMEM_TYPE_TABLE_GPU(R, M)
#endif
#define GSHMEM_TYPE_TABLE_GPU(R, M)                                \
    R(M, 1, 0, 0, 0, 0, 0, 1, bfloat16,  gshmem_bfloat16_t)        \
    R(M, 1, 0, 0, 0, 0, 0, 1, half,      gshmem_half_t)            \
    GSHMEM_TYPE_TABLE_C(R, M)
#define GSHMEM_TYPE_TABLE_C(R, M)                                  \
    /*   distinct std ext bit wait logic arith name type */        \
    R(M, 1, 0, 1, 0, 0, 0, 1, float,     float)                    \
    R(M, 1, 0, 1, 0, 0, 0, 1, double,    double)                   \
    R(M, 1, 0, 0, 0, 0, 0, 1, char,      char)                     \
    R(M, 1, 0, 0, 0, 1, 0, 1, short,     short)                    \
    R(M, 1, 0, 0, 0, 0, 0, 1, schar,     signed char)              \
    R(M, 1, 1, 1, 0, 1, 0, 1, int,       int)                      \
    R(M, 1, 1, 1, 0, 1, 0, 1, long,      long)                     \
    R(M, 1, 1, 1, 0, 1, 0, 1, longlong,  long long)                \
    R(M, 1, 0, 0, 0, 0, 1, 1, uchar,     unsigned char)            \
    R(M, 1, 0, 0, 0, 1, 1, 1, ushort,    unsigned short)           \
    R(M, 1, 1, 1, 1, 1, 1, 1, uint,      unsigned int)             \
    R(M, 1, 1, 1, 1, 1, 1, 1, ulong,     unsigned long)            \
    R(M, 1, 1, 1, 1, 1, 1, 1, ulonglong, unsigned long long)       \
    R(M, 0, 0, 0, 0, 0, 1, 1, int8,      int8_t)                   \
    R(M, 0, 0, 0, 0, 0, 1, 1, int16,     int16_t)                  \
    R(M, 0, 1, 1, 1, 1, 1, 1, int32,     int32_t)                  \
    R(M, 0, 1, 1, 1, 1, 1, 1, int64,     int64_t)                  \
    R(M, 0, 0, 0, 0, 0, 1, 1, uint8,     uint8_t)                  \
    R(M, 0, 0, 0, 0, 0, 1, 1, uint16,    uint16_t)                 \
    R(M, 0, 1, 1, 1, 1, 1, 1, uint32,    uint32_t)                 \
    R(M, 0, 1, 1, 1, 1, 1, 1, uint64,    uint64_t)                 \
    R(M, 0, 1, 1, 0, 1, 1, 1, size,      size_t)                   \
    R(M, 0, 1, 1, 0, 1, 0, 1, ptrdiff,   ptrdiff_t)

/* The sets. M(NAME, type) is called once per row. */
#define GSHMEM_TYPES_RMA(M)      GSHMEM_TYPE_TABLE(GSHMEM_SEL_RMA, M)
#define GSHMEM_TYPES_GPU(M)      GSHMEM_TYPE_TABLE_GPU(GSHMEM_SEL_RMA, M)
#define GSHMEM_TYPES_DISTINCT(M) GSHMEM_TYPE_TABLE(GSHMEM_SEL_DISTINCT, M)
#define GSHMEM_TYPES_AMO_STD(M)  GSHMEM_TYPE_TABLE(GSHMEM_SEL_STD, M)
#define GSHMEM_TYPES_AMO_EXT(M)  GSHMEM_TYPE_TABLE(GSHMEM_SEL_EXT, M)
#define GSHMEM_TYPES_AMO_BIT(M)  GSHMEM_TYPE_TABLE(GSHMEM_SEL_BIT, M)
#define GSHMEM_TYPES_WAIT(M)     GSHMEM_TYPE_TABLE(GSHMEM_SEL_WAIT, M)
#define GSHMEM_TYPES_LOGIC(M)    GSHMEM_TYPE_TABLE(GSHMEM_SEL_LOGIC, M)
#define GSHMEM_TYPES_ARITH(M)    GSHMEM_TYPE_TABLE(GSHMEM_SEL_ARITH, M)
#define GSHMEM_TYPES_GPU_ARITH(M) GSHMEM_TYPE_TABLE_GPU(GSHMEM_SEL_ARITH, M)
/* The types of floating-point atomics. */
#define GSHMEM_TYPES_FLOAT(M) M(half, gshmem_half_t) M(float, float) M(double, double)
/* Sizes in bits; M(bits, bytes). */
#define GSHMEM_SIZES(M) M(8, 1) M(16, 2) M(32, 4) M(64, 8) M(128, 16)
/* clang-format on */

/* Comparisons of wait_until and test. */
enum {
    GSHMEM_CMP_EQ = 0,
    GSHMEM_CMP_NE = 1,
    GSHMEM_CMP_GT = 2,
    GSHMEM_CMP_LE = 3,
    GSHMEM_CMP_LT = 4,
    GSHMEM_CMP_GE = 5
};

/* What the memory is for, ORed, for gshmem_malloc_with_hints: other PEs change it by atomics, or as
 * signals. */
#define GSHMEM_MALLOC_ATOMICS_REMOTE 1L
#define GSHMEM_MALLOC_SIGNAL_REMOTE  2L

/* How a signal is changed, the sig_op of put_signal and signal_op: it is set to the given value, or
 * the value is added to it. */
enum { GSHMEM_SIGNAL_SET = 9, GSHMEM_SIGNAL_ADD = 10 };

/* Levels of thread support, for gshmem_init_thread. They mean what they mean in OpenSHMEM. */
enum {
    GSHMEM_THREAD_SINGLE = 0,
    GSHMEM_THREAD_FUNNELED = 1,
    GSHMEM_THREAD_SERIALIZED = 2,
    GSHMEM_THREAD_MULTIPLE = 3
};

/* A team, and the teams that exist from the start. */
typedef int32_t gshmem_team_t;
#define GSHMEM_TEAM_INVALID GSH_AS(gshmem_team_t, -1)
/* All PEs. */
#define GSHMEM_TEAM_WORLD GSH_AS(gshmem_team_t, 0)
/* The PEs of this host; from device set-up on those whose heaps are mapped. */
#define GSHMEM_TEAM_SHARED GSH_AS(gshmem_team_t, 1)
/* The PEs of this host. */
#define GSHMEMX_TEAM_NODE GSH_AS(gshmem_team_t, 2)
/* The PEs with this PE's number in their node. */
#define GSHMEMX_TEAM_SAME_MYPE_NODE GSH_AS(gshmem_team_t, 3)
/* The near PEs; the same as TEAM_SHARED. */
#define GSHMEMX_TEAM_NEAR GSH_AS(gshmem_team_t, 4)

/* What a team has besides its members (OpenSHMEM 1.5, 9.4.5). A mask names the fields that are
 * used; the others keep their defaults. */
typedef struct {
    /* How many contexts the program expects to use at once; a hint, not a limit. Default 0. */
    int num_contexts;
    /* Channels, 1 to 1024: how many barriers and collectives of the team may be under way at the
     * same time, in blocks of one kernel or on streams. Default 1. */
    int num_channels;
} gshmem_team_config_t;
#define GSHMEM_TEAM_NUM_CONTEXTS  1L
#define GSHMEMX_TEAM_NUM_CHANNELS 2L

/* A communication context (OpenSHMEM 1.5, 9.5): puts, gets and atomics that are ordered and
 * completed independently of other contexts. It is a plain value that host code and kernels may
 * copy. */
typedef struct gshmem_ctx *gshmem_ctx_t;
/* The context of calls without one; on all PEs. */
#define GSHMEM_CTX_DEFAULT GSH_AS(gshmem_ctx_t, 0)
#if defined(__cplusplus)
#define GSHMEM_CTX_INVALID reinterpret_cast<gshmem_ctx_t>(static_cast<intptr_t>(-1))
#else
#define GSHMEM_CTX_INVALID ((gshmem_ctx_t)(intptr_t)-1)
#endif
/* Options; each is a promise by the program. */
#define GSHMEM_CTX_SERIALIZED 1L /* the program's threads use the context one at a time */
#define GSHMEM_CTX_PRIVATE    2L /* only the thread that makes it uses it */
#define GSHMEM_CTX_NOSTORE    4L /* quiet and fence are not called on it, except by destroy */

/* What gshmemx_init_status returns. */
enum {
    GSHMEM_STATUS_NOT_INITIALIZED = 0,
    GSHMEM_STATUS_IS_BOOTSTRAPPED = 1, /* my_pe, n_pes and the teams work */
    GSHMEM_STATUS_IS_INITIALIZED = 2   /* the device is set up, too */
};

/* Results of calls that return int. gshmemx_error_string puts them in words. */
enum {
    GSHMEMX_SUCCESS = 0,
    GSHMEMX_ERROR_INVALID_VALUE = 1,
    GSHMEMX_ERROR_OUT_OF_MEMORY = 2,
    GSHMEMX_ERROR_NOT_SUPPORTED = 3,
    GSHMEMX_ERROR_SYMMETRY = 4,
    GSHMEMX_ERROR_GPU_NOT_SELECTED = 5,
    GSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED = 6,
    GSHMEMX_ERROR_INTERNAL = 7
};

/* What the error handler learns (gshmemx_set_error_handler). The texts live until it returns. Since
 * 0.2. */
typedef struct {
    int version;         /* GSHMEMX_STRUCT_VERSION of the library's struct; later ones are longer */
    int pe;              /* the PE that the error is about to end, -1 if it has no number yet */
    int status;          /* the exit status that the process gets */
    const char *call;    /* the call that failed, "" if the error is not that of a call */
    const char *message; /* the line that was printed, after "gshmem: PE n: error: " */
} gshmemx_error_t;
typedef void (*gshmemx_error_handler_t)(const gshmemx_error_t *error, void *context);

/* Flags of gshmemx_init_attr. Exactly one of the first three, the start-up flags, or none of them
 * to start as gshmem_init does. */
enum {
    GSHMEMX_INIT_THREAD_PES = 1,
    GSHMEMX_INIT_WITH_MPI_COMM = 2,
    GSHMEMX_INIT_WITH_UNIQUEID = 8,
    /* With a start-up flag or alone: the program's host code loads and stores symmetric memory.
     * The device is then the CPU, unless GSHMEM_DEVICE or CUDA kernels in the program say
     * otherwise. On the CPU device, where PEs are processes, the globals and statics of the
     * program itself (not of its libraries) are symmetric from the end of init to finalize, and
     * its constants may be read as such; all PEs must run the same program. No thread may write
     * globals during init or finalize, and a forked child shares them. */
    GSHMEMX_INIT_STATIC_DATA = 256
};

/* A unique id: gshmemx_get_uniqueid fills it in in one process, and the program carries it to the
 * others. */
typedef struct {
    int version;
    char internal[124];
} gshmemx_uniqueid_t;

/* What gshmemx_init_attr needs for each way to start. The gshmemx_set_attr_ calls fill it in; begin
 * with GSHMEMX_INIT_ATTR_INITIALIZER. */
typedef struct {
    int version;
    gshmemx_uniqueid_t *id;
    int myrank;
    int nranks;
} gshmemx_uniqueid_args_t;

typedef struct {
    int version;
    const void *key; /* the same address in all threads of the job */
    int my_pe;
    int n_pes;
} gshmemx_thread_args_t;

typedef struct {
    int version;
    gshmemx_uniqueid_args_t uid_args;
    gshmemx_thread_args_t thread_args;
    char reserved[64];
} gshmemx_init_args_t;

typedef struct {
    int version;
    void *mpi_comm; /* an MPI_Comm *, read during init only */
    gshmemx_init_args_t args;
} gshmemx_init_attr_t;

/* A struct's version is (1 << 16) + its size. The library refuses versions that it does not know.
 */
#define GSHMEMX_STRUCT_VERSION(type) ((1 << 16) + GSH_AS(int, sizeof(type)))
#define GSHMEMX_UNIQUEID_INITIALIZER                \
    {                                               \
        GSHMEMX_STRUCT_VERSION(gshmemx_uniqueid_t), \
        {                                           \
            0                                       \
        }                                           \
    }
#define GSHMEMX_UNIQUEID_ARGS_INITIALIZER                           \
    {                                                               \
        GSHMEMX_STRUCT_VERSION(gshmemx_uniqueid_args_t), NULL, 0, 0 \
    }
#define GSHMEMX_THREAD_ARGS_INITIALIZER                           \
    {                                                             \
        GSHMEMX_STRUCT_VERSION(gshmemx_thread_args_t), NULL, 0, 0 \
    }
#define GSHMEMX_INIT_ARGS_INITIALIZER                                                   \
    {                                                                                   \
        GSHMEMX_STRUCT_VERSION(gshmemx_init_args_t), GSHMEMX_UNIQUEID_ARGS_INITIALIZER, \
            GSHMEMX_THREAD_ARGS_INITIALIZER,                                            \
        {                                                                               \
            0                                                                           \
        }                                                                               \
    }
#define GSHMEMX_INIT_ATTR_INITIALIZER                                                    \
    {                                                                                    \
        GSHMEMX_STRUCT_VERSION(gshmemx_init_attr_t), NULL, GSHMEMX_INIT_ARGS_INITIALIZER \
    }

/* The state of this PE's heap, in bytes, as gshmemx_heap_info returns it. */
typedef struct {
    size_t range;        /* address space reserved: the heap's limit */
    size_t committed;    /* physical memory allocated to it now */
    size_t used;         /* owned by the user's allocations, alignment included */
    size_t largest_free; /* the largest block that malloc could return, growth included */
    size_t high_water;   /* the most that `used` has been so far */
    size_t overhead;     /* the internal part, which the library uses */
} gshmemx_heap_info_t;

/* The version of OpenSHMEM, and the room that gshmem_info_get_name needs. */
#define GSHMEM_MAJOR_VERSION 1
#define GSHMEM_MINOR_VERSION 5
#define GSHMEM_MAX_NAME_LEN  256

#endif
