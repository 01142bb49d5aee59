/* SPDX-License-Identifier: Apache-2.0
 * The numbers that adapters give their queues. Each end of a connection needs the number of the
 * other end, so at start-up a PE sends its numbers to the PEs to which the queues lead, by messages
 * of its proxy. The queues to a PE are made one after another. An adapter that makes no other queue
 * meanwhile numbers them evenly, and 16 bytes say all. Otherwise a second message lists the
 * numbers. */
#ifndef GSH_NIC_NUMBERS_H
#define GSH_NIC_NUMBERS_H

#include "runtime/instance/instance.h"

/* To and from a far PE whose proxy runs; n: how many queues lead there and back. Both return when
 * the job ends, too; failures are noted. receive waits. */
GSH_CHECK_RESULT enum gsh_result gsh_nic_numbers_send(struct gsh_instance *pe, int to,
                                                      const uint32_t *numbers, uint32_t n);
GSH_CHECK_RESULT enum gsh_result gsh_nic_numbers_receive(struct gsh_instance *pe, int from,
                                                         uint32_t *numbers, uint32_t n);

/* What the messages are made of; for tests. */
struct gsh_nic_even {
    uint32_t first, step; /* modulo 2^24 */
    uint32_t n, is_even;
};
struct gsh_nic_even gsh_nic_numbers_pack(const uint32_t *numbers, uint32_t n);
/* False: no PE of this version has sent that. */
bool gsh_nic_numbers_unpack(const struct gsh_nic_even *even, uint32_t *numbers, uint32_t n);

#endif
