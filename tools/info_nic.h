/* SPDX-License-Identifier: Apache-2.0
 * gshmem-info --check-nic. */
#ifndef GSH_INFO_NIC_H
#define GSH_INFO_NIC_H

/* There is no such NIC on this machine. */
#define GSH_INFO_NO_NIC 3

/* Tries each operation of the NIC that GSHMEM_NIC names between two PEs of this process, which the
 * adapter's own loop joins, compares bytes, and prints a table. Returns the exit status: 0: all is
 * right; 1: a row is wrong, or a variable; GSH_INFO_NO_NIC: nothing was tried. */
int gsh_info_check_nic(void);

#endif
