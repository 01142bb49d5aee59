/* SPDX-License-Identifier: Apache-2.0
 * NVSHMEM's types and constants, with its values and sizes. Compiles as C17, C++14 and CUDA. No
 * macro or enumerator has a name that NVSHMEM's own programs define themselves, such as
 * NVSHMEM_INT, NVSHMEM_SUM or NVSHMEM_WARP. */
#ifndef NVSHMEM_TYPES_H
#define NVSHMEM_TYPES_H

#if defined(NVSHMEM_HOSTLIB_ONLY) && !defined(GSHMEM_HOST_ONLY)
#define GSHMEM_HOST_ONLY 1
#endif

#include "gshmem/types.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* ---- version: of NVSHMEM, whose interface this is ------------------------------------------- */

#define NVSHMEM_MAJOR_VERSION          1
#define NVSHMEM_MINOR_VERSION          3
#define NVSHMEM_VENDOR_MAJOR_VERSION   3
#define NVSHMEM_VENDOR_MINOR_VERSION   8
#define NVSHMEM_VENDOR_PATCH_VERSION   0
#define NVSHMEM_VENDOR_PACKAGE_VERSION 0
#define NVSHMEM_VENDOR_VERSION                                                   \
    (NVSHMEM_VENDOR_MAJOR_VERSION * 10000 + NVSHMEM_VENDOR_MINOR_VERSION * 100 + \
     NVSHMEM_VENDOR_PATCH_VERSION)
#define NVSHMEM_VENDOR_STRING "gshmem with the interface of NVSHMEM v3.8.0"
#define NVSHMEM_MAX_NAME_LEN  256

/* ---- constants ------------------------------------------------------------------------------- */

typedef enum {
    NVSHMEM_CMP_EQ = 0,
    NVSHMEM_CMP_NE = 1,
    NVSHMEM_CMP_GT = 2,
    NVSHMEM_CMP_LE = 3,
    NVSHMEM_CMP_LT = 4,
    NVSHMEM_CMP_GE = 5
} nvshmemx_cmp_type_t;

typedef enum { NVSHMEM_SIGNAL_SET = 9, NVSHMEM_SIGNAL_ADD = 10 } nvshmemx_signal_op_t;

typedef enum {
    NVSHMEM_THREAD_SINGLE = 0,
    NVSHMEM_THREAD_FUNNELED = 1,
    NVSHMEM_THREAD_SERIALIZED = 2,
    NVSHMEM_THREAD_MULTIPLE = 3
} nvshmemx_thread_support_t;

typedef int32_t nvshmem_team_t;
typedef nvshmem_team_t nvshmemx_team_t;
typedef enum {
    NVSHMEM_TEAM_INVALID = -1,
    NVSHMEM_TEAM_WORLD = 0,
    NVSHMEM_TEAM_SHARED = 1,
    NVSHMEMX_TEAM_NODE = 2,
    NVSHMEMX_TEAM_SAME_MYPE_NODE = 3,
    NVSHMEM_TEAM_MC_SHARED = 6 /* the PEs that share multicast memory: there is no such team */
} nvshmem_team_id_t;

/* What nvshmemx_init_status returns; it never returns the last three. */
typedef enum {
    NVSHMEM_STATUS_NOT_INITIALIZED = 0,
    NVSHMEM_STATUS_IS_BOOTSTRAPPED = 1,
    NVSHMEM_STATUS_IS_INITIALIZED = 2,
    NVSHMEM_STATUS_LIMITED_MPG = 3,
    NVSHMEM_STATUS_FULL_MPG = 4,
    NVSHMEM_STATUS_INVALID = INT_MAX
} nvshmemx_init_status_t;

typedef enum {
    NVSHMEMX_SUCCESS = 0,
    NVSHMEMX_ERROR_INVALID_VALUE = 1,
    NVSHMEMX_ERROR_OUT_OF_MEMORY = 2,
    NVSHMEMX_ERROR_NOT_SUPPORTED = 3,
    NVSHMEMX_ERROR_SYMMETRY = 4,
    NVSHMEMX_ERROR_GPU_NOT_SELECTED = 5,
    NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED = 6,
    NVSHMEMX_ERROR_INTERNAL = 7
} nvshmemx_status;

