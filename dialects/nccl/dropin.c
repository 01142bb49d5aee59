/* SPDX-License-Identifier: Apache-2.0
 * libnccl.so.2: a name for libgshmem_nccl, which it needs and whose functions it gives to those who
 * load it. */
int ncclGetVersion(int *version);

/* Without a reference the linker would leave the library out. */
static int (*const needed)(int *version) __attribute__((used)) = ncclGetVersion;
