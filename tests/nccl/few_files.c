/* SPDX-License-Identifier: Apache-2.0
 * Proves that ncclCommInitAll fails as soon as one of its ranks cannot start, for want of
 * descriptors, and does not wait for the others until their time limit of ten minutes. */
#include <nccl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "tests/test.h"

enum { N = 4, TOO_FEW = 20 };

int main(void)
{
    const struct rlimit few = {TOO_FEW, TOO_FEW};
    ncclComm_t comms[N];
    setenv("GSHMEM_DEVICE", "cpu", 1);
    setenv("GSHMEM_BOOTSTRAP_TIMEOUT", "600", 1);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    alarm(50);
    CHECK(ncclCommInitAll(comms, N, NULL) != ncclSuccess);
    return test_result();
}
