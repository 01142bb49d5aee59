# SPDX-License-Identifier: Apache-2.0
"""An all-reduce in a kernel from a string: each PE sends its numbers to all others, with a signal, and adds up what
comes.

    gshmemrun -n 4 python -m gshmem.examples.kernels"""
import gshmem

SOURCE = r"""
__global__ void all_reduce(float *inbox, uint64_t *arrived, const float *mine, float *sum, int n, uint64_t round)
{
    const int me = gshmem_my_pe(), n_pes = gshmem_n_pes();
    if (threadIdx.x < n_pes)  // a thread for each PE
        gshmem_float_put_signal(inbox + me * n, mine, n, arrived + me, round, GSHMEM_SIGNAL_SET, threadIdx.x);
    for (int pe = threadIdx.x; pe < n_pes; pe += blockDim.x)
        gshmem_signal_wait_until(arrived + pe, GSHMEM_CMP_GE, round);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float s = 0;
        for (int pe = 0; pe < n_pes; pe++)
            s += inbox[pe * n + i];
        sum[i] = s;
    }
}
"""


def main():
    me, n_pes, n = gshmem.my_pe(), gshmem.n_pes(), 1000
    inbox, arrived = gshmem.zeros((n_pes, n)), gshmem.zeros(n_pes, 'uint64')
    mine, total = gshmem.zeros(n), gshmem.zeros(n)
    mine[:] = me + 1
    gshmem.barrier()
    module = gshmem.compile(SOURCE)
    module.all_reduce(1, 64, inbox, arrived, mine, total, n, 1)
    gshmem.synchronize()
    print(f'PE {me}: the sum is {float(total[0])}')
    assert (total == n_pes * (n_pes + 1) / 2).all()


if __name__ == '__main__':
    with gshmem.init():
        main()
