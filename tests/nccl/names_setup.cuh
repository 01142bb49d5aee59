/* SPDX-License-Identifier: Apache-2.0
 * What each kernel of names.cu is given. */
#ifndef GSH_TEST_NCCL_NAMES_SETUP_CUH
#define GSH_TEST_NCCL_NAMES_SETUP_CUH

#include "tests/nccl/faults.cuh"
#include <nccl_device.h>

constexpr int n_threads = 128, n_elements = 203;

struct layout {
    uint64_t signal, value, got; /* a signal in the window, and what is put beside it */
    char three[4];
    uint32_t small;
    uint64_t seen[64];
    double in[n_elements], out[n_elements], copies[3][n_elements]; /* or smaller elements */
};
#define OFF(member) offsetof(layout, member)

struct setup {
    ncclDevComm dev;
    ncclWindow_t win;
    ncclSymPtr<uint64_t> seen; /* made by the host */
    ncclLLA2AHandle a2a;
    ncclDevResourceHandle buffer;
    ncclGinBarrierHandle own_gin;
    bool is_for_multimem;
};

#endif
