/* SPDX-License-Identifier: Apache-2.0
 * Proves the host collectives of the NCCL layer against a host model: every type and operator, on
 * windows and on other memory, in place, of sizes that need several pieces, in groups, and on a
 * split communicator. Results of 8-bit floating-point types have the model's bits. And checks what
 * ncclGroupSimulateEnd says of a group, which is then not carried out. */
#include "tests/nccl/ranks.cuh"
#include <atomic>
#include <cuda_bf16.h>
#include <math.h>
#include <sched.h>
#include "tests/rig/float8_model.h"
#if !defined(TEST_OTHER_NCCL)
#include "dialects/nccl/comm/comm.h"
#endif

struct place {
    ncclComm_t comm;
    int rank, n;
    char *symmetric; /* a window of two buffers */
    char *plain;
    size_t bytes; /* of one buffer */
    cudaStream_t stream;
};

static const size_t type_bytes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/* ---- 8-bit floating-point numbers ---- */

/* Another NCCL may round them at other points. */
#if defined(TEST_OTHER_NCCL)
constexpr bool has_own_float8 = false;
#else
constexpr bool has_own_float8 = true;
#endif

static bool is_float8(ncclDataType_t type)
{
    return type == ncclFloat8e4m3 || type == ncclFloat8e5m2;
}

static const float8_format &format_of(ncclDataType_t type)
{
    return type == ncclFloat8e4m3 ? format_e4m3 : format_e5m2;
}

/* Every code is some rank's input: numbers of all sizes, infinities, and NaN. */
static unsigned float8_input(int rank, size_t i)
{
    return (unsigned)(i * 37 + i / 256 * 11 + (size_t)rank * 101 + (size_t)rank * i) & 0xff;
}

/* Times the factor of the program's operator, which is a number of the type, as is the product. */
static float float8_term(const float8_format &f, int rank, size_t i, float factor)
{
    const float x = (float)float8_value(f, float8_input(rank, i));
    return factor == 1 ? x : (float)float8_value(f, float8_nearest(f, x * factor));
}

/* Computed in float, and rounded once. NaN is the greatest and the least. */
static unsigned float8_combined(const place *p, size_t i, ncclDataType_t type, ncclRedOp_t op,
                                float factor)
{
    const float8_format &f = format_of(type);
    float x = float8_term(f, 0, i, factor);
    for (int r = 1; r < p->n; r++) {
        const float y = float8_term(f, r, i, factor);
        x = op == ncclProd  ? x * y
            : op == ncclMax ? (x < y || y != y ? y : x)
            : op == ncclMin ? (y < x || y != y ? y : x)
                            : x + y;
    }
    return float8_nearest(f, op == ncclAvg ? x / (float)p->n : x);
}

/* ---- numbers of every type ---- */

/* Numbers so small that every type holds each result. */
static double input(int rank, size_t i, ncclRedOp_t op)
{
    return op == ncclProd ? 1 + (rank + i) % 2 : (double)((rank * 3 + i) % 6);
}

static double combined(const place *p, size_t i, ncclRedOp_t op)
{
    double x = input(0, i, op);
    for (int r = 1; r < p->n; r++) {
        const double y = input(r, i, op);
        x = op == ncclProd  ? x * y
            : op == ncclMax ? fmax(x, y)
            : op == ncclMin ? fmin(x, y)
                            : x + y;
    }
    return op == ncclAvg ? x / p->n : x;
}

static void put_number(void *at, ncclDataType_t type, double x)
{
    const int64_t whole = (int64_t)x;
    const float f = (float)x;
    const __half h = __half(f);
    const __nv_bfloat16 b = __nv_bfloat16(f);
    switch (type) {
    case ncclFloat16:
        memcpy(at, (const void *)&h, 2);
        break;
    case ncclBfloat16:
        memcpy(at, (const void *)&b, 2);
        break;
    case ncclFloat32:
        memcpy(at, &f, 4);
        break;
    case ncclFloat64:
        memcpy(at, &x, 8);
        break;
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
        *(unsigned char *)at = (unsigned char)float8_nearest(format_of(type), x);
        break;
    default:
        memcpy(at, &whole, type_bytes[type]);
    }
}