/* A queue pair: a communication context on all PEs. */
typedef int nvshmemx_qp_handle_t;
typedef enum {
    NVSHMEMX_QP_HOST = 0,
    NVSHMEMX_QP_DEFAULT = 1,
    NVSHMEMX_QP_ANY = INT_MAX,
    NVSHMEMX_QP_ALL = INT_MAX
} nvshmemx_qp_handle_index_t;

typedef enum {
    NVSHMEM_PE_INVALID = -1,
    NVSHMEMX_PE_ANY = 1 << 15,
    NVSHMEMX_PE_ALL = 1 << 15
} nvshmem_pe_index_t;

/* ---- regions, shared memory ------------------------------------------------------------------ */

typedef uint64_t nvshmemx_region_handle_t;
typedef enum {
    NVSHMEMX_REGION_HINT_NONE = 0,
    NVSHMEMX_REGION_HINT_BATCH_RMA = 1 /* non-blocking copies may be published together */
} nvshmemx_region_hint_t;
#define NVSHMEMX_REGION_ATTRS_RESERVED_BYTES 60
typedef struct nvshmemx_region_attrs {
    uint32_t hints;
    char reserved[NVSHMEMX_REGION_ATTRS_RESERVED_BYTES]; /* 0 */
} nvshmemx_region_attrs_t;

/* Values of NVSHMEM_TMA_POLICY, and how much shared memory nvshmemx_ask_smem asks for. */
typedef enum {
    NVSHMEMX_TMA_DISABLE = 0,
    NVSHMEMX_TMA_ENABLE = 1,
    NVSHMEMX_TMA_FORCE = 2,
    NVSHMEMX_TMA_POLICY_MAX = INT_MAX
} nvshmemx_tma_policy_t;
typedef enum nvshmemx_smem_amount_t {
    NVSHMEMX_SMEM_RECOMMENDED = 0,
    NVSHMEMX_SMEM_MINIMUM = 1,
    NVSHMEMX_SMEM_BARRIERS_ONLY = 2,
    NVSHMEMX_SMEM_AMOUNT_MAX = INT_MAX
} nvshmemx_smem_amount_t;

/* ---- start-up -------------------------------------------------------------------------------- */

/* Flags of nvshmemx_init_attr. THREAD_PES is refused: gshmemx_run starts PEs that are threads. */
#define NVSHMEMX_INIT_THREAD_PES    1
#define NVSHMEMX_INIT_WITH_MPI_COMM (1 << 1)
#define NVSHMEMX_INIT_WITH_SHMEM    (1 << 2)
#define NVSHMEMX_INIT_WITH_UNIQUEID (1 << 3)
#define NVSHMEMX_INIT_MAX           (1 << 31)

/* Each type also has a name with its version; the name without one is the newest. */
typedef struct {
    int version;
    char internal[124];
} nvshmemx_uniqueid_v1;
typedef nvshmemx_uniqueid_v1 nvshmemx_uniqueid_t;

typedef struct {
    int version;
    nvshmemx_uniqueid_v1 *id;
    int myrank;
    int nranks;
} nvshmemx_uniqueid_args_v1;
typedef nvshmemx_uniqueid_args_v1 nvshmemx_uniqueid_args_t;

typedef struct {
    int version;
    nvshmemx_uniqueid_args_v1 uid_args;
    char content[96];
} nvshmemx_init_args_v1;
typedef struct {
    int version;
    nvshmemx_uniqueid_args_v1 uid_args;
    int cuda_device_id; /* of this process's GPU; -1: the current one */
    char content[92];
} nvshmemx_init_args_v2;
typedef nvshmemx_init_args_v2 nvshmemx_init_args_t;

