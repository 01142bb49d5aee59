/* SPDX-License-Identifier: Apache-2.0
 * What both host and kernels know of device communicators. Compiles as C17, C++17 and CUDA. */
#ifndef GSHMEM_NCCL_TYPES_H
#define GSHMEM_NCCL_TYPES_H

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include "../nccl.h"

struct gsh_state;

/* ---- teams ----------------------------------------------------------------------------------- */

/* Ranks of the communicator, stride apart; `rank` is this rank's number among them. */
typedef struct ncclTeam {
    int nRanks, rank, stride;
} ncclTeam_t;
typedef struct ncclTeam ncclTeam;

typedef struct ncclMultimemHandle {
    void *mcBasePtr;
} ncclMultimemHandle_t;
typedef struct ncclMultimemHandle ncclMultimemHandle;

/* ---- resources ------------------------------------------------------------------------------- */

/* Counts units of that many bytes from the start of the device communicator's own memory. */
typedef uint32_t ncclDevResourceHandle;
typedef uint32_t ncclDevResourceHandle_t;
#define GSHMEM_NCCL_RESOURCE_UNIT 128

typedef uint32_t ncclGinSignal_t;
typedef uint32_t ncclGinCounter_t;
typedef struct {
    uint64_t opaque[2];
} ncclGinRequest_t;
/* Opaque; never created here. */
typedef void *ncclGinGpuCtx_t;
typedef void *ncclGinWindow_t;

typedef struct ncclLsaBarrierHandle {
    ncclDevResourceHandle bufHandle;
    int nBarriers;
} ncclLsaBarrierHandle_t;
typedef struct ncclLsaBarrierHandle ncclLsaBarrierHandle;

typedef struct ncclGinBarrierHandle {
    ncclGinSignal_t signal0;
    uint32_t nBarriers;
} ncclGinBarrierHandle_t;
typedef struct ncclGinBarrierHandle ncclGinBarrierHandle;

typedef struct ncclLLA2AHandle {
    ncclDevResourceHandle bufHandle;
    uint32_t nSlots;
} ncclLLA2AHandle_t;
typedef struct ncclLLA2AHandle ncclLLA2AHandle;

/* For sessions of the program's own: this library has none for them. Each block has 2^size_log2
 * bytes and, with which it tells the peers apart, counters or signals. */
typedef struct ncclGinOutboxHandle {
    ncclDevResourceHandle bufHandle;
    ncclGinCounter_t counter0;
    uint32_t size_log2;
} ncclGinOutboxHandle;
typedef struct ncclGinInboxA2AHandle {
    ncclDevResourceHandle bufHandle;
    ncclGinSignal_t signals;
    uint32_t size_log2, nPeers_rcp32;
} ncclGinInboxA2AHandle;

/* A barrier among n ranks of an LSA team: its epoch, which only this rank's kernels access, then
 * for each rank the latest epoch in which it arrived, written by that rank. Kernels compiled with
 * NCCL's own headers divide the same memory otherwise, and need n + 3 words of it. */
#define GSHMEM_NCCL_LSA_BARRIER_WORDS(n) (((uint32_t)(n) + 3 + 31) / 32 * 32)
/* A block of an LL all-to-all: a line whose first word is its epoch, then two buffers of lines. */
#define GSHMEM_NCCL_LLA2A_BLOCK_BYTES(n_slots) \
    ((1 + 2 * (uint64_t)(n_slots) + 7) / 8 * GSHMEM_NCCL_RESOURCE_UNIT)

/* ---- logical endpoints ----------------------------------------------------------------------- */

/* NCCL writes to ranks through logical endpoints ("CFT") on devices that have them. None does here:
 * these names compile, and what asks for an endpoint fails on the host. */
typedef uint32_t ncclCftLeId;
typedef ncclCftLeId ncclCftLeId_t;
#define NCCL_LE_ID_INVALID ((ncclCftLeId_t)-1)

typedef enum {
    NCCL_CFT_TEAM_FLAT = 0,
    NCCL_CFT_TEAM_HIER_MULTIMEM = 1,
    NCCL_CFT_TEAM_HIER_LSA = 2
} ncclCftTeamMode_t;

typedef enum { NCCL_CFT_NONE = 0, NCCL_CFT = 1, NCCL_CFT_MULTIMEM = 2 } ncclCftCap_t;

typedef struct ncclCftBarrierHandle {
    ncclDevResourceHandle bufHandle;
    int nBarriers;
} ncclCftBarrierHandle_t;
typedef struct ncclCftBarrierHandle ncclCftBarrierHandle;

