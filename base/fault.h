/* SPDX-License-Identifier: Apache-2.0
 * Failures on demand, for tests: each place in heap/ where the system may refuse something, and
 * each in proxy/ where memory for staging may be refused, asks gsh_fault first. All such places are
 * cold. Faults of the CUDA driver are made by a table of the test's own (gsh_cuda_override). */
#ifndef GSH_FAULT_H
#define GSH_FAULT_H

#include <stdbool.h>

/* From now on the n-th call of gsh_fault on this thread, counted from 1, returns true; 0: none
 * does. With `for_good` all later calls do, too. */
void gsh_fault_arm(unsigned n, bool for_good);
/* Whether this operation is to fail; errno is then ENOMEM. */
bool gsh_fault(void);

#endif