static double number_at(const void *at, ncclDataType_t type)
{
    int64_t whole = 0;
    float f;
    double d;
    __half h;
    __nv_bfloat16 b;
    switch (type) {
    case ncclFloat16:
        memcpy((void *)&h, at, 2);
        return (float)h;
    case ncclBfloat16:
        memcpy((void *)&b, at, 2);
        return (float)b;
    case ncclFloat32:
        memcpy(&f, at, 4);
        return f;
    case ncclFloat64:
        memcpy(&d, at, 8);
        return d;
    default:
        memcpy(&whole, at, type_bytes[type]);
        return (double)whole;
    }
}

static bool is_close(double a, double b, ncclDataType_t type)
{
    const double bound = type == ncclBfloat16  ? 0.02
                         : type == ncclFloat16 ? 0.004
                         : type <= ncclUint64  ? 0
                                               : 1e-6;
    return fabs(a - b) <= bound * fabs(b);
}

static void upload(const place *p, void *dest, const std::vector<char> &v)
{
    CUDA_OK(cudaMemcpyAsync(dest, v.data(), v.size(), cudaMemcpyDefault, p->stream));
    CUDA_OK(cudaStreamSynchronize(p->stream));
}

static std::vector<char> download(const place *p, const void *source, size_t bytes)
{
    std::vector<char> v(bytes);
    CUDA_OK(cudaMemcpyAsync(v.data(), source, bytes, cudaMemcpyDefault, p->stream));
    CUDA_OK(cudaStreamSynchronize(p->stream));
    return v;
}

/* ---- reductions ---- */

static std::vector<char> inputs(const place *p, size_t nelems, ncclDataType_t type, ncclRedOp_t op)
{
    std::vector<char> v(nelems * type_bytes[type]);
    for (size_t i = 0; i < nelems; i++) {
        if (is_float8(type))
            v[i] = (char)float8_input(p->rank, i);
        else
            put_number(&v[i * type_bytes[type]], type, input(p->rank, i, op));
    }
    return v;
}

/* Several nodes combine in a different order and round between nodes. So the model then checks only
 * a maximum or minimum of numbers, a sum within a bound unless a part of it may leave the type's
 * range, and no product. */
static bool is_near_float8(const place *p, size_t i, ncclDataType_t type, ncclRedOp_t op,
                           float factor, unsigned got)
{
    static const char *const node_pes = getenv("GSHMEM_NODE_PES");
    const float8_format &f = format_of(type);
    if (node_pes == NULL || atoi(node_pes) >= p->n)
        return false;
    const double largest = type == ncclFloat8e4m3 ? 448 : 57344;
    const double step = type == ncclFloat8e4m3 ? 0x1p-4 : 0x1p-3, smallest = 0x1p-9;
    double sum = 0, magnitude = 0;
    for (int r = 0; r < p->n; r++) {
        const double y = (float)float8_value(f, float8_input(r, i)) * factor;
        sum += y;
        magnitude += fabs(y);
    }
    if (op == ncclMax || op == ncclMin)
        return isnan(magnitude);
    if (op == ncclProd || !(magnitude < largest))
        return true;
    const double n = op == ncclAvg ? p->n : 1;
    const double bound = (p->n * step * magnitude + smallest) / n + smallest;
    return fabs(float8_value(f, got) - sum / n) <= bound;
}

static void check_float8(const place *p, const std::vector<char> &v, size_t first,
                         ncclDataType_t type, ncclRedOp_t op, double factor, const char *what)
{
    const float8_format &f = format_of(type);
    for (size_t i = 0; i < v.size(); i++) {
        const unsigned got = (unsigned char)v[i];
        const unsigned expected = float8_combined(p, first + i, type, op, (float)factor);
        if (got != expected && !(float8_is_nan(f, got) && float8_is_nan(f, expected)) &&
            !is_near_float8(p, first + i, type, op, (float)factor, got)) {
            fprintf(stderr,
                    "rank %d of %d: %s of %zu, type %d, op %d: element %zu is 0x%02x, not 0x%02x\n",
                    p->rank, p->n, what, v.size(), type, op, i, got, expected);
            CHECK(!"right");
            return;
        }
    }
}