/* ---- requirements ---------------------------------------------------------------------------- */

typedef enum {
    NCCL_GIN_CONNECTION_NONE = 0,
    NCCL_GIN_CONNECTION_FULL = 1,
    NCCL_GIN_CONNECTION_RAIL = 2,
    NCCL_GIN_CONNECTION_CUSTOM_STRIDE = 3
} ncclGinConnectionType_t;

/* Backends that NCCL distinguishes. Here there is only one, whatever a program names. */
typedef enum {
    NCCL_NET_DEVICE_HOST = 0,
    NCCL_NET_DEVICE_UNPACK = 1,
    NCCL_NET_DEVICE_GIN_PROXY = 2,
    NCCL_NET_DEVICE_GIN_GDAKI = 3,
    NCCL_NET_DEVICE_GIN_GPI = 4,
    NCCL_NET_DEVICE_GIN_EFA_GDA = 5
} ncclNetDeviceType;
#define NCCL_GIN_BACKEND_MASK_ALL 0x3cu /* bits by backend number and type number */

typedef enum {
    NCCL_GIN_TYPE_NONE = 0,
    NCCL_GIN_TYPE_PROXY = 2,
    NCCL_GIN_TYPE_GDAKI = 3,
    NCCL_GIN_TYPE_GPI = 4,
    NCCL_GIN_TYPE_EFA_GDA = 5,
    NCCL_GIN_MAX_TYPES = 6
} ncclGinType_t;

/* Memory, signals and counters for a library's own use; ncclDevCommCreate fills in the outputs,
 * each of which may be NULL. */
typedef struct ncclDevResourceRequirements {
    struct ncclDevResourceRequirements *next;
    size_t bufferSize, bufferAlign;
    ncclDevResourceHandle *outBufferHandle;
    int ginSignalCount, ginCounterCount;
    ncclGinSignal_t *outGinSignalStart;
    ncclGinCounter_t *outGinCounterStart;
} ncclDevResourceRequirements_t;
typedef struct ncclDevResourceRequirements ncclDevResourceRequirements;

typedef struct ncclTeamRequirements {
    struct ncclTeamRequirements *next;
    ncclTeam team;
    bool multimem; /* must be false */
    ncclMultimemHandle *outMultimemHandle;
} ncclTeamRequirements_t;
typedef struct ncclTeamRequirements ncclTeamRequirements;

/* All 0, or initialised with NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER. */
typedef struct ncclDevCommRequirements {
    size_t size;
    unsigned int magic, version;
    ncclDevResourceRequirements *resourceRequirementsList;
    ncclTeamRequirements *teamRequirementsList;
    bool lsaMultimem; /* must be false */
    int barrierCount, lsaBarrierCount, railGinBarrierCount;
    int lsaLLA2ABlockCount, lsaLLA2ASlotCount; /* no effect */
    bool ginForceEnable;                       /* no effect: GIN is always there */
    int ginContextCount;                       /* 0: 4; at most 16 */
    int ginSignalCount, ginCounterCount;
    /* checked; without effect, of these four: GIN reaches every rank */
    ncclGinConnectionType_t ginConnectionType;
    bool ginExclusiveContexts;
    int ginQueueDepth, ginTrafficClass;
    int worldGinBarrierCount;
    bool ginStrongSignalsRequired, ginVaSignalsRequired; /* always there */
    int ginCustomStride;    /* with NCCL_GIN_CONNECTION_CUSTOM_STRIDE: at least 1; no effect */
    ncclGinType_t ginType;  /* checked; no effect: there is one */
    bool useRuntimeVersion; /* no effect on programs compiled with these headers */
    int cftCaps;            /* must be NCCL_CFT_NONE: no device here has it */
    int cftBarrierCount;    /* must be 0 */
} ncclDevCommRequirements_t;
typedef struct ncclDevCommRequirements ncclDevCommRequirements;

#define NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER                                                   \
    {                                                                                            \
        sizeof(struct ncclDevCommRequirements), NCCL_API_MAGIC, NCCL_VERSION_CODE, NULL, NULL,   \
            false, 0, 0, 0, 0, 0, false, 4, 0, 0, NCCL_GIN_CONNECTION_FULL, false, 0,            \
            NCCL_CONFIG_UNDEF_INT, 0, true, true, 1, NCCL_GIN_TYPE_NONE, false, NCCL_CFT_NONE, 0 \
    }

/* ---- the device communicator ----------------------------------------------------------------- */

