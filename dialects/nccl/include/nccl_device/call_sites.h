/* SPDX-License-Identifier: Apache-2.0
 * Where calls of the host stand in the program, for hang reports: macros of those that wait, or put
 * on a stream what waits, or are carried out at the end of a group. Included by nccl.h, in files
 * that are compiled with GSHMEM_CALL_SITES, and by nothing else. */
#ifndef GSHMEM_NCCL_CALL_SITES_H
#define GSHMEM_NCCL_CALL_SITES_H

#include <gshmem/detail/call_sites.h>

#define ncclCommInitRank(...)         GSHMEM_AT_SITE(ncclCommInitRank(__VA_ARGS__))
#define ncclCommInitRankConfig(...)   GSHMEM_AT_SITE(ncclCommInitRankConfig(__VA_ARGS__))
#define ncclCommInitRankScalable(...) GSHMEM_AT_SITE(ncclCommInitRankScalable(__VA_ARGS__))
#define ncclCommInitAll(...)          GSHMEM_AT_SITE(ncclCommInitAll(__VA_ARGS__))
#define ncclCommSplit(...)            GSHMEM_AT_SITE(ncclCommSplit(__VA_ARGS__))
#define ncclCommShrink(...)           GSHMEM_AT_SITE(ncclCommShrink(__VA_ARGS__))
#define ncclCommGrow(...)             GSHMEM_AT_SITE(ncclCommGrow(__VA_ARGS__))
#define ncclCommFinalize(...)         GSHMEM_AT_SITE(ncclCommFinalize(__VA_ARGS__))
#define ncclCommDestroy(...)          GSHMEM_AT_SITE(ncclCommDestroy(__VA_ARGS__))
#define ncclCommAbort(...)            GSHMEM_AT_SITE(ncclCommAbort(__VA_ARGS__))
#define ncclCommRevoke(...)           GSHMEM_AT_SITE(ncclCommRevoke(__VA_ARGS__))
#define ncclGroupEnd(...)             GSHMEM_AT_SITE(ncclGroupEnd(__VA_ARGS__))
#define ncclCommWindowRegister(...)   GSHMEM_AT_SITE(ncclCommWindowRegister(__VA_ARGS__))
#define ncclCommWindowDeregister(...) GSHMEM_AT_SITE(ncclCommWindowDeregister(__VA_ARGS__))
#define ncclReduce(...)               GSHMEM_AT_SITE(ncclReduce(__VA_ARGS__))
#define ncclAllReduce(...)            GSHMEM_AT_SITE(ncclAllReduce(__VA_ARGS__))
#define ncclReduceScatter(...)        GSHMEM_AT_SITE(ncclReduceScatter(__VA_ARGS__))
#define ncclAllGather(...)            GSHMEM_AT_SITE(ncclAllGather(__VA_ARGS__))
#define ncclBcast(...)                GSHMEM_AT_SITE(ncclBcast(__VA_ARGS__))
#define ncclBroadcast(...)            GSHMEM_AT_SITE(ncclBroadcast(__VA_ARGS__))
#define ncclAlltoAll(...)             GSHMEM_AT_SITE(ncclAlltoAll(__VA_ARGS__))
#define ncclGather(...)               GSHMEM_AT_SITE(ncclGather(__VA_ARGS__))
#define ncclScatter(...)              GSHMEM_AT_SITE(ncclScatter(__VA_ARGS__))
#define ncclAllReduceConfig(...)      GSHMEM_AT_SITE(ncclAllReduceConfig(__VA_ARGS__))
#define ncclBroadcastConfig(...)      GSHMEM_AT_SITE(ncclBroadcastConfig(__VA_ARGS__))
#define ncclReduceConfig(...)         GSHMEM_AT_SITE(ncclReduceConfig(__VA_ARGS__))
#define ncclAllGatherConfig(...)      GSHMEM_AT_SITE(ncclAllGatherConfig(__VA_ARGS__))
#define ncclReduceScatterConfig(...)  GSHMEM_AT_SITE(ncclReduceScatterConfig(__VA_ARGS__))
#define ncclAlltoAllConfig(...)       GSHMEM_AT_SITE(ncclAlltoAllConfig(__VA_ARGS__))
#define ncclGatherConfig(...)         GSHMEM_AT_SITE(ncclGatherConfig(__VA_ARGS__))
#define ncclScatterConfig(...)        GSHMEM_AT_SITE(ncclScatterConfig(__VA_ARGS__))
#define ncclSend(...)                 GSHMEM_AT_SITE(ncclSend(__VA_ARGS__))
#define ncclRecv(...)                 GSHMEM_AT_SITE(ncclRecv(__VA_ARGS__))
#define ncclPutSignal(...)            GSHMEM_AT_SITE(ncclPutSignal(__VA_ARGS__))
#define ncclSignal(...)               GSHMEM_AT_SITE(ncclSignal(__VA_ARGS__))
#define ncclWaitSignal(...)           GSHMEM_AT_SITE(ncclWaitSignal(__VA_ARGS__))

#endif
