/* SPDX-License-Identifier: Apache-2.0
 * libnvshmem_host.so.3: a name for libgshmem_nvshmem, which it needs and whose functions it gives
 * to those who load it. */
int nvshmem_my_pe(void);

/* Without a reference the linker would leave the library out. */
static int (*const needed)(void) __attribute__((used)) = nvshmem_my_pe;