static void check_reduced(const place *p, const void *at, size_t first, size_t nelems,
                          ncclDataType_t type, ncclRedOp_t op, double factor, const char *what)
{
    const size_t width = type_bytes[type];
    const std::vector<char> v = download(p, at, nelems * width);
    if (is_float8(type)) {
        check_float8(p, v, first, type, op, factor, what);
        return;
    }
    for (size_t i = 0; i < nelems; i++) {
        double expected = combined(p, first + i, op) * factor;
        if (type <= ncclUint64)
            expected = trunc(expected);
        const double got = number_at(&v[i * width], type);
        if (!is_close(got, expected, type)) {
            fprintf(stderr, "rank %d of %d: %s of %zu, type %d, op %d: element %zu is %g, not %g\n",
                    p->rank, p->n, what, nelems, type, op, i, got, expected);
            CHECK(!"right");
            return;
        }
    }
}

static void reduce_everything(const place *p, char *base, size_t nelems, ncclDataType_t type,
                              ncclRedOp_t op, ncclRedOp_t model, double factor)
{
    if (is_float8(type) && !has_own_float8)
        return;
    const size_t width = type_bytes[type], n = (size_t)p->n;
    char *source = base, *dest = base + p->bytes;
    const std::vector<char> one = inputs(p, nelems, type, model);
    upload(p, source, one);
    OK(ncclAllReduce(source, dest, nelems, type, op, p->comm, p->stream));
    check_reduced(p, dest, 0, nelems, type, model, factor, "AllReduce");
    OK(ncclAllReduce(source, source, nelems, type, op, p->comm, p->stream));
    check_reduced(p, source, 0, nelems, type, model, factor, "AllReduce in place");

    const int root = (int)(nelems % n);
    upload(p, source, one);
    OK(ncclReduce(source, p->rank == root ? dest : NULL, nelems, type, op, root, p->comm,
                  p->stream));
    if (p->rank == root)
        check_reduced(p, dest, 0, nelems, type, model, factor, "Reduce");

    const std::vector<char> many = inputs(p, nelems * n, type, model);
    upload(p, source, many);
    OK(ncclReduceScatter(source, dest, nelems, type, op, p->comm, p->stream));
    check_reduced(p, dest, p->rank * nelems, nelems, type, model, factor, "ReduceScatter");
    char *own = source + p->rank * nelems * width;
    OK(ncclReduceScatter(source, own, nelems, type, op, p->comm, p->stream));
    check_reduced(p, own, p->rank * nelems, nelems, type, model, factor, "ReduceScatter in place");
}

/* The program's own operator: twice the sum. */
static void test_premul(const place *p, char *base, size_t nelems, ncclDataType_t type,
                        ncclScalarResidence_t residence)
{
    if (is_float8(type) && !has_own_float8)
        return;
    ncclRedOp_t op;
    char two[8] = {};
    put_number(two, type, 2);
    void *scalar = two;
    if (residence == ncclScalarDevice) {
        CUDA_OK(cudaMalloc(&scalar, sizeof two));
        CUDA_OK(cudaMemset(scalar, 0, sizeof two));
        CUDA_OK(cudaDeviceSynchronize());
    }
    OK(ncclRedOpCreatePreMulSum(&op, scalar, type, residence, p->comm));
    if (residence ==
        ncclScalarDevice) /* read when a reduction's turn comes on the stream, not before */
        CUDA_OK(cudaMemcpyAsync(scalar, two, sizeof two, cudaMemcpyDefault, p->stream));
    reduce_everything(p, base, nelems, type, op, ncclSum, 2);
    OK(ncclRedOpDestroy(op, p->comm));
    CHECK_EQ(ncclRedOpDestroy(op, p->comm), ncclInvalidArgument);
    if (residence == ncclScalarDevice)
        CUDA_OK(cudaFree(scalar));
}

