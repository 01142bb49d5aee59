/* SPDX-License-Identifier: Apache-2.0
 * NCCL's host API over gshmem. Compiles as C17, C++17 and CUDA; programs written for NCCL 2.28 and
 * later include it unchanged.
 *
 * A communicator is a team of the PEs of one gshmem job: the calling process, or thread under
 * gshmemx_run, is one rank. The first communicator starts gshmem, unless the program has; the last
 * one destroyed ends it, if the first one started it. README.md beside this folder lists what is
 * missing; such a call returns ncclInvalidUsage and prints one line.
 *
 * Every call returns ncclSuccess, or an error, with nothing changed and the reason in
 * ncclGetLastError. Collective calls are made by all ranks of the communicator, in the same
 * order. */
#ifndef GSHMEM_NCCL_H
#define GSHMEM_NCCL_H

#if !defined(GSHMEM_OWN_WARNINGS)
#pragma GCC system_header /* its folder comes before the system's, so a compiler cannot know */
#endif

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include) && (defined(__cplusplus) || !defined(GSHMEM_DEVICE_CODE))
#if __has_include(<cuda_runtime.h>) && __has_include(<cuda_fp16.h>)
#include <assert.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#if __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#endif
#if __has_include(<cuda_fp8.h>)
#include <cuda_fp8.h>
#endif
#endif
#endif
struct CUstream_st;
typedef struct CUstream_st *cudaStream_t;
struct CUevent_st;
typedef struct CUevent_st *cudaEvent_t;

/* The NCCL version that the program sees: define it as 22809 to 23203 before this header. The names
 * are the same. */
#ifndef GSHMEM_NCCL_VERSION_CODE
#define GSHMEM_NCCL_VERSION_CODE 22809
#endif
#define NCCL_VERSION_CODE GSHMEM_NCCL_VERSION_CODE
#define NCCL_MAJOR        (NCCL_VERSION_CODE / 10000)
#define NCCL_MINOR        (NCCL_VERSION_CODE / 100 % 100)
#define NCCL_PATCH        (NCCL_VERSION_CODE % 100)
#define NCCL_SUFFIX       ""
#define NCCL_VERSION(X, Y, Z) \
    (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
#define NCCL_COMM_NULL NULL

#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclTimeout = 8,
    ncclNumResults = 9
} ncclResult_t;

typedef enum {
    ncclInt8 = 0,
    ncclChar = 0,
    ncclUint8 = 1,
    ncclInt32 = 2,
    ncclInt = 2,
    ncclUint32 = 3,
    ncclInt64 = 4,
    ncclUint64 = 5,
    ncclFloat16 = 6,
    ncclHalf = 6,
    ncclFloat32 = 7,
    ncclFloat = 7,
    ncclFloat64 = 8,
    ncclDouble = 8,
    ncclBfloat16 = 9,
    ncclFloat8e4m3 = 10,
    ncclFloat8e5m2 = 11,
    ncclNumTypes = 12
} ncclDataType_t;

typedef enum {
    ncclSum = 0,
    ncclProd = 1,
    ncclMax = 2,
    ncclMin = 3,
    ncclAvg = 4,
    ncclNumOps = 5,
    ncclMaxRedOp = INT_MAX /* of operators that the program made */
} ncclRedOp_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT      (-1.0f)
#define NCCL_SPLIT_NOCOLOR    -1

#define NCCL_CTA_POLICY_DEFAULT    0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO       0x02

#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT   0x01
#define NCCL_REVOKE_DEFAULT 0x00

/* On all ranks, each collective uses the window's buffers at the same offset: it then works on them
 * directly. */
#define NCCL_WIN_DEFAULT         0x00
#define NCCL_WIN_COLL_SYMMETRIC  0x01
#define NCCL_WIN_STRICT_ORDERING 0x02
/* The program's promise to use the window in GIN alone; it is like any other. */
#define NCCL_WIN_GIN_ONLY           0x04
#define NCCL_WIN_CFT_COUNTED        0x08 /* refused: no device here has logical endpoints */
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096

