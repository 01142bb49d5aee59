/* SPDX-License-Identifier: Apache-2.0
 * Proves ncclSend and ncclRecv: pairs, rings, to the same rank, all-to-all, with sizes from a byte
 * to many pieces, several from one rank to another in order, groups that are divided differently on
 * the two sides, groups of hundreds and on several streams, and random patterns. */
#include "tests/nccl/ranks.cuh"

struct place {
    ncclComm_t comm;
    int rank, n;
    cudaStream_t stream;
};

static unsigned char byte_of(int from, int to, int number, size_t i)
{
    return (unsigned char)(from * 37 + to * 11 + number * 3 + i * 7 + i / 250);
}

/* Device memory that holds a message's bytes, or is to receive them. */
struct message {
    int from, to, number;
    size_t bytes;
    unsigned char *p;

    message(const place *where, int from_, int to_, int number_, size_t bytes_)
        : from(from_), to(to_), number(number_), bytes(bytes_), p(NULL)
    {
        std::vector<unsigned char> v(bytes, 0xee);
        CUDA_OK(cudaMalloc(&p, bytes + 1));
        for (size_t i = 0; where->rank == from && i < bytes; i++)
            v[i] = byte_of(from, to, number, i);
        CUDA_OK(cudaMemcpy(p, v.data(), bytes, cudaMemcpyDefault));
        CUDA_OK(cudaStreamSynchronize(0)); /* up to 64 KiB are on their way; streams do not wait */
    }
    void check() const
    {
        std::vector<unsigned char> v(bytes);
        CUDA_OK(cudaMemcpy(v.data(), p, bytes, cudaMemcpyDefault));
        for (size_t i = 0; i < bytes; i++) {
            if (v[i] != byte_of(from, to, number, i)) {
                fprintf(stderr, "message %d from %d to %d, %zu bytes: differs at %zu\n", number,
                        from, to, bytes, i);
                CHECK(!"right");
                return;
            }
        }
    }
};

static void done(const place *p, std::vector<message> *sent, std::vector<message> *received)
{
    CUDA_OK(cudaStreamSynchronize(p->stream));
    for (const message &m : *received)
        m.check();
    for (std::vector<message> *all : {sent, received})
        for (message &m : *all)
            CUDA_OK(cudaFree(m.p));
}

static void send(const place *p, const message &m)
{
    OK(ncclSend(m.p, m.bytes, ncclUint8, m.to, p->comm, p->stream));
}

static void recv(const place *p, const message &m)
{
    OK(ncclRecv(m.p, m.bytes, ncclUint8, m.from, p->comm, p->stream));
}

/* To the rank `distance` further, from the one `distance` before; 0: to itself. */
static void test_ring(const place *p, int distance, size_t bytes)
{
    std::vector<message> out, in;
    out.emplace_back(p, p->rank, (p->rank + distance) % p->n, 0, bytes);
    in.emplace_back(p, (p->rank + p->n - distance) % p->n, p->rank, 0, bytes);
    if (distance == 0)
        in[0].from = p->rank;
    OK(ncclGroupStart());
    recv(p, in[0]);
    send(p, out[0]);
    OK(ncclGroupEnd());
    done(p, &out, &in);
}

/* Several sends of a rank to itself, which meet its receives in order, however they are mixed in
 * the group, and whatever else is in it: sends to the next rank, a collective, pairs of no bytes,
 * and one in place. Any alignment. order: 0: receives first; 1: sends first; 2: in turn; 3: all
 * sends but the last before a receive, in groups of a group. */
