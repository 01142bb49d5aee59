/* SPDX-License-Identifier: Apache-2.0
 * Proves: in a host file that a C++ compiler builds beside CUDA's headers, the half and bfloat16
 * calls take CUDA's types, whichever header comes first, and pass the same bits. */
#ifdef HALF_FIRST
#include <cuda_fp16.h>
#endif
#include "gshmemx.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>
#include "tests/test.h"

static_assert(std::is_same<gshmem_half_t, __half>::value, "CUDA's type");
static_assert(std::is_same<gshmem_bfloat16_t, __nv_bfloat16>::value, "CUDA's type");

int main()
{
    gshmem_init();
    __half *h = (__half *)gshmem_malloc(8 * sizeof(__half));
    __nv_bfloat16 *b = (__nv_bfloat16 *)gshmem_malloc(8 * sizeof(__nv_bfloat16));
    CHECK(h != NULL && b != NULL);
    const __half source[2] = {__float2half(1.5f), __float2half(-2.0f)};
    gshmem_half_put(h, source, 2, 0);
    gshmem_put(h + 2, source, 2, 0);
    gshmem_half_p(h + 4, __float2half(0.25f), 0);
    gshmem_bfloat16_p(b, __float2bfloat16(3.0f), 0);
    gshmem_p(b + 1, __float2bfloat16(-0.5f), 0);
    gshmem_quiet();
    CHECK(__half2float(gshmem_half_g(h + 1, 0)) == -2.0f);
    CHECK(__half2float(gshmem_g(h + 2, 0)) == 1.5f);
    CHECK(__half2float(gshmem_g(h + 4, 0)) == 0.25f);
    CHECK(__bfloat162float(gshmem_bfloat16_g(b, 0)) == 3.0f);
    CHECK(__bfloat162float(gshmem_g(b + 1, 0)) == -0.5f);
    gshmem_free(b);
    gshmem_free(h);
    gshmem_finalize();
    return test_result();
}