typedef enum {
    ncclHostCftDefault = NCCL_CONFIG_UNDEF_INT,
    ncclHostCftEnable = 1, /* refused: no device here has logical endpoints */
    ncclHostCftDisable = 2,
    ncclHostCftFallback = 3
} ncclHostCftMode_t;

/* Multicast by NVLink is not used in any of these. */
typedef enum {
    ncclNvlsHostModeDefault = NCCL_CONFIG_UNDEF_INT,
    ncclNvlsHostModeEnable = 0,
    ncclNvlsHostModeDisableTransport = 1,
    ncclNvlsHostModeDisableSymmetricMultimem = 2,
    ncclNvlsHostModeDisable = INT_MAX
} ncclNvlsHostMode_t;

/* Initialise with NCCL_CONFIG_INITIALIZER. An earlier version's may be shorter. The hints (CTAs,
 * names, policies) have no effect; from launchOrderImplicit on, values are checked. */
typedef struct ncclConfig_v22800 {
    size_t size;
    unsigned int magic, version;
    int blocking; /* 0 is accepted; calls still complete before they return */
    int cgaClusterSize, minCTAs, maxCTAs;
    const char *netName;
    int splitShare, trafficClass;
    const char *commName;
    int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs;
    int nChannelsPerNetPeer, nvlinkCentricSched;
    int graphUsageMode, numRmaCtx, maxP2pPeers, graphStreamOrdering;
    int launchOrderImplicit; /* 0, 1: launches of a communicator are always in order */
    int numRmaSig;           /* at least 1; ncclPutSignal has signal 0 alone */
    int rmaEagerInit;        /* 0, 1: everything is there from the beginning */
    int hostCftMode, nvlsHostMode;
} ncclConfig_t;

#define NCCL_API_MAGIC 0xcafebeef
#define NCCL_CONFIG_INITIALIZER                                                         \
    {                                                                                   \
        sizeof(ncclConfig_t), NCCL_API_MAGIC, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_INT, \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,        \
            NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,        \
            NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,        \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,        \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,        \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,        \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,        \
            NCCL_CONFIG_UNDEF_INT                                                       \
    }

/* An option that other vendors' libraries know; all of them are ignored. */
typedef struct ncclConfigExt {
    struct ncclConfigExt *next;
    struct {
        int vendorId, optionId;
    } key;
    union {
        int i;
        const char *s;
        void *raw;
    } val;
} ncclConfigExt_t;

/* What one collective is told besides its arguments: the same on all ranks, but for the event.
 * Initialise with NCCL_COLLCONFIG_INITIALIZER. A value that is not allowed is ncclInvalidArgument,
 * and ncclGetLastError names the field. */
typedef struct ncclCollConfig_v23200 {
    size_t size;
    unsigned int magic, version;
    ncclConfigExt_t *ext;
    /* Blocks of a launch on a GPU, at least 1: no fewer than minCTAs, as far as they may all run at
     * once, and no more than maxCTAs. The same on all ranks. With far ranks, gather and scatter: no
     * effect. */
    int minCTAs, maxCTAs;
    int nvlsCTAs;       /* at least 1; no effect */
    int cgaClusterSize; /* 0 to 8; no effect */
    /* Names of NCCL's algorithms, separated by commas; after a ^, all but these. No effect: there
     * is nothing like them to choose. But with forceAlgSelection it is an error to name one that
     * NCCL does not know, or none that it has for the collective. */
    const char *algSelection;
    int forceAlgSelection;    /* 0, 1 */
    int CTAPolicy;            /* NCCL_CTA_POLICY_ bits; no effect */
    uint64_t userProfilerTag; /* no effect: there are no profiler plug-ins */
    /* Recorded on the stream just before the call's work, as by NCCL with a CUDA before 12.3. */
    cudaEvent_t launchCompletionEvent;
} ncclCollConfig_t;
#define NCCL_COLLCONFIG_INITIALIZER                                                         \
    {                                                                                       \
        sizeof(ncclCollConfig_t), NCCL_API_MAGIC, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_PTR, \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,            \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, 1, NCCL_CONFIG_UNDEF_INT, 0,      \
            NCCL_CONFIG_UNDEF_PTR                                                           \
    }