static void test_own(const place *p, int order, int n_pairs, size_t bytes, bool is_mixed)
{
    const int next = (p->rank + 1) % p->n, before = (p->rank + p->n - 1) % p->n;
    std::vector<message> out, in;
    is_mixed = is_mixed && p->n > 1;
    for (int i = 0; i < n_pairs; i++) {
        const size_t some = i % 5 == 3 ? 0 : bytes + (size_t)i * 77;
        out.emplace_back(p, p->rank, p->rank, i, some);
        in.emplace_back(p, p->rank, p->rank, i, some);
        if (i != 1)
            CUDA_OK(cudaMemset(in.back().p, 0xee, some));
    }
    const size_t odd = bytes / 2;
    unsigned char *shifted = NULL;
    CUDA_OK(cudaMalloc(&shifted, 2 * odd + 16));
    int *sums = NULL;
    CUDA_OK(cudaMalloc(&sums, 2 * sizeof(int)));
    CUDA_OK(cudaMemcpy(sums, &p->rank, sizeof(int), cudaMemcpyDefault));
    CUDA_OK(cudaDeviceSynchronize());
    std::vector<message> out_next, in_next;
    OK(ncclGroupStart());
    if (is_mixed) {
        out_next.emplace_back(p, p->rank, next, 99, bytes);
        in_next.emplace_back(p, before, p->rank, 99, bytes);
        send(p, out_next[0]);
        OK(ncclAllReduce(sums, sums + 1, 1, ncclInt, ncclSum, p->comm, p->stream));
    }
    for (int i = 0; i < n_pairs && order != 2; i++) {
        if (order == 3)
            OK(ncclGroupStart());
        if (order == 0)
            recv(p, in[i]);
        else if (order == 1 || i + 1 < n_pairs)
            send(p, out[i]);
        if (order == 3)
            OK(ncclGroupEnd());
    }
    for (int i = 0; i < n_pairs; i++) {
        if (order == 0 || order == 2)
            send(p, out[i]);
        if (order != 0)
            recv(p, in[i]);
    }
    if (order == 3)
        send(p, out[n_pairs - 1]);
    /* in place, and from one odd address to another, of the bytes that the last one has */
    OK(ncclSend(out[0].p, out[0].bytes, ncclUint8, p->rank, p->comm, p->stream));
    OK(ncclRecv(out[0].p, out[0].bytes, ncclUint8, p->rank, p->comm, p->stream));
    OK(ncclSend(out[n_pairs - 1].p + 1, odd, ncclUint8, p->rank, p->comm, p->stream));
    OK(ncclRecv(shifted + 7, odd, ncclUint8, p->rank, p->comm, p->stream));
    if (is_mixed)
        recv(p, in_next[0]);
    OK(ncclGroupEnd());
    CUDA_OK(cudaStreamSynchronize(p->stream));
    out[0].check();
    std::vector<unsigned char> v(odd);
    CUDA_OK(cudaMemcpy(v.data(), shifted + 7, odd, cudaMemcpyDefault));
    for (size_t i = 0; i < odd; i++)
        CHECK_EQ(v[i], byte_of(p->rank, p->rank, n_pairs - 1, i + 1));
    int sum = 0;
    CUDA_OK(cudaMemcpy(&sum, sums + 1, sizeof sum, cudaMemcpyDefault));
    if (is_mixed)
        CHECK_EQ(sum, p->n * (p->n - 1) / 2);
    CUDA_OK(cudaFree(sums));
    CUDA_OK(cudaFree(shifted));
    done(p, &out, &in);
    done(p, &out_next, &in_next);
}

#if !defined(TEST_OTHER_NCCL)
/* What a rank sends to itself it receives in the same group, with as many bytes. Such an error
 * leaves the communicator as it was. */
static void test_own_errors(const place *p)
{
    message m(p, p->rank, p->rank, 0, 100), other(p, p->rank, p->rank, 0, 100);
    CHECK_EQ(ncclSend(m.p, 100, ncclUint8, p->rank, p->comm, p->stream), ncclInvalidUsage);
    CHECK_EQ(ncclRecv(m.p, 100, ncclUint8, p->rank, p->comm, p->stream), ncclInvalidUsage);
    OK(ncclGroupStart());
    send(p, m);
    send(p, m);
    recv(p, other);
    CHECK_EQ(ncclGroupEnd(), ncclInvalidUsage);
    OK(ncclGroupStart());
    OK(ncclSend(m.p, 99, ncclUint8, p->rank, p->comm, p->stream));
    recv(p, other);
    CHECK_EQ(ncclGroupEnd(), ncclInvalidArgument);
    CUDA_OK(cudaFree(m.p));
    CUDA_OK(cudaFree(other.p));
}
#else
static void test_own_errors(const place *) {}
#endif

/* A pair without groups: the lower rank sends first. */
static void test_pairs(const place *p, size_t bytes)
{
    const int other = p->rank ^ 1;
    if (other >= p->n)
        return;
    std::vector<message> out, in;
    out.emplace_back(p, p->rank, other, 1, bytes);
    in.emplace_back(p, other, p->rank, 1, bytes);
    if (p->rank < other) {
        send(p, out[0]);
        recv(p, in[0]);
    } else {
        recv(p, in[0]);
        send(p, out[0]);
    }
    done(p, &out, &in);
}