typedef struct {
    int version;
    void *mpi_comm; /* an MPI_Comm * */
    nvshmemx_init_args_t args;
} nvshmemx_init_attr_v1;
typedef struct {
    int version;
    void *mpi_comm; /* an MPI_Comm * */
    nvshmemx_init_args_t args;
} nvshmemx_init_attr_v2;
typedef nvshmemx_init_attr_v2 nvshmemx_init_attr_t;

/* clang-format off */
#define NVSHMEM_STRUCT_VERSION(v, type) (((v) << 16) + GSH_AS(int, sizeof(type)))
#define NVSHMEMX_UNIQUEID_INITIALIZER { NVSHMEM_STRUCT_VERSION(1, nvshmemx_uniqueid_t), { 0 } }
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER \
    { NVSHMEM_STRUCT_VERSION(1, nvshmemx_uniqueid_args_t), NULL, 0, 0 }
#define NVSHMEM_INIT_ARGS_V2_IDENTIFIER NVSHMEM_STRUCT_VERSION(2, nvshmemx_init_args_t)
#define NVSHMEM_INIT_ATTR_V1_IDENTIFIER NVSHMEM_STRUCT_VERSION(1, nvshmemx_init_attr_t)
#define NVSHMEM_INIT_ATTR_V2_IDENTIFIER NVSHMEM_STRUCT_VERSION(2, nvshmemx_init_attr_t)
#define NVSHMEMX_INIT_ARGS_V2_INITIALIZER \
    { NVSHMEM_INIT_ARGS_V2_IDENTIFIER, NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, -1, { 0 } }
#define NVSHMEMX_INIT_ARGS_INITIALIZER NVSHMEMX_INIT_ARGS_V2_INITIALIZER
#define NVSHMEMX_INIT_ATTR_V1_INITIALIZER \
    { NVSHMEM_INIT_ATTR_V1_IDENTIFIER, NULL, NVSHMEMX_INIT_ARGS_INITIALIZER }
#define NVSHMEMX_INIT_ATTR_INITIALIZER \
    { NVSHMEM_INIT_ATTR_V2_IDENTIFIER, NULL, NVSHMEMX_INIT_ARGS_INITIALIZER }
#define NVSHMEMX_REGION_ATTRS_INITIALIZER { NVSHMEMX_REGION_HINT_NONE, { 0 } }
/* clang-format on */

/* ---- teams ----------------------------------------------------------------------------------- */

typedef uint64_t nvshmemx_team_uniqueid_t;
#define NVSHMEM_TEAM_UNIQUID_INITIALIZER GSH_AS(nvshmemx_team_uniqueid_t, -1)

typedef struct {
    int version;
    int num_contexts;
    char padding[56];
} nvshmem_team_config_v1;
typedef struct {
    int version;
    int num_contexts;
    nvshmemx_team_uniqueid_t uniqueid;
    char padding[48];
} nvshmem_team_config_v2;
typedef nvshmem_team_config_v2 nvshmem_team_config_t;

/* clang-format off */
#define NVSHMEM_TEAM_CONFIG_INITIALIZER                                                      \
    { NVSHMEM_STRUCT_VERSION(2, nvshmem_team_config_t), 0, NVSHMEM_TEAM_UNIQUID_INITIALIZER, { 0 } }
/* clang-format on */
#define NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS 1L
#define NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID     2L

#if defined(__cplusplus)
static_assert(sizeof(nvshmemx_uniqueid_t) == 128 && sizeof(nvshmemx_uniqueid_args_t) == 24 &&
                  sizeof(nvshmemx_init_args_t) == 128 && sizeof(nvshmemx_init_attr_t) == 144 &&
                  sizeof(nvshmem_team_config_t) == 64 && sizeof(nvshmemx_init_args_v1) == 128 &&
                  sizeof(nvshmem_team_config_v1) == 64 && sizeof(nvshmemx_init_attr_v1) == 144 &&
                  sizeof(nvshmemx_region_attrs_t) == 64,
              "programs hand these structs about by their sizes");
#endif

#endif
