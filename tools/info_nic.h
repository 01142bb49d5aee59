/* SPDX-License-Identifier: Apache-2.0
 * gshmem-info --check-nic. */
#ifndef GSH_INFO_NIC_H
#define GSH_INFO_NIC_H

/* Tries each operation of the NIC that GSHMEM_NIC names between two PEs of this process, which the
 * adapter's own loop joins, compares bytes, and prints a table. Returns how many rows are wrong. */
int gsh_info_check_nic(void);

#endif