typedef struct ncclSimInfo_v22200 {
    size_t size;
    unsigned int magic, version;
    float estimatedTime;
} ncclSimInfo_t;
#define NCCL_SIM_INFO_INITIALIZER                                              \
    {                                                                          \
        sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION_CODE, NCCL_UNDEF_FLOAT \
    }

/* ---- version and errors ---------------------------------------------------------------------- */

/* The highest version for whose programs the library works. */
ncclResult_t ncclGetVersion(int *version);
const char *ncclGetErrorString(ncclResult_t result);
/* The calling thread's latest failure, "" if there was none; comm may be NULL. */
const char *ncclGetLastError(ncclComm_t comm);
/* They do nothing: there is nothing to reset. */
void ncclResetDebugInit(void);
void ncclResetDebugInitInternal(void);
/* ncclInProgress, or the result of a call that did not block; ncclInvalidUsage after ncclCommAbort
 * of another communicator of the same id; ncclRemoteError once the process of another rank of comm
 * has died or exited; ncclUnhandledCudaError once CUDA has refused to launch the kernel that joins
 * large GIN puts, which now go on without it; ncclInvalidArgument if ranks have made different
 * collectives. Otherwise ncclSuccess.
 *
 * If the process of a rank dies, or exits before it has destroyed its communicators, all
 * communicators with that rank are lost, and the others' processes go on. Calls of a lost
 * communicator return ncclRemoteError, and its kernels that wait leave within a second, so streams
 * drain; what they were to write is undefined. Finalize, Destroy and Abort of it wait for no other
 * rank. Communicators without that rank work as before, unless there are more lost ones than there
 * is room for (../README.md): then all communicators of the same id are lost. If the program itself
 * has started gshmem, a death ends the job instead. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError);

/* ---- communicators --------------------------------------------------------------------------- */

/* An id for one communicator, to be carried to all ranks. A thread of this process serves its
 * rendezvous until all ranks have arrived, or GSHMEM_BOOTSTRAP_TIMEOUT has passed. */
ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId);
/* Collective over the nranks ranks. If the program has started gshmem and nranks is the number of
 * its PEs, these become the ranks, perhaps numbered differently; otherwise the ranks form a job of
 * their own. A thread may make several ranks, each with its device current, in a group. With
 * blocking 0 in the config *comm is valid at once, and ready when ncclCommGetAsyncError says so. */
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t *config);
/* Of several ids the first is used; what this process keeps for the others ends. An id that no
 * communicator takes keeps a thread and two descriptors until the start-up limit has passed. */
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nId,
                                      ncclUniqueId *commIds, ncclConfig_t *config);
/* One rank per device, 0 to ndev - 1 if devlist is NULL; all ranks belong to the calling thread. */
ncclResult_t ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist);
/* Collective over comm. Ranks with the same color form a communicator, ordered by key, then by
 * rank; with NCCL_SPLIT_NOCOLOR *newcomm is NULL. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
                           ncclConfig_t *config);
/* Collective over the ranks that stay, which keep their order. shrinkFlags: NCCL_SHRINK_DEFAULT: no
 * call of comm is under way; NCCL_SHRINK_ABORT: comm is revoked first. Excluded ranks need not make
 * the call, nor be alive. */
ncclResult_t ncclCommShrink(ncclComm_t comm, int *excludeRanksList, int excludeRanksCount,
                            ncclComm_t *newcomm, ncclConfig_t *config, int shrinkFlags);
/* Makes a communicator of comm's ranks, which keep their numbers, and of new ones, numbered after
 * them: nRanks in all. Collective over these. uniqueId: from ncclCommGetUniqueId, given by at least
 * one of comm's ranks, and by the new ones, for which comm is NULL. rank: a new rank's number; -1
 * for comm's ranks. */
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *uniqueId);
ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId *uniqueId, int rank,
                          ncclComm_t *newcomm, ncclConfig_t *config);