/* A value: all that a kernel needs. The members after ginContextCount belong to the library. */
typedef struct ncclDevComm {
    int rank, nRanks;
    int lsaRank, lsaSize;
    int ginContextCount;
    int ginSignalCount, ginCounterCount; /* of each context, including those that barriers use */
    uint32_t magic;
    ncclLsaBarrierHandle lsaBarrier, hybridLsaBarrier;
    ncclGinBarrierHandle railGinBarrier, hybridRailGinBarrier, worldGinBarrier;
    ncclMultimemHandle lsaMultimem;
    ncclWindow_t resourceWindow;

    const struct gsh_state *state; /* of this PE, in memory that kernels read */
    const int32_t *pe_of;          /* [nRanks] */
    char *resources;               /* at the same place in the heap on all ranks */
    int64_t lsa_stride;            /* bytes from one LSA rank's memory to the next */
    /* Symmetric words, [ginContextCount][count]; others write signals, this rank the rest. */
    uint64_t *signals, *shadows, *counters;
    struct ncclWindow_vidmem *windows; /* of all communicators of this PE, by owner */
    uint64_t id;                       /* this communicator's */
    uint32_t nWindows, reserved;
    struct gsh_nccl_copy_slots *copies; /* for large puts; NULL: threads copy all by themselves */
    uint64_t *copies_asked;             /* the host's word */
} ncclDevComm_t;
typedef struct ncclDevComm ncclDevComm;

typedef struct ncclCommProperties {
    size_t size;
    unsigned int magic, version;
    int rank, nRanks, cudaDev, nvmlDev;
    bool deviceApiSupport, multimemSupport;
    ncclGinType_t ginType; /* on the CPU device by a NIC GDAKI, else PROXY */
    int nLsaTeams;
    bool hostRmaSupport;
    ncclGinType_t railedGinType;
    uint64_t
        commHash; /* the same on all ranks; differs from those of the id's other communicators */
    int ginMinStride;                          /* 1 */
    ncclGinConnectionType_t ginConnectionType; /* NCCL_GIN_CONNECTION_FULL */
    bool ginSupport[64];                       /* by ncclGinType_t */
    size_t devCommRuntimeVersionSize;          /* bytes that hold a device communicator */
    bool cftSupport, cftMulticastSupport, cftCountedSupport; /* false */
} ncclCommProperties_t;
#define NCCL_COMM_PROPERTIES_INITIALIZER                                                           \
    {                                                                                              \
        sizeof(ncclCommProperties_t), NCCL_API_MAGIC, NCCL_VERSION_CODE, 0, 0, 0, 0, false, false, \
            NCCL_GIN_TYPE_NONE, 0, false, NCCL_GIN_TYPE_NONE, 0, 0, NCCL_GIN_CONNECTION_NONE,      \
            {false}, 0, false, false, false                                                        \
    }

/* ---- host calls ------------------------------------------------------------------------------ */

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Collective over comm, with the same requirements on all ranks; in a group *outDevComm is filled
 * in when the group ends. Its memory comes from what all communicators of a PE share,
 * or is mapped for it. The first one of an id with signals or counters may wait for kernels that
 * run on the device: none of them may wait for what another rank does after this call. */
ncclResult_t ncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements *reqs,
                               ncclDevComm *outDevComm) __asm__("gsh_ncclDevCommCreate");
/* Collective over comm; no rank's kernels may still use it. */
ncclResult_t ncclDevCommDestroy(ncclComm_t comm,
                                const ncclDevComm *devComm) __asm__("gsh_ncclDevCommDestroy");
/* These have other names in the library: NCCL's own names are called by programs compiled with
 * its headers, whose device communicators have another layout. They get one by that layout, for
 * kernels that use windows and LSA barriers. */
ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t *props);

/* What a requirements list needs for n independent barriers among the team's ranks. */
ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t team, int nBarriers,
                                             ncclLsaBarrierHandle *outHandle,
                                             ncclDevResourceRequirements *outReq);
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t comm, ncclTeam_t team, int nBarriers,
                                             ncclGinBarrierHandle *outHandle,
                                             ncclDevResourceRequirements *outReq);
int ncclLLA2ACalcSlots(int maxElts, int maxEltSize);
ncclResult_t ncclLLA2ACreateRequirement(int nBlocks, int nSlots, ncclLLA2AHandle *outHandle,
                                        ncclDevResourceRequirements *outReq);
/* Counters of an outbox: 512 for each block. Signals of an inbox: four for each block and peer, a
 * rank of the team other than this one. size_log2: up to 30. */
ncclResult_t ncclGinOutboxCreateRequirement(int nBlocks, int size_log2,
                                            ncclGinOutboxHandle *outHandle,
                                            ncclDevResourceRequirements *outReq);
