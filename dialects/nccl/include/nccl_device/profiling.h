/* SPDX-License-Identifier: Apache-2.0
 * A second name for each call of nccl.h, for tools that replace the first one by their own
 * function. Included by nccl.h alone; pnccl.py derives the library's symbols from the list. */
#ifndef GSHMEM_NCCL_PROFILING_H
#define GSHMEM_NCCL_PROFILING_H

#if defined(__cplusplus)
#define GSHMEM_NCCL_TYPE_OF(NAME) decltype(NAME)
#else
#define GSHMEM_NCCL_TYPE_OF(NAME) __typeof__(NAME)
#endif

#define GSHMEM_NCCL_P(NAME) extern GSHMEM_NCCL_TYPE_OF(nccl##NAME) pnccl##NAME
GSHMEM_NCCL_P(GetVersion);
GSHMEM_NCCL_P(GetErrorString);
GSHMEM_NCCL_P(GetLastError);
GSHMEM_NCCL_P(ResetDebugInit);
GSHMEM_NCCL_P(ResetDebugInitInternal);
GSHMEM_NCCL_P(CommGetAsyncError);
GSHMEM_NCCL_P(GetUniqueId);
GSHMEM_NCCL_P(CommInitRank);
GSHMEM_NCCL_P(CommInitRankConfig);
GSHMEM_NCCL_P(CommInitRankScalable);
GSHMEM_NCCL_P(CommInitAll);
GSHMEM_NCCL_P(CommSplit);
GSHMEM_NCCL_P(CommShrink);
GSHMEM_NCCL_P(CommGetUniqueId);
GSHMEM_NCCL_P(CommGrow);
GSHMEM_NCCL_P(CommFinalize);
GSHMEM_NCCL_P(CommDestroy);
GSHMEM_NCCL_P(CommAbort);
GSHMEM_NCCL_P(CommRevoke);
GSHMEM_NCCL_P(CommSuspend);
GSHMEM_NCCL_P(CommResume);
GSHMEM_NCCL_P(CommMemStats);
GSHMEM_NCCL_P(CommCount);
GSHMEM_NCCL_P(CommCuDevice);
GSHMEM_NCCL_P(CommUserRank);
GSHMEM_NCCL_P(GroupStart);
GSHMEM_NCCL_P(GroupEnd);
GSHMEM_NCCL_P(GroupSimulateEnd);
GSHMEM_NCCL_P(MemAlloc);
GSHMEM_NCCL_P(MemFree);
GSHMEM_NCCL_P(CommRegister);
GSHMEM_NCCL_P(CommDeregister);
GSHMEM_NCCL_P(CommWindowRegister);
GSHMEM_NCCL_P(CommWindowDeregister);
GSHMEM_NCCL_P(WinGetUserPtr);
GSHMEM_NCCL_P(SetEncryption);
GSHMEM_NCCL_P(ParamBind);
GSHMEM_NCCL_P(ParamGetI8);
GSHMEM_NCCL_P(ParamGetI16);
GSHMEM_NCCL_P(ParamGetI32);
GSHMEM_NCCL_P(ParamGetI64);
GSHMEM_NCCL_P(ParamGetU8);
GSHMEM_NCCL_P(ParamGetU16);
GSHMEM_NCCL_P(ParamGetU32);
GSHMEM_NCCL_P(ParamGetU64);
GSHMEM_NCCL_P(ParamGetStr);
GSHMEM_NCCL_P(ParamGet);
GSHMEM_NCCL_P(ParamGetParameter);
GSHMEM_NCCL_P(ParamGetAllParameterKeys);
GSHMEM_NCCL_P(ParamDumpAll);
GSHMEM_NCCL_P(RedOpCreatePreMulSum);
GSHMEM_NCCL_P(RedOpDestroy);
GSHMEM_NCCL_P(Reduce);
GSHMEM_NCCL_P(AllReduce);
GSHMEM_NCCL_P(ReduceScatter);
GSHMEM_NCCL_P(AllGather);
GSHMEM_NCCL_P(Bcast);
GSHMEM_NCCL_P(Broadcast);
GSHMEM_NCCL_P(AlltoAll);
GSHMEM_NCCL_P(Gather);
GSHMEM_NCCL_P(Scatter);
GSHMEM_NCCL_P(AllReduceConfig);
GSHMEM_NCCL_P(BroadcastConfig);
GSHMEM_NCCL_P(ReduceConfig);
GSHMEM_NCCL_P(AllGatherConfig);
GSHMEM_NCCL_P(ReduceScatterConfig);
GSHMEM_NCCL_P(AlltoAllConfig);
GSHMEM_NCCL_P(GatherConfig);
GSHMEM_NCCL_P(ScatterConfig);
GSHMEM_NCCL_P(Send);
GSHMEM_NCCL_P(Recv);
GSHMEM_NCCL_P(PutSignal);
GSHMEM_NCCL_P(Signal);
GSHMEM_NCCL_P(WaitSignal);
#undef GSHMEM_NCCL_P

#endif