/* ---- data that moves ---- */

static unsigned char byte_of(int from, int to, size_t i)
{
    return (unsigned char)(from * 31 + to * 7 + i * 5 + i / 251);
}

static std::vector<char> blocks(int from, int n_blocks, size_t bytes, int to = -1)
{
    std::vector<char> v(n_blocks * bytes);
    for (int block = 0; block < n_blocks; block++)
        for (size_t i = 0; i < bytes; i++)
            v[block * bytes + i] = (char)byte_of(from, to >= 0 ? to : block, i);
    return v;
}

/* Block b of the result came from rank from(b), which meant it for to(b). */
template <class From, class To>
static void check_blocks(const place *p, const void *at, int n_blocks, size_t bytes, From from,
                         To to, const char *what)
{
    const std::vector<char> v = download(p, at, n_blocks * bytes);
    for (int block = 0; block < n_blocks; block++) {
        for (size_t i = 0; i < bytes; i++) {
            if ((unsigned char)v[block * bytes + i] != byte_of(from(block), to(block), i)) {
                fprintf(stderr, "rank %d of %d: %s of %zu bytes: block %d differs at %zu\n",
                        p->rank, p->n, what, bytes, block, i);
                CHECK(!"right");
                return;
            }
        }
    }
}

static void move_everything(const place *p, char *base, size_t nelems, ncclDataType_t type)
{
    const size_t bytes = nelems * type_bytes[type];
    char *source = base, *dest = base + p->bytes;
    const int n = p->n, me = p->rank, root = (int)(nelems + 1) % n;
    const auto block = [](int b) { return b; };
    const auto mine = [=](int) { return me; };
    const auto zero = [](int) { return 0; };
    const auto the_root = [=](int) { return root; };

    upload(p, source, blocks(me, 1, bytes, 0));
    OK(ncclAllGather(source, dest, nelems, type, p->comm, p->stream));
    check_blocks(p, dest, n, bytes, block, zero, "AllGather");
    upload(p, dest + me * bytes, blocks(me, 1, bytes, 0));
    OK(ncclAllGather(dest + me * bytes, dest, nelems, type, p->comm, p->stream));
    check_blocks(p, dest, n, bytes, block, zero, "AllGather in place");

    OK(ncclBroadcast(me == root ? source : NULL, dest, nelems, type, root, p->comm, p->stream));
    check_blocks(p, dest, 1, bytes, the_root, zero, "Broadcast");
    OK(ncclBcast(source, nelems, type, root, p->comm, p->stream));
    check_blocks(p, source, 1, bytes, the_root, zero, "Bcast");

    upload(p, source, blocks(me, n, bytes));
    OK(ncclAlltoAll(source, dest, nelems, type, p->comm, p->stream));
    check_blocks(p, dest, n, bytes, block, mine, "AlltoAll");
    OK(ncclAlltoAll(source, source, nelems, type, p->comm, p->stream));
    check_blocks(p, source, n, bytes, block, mine, "AlltoAll in place");

    upload(p, source, blocks(me, 1, bytes, 0));
    OK(ncclGather(source, me == root ? dest : NULL, nelems, type, root, p->comm, p->stream));
    if (me == root)
        check_blocks(p, dest, n, bytes, block, zero, "Gather");
    upload(p, dest + me * bytes, blocks(me, 1, bytes, 0));
    OK(ncclGather(dest + me * bytes, dest, nelems, type, root, p->comm, p->stream));
    if (me == root)
        check_blocks(p, dest, n, bytes, block, zero, "Gather in place");

    upload(p, source, blocks(me, n, bytes));
    OK(ncclScatter(me == root ? source : NULL, dest, nelems, type, root, p->comm, p->stream));
    check_blocks(p, dest, 1, bytes, the_root, mine, "Scatter");
    OK(ncclScatter(source, me == root ? source + me * bytes : dest, nelems, type, root, p->comm,
                   p->stream));
    check_blocks(p, me == root ? source + me * bytes : dest, 1, bytes, the_root, mine,
                 "Scatter in place");
}