ncclResult_t ncclGinInboxA2ACreateRequirement(ncclTeam_t peers, int nBlocks, int size_log2,
                                              ncclGinInboxA2AHandle *outHandle,
                                              ncclDevResourceRequirements *outReq);

/* For logical endpoints, which no device here has: teams without ranks, and ncclInvalidUsage. */
#if defined(__cplusplus)
ncclTeam_t ncclTeamCft(ncclComm_t comm, ncclCftTeamMode_t mode = NCCL_CFT_TEAM_FLAT);
#else
ncclTeam_t ncclTeamCft(ncclComm_t comm, ncclCftTeamMode_t mode);
#endif
ncclTeam_t ncclTeamCftMultimem(ncclComm_t comm);
ncclResult_t ncclGetMultimemDeviceLeInfo(ncclWindow_t window, size_t offset, ncclCftLeId *leId,
                                         size_t *leOffset);
ncclResult_t ncclGetCftDeviceLeInfo(ncclWindow_t window, size_t offset, int peerCft,
                                    ncclTeam_t cftTeam, ncclCftLeId *leId, size_t *leOffset);
ncclResult_t ncclGetPeerDeviceLeInfo(ncclWindow_t window, size_t offset, int peerWorld,
                                     ncclCftLeId *leId, size_t *leOffset);
ncclResult_t ncclCftBarrierCreateRequirement(ncclTeam_t team, int nBarriers,
                                             ncclCftBarrierHandle *outHandle,
                                             ncclDevResourceRequirements *outReq);

/* Without ranks if comm is not valid. */
ncclTeam_t ncclTeamWorld(ncclComm_t comm);
ncclTeam_t ncclTeamLsa(ncclComm_t comm);
ncclTeam_t ncclTeamRail(ncclComm_t comm);
/* A team's rank as a rank of comm, and of its LSA team; -1 if comm is not valid. */
int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank);
int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank);

/* Addresses that this rank's kernels may use; *outPtr is NULL if loads and stores cannot reach the
 * rank, and for multimem. */
ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int lsaRank,
                                     void **outPtr);
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer, void **outPtr);
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void **outPtr);
ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t window, size_t offset,
                                          ncclMultimemHandle multimem, void **outPtr);

#define GSHMEM_NCCL_P(NAME) extern GSHMEM_NCCL_TYPE_OF(nccl##NAME) pnccl##NAME
extern GSHMEM_NCCL_TYPE_OF(ncclDevCommCreate) pncclDevCommCreate __asm__("gsh_ncclDevCommCreate");
extern GSHMEM_NCCL_TYPE_OF(ncclDevCommDestroy) pncclDevCommDestroy
    __asm__("gsh_ncclDevCommDestroy");
GSHMEM_NCCL_P(CommQueryProperties);
GSHMEM_NCCL_P(LsaBarrierCreateRequirement);
GSHMEM_NCCL_P(GinBarrierCreateRequirement);
GSHMEM_NCCL_P(GinInboxA2ACreateRequirement);
GSHMEM_NCCL_P(GinOutboxCreateRequirement);
GSHMEM_NCCL_P(LLA2ACalcSlots);
GSHMEM_NCCL_P(LLA2ACreateRequirement);
GSHMEM_NCCL_P(TeamCft);
GSHMEM_NCCL_P(TeamCftMultimem);
GSHMEM_NCCL_P(GetMultimemDeviceLeInfo);
GSHMEM_NCCL_P(GetCftDeviceLeInfo);
GSHMEM_NCCL_P(GetPeerDeviceLeInfo);
GSHMEM_NCCL_P(CftBarrierCreateRequirement);
GSHMEM_NCCL_P(TeamWorld);
GSHMEM_NCCL_P(TeamLsa);
GSHMEM_NCCL_P(TeamRail);
GSHMEM_NCCL_P(TeamRankToWorld);
GSHMEM_NCCL_P(TeamRankToLsa);
GSHMEM_NCCL_P(GetLsaDevicePointer);
GSHMEM_NCCL_P(GetPeerDevicePointer);
GSHMEM_NCCL_P(GetLsaMultimemDevicePointer);
GSHMEM_NCCL_P(GetMultimemDevicePointer);
#undef GSHMEM_NCCL_P

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#if defined(GSHMEM_CALL_SITES) /* see call_sites.h */
#define ncclDevCommCreate(...)  GSHMEM_AT_SITE(ncclDevCommCreate(__VA_ARGS__))
#define ncclDevCommDestroy(...) GSHMEM_AT_SITE(ncclDevCommDestroy(__VA_ARGS__))
#endif

#endif