/* Collective: waits for everything that the ranks have asked of comm. If this rank has made a
 * collective that another one, of the same node, has not, and that one has come to the end of comm
 * and all others are at it, the collective ends without a result, with a line; the call succeeds.
 * After that calls that move data, or make communicators, operators, windows or device
 * communicators of it, fail with ncclInvalidUsage. */
ncclResult_t ncclCommFinalize(ncclComm_t comm);
/* Collective; finalizes first, unless that has been done. A process may exit without it, as soon as
 * its streams have done its part of a call: exit then waits, at most for GSHMEM_PROXY_TIMEOUT,
 * until ranks of other nodes have what it has sent. _exit does not. */
ncclResult_t ncclCommDestroy(ncclComm_t comm);
/* Not collective, and waits for no other rank. Any thread may call it, even while calls of comm are
 * in progress or block another thread. Gives up this rank's part in comm and in all communicators
 * that share its id: those split from it, or it from them. If the program had started gshmem, these
 * are all communicators. Their work under way ends, including kernels of the program that wait in
 * this library's device calls, so streams drain. Data not yet written is lost. After that the other
 * communicators can only be aborted or destroyed, without waiting. The process may go on, make
 * communicators by new ids, and exit at any time; to ranks that have not aborted, its exit then
 * counts as its death. If comm has been revoked, or is lost, the other communicators of its id go
 * on instead. */
ncclResult_t ncclCommAbort(ncclComm_t comm);
/* Not collective: gives up this rank's work of comm that is under way, as ncclCommAbort does, and
 * waits until its streams have drained. Work of other communicators of the same id that waits or
 * begins meanwhile is given up, too, and no other thread may be in a call of one. comm is then
 * valid only for Shrink, Finalize, Destroy, Abort and queries, which are for ranks that have all
 * revoked it. revokeFlags: NCCL_REVOKE_DEFAULT. */
ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags);
/* A communicator's memory stays where it is, as symmetric memory does: Suspend fails with
 * ncclInvalidUsage, and so does Resume, since nothing is suspended. */
#define NCCL_SUSPEND_MEM 0x01
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t ncclCommResume(ncclComm_t comm);
typedef enum {
    ncclStatGpuMemSuspend = 0,   /* bytes that can be suspended: 0 */
    ncclStatGpuMemSuspended = 1, /* whether it is: 0 */
    ncclStatGpuMemPersist = 2,   /* bytes that cannot: all of them */
    ncclStatGpuMemTotal = 3      /* bytes of the heap used by comm and its device communicators */
} ncclCommMemStat_t;
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t *value);

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count);
/* On the CPU device: the number of the device for which the rank was made, or the calling thread's
 * current one. */
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank);

/* ---- groups ---------------------------------------------------------------------------------- */

/* Calls of this thread between the outermost pair take place when it ends, in their order; a
 * communicator's sends and receives all at once, after its other calls. The outermost GroupEnd also
 * returns an error in one of them, and does not carry out the calls after it. If a call is refused
 * at once, for its arguments, it returns the error, and so does the outermost GroupEnd: it then
 * carries out nothing of the group. Calls that are not put off, such as queries, do not count. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
/* Replaces the outermost GroupEnd, and fails like it if a call was refused. Forgets the group's
 * calls, and stores in estimatedTime how many microseconds they would take. The estimate goes by
 * the launches and by the bytes over each communicator's slowest link. It leaves out other ranks'
 * work and the way through scratch. Calls that make or register something count as nothing. In
 * place of an inner GroupEnd: acts like it, and leaves estimatedTime as it is. Initialise simInfo
 * with NCCL_SIM_INFO_INITIALIZER; otherwise the group stays open. */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *simInfo);

/* ---- memory ---------------------------------------------------------------------------------- */