/* ---- groups, streams ---- */

static void hold(void *is_free)
{
    while (!static_cast<std::atomic<bool> *>(is_free)->load())
        usleep(100);
}

static void test_group(const place *p)
{
    const size_t nelems = 1000;
    float *a = (float *)p->plain, *b = a + nelems, *c = b + nelems;
    upload(p, a, inputs(p, nelems, ncclFloat, ncclSum));
    OK(ncclGroupStart());
    OK(ncclAllReduce(a, b, nelems, ncclFloat, ncclSum, p->comm, p->stream));
    OK(ncclAllReduce(a, c, nelems, ncclFloat, ncclMax, p->comm, p->stream));
    OK(ncclBroadcast(b, b, nelems, ncclFloat, 0, p->comm, p->stream));
    OK(ncclGroupEnd());
    check_reduced(p, b, 0, nelems, ncclFloat, ncclSum, 1, "AllReduce in a group");
    check_reduced(p, c, 0, nelems, ncclFloat, ncclMax, 1, "AllReduce in a group");
    /* Another stream takes its turn after this one. */
    OK(ncclAllReduce(a, b, nelems, ncclFloat, ncclSum, p->comm, p->stream));
    OK(ncclAllReduce(b, c, nelems, ncclFloat, ncclMin, p->comm, 0));
    CUDA_OK(cudaStreamSynchronize(0));
    check_reduced(p, c, 0, nelems, ncclFloat, ncclSum, 1, "AllReduce on another stream");
    /* And back, though the legacy stream's turn comes late. */
    std::atomic<bool> is_free{false};
    CUDA_OK(cudaMemset(c, 0, nelems * sizeof(float)));
    CUDA_OK(cudaMemset(b, 0, nelems * sizeof(float)));
    CUDA_OK(cudaStreamSynchronize(0));
    CUDA_OK(cudaLaunchHostFunc(0, hold, &is_free));
    OK(ncclAllReduce(a, b, nelems, ncclFloat, ncclSum, p->comm, 0));
    OK(ncclAllReduce(b, c, nelems, ncclFloat, ncclMin, p->comm, p->stream));
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(cudaStreamQuery(p->stream), cudaErrorNotReady);
        sched_yield();
    }
    is_free = true;
    CUDA_OK(cudaStreamSynchronize(p->stream));
    check_reduced(p, c, 0, nelems, ncclFloat, ncclSum, 1, "AllReduce after the legacy stream's");
}

/* Many of one kind, on two streams, some in place: one launch, in which none waits for another. */
static void test_batch(const place *p)
{
    const int n_calls = 30, step = 700;
    cudaStream_t other = NULL;
    CUDA_OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    float *a = (float *)p->plain, *b = a + n_calls * step;
    const auto nelems_of = [](int i) { return (size_t)(1 + 23 * i); };
    const auto dest_of = [=](int i) { return (i % 3 == 0 ? a : b) + i * step + i % 4; };
    for (int i = 0; i < n_calls; i++)
        upload(p, a + i * step + i % 4, inputs(p, nelems_of(i), ncclFloat, ncclSum));
#if !defined(TEST_OTHER_NCCL)
    const uint64_t n_before = p->comm->batch.n_launches;
#endif
    OK(ncclGroupStart());
    for (int i = 0; i < n_calls; i++)
        OK(ncclAllReduce(a + i * step + i % 4, dest_of(i), nelems_of(i), ncclFloat, ncclSum,
                         p->comm, i % 2 == 0 ? p->stream : other));
    OK(ncclGroupEnd());
#if !defined(TEST_OTHER_NCCL)
    CHECK_EQ(p->comm->batch.n_launches, n_before + p->comm->has_inbox);
#endif
    place q = *p;
    for (int i = 0; i < n_calls; i++) {
        q.stream = i % 2 == 0 ? p->stream : other;
        check_reduced(&q, dest_of(i), 0, nelems_of(i), ncclFloat, ncclSum, 1, "AllReduce, batched");
    }
    CUDA_OK(cudaStreamDestroy(other));
}