/* In one direction only: nothing but the rings' own words tells the sender what has been read. */
static void test_one_way(const place *p, int n, size_t bytes)
{
    const int other = p->rank ^ 1;
    if (other >= p->n)
        return;
    std::vector<message> out, in;
    OK(ncclGroupStart());
    for (int i = 0; i < n; i++) {
        if (p->rank < other) {
            out.emplace_back(p, p->rank, other, i, bytes);
            send(p, out.back());
        } else {
            in.emplace_back(p, other, p->rank, i, bytes);
            recv(p, in.back());
        }
    }
    OK(ncclGroupEnd());
    done(p, &out, &in);
}

/* One side uses a group, the other one call after another, so the group's send and receive must
 * proceed independently. */
static void test_uneven_groups(const place *p, size_t bytes)
{
    const int other = p->rank ^ 1;
    if (other >= p->n)
        return;
    std::vector<message> out, in;
    for (int i = 0; i < 3; i++) {
        out.emplace_back(p, p->rank, other, i, bytes + i * 999);
        in.emplace_back(p, other, p->rank, i, bytes + i * 999);
    }
    const bool has_group = p->rank < other;
    if (has_group)
        OK(ncclGroupStart());
    for (int i = 0; i < 3; i++)
        recv(p, in[i]);
    for (int i = 0; i < 3; i++)
        send(p, out[i]);
    if (has_group)
        OK(ncclGroupEnd());
    done(p, &out, &in);
}

/* Pairs whose lower rank sends, and then the upper one: large ones from a window, where the
 * receiver may read them, others between. The sender writes over them at once. has_more: the
 * receiver's group also sends. */
static void test_windows(const place *p, bool has_more)
{
    const int other = p->rank ^ 1;
    const size_t sizes[] = {1100001, 40000, 1300000, 100}, most = 1400000;
    const int n = 4, in_window = 0x0d; /* a bit for each that is in the window */
    unsigned char *memory = NULL;
    ncclWindow_t win = NULL;
    OK(ncclMemAlloc((void **)&memory, n * most));
    OK(ncclCommWindowRegister(p->comm, memory, n * most, &win, NCCL_WIN_COLL_SYMMETRIC));
    for (int round = 0; round < 4 && other < p->n; round++) {
        const bool is_sender = (round % 2 == 0) == (p->rank < other);
        const int from = is_sender ? p->rank : other, to = is_sender ? other : p->rank;
        std::vector<message> out, in, answer;
        for (int i = 0; i < n; i++)
            (is_sender ? out : in).emplace_back(p, from, to, round * n + i, sizes[i]);
        answer.emplace_back(p, to, from, 77, 30000);
        for (int i = 0; i < n && is_sender; i++)
            CUDA_OK(cudaMemcpy(memory + i * most + i, out[i].p, sizes[i], cudaMemcpyDefault));
        CUDA_OK(cudaDeviceSynchronize());
        OK(ncclGroupStart());
        for (int i = 0; i < n && is_sender; i++)
            OK(ncclSend((in_window >> i & 1) != 0 ? memory + i * most + i : out[i].p, sizes[i],
                        ncclUint8, to, p->comm, p->stream));
        for (const message &m : in)
            recv(p, m);
        if (!is_sender && has_more)
            send(p, answer[0]);
        OK(ncclGroupEnd());
        if (is_sender)
            CUDA_OK(cudaMemsetAsync(memory, 0xdd, n * most, p->stream));
        if (is_sender && has_more)
            recv(p, answer[0]);
        CUDA_OK(cudaStreamSynchronize(p->stream));
        if (is_sender && has_more)
            answer[0].check();
        CUDA_OK(cudaFree(answer[0].p));
        done(p, &out, &in);
    }
    OK(ncclCommWindowDeregister(p->comm, win));
    OK(ncclMemFree(memory));
}

/* Every rank has the same plan for all messages. */
static void test_random(const place *p, uint64_t seed, size_t most)
{
    std::vector<message> out, in;
    const int n_messages = 20;
    OK(ncclGroupStart());
    for (int i = 0; i < n_messages; i++) {
        const int from = (int)(test_random(&seed) % p->n), to = (int)(test_random(&seed) % p->n);
        const size_t bytes = test_random(&seed) % (i % 4 == 0 ? most : 100);
        if (to == p->rank) {
            in.emplace_back(p, from, to, i, bytes);
            recv(p, in.back());
        }
        if (from == p->rank) {
            out.emplace_back(p, from, to, i, bytes);
            send(p, out.back());
        }
    }
    OK(ncclGroupEnd());
    done(p, &out, &in);
}

