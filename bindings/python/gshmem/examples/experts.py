# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts: tokens travel to the PEs of their experts and come back, in kernels from a string.

    gshmemrun -n 4 python -m gshmem.examples.experts

Each PE has one expert and N_TOKENS tokens, each of which goes to TOP_K experts. Room for each pair of PEs is fixed, so
no PE needs to know in advance how many tokens come; the signal that follows the last one says how many they were."""
import numpy

import gshmem

N_TOKENS, WIDTH, TOP_K = 64, 32, 2

SOURCE = r"""
// A block for each expert, that is for each PE. Token i's row goes into this PE's part of the expert's inbox.
__global__ void dispatch(float *inbox, uint64_t *arrived, const float *tokens, const int *experts, int *places,
                         int n_tokens, int width, int top_k)
{
    const int me = gshmem_my_pe(), expert = blockIdx.x;
    int n = 0;
    for (int i = 0; i < n_tokens * top_k; i++) {
        if (experts[i] != expert)
            continue;
        gshmemx_float_put_nbi_block(inbox + (size_t)(me * n_tokens + n) * width, tokens + (size_t)(i / top_k) * width,
                                    width, expert);
        if (threadIdx.x == 0)
            places[i] = n;
        n++;
    }
    gshmem_quiet(); // this thread's rows are there; then all threads' are
    __syncthreads();
    if (threadIdx.x == 0)
        gshmemx_signal_op(arrived + me, n + 1, GSHMEM_SIGNAL_SET, expert);
}

// A block for each PE that sends: the expert multiplies its rows by me + 1 and sends them back.
__global__ void compute(float *outbox, uint64_t *returned, float *inbox, uint64_t *arrived, int n_tokens, int width)
{
    const int me = gshmem_my_pe(), from = blockIdx.x;
    __shared__ int n;
    if (threadIdx.x == 0)
        n = (int)gshmem_signal_wait_until(arrived + from, GSHMEM_CMP_GT, 0) - 1;
    __syncthreads();
    float *rows = inbox + (size_t)from * n_tokens * width;
    for (int i = threadIdx.x; i < n * width; i += blockDim.x)
        rows[i] *= me + 1;
    __syncthreads();
    gshmemx_float_put_signal_block(outbox + (size_t)me * n_tokens * width, rows, (size_t)n * width, returned + me, 1,
                                   GSHMEM_SIGNAL_SET, from);
}

// A block for each token: the sum of what its experts made of it, by their weights.
__global__ void combine(float *result, const float *outbox, uint64_t *returned, const int *experts, const int *places,
                        const float *weights, int n_tokens, int width, int top_k)
{
    const int token = blockIdx.x;
    if (threadIdx.x == 0)
        for (int k = 0; k < top_k; k++)
            gshmem_signal_wait_until(returned + experts[token * top_k + k], GSHMEM_CMP_EQ, 1);
    __syncthreads();
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < top_k; k++) {
            const int at = token * top_k + k;
            sum += weights[at] * outbox[((size_t)experts[at] * n_tokens + places[at]) * width + i];
        }
        result[(size_t)token * width + i] = sum;
    }
}
"""


def symmetric(values):
    """A symmetric array with these values, which is on the GPU if there is one."""
    values = numpy.ascontiguousarray(values)
    array = gshmem.zeros(values.shape, values.dtype)
    if gshmem.is_on_gpu():
        import torch
        array.copy_(torch.from_numpy(values))
    else:
        array[:] = values
    return array


def main():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    top_k = min(TOP_K, n)
    random = numpy.random.default_rng(me)
    values = random.standard_normal((N_TOKENS, WIDTH)).astype('float32')
    chosen = numpy.array([random.permutation(n)[:top_k] for _ in range(N_TOKENS)], 'int32')
    shares = random.random((N_TOKENS, top_k)).astype('float32')
    tokens, experts, weights = symmetric(values), symmetric(chosen), symmetric(shares)
    places, result = gshmem.zeros((N_TOKENS, top_k), 'int32'), gshmem.zeros((N_TOKENS, WIDTH))
    inbox, outbox = gshmem.zeros((n, N_TOKENS, WIDTH)), gshmem.zeros((n, N_TOKENS, WIDTH))
    arrived, returned = gshmem.zeros(n, 'uint64'), gshmem.zeros(n, 'uint64')
    gshmem.synchronize()
    gshmem.barrier()

    module = gshmem.compile(SOURCE)
    module.dispatch(n, 32, inbox, arrived, tokens, experts, places, N_TOKENS, WIDTH, top_k)
    module.compute(n, 32, outbox, returned, inbox, arrived, N_TOKENS, WIDTH)
    module.combine(N_TOKENS, 32, result, outbox, returned, experts, places, weights, N_TOKENS, WIDTH, top_k)
    gshmem.synchronize()

    right = values * (shares * (chosen + 1)).sum(axis=1, keepdims=True)
    got = result.cpu().numpy() if gshmem.is_on_gpu() else result
    assert numpy.allclose(got, right, rtol=1e-5, atol=1e-5)
    print(f'PE {me}: {N_TOKENS} tokens came back from {n} experts')


if __name__ == '__main__':
    with gshmem.init():
        main()