/* ---- a group that is not carried out ---- */

static float simulated(const place *p, size_t nelems, int n_calls, bool has_transfers)
{
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    float *a = (float *)p->plain, *b = a + nelems;
    OK(ncclGroupStart());
    for (int i = 0; i < n_calls; i++)
        OK(ncclAllReduce(a, b, nelems, ncclFloat, ncclSum, p->comm, p->stream));
    for (int peer = 0; has_transfers && peer < p->n; peer++) {
        OK(ncclSend(a, nelems, ncclFloat, peer, p->comm, p->stream));
        OK(ncclRecv(b, nelems, ncclFloat, peer, p->comm, p->stream));
    }
    OK(ncclGroupSimulateEnd(&info));
    return info.estimatedTime;
}

static void test_simulation(const place *p)
{
    const size_t few = 1, many = 40000;
    const std::vector<char> before(2 * p->bytes, 7);
    upload(p, p->plain, before);
    const float nothing = simulated(p, few, 0, false), launch = simulated(p, few, 1, false);
    CHECK(nothing == 0 && launch > 0);
    CHECK(fabsf(simulated(p, few, 3, false) - 3 * launch) < 0.01f * launch);
    /* bytes count equally; those of sends and receives at once, with one launch */
    const float data = simulated(p, many, 1, false) - launch;
    CHECK(p->n == 1 || data > 0);
    CHECK(fabsf(simulated(p, 2 * many, 1, false) - launch - 2 * data) <= 0.01f * data);
    CHECK(fabsf(simulated(p, many, 0, true) - launch - data * (float)p->n / 2) <= 0.01f * data);
    CHECK(download(p, p->plain, before.size()) == before);

    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    CHECK_EQ(ncclGroupSimulateEnd(&info), ncclInvalidUsage);
    OK(ncclGroupStart());
    OK(ncclGroupStart());
    OK(ncclAllReduce(p->plain, p->plain, 1, ncclFloat, ncclSum, p->comm, p->stream));
    OK(ncclGroupSimulateEnd(&info)); /* an inner one */
    CHECK(info.estimatedTime == NCCL_UNDEF_FLOAT);
    ncclSimInfo_t wrong[3] = {info, info, info};
    wrong[0].magic++;
    wrong[1].size = 8;
    wrong[2].version = 0;
    for (ncclSimInfo_t &w : wrong)
        CHECK_EQ(ncclGroupSimulateEnd(&w), ncclInvalidArgument);
    CHECK_EQ(ncclGroupSimulateEnd(NULL), ncclInvalidArgument);
    OK(ncclGroupSimulateEnd(&info)); /* the group was still open */
    CHECK(fabsf(info.estimatedTime - launch) < 0.01f * launch);
    CHECK_EQ(ncclGroupEnd(), ncclInvalidUsage);
    CHECK(download(p, p->plain, before.size()) == before);
}