static void test_all_to_all(const place *p, size_t bytes)
{
    std::vector<message> out, in;
    OK(ncclGroupStart());
    for (int peer = 0; peer < p->n; peer++) {
        out.emplace_back(p, p->rank, peer, 2, bytes + p->rank * 100);
        in.emplace_back(p, peer, p->rank, 2, bytes + peer * 100);
        send(p, out.back());
        recv(p, in.back());
    }
    OK(ncclGroupEnd());
    done(p, &out, &in);
}

/* More transfers than a kernel's arguments hold, none of which may wait for another: the lower rank
 * of a pair sends to the upper one in the order in which that one receives, and receives in
 * reverse. Twice, since memory that the first launch took is reused by the second. */
static void test_many(const place *p, int n_each)
{
    for (int round = 0; round < 2; round++) {
        std::vector<message> out, in;
        for (int i = 0; i < n_each; i++) {
            const size_t bytes = i % 50 == 7 ? 90000 : 1 + (size_t)i % 40;
            for (int peer = 0; peer < p->n; peer++) {
                out.emplace_back(p, p->rank, peer, i, bytes);
                in.emplace_back(p, peer, p->rank, i, bytes);
            }
        }
        OK(ncclGroupStart());
        for (size_t i = 0; i < out.size(); i++) {
            send(p, out[i]);
            recv(p, in[p->rank % 2 == 0 ? i : i / p->n * p->n + p->n - 1 - i % p->n]);
        }
        OK(ncclGroupEnd());
        done(p, &out, &in);
    }
}

/* A group on three streams: earlier work on any of them comes before all of it, and later work on
 * any comes after all. The rank's own bytes go from buffer to buffer, one stream further each time;
 * another stream sends a word that a kernel sets late. */
static void test_streams(const place *p)
{
    const size_t bytes = 3000;
    const int n_steps = 6, next = (p->rank + 1) % p->n, before = (p->rank + p->n - 1) % p->n;
    cudaStream_t streams[3] = {p->stream, NULL, 0};
    CUDA_OK(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
    unsigned char *place[2] = {};
    std::vector<unsigned char> v(bytes);
    for (size_t i = 0; i < bytes; i++)
        v[i] = byte_of(p->rank, 0, 0, i);
    for (int i = 0; i < 2; i++)
        CUDA_OK(cudaMalloc(&place[i], bytes));
    CUDA_OK(cudaMemcpy(place[0], v.data(), bytes, cudaMemcpyDefault));
    CUDA_OK(cudaDeviceSynchronize());
    for (int step = 0; step < n_steps; step++) {
        OK(ncclGroupStart());
        OK(ncclSend(place[0], bytes, ncclUint8, next, p->comm, streams[step % 3]));
        OK(ncclRecv(place[1], bytes, ncclUint8, before, p->comm, streams[(step + 2) % 3]));
        OK(ncclGroupEnd());
        /* on a stream that has only the send; the next receive is on it */
        CUDA_OK(cudaMemcpyAsync(place[0], place[1], bytes, cudaMemcpyDefault, streams[step % 3]));
    }
    CUDA_OK(cudaStreamSynchronize(streams[(n_steps - 1) % 3]));
    CUDA_OK(cudaMemcpy(v.data(), place[0], bytes, cudaMemcpyDefault));
    const int from = ((p->rank - n_steps) % p->n + p->n) % p->n;
    for (size_t i = 0; i < bytes; i++)
        CHECK_EQ(v[i], byte_of(from, 0, 0, i));
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaStreamDestroy(streams[1]));
    for (int i = 0; i < 2; i++)
        CUDA_OK(cudaFree(place[i]));
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 0) || !defined(TEST_OTHER_NCCL)
/* Each rank puts into a window of all others, three times, and waits for theirs; first for two of
 * the puts, then for one. */
