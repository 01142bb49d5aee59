/* SPDX-License-Identifier: Apache-2.0
 * What messages call the numbers of wire/wq.h, for the model and for the plug-in. */
#ifndef GSH_NIC_NAMES_H
#define GSH_NIC_NAMES_H

/* NULL: there is no such opcode. */
const char *gsh_nic_opcode_name(unsigned opcode);
const char *gsh_nic_syndrome_name(unsigned syndrome);

#endif