static void run_all(const place *p)
{
    const ncclDataType_t types[] = {ncclInt8,    ncclUint8,    ncclInt32,      ncclUint32,
                                    ncclInt64,   ncclUint64,   ncclFloat16,    ncclFloat32,
                                    ncclFloat64, ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2};
    for (char *base : {p->plain, p->symmetric}) {
        for (ncclDataType_t type : types) {
            for (int op = ncclSum; op <= ncclAvg; op++)
                reduce_everything(p, base, 37, type, (ncclRedOp_t)op, (ncclRedOp_t)op, 1);
            test_premul(p, base, 11, type, ncclScalarHostImmediate);
        }
        test_premul(p, base, 700, ncclFloat, ncclScalarDevice);
        test_premul(p, base, 300, ncclFloat8e4m3, ncclScalarDevice);
        for (int op = ncclSum; op <= ncclAvg; op++)
            for (ncclDataType_t type : {ncclFloat8e4m3, ncclFloat8e5m2})
                reduce_everything(p, base, 1500, type, (ncclRedOp_t)op, (ncclRedOp_t)op, 1);
        /* In float, in which these sums are exact. */
        reduce_everything(p, base, p->bytes / 4 / p->n, ncclFloat8e4m3, ncclAvg, ncclAvg, 1);
        /* More than a piece of scratch. */
        reduce_everything(p, base, p->bytes / 4 / p->n, ncclFloat, ncclSum, ncclSum, 1);
        for (ncclDataType_t type : {ncclInt8, ncclFloat8e4m3, ncclFloat16, ncclFloat32, ncclInt64})
            for (size_t nelems : {0, 1, 5, 512, 3001})
                move_everything(p, base, nelems, type);
        move_everything(p, base, p->bytes / 8 / p->n, ncclInt64);
    }
    /* At every misalignment that the type allows. */
    for (int off = 1; off < 16; off++)
        move_everything(p, p->plain + off, 301, ncclInt8);
    for (int off = 4; off < 16; off += 4)
        reduce_everything(p, p->plain + off, 301, ncclFloat, ncclSum, ncclSum, 1);
    reduce_everything(p, p->plain + 2, 301, ncclBfloat16, ncclMax, ncclMax, 1);
    reduce_everything(p, p->plain + 1, 301, ncclFloat8e4m3, ncclAvg, ncclAvg, 1);
    test_group(p);
    test_batch(p);
    if (has_own_float8)
        test_simulation(p);
}

static int run_rank(const test_rank *r)
{
    place p = {};
    ncclWindow_t win = NULL;
    p.rank = r->rank;
    p.n = r->n;
    p.bytes = 640 << 10;
    OK(ncclCommInitRank(&p.comm, r->n, r->id, r->rank));
    CUDA_OK(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
    OK(ncclMemAlloc((void **)&p.symmetric, 2 * p.bytes));
    CUDA_OK(cudaMalloc(&p.plain, 2 * p.bytes));
    OK(ncclCommWindowRegister(p.comm, p.symmetric, 2 * p.bytes, &win, NCCL_WIN_COLL_SYMMETRIC));
    run_all(&p);

    /* With every second rank, in reverse order: their windows, too. */
    place part = p;
    ncclWindow_t part_win = NULL;
    OK(ncclCommSplit(p.comm, r->rank % 2, -r->rank, &part.comm, NULL));
    OK(ncclCommCount(part.comm, &part.n));
    OK(ncclCommUserRank(part.comm, &part.rank));
    OK(ncclCommWindowRegister(part.comm, p.symmetric, 2 * p.bytes, &part_win,
                              NCCL_WIN_COLL_SYMMETRIC));
    for (char *base : {part.plain, part.symmetric}) {
        reduce_everything(&part, base, 300, ncclFloat, ncclSum, ncclSum, 1);
        reduce_everything(&part, base, 300, ncclInt32, ncclAvg, ncclAvg, 1);
        if (has_own_float8) {
            reduce_everything(&part, base, 300, ncclFloat8e5m2, ncclAvg, ncclAvg, 1);
            reduce_everything(&part, base, 300, ncclFloat8e4m3, ncclSum, ncclSum, 1);
        }
        move_everything(&part, base, 300, ncclFloat);
    }
    OK(ncclCommDestroy(part.comm));
    OK(ncclCommWindowDeregister(p.comm, win));
    OK(ncclMemFree(p.symmetric));
    CUDA_OK(cudaFree(p.plain));
    CUDA_OK(cudaStreamDestroy(p.stream));
    OK(ncclCommDestroy(p.comm));
    return 0;
}

int main(int argc, char **argv)
{
    return test_ranks(argc, argv, run_rank);
}