/* Memory of this process that can be a window, on the calling thread's current device. Local: by
 * any thread, before the first communicator or after the last, of any size. On GPUs it is a
 * multiple of 2 MiB, mapped for the devices that reach this one. Freed memory lives on in its
 * windows. MemFree ignores NULL; for memory not from MemAlloc it returns ncclInvalidArgument. */
ncclResult_t ncclMemAlloc(void **ptr, size_t size);
ncclResult_t ncclMemFree(void *ptr);
/* Buffers need no registration: it is checked and counted, but changes nothing. */
ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buff, size_t size, void **handle);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle);
/* Collective over comm: makes a window on `size` bytes, the same size on all ranks. Memory from
 * gshmem_malloc must be the same on all ranks, at the same place in it; then no rank waits for
 * another. Other memory must be shareable: from ncclMemAlloc, or cuMemCreate with handles for that,
 * like PyTorch's expandable segments; on the CPU device any but the stack's. It must be equally far
 * behind a 2 MiB boundary (CPU device: 4 KiB) on all ranks. Then an error on one rank is an error
 * on all, and nothing has changed. The buffer stays valid; collectives treat its addresses as the
 * window's. winFlags: NCCL_WIN_ flags. Deregister: also collective, in the same order on all ranks,
 * when no rank uses the window any more; the communicator's end deregisters the rest. */
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win,
                                    int winFlags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);
/* The buffer that this rank registered. */
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void **outUserPtr);

/* ---- encryption ------------------------------------------------------------------------------ */

typedef enum { NCCL_ENCRYPTION_MODE_NONE = 0, NCCL_ENCRYPTION_MODE_PSK = 1 } ncclEncryptionMode_t;
typedef struct ncclEncryptionConfig_v23200 {
    size_t size;
    unsigned int magic, version;
    int mode;
    const char *psk;
} ncclEncryptionConfig_t;
#define NCCL_ENCRYPTION_CONFIG_INITIALIZER                                 \
    {                                                                      \
        sizeof(ncclEncryptionConfig_t), NCCL_API_MAGIC, NCCL_VERSION_CODE, \
            NCCL_ENCRYPTION_MODE_NONE, NCCL_CONFIG_UNDEF_PTR               \
    }
/* Nothing is encrypted: NCCL_ENCRYPTION_MODE_PSK is ncclInvalidUsage. Sockets are authenticated in
 * any case, by the unique id's secret (SECURITY.md). */
ncclResult_t ncclSetEncryption(const ncclEncryptionConfig_t *config);

/* ---- parameters ------------------------------------------------------------------------------ */

/* NCCL's settings by key. This library has none of them, only gshmem's, which gshmem-info prints:
 * no key is found (ncclInvalidArgument), and the table is empty. */
typedef struct ncclParamHandle ncclParamHandle_t;
ncclResult_t ncclParamBind(ncclParamHandle_t **out, const char *key);
ncclResult_t ncclParamGetI8(ncclParamHandle_t *h, int8_t *out);
ncclResult_t ncclParamGetI16(ncclParamHandle_t *h, int16_t *out);
ncclResult_t ncclParamGetI32(ncclParamHandle_t *h, int32_t *out);
ncclResult_t ncclParamGetI64(ncclParamHandle_t *h, int64_t *out);
ncclResult_t ncclParamGetU8(ncclParamHandle_t *h, uint8_t *out);
ncclResult_t ncclParamGetU16(ncclParamHandle_t *h, uint16_t *out);
ncclResult_t ncclParamGetU32(ncclParamHandle_t *h, uint32_t *out);
ncclResult_t ncclParamGetU64(ncclParamHandle_t *h, uint64_t *out);
ncclResult_t ncclParamGetStr(ncclParamHandle_t *h, const char **out);
ncclResult_t ncclParamGet(ncclParamHandle_t *h, void *out, int maxLen, int *len);
ncclResult_t ncclParamGetParameter(const char *key, const char **value, int *valueLen);
ncclResult_t ncclParamGetAllParameterKeys(const char ***table, int *tableLen);
void ncclParamDumpAll(void);

