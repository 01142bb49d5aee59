/* SPDX-License-Identifier: Apache-2.0
 * Proves that nothing is lost on any route under load: rounds of mixed operations between all PEs,
 * from kernels and from the host, each checked. With --rounds=0 it goes on until something ends it;
 * PE 0 says "running" after the first round.
 *
 *     storm MODE [--rounds=N] [--seed=N]
 *     mixed     per round and PE: p, small and large puts with signals, strided puts, gets, AMOs
 *     barriers  kernel and host barriers and syncs, which no PE may leave too early
 *     grow      the heap grows and shrinks, with puts into what is new
 *     large     megabytes between all PEs at once, by a kernel's put_signal and the host's gets:
 * many pieces each, where data are staged */
#include "tests/rig/pe.cuh"

namespace
{

enum { big_words = 400003 };
enum { words = 512, large_bytes = 300000, strided = 61, counters = 4 };

/* Symmetric. What PE s writes on PE d lies in d's row s, so writes never overlap. */
struct row {
    uint64_t signal[2]; /* of small and large: the round */
    uint64_t p;         /* a value of the round */
    uint64_t small_data[words];
    uint64_t spread[4 * strided];
};

struct scene {
    test_pe pe;
    row *rows;                  /* [n] */
    uint64_t *counter;          /* [counters]: all PEs add to those of all */
    char *large, *large_source; /* [n][large_bytes] */
    uint64_t *source;           /* [words] */
    uint64_t *big, *big_source; /* mode large: [n][big_words], [big_words] */
    verdict *v;
    uint64_t seed;
};

HD uint64_t mixed_up(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = (a * 0x9e3779b97f4a7c15u) ^ (b * 0xc2b2ae3d27d4eb4fu) ^ (c * 0x165667b19e3779f9u);
    x ^= x >> 29;
    return x * 0xbf58476d1ce4e5b9u;
}

/* By one block; its threads share the work of sending to all others, then each checks what came. */
__global__ void send_round(scene s, uint64_t round)
{
    const int me = s.pe.me, n = s.pe.n;
    for (int i = (int)threadIdx.x; i < words; i += (int)blockDim.x)
        s.source[i] = mixed_up(round, (uint64_t)me, (uint64_t)i);
    __syncthreads();
    for (int k = 1; k < n; k++) {
        const int to = (me + k) % n;
        row *r = &s.rows[me];
        const size_t some = 1 + mixed_up(round, (uint64_t)me, (uint64_t)to) % words;
        gshmemx_uint64_put_signal_block(r->small_data, s.source, some, &r->signal[0], round,
                                        GSHMEM_SIGNAL_SET, to);
        if (threadIdx.x == 0) {
            gshmem_uint64_p(&r->p, mixed_up(round, (uint64_t)to, 7), to);
            gshmem_uint64_iput(r->spread, s.source, 4, 2, strided, to);
        }
        if (threadIdx.x < counters)
            gshmem_uint64_atomic_add(&s.counter[threadIdx.x], threadIdx.x + 1, to);
        if (threadIdx.x == 1 % blockDim.x)
            gshmemx_signal_op(&s.counter[0], 1, GSHMEM_SIGNAL_ADD, to);
    }
    __syncthreads();
}

__global__ void check_signalled(scene s, uint64_t round)
{
    const int me = s.pe.me, n = s.pe.n;
    for (int from = 0; from < n; from++) {
        if (from == me)
            continue;
        row *r = &s.rows[from];
        gshmem_signal_wait_until(&r->signal[0], GSHMEM_CMP_GE, round);
        const size_t some = 1 + mixed_up(round, (uint64_t)from, (uint64_t)me) % words;
        for (size_t i = some; i-- > 0;)
            EXPECT_AT(s.v, r->small_data[i], mixed_up(round, (uint64_t)from, i), i);
    }
}

/* After a barrier. */
__global__ void check_round(scene s, uint64_t round)
{
    const int me = s.pe.me, n = s.pe.n;
    for (int from = 0; from < n; from++) {
        if (from == me)
            continue;
        const row *r = &s.rows[from];
        EXPECT_EQ(s.v, r->p, mixed_up(round, (uint64_t)me, 7));
        for (int i = 0; i < strided; i++)
            EXPECT_AT(s.v, r->spread[4 * i], mixed_up(round, (uint64_t)from, 2u * (unsigned)i), i);
    }
    for (int k = 0; k < counters; k++)
        EXPECT_AT(s.v, gshmem_uint64_atomic_fetch(&s.counter[k], me),
                  round * (uint64_t)(n - 1) * (uint64_t)(k + 1 + (k == 0)), k);
    const int to = s.pe.next;
    uint64_t got[8];
    gshmem_uint64_get(got, s.source, 8, to);
    for (uint64_t i = 0; i < 8; i++)
        EXPECT_AT(s.v, got[i], mixed_up(round, (uint64_t)to, i), i);
    EXPECT_EQ(s.v, gshmem_uint64_g(&s.rows[me].p, to),
              n > 1 ? mixed_up(round, (uint64_t)to, 7) : 0);
}

/* A large put with its signal by the host, to one PE. */
void host_large(const scene &s, uint64_t round)
{
    const int to = (s.pe.me + 1 + (int)(round % (uint64_t)(s.pe.n - 1))) % s.pe.n;
    const int from = (s.pe.me + s.pe.n - 1 - (int)(round % (uint64_t)(s.pe.n - 1))) % s.pe.n;
    char *got = (char *)malloc(large_bytes), *wanted = (char *)malloc(large_bytes);
    if (!got || !wanted)
        test_fatal("no memory");
    test_fill(wanted, large_bytes, mixed_up(s.seed, round, (uint64_t)s.pe.me));
    test_copy(s.large_source, wanted, large_bytes);
    gshmem_putmem_signal(s.large + (size_t)s.pe.me * large_bytes, s.large_source, large_bytes,
                         &s.rows[s.pe.me].signal[1], round, GSHMEM_SIGNAL_SET, to);
    gshmem_signal_wait_until(&s.rows[from].signal[1], GSHMEM_CMP_GE, round);
    test_fill(wanted, large_bytes, mixed_up(s.seed, round, (uint64_t)from));
    test_copy(got, s.large + (size_t)from * large_bytes, large_bytes);
    CHECK(memcmp(got, wanted, large_bytes) == 0);
    free(got);
    free(wanted);
}

void mixed(const scene &s, uint64_t round)
{
    test_collective(&s.pe, send_round, 1, 32, s, round);
    test_collective(&s.pe, check_signalled, 1, 1, s, round);
    test_sync(&s.pe);
    if (s.pe.n > 1 && round % 4 == 0)
        host_large(s, round);
    gshmem_barrier_all();
    test_collective(&s.pe, check_round, 1, 1, s, round);
    test_sync(&s.pe);
    JUDGE(&s.pe, s.v, "mixed");
    gshmem_barrier_all();
}

__global__ void cross_barriers(scene s, uint64_t round, int times)
{
    const int me = s.pe.me, n = s.pe.n;
    for (int i = 0; i < times; i++) {
        const uint64_t turn = round * (uint64_t)times + (uint64_t)i + 1;
        if (threadIdx.x == 0)
            for (int k = 1; k < n; k++)
                gshmem_uint64_p(&s.rows[me].p, turn, (me + k) % n);
        gshmemx_barrier_all_block();
        if (threadIdx.x == 0)
            for (int k = 1; k < n; k++)
                EXPECT_EQ(s.v, s.rows[(me + k) % n].p, turn);
        gshmemx_sync_all_block();
    }
}

void barriers(const scene &s, uint64_t round)
{
    test_collective(&s.pe, cross_barriers, 1, 32, s, round - 1, 8);
    test_sync(&s.pe);
    JUDGE(&s.pe, s.v, "barriers");
    gshmem_barrier_all();
    gshmem_sync_all();
}

void grow(const scene &s, uint64_t round)
{
    const size_t n_words = ((size_t)1 << 18) * (1 + round % 5); /* 2 to 10 MiB */
    uint64_t *fresh = (uint64_t *)gshmem_malloc(n_words * sizeof(uint64_t));
    if (!fresh)
        test_fatal("gshmem_malloc of %zu words gave NULL", n_words);
    const uint64_t mine = mixed_up(round, (uint64_t)s.pe.me, 1);
    gshmem_uint64_p(&fresh[n_words - 1], mine, s.pe.next);
    gshmem_uint64_put(fresh, s.source, words, s.pe.next);
    gshmem_barrier_all();
    CHECK_EQ(gshmem_uint64_g(&fresh[n_words - 1], s.pe.me),
             mixed_up(round, (uint64_t)s.pe.previous, 1));
    gshmem_free(fresh);
}

__global__ void send_big(scene s, uint64_t round)
{
    for (int k = 1; k < s.pe.n; k++)
        gshmemx_uint64_put_signal_block(s.big + (size_t)s.pe.me * big_words, s.big_source,
                                        big_words, &s.rows[s.pe.me].signal[0], round,
                                        GSHMEM_SIGNAL_SET, (s.pe.me + k) % s.pe.n);
    if (threadIdx.x == 0)
        for (int from = 0; from < s.pe.n; from++)
            if (from != s.pe.me)
                gshmem_signal_wait_until(&s.rows[from].signal[0], GSHMEM_CMP_GE, round);
}

void check_big(const scene &s, const uint64_t *here, uint64_t round, int from)
{
    const size_t bytes = big_words * sizeof(uint64_t);
    char *got = (char *)malloc(bytes), *wanted = (char *)malloc(bytes);
    if (!got || !wanted)
        test_fatal("no memory");
    test_fill(wanted, bytes, mixed_up(s.seed, round, (uint64_t)from));
    test_copy(got, here, bytes);
    CHECK(memcmp(got, wanted, bytes) == 0);
    free(got);
    free(wanted);
}

void large(const scene &s, uint64_t round)
{
    const size_t bytes = big_words * sizeof(uint64_t);
    uint64_t *mine = (uint64_t *)malloc(bytes);
    if (!mine)
        test_fatal("no memory");
    test_fill((char *)mine, bytes, mixed_up(s.seed, round, (uint64_t)s.pe.me));
    test_copy(s.big_source, mine, bytes);
    gshmem_barrier_all();
    test_collective(&s.pe, send_big, 1, 32, s, round);
    test_sync(&s.pe);
    uint64_t *own = s.big + (size_t)s.pe.me * big_words; /* no PE puts there */
    gshmem_uint64_get(own, s.big_source, big_words, s.pe.next);
    for (int from = 0; from < s.pe.n; from++)
        check_big(s, s.big + (size_t)from * big_words, round, from == s.pe.me ? s.pe.next : from);
    gshmem_barrier_all();
    free(mine);
}

int run(scene &s, const char *mode, uint64_t rounds)
{
    void (*const step)(const scene &, uint64_t) = strcmp(mode, "mixed") == 0      ? mixed
                                                  : strcmp(mode, "barriers") == 0 ? barriers
                                                  : strcmp(mode, "grow") == 0     ? grow
                                                  : strcmp(mode, "large") == 0    ? large
                                                                                  : nullptr;
    if (!step) {
        fprintf(stderr, "storm: no mode '%s'\n", mode);
        return 2;
    }
    for (uint64_t round = 1; rounds == 0 || round <= rounds; round++) {
        step(s, round);
        if (round == 1 && s.pe.me == 0) {
            printf("running\n");
            fflush(stdout);
        }
    }
    return 0;
}

int pe_main(int argc, char **argv)
{
    scene s = {};
    s.pe = test_begin();
    s.seed = test_number(argc, argv, "seed", 1);
    s.rows = (row *)test_heap((size_t)s.pe.n * sizeof *s.rows);
    s.counter = (uint64_t *)test_heap(counters * sizeof(uint64_t));
    s.large = (char *)test_heap((size_t)s.pe.n * large_bytes);
    s.large_source = (char *)test_heap(large_bytes);
    s.source = (uint64_t *)test_heap(words * sizeof(uint64_t));
    if (argc > 1 && strcmp(argv[1], "large") == 0) {
        s.big = (uint64_t *)test_heap((size_t)s.pe.n * big_words * sizeof(uint64_t));
        s.big_source = (uint64_t *)test_heap(big_words * sizeof(uint64_t));
    }
    s.v = test_verdict();
    const int failed = run(s, argc > 1 ? argv[1] : "", test_number(argc, argv, "rounds", 1));
    gshmem_barrier_all();
    const int result = test_end(&s.pe);
    return failed ? failed : result;
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
