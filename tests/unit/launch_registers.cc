/* SPDX-License-Identifier: Apache-2.0
 * Proves what a launch that fails says about the kernel's registers: how many it uses, and for how
 * many a block of that size has room; nothing if they are few enough, or the block is too large for
 * any kernel. CUDA's runtime and the library are functions of this file. */
#include "gshmem/detail/launch_cuda.h"
#include "tests/test.h"

static int kernel, registers_of_kernel, n_said, said[3];
static cudaError_t launch_error;

extern "C" {
cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *of, const void *)
{
    of->numRegs = registers_of_kernel;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int)
{
    *value = which == cudaDevAttrMaxRegistersPerBlock ? 65536 : 1024;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *, int, size_t)
{
    *n = 0;
    return cudaSuccess;
}
cudaError_t cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t)
{
    return launch_error;
}
int gshmemx_init_status(void)
{
    return GSHMEM_STATUS_NOT_INITIALIZED;
}
int gshmemx_device_setup(void)
{
    return 0;
}
void gshmemx_launch_begin(const char *) {}
void gshmemx_launch_end(void) {}
void gshmemx_launch_refused(unsigned long long, int)
{
    CHECK(false); /* there is no grid that fits */
}
void gshmemx_launch_lacks_registers(const char *call, int n_registers, int n_threads, int most)
{
    CHECK_STR(call, "gshmemx_collective_launch");
    said[0] = n_registers;
    said[1] = n_threads;
    said[2] = most;
    n_said++;
}
}

static void launch(cudaError_t error, int n_registers, dim3 block)
{
    launch_error = error;
    registers_of_kernel = n_registers;
    n_said = 0;
    CHECK((gshmemx_collective_launch(&kernel, 1, block, nullptr, 0, nullptr) == 0) ==
          (error == cudaSuccess));
}

static void expect_said(int n_registers, int n_threads, int most)
{
    CHECK_EQ(n_said, 1);
    CHECK_EQ(said[0], n_registers);
    CHECK_EQ(said[1], n_threads);
    CHECK_EQ(said[2], most);
}

int main()
{
    launch(cudaErrorLaunchOutOfResources, 84, dim3(1024));
    expect_said(84, 1024, 64);
    launch(cudaErrorCooperativeLaunchTooLarge, 143, dim3(16, 8, 4));
    expect_said(143, 512, 128);
    launch(cudaErrorLaunchOutOfResources, 72, dim3(1000));
    expect_said(72, 1000, 64);
    launch(cudaErrorLaunchOutOfResources, 64, dim3(1024)); /* something else is missing */
    CHECK_EQ(n_said, 0);
    launch(cudaErrorInvalidConfiguration, 84, dim3(2048));
    CHECK_EQ(n_said, 0);
    launch(cudaSuccess, 40, dim3(1024));
    CHECK_EQ(n_said, 0);
    return test_result();
}
