/* SPDX-License-Identifier: Apache-2.0
 * A reduction fused with what follows it: in one kernel, the ranks' partial sums of a layer's
 * output are added, and each row is normalised by its root mean square and scaled. A block takes a
 * row; rows are dealt to ranks, each of which writes its finished rows to all. */
#include "ranks.cuh"
#include <math.h>
#include <nccl_device.h>

constexpr int blocks = 2, threads = 64, rows = 12, columns = 160;
constexpr float epsilon = 1e-5f;

__global__ void rms_norm(ncclDevComm dev, ncclWindow_t win, size_t in, size_t out,
                         const float *weight)
{
    __shared__ float row[columns], squares[threads];
    ncclLsaBarrierSession<ncclCoopCta> bar{ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x};
    bar.sync(ncclCoopCta(), cuda::memory_order_relaxed);

    for (int r = dev.lsaRank + dev.lsaSize * (int)blockIdx.x; r < rows;
         r += dev.lsaSize * (int)gridDim.x) {
        const size_t at = (size_t)r * columns * sizeof(float);
        float square = 0;
        for (int i = threadIdx.x; i < columns; i += threads) {
            float sum = 0;
            for (int peer = 0; peer < dev.lsaSize; peer++)
                sum += ((const float *)ncclGetLsaPointer(win, in + at, peer))[i];
            row[i] = sum;
            square += sum * sum;
        }
        squares[threadIdx.x] = square;
        __syncthreads();
        for (int n = threads / 2; n > 0; n /= 2) {
            if ((int)threadIdx.x < n)
                squares[threadIdx.x] += squares[threadIdx.x + n];
            __syncthreads();
        }
        const float scale = 1.0f / sqrtf(squares[0] / columns + epsilon);
        for (int i = threadIdx.x; i < columns; i += threads)
            for (int peer = 0; peer < dev.lsaSize; peer++)
                ((float *)ncclGetLsaPointer(win, out + at, peer))[i] = row[i] * scale * weight[i];
        __syncthreads(); /* before squares is used again */
    }

    bar.sync(ncclCoopCta(), cuda::memory_order_release);
}

static float element(int rank, int r, int i)
{
    return (float)((rank * 7 + r * 3 + i) % 11) - 5;
}

static int check(const std::vector<float> &result, int n)
{
    int wrong = 0;
    for (int r = 0; r < rows; r++) {
        double sum[columns] = {}, square = 0;
        for (int i = 0; i < columns; i++) {
            for (int rank = 0; rank < n; rank++)
                sum[i] += element(rank, r, i);
            square += sum[i] * sum[i];
        }
        const double scale = 1 / sqrt(square / columns + epsilon);
        for (int i = 0; i < columns; i++)
            wrong += fabs(result[r * columns + i] - sum[i] * scale * (1 + i % 3)) > 1e-4;
    }
    return wrong;
}

static int run(ncclComm_t comm, int rank, int n)
{
    const size_t bytes = rows * columns * sizeof(float);
    char *data;
    float *weight;
    ncclWindow_t win;
    NCCL(ncclMemAlloc((void **)&data, 2 * bytes));
    NCCL(ncclCommWindowRegister(comm, data, 2 * bytes, &win, NCCL_WIN_COLL_SYMMETRIC));
    CUDA(cudaMalloc((void **)&weight, columns * sizeof(float)));

    ncclDevCommRequirements reqs;
    ncclDevComm dev;
    memset(&reqs, 0, sizeof reqs);
    reqs.lsaBarrierCount = blocks;
    NCCL(ncclDevCommCreate(comm, &reqs, &dev));

    std::vector<float> host(rows * columns), weights(columns);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < columns; i++)
            host[r * columns + i] = element(rank, r, i);
    for (int i = 0; i < columns; i++)
        weights[i] = (float)(1 + i % 3);
    CUDA(cudaMemcpy(data, host.data(), bytes, cudaMemcpyDefault));
    CUDA(cudaMemcpy(weight, weights.data(), columns * sizeof(float), cudaMemcpyDefault));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    LAUNCH(rms_norm, blocks, threads, stream, dev, win, 0, bytes, weight);
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(host.data(), data + bytes, bytes, cudaMemcpyDefault));
    const int wrong = check(host, n);

    CUDA(cudaStreamDestroy(stream));
    NCCL(ncclDevCommDestroy(comm, &dev));
    NCCL(ncclCommWindowDeregister(comm, win));
    NCCL(ncclMemFree(data));
    CUDA(cudaFree(weight));
    return wrong;
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, run);
}