/* ---- collectives, on a stream ---------------------------------------------------------------- */

/* An op that first multiplies input elements by *scalar, of this type. ncclScalarHostImmediate:
 * scalar is in host memory, and read now. ncclScalarDevice: kernels can read it; each reduction
 * reads it when its turn comes on the stream. */
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

/* Buffers may be any memory of the device; in place as stated. Results have the same bits on all
 * ranks. Reduce: in place if sendbuff == recvbuff, as in AllReduce.
 *
 * All ranks make the same collectives with the same count, type, op and root. If ranks of one node
 * do not, one line names two that differ and their values, and the later of the two returns
 * ncclInvalidArgument; so do all later collectives of these ranks, and sooner or later of the
 * node's others. The calls are carried out all the same, because other ranks may wait for them;
 * results are not valid. Only ncclCommAbort surely ends what waits then. */
ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream);
/* In place: recvbuff == sendbuff + rank * recvcount. */
ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream);
/* In place: sendbuff == recvbuff + rank * sendcount. */
ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBcast(void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
/* count elements from each rank to each other. */
ncclResult_t ncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
/* In place at the root: sendbuff == recvbuff + root * count (Gather), recvbuff == sendbuff + root *
 * count (Scatter). */
ncclResult_t ncclGather(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclScatter(const void *sendbuff, void *recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
/* The same with a config; NULL: none. */
ncclResult_t ncclAllReduceConfig(const void *sendbuff, void *recvbuff, size_t count,
                                 ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t *config);
ncclResult_t ncclBroadcastConfig(const void *sendbuff, void *recvbuff, size_t count,
                                 ncclDataType_t datatype, int root, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t *config);
ncclResult_t ncclReduceConfig(const void *sendbuff, void *recvbuff, size_t count,
                              ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                              cudaStream_t stream, const ncclCollConfig_t *config);
ncclResult_t ncclAllGatherConfig(const void *sendbuff, void *recvbuff, size_t sendcount,
                                 ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t *config);
ncclResult_t ncclReduceScatterConfig(const void *sendbuff, void *recvbuff, size_t recvcount,
                                     ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                     cudaStream_t stream, const ncclCollConfig_t *config);
ncclResult_t ncclAlltoAllConfig(const void *sendbuff, void *recvbuff, size_t count,
                                ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                const ncclCollConfig_t *config);
ncclResult_t ncclGatherConfig(const void *sendbuff, void *recvbuff, size_t count,
                              ncclDataType_t datatype, int root, ncclComm_t comm,
                              cudaStream_t stream, const ncclCollConfig_t *config);
ncclResult_t ncclScatterConfig(const void *sendbuff, void *recvbuff, size_t count,
                               ncclDataType_t datatype, int root, ncclComm_t comm,
                               cudaStream_t stream, const ncclCollConfig_t *config);
/* Each Send meets a Recv of the same count and type; those from one rank to another match in order.
 * In a group they proceed together, whatever their number and pattern. What a rank sends to itself
 * it receives in the same group, else ncclInvalidUsage. They begin when all earlier work on their
 * streams is done, and each of these streams waits for all of them. */
ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream);

/* ---- puts with signals, on a stream ---------------------------------------------------------- */

typedef struct {
    int opCnt, peer, sigIdx, ctx;
} ncclWaitSignalDesc_t;

/* Copies from any memory of this rank to the peer's window, then signals the peer. sigIdx, ctx and
 * flags are 0. */
ncclResult_t ncclPutSignal(const void *localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream);
/* Sends a signal alone, ordered after earlier puts to the peer. */
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream);
/* Holds the stream until opCnt more signals from each named peer have arrived. */
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t *signalDescs, ncclComm_t comm,
                            cudaStream_t stream);

#include "nccl_device/profiling.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#if defined(GSHMEM_CALL_SITES)
#include "nccl_device/call_sites.h"
#endif

#endif