static void test_signals(const place *p)
{
    const size_t count = 5000;
    int *window_memory = NULL, *source = NULL;
    ncclWindow_t win = NULL;
    OK(ncclMemAlloc((void **)&window_memory, p->n * count * sizeof(int)));
    OK(ncclCommWindowRegister(p->comm, window_memory, p->n * count * sizeof(int), &win,
                              NCCL_WIN_DEFAULT));
    CUDA_OK(cudaMalloc((void **)&source, 2 * count * sizeof(int)));
    std::vector<int> v(2 * count);
    for (size_t i = 0; i < 2 * count; i++)
        v[i] = p->rank * 100000 + (int)i;
    CUDA_OK(cudaMemcpy(source, v.data(), 2 * count * sizeof(int), cudaMemcpyDefault));
    CUDA_OK(cudaStreamSynchronize(0));
    const size_t mine = p->rank * count * sizeof(int);
    std::vector<ncclWaitSignalDesc_t> two, one;
    for (int peer = 0; peer < p->n; peer++) {
        OK(ncclPutSignal(source, count, ncclInt, peer, win, mine, 0, 0, 0, p->comm, p->stream));
        OK(ncclPutSignal(source + count, 10, ncclInt, peer, win, mine, 0, 0, 0, p->comm,
                         p->stream));
        OK(ncclSignal(peer, 0, 0, 0, p->comm, p->stream));
        two.push_back({2, peer, 0, 0});
        one.push_back({1, peer, 0, 0});
    }
    OK(ncclWaitSignal(p->n, two.data(), p->comm, p->stream));
    std::vector<int> seen(p->n * count);
    CUDA_OK(cudaStreamSynchronize(p->stream));
    CUDA_OK(cudaMemcpy(seen.data(), window_memory, seen.size() * sizeof(int), cudaMemcpyDefault));
    for (int peer = 0; peer < p->n; peer++)
        for (size_t i = 0; i < count; i++)
            CHECK_EQ(seen[peer * count + i], peer * 100000 + (int)(i < 10 ? count + i : i));
    OK(ncclWaitSignal(p->n, one.data(), p->comm, p->stream));
    CUDA_OK(cudaStreamSynchronize(p->stream));
    CHECK_EQ(ncclPutSignal(source, 1, ncclInt, 0, win, p->n * count * sizeof(int), 0, 0, 0, p->comm,
                           p->stream),
             ncclInvalidArgument);
    CHECK_EQ(ncclPutSignal(source, 1, ncclInt, 0, NULL, 0, 0, 0, 0, p->comm, p->stream),
             ncclInvalidArgument);
    CHECK_EQ(ncclSignal(p->n, 0, 0, 0, p->comm, p->stream), ncclInvalidArgument);
    CHECK_EQ(ncclSignal(0, 1, 0, 0, p->comm, p->stream), ncclInvalidArgument);
    OK(ncclCommWindowDeregister(p->comm, win));
    OK(ncclMemFree(window_memory));
    CUDA_OK(cudaFree(source));
}
#else
static void test_signals(const place *) {}
#endif

static int run_rank(const test_rank *r)
{
    place p = {NULL, r->rank, r->n, NULL};
    OK(ncclCommInitRank(&p.comm, r->n, r->id, r->rank));
    CUDA_OK(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
    for (size_t bytes : {0, 1, 1000, 7001, 65536, 700001}) {
        for (int distance = 0; distance < p.n; distance++)
            test_ring(&p, distance, bytes);
        test_pairs(&p, bytes);
        test_uneven_groups(&p, bytes);
    }
    /* more than the rings hold, of each kind */
    test_one_way(&p, 8, 1001);
    test_one_way(&p, 8, 20001);
    test_one_way(&p, 2, 2200001);
    test_all_to_all(&p, 40000);
    for (int order = 0; order < 4; order++)
        test_own(&p, order, order == 1 ? 150 : 7, order == 1 ? 300 : 5000, order > 0);
    test_own(&p, 2, 2, 3000001, true);
    test_own_errors(&p);
    test_windows(&p, false);
    test_windows(&p, true);
    test_signals(&p);
    test_many(&p, 40);
    test_streams(&p);
    uint64_t seed = 1;
    for (int round = 0; round < 5; round++)
        test_random(&p, test_random(&seed), 300000);
    CUDA_OK(cudaStreamDestroy(p.stream));
    OK(ncclCommDestroy(p.comm));
    return 0;
}

int main(int argc, char **argv)
{
    return test_ranks(argc, argv, run_rank);
}
