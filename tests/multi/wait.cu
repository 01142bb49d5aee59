/* SPDX-License-Identifier: Apache-2.0
 * Proves wait_until and test in all their forms, for each type and comparison, on the host, in
 * kernels and on a stream: edge values by the type's own sign, status arrays, empty sets, results
 * and indices as in OpenSHMEM 1.5, and waits that another PE ends.
 *
 *     wait [--type=NAME] */
#include "tests/multi/wait_calls.cuh"

enum { n_ivars = 11, n_cmps = 6 }; /* more than a wait for all polls at once */

template <class T> static __noinline__ HD bool holds(T a, int cmp, T b)
{
    switch (cmp) {
    case GSHMEM_CMP_EQ:
        return a == b;
    case GSHMEM_CMP_NE:
        return a != b;
    case GSHMEM_CMP_GT:
        return a > b;
    case GSHMEM_CMP_LE:
        return a <= b;
    case GSHMEM_CMP_LT:
        return a < b;
    default:
        return a >= b;
    }
}

/* Values at which signed and unsigned, and narrow and wide types differ. */
template <class T> static __noinline__ HD T edge(int i)
{
    const int bits = 8 * (int)sizeof(T);
    switch (i) {
    case 0:
        return (T)0;
    case 1:
        return (T)1;
    case 2:
        return (T)-1; /* the greatest value of an unsigned type */
    case 3:
        return (T)(1ull << (bits - 1)); /* the least value of a signed type */
    case 4:
        return (T)((1ull << (bits - 1)) - 1);
    default:
        return (T)(1ull << (bits / 2));
    }
}
enum { n_edges = 6 };

/* ---- sets that nobody changes: also run in kernels and on the host --------------------------- */

template <class Calls>
static __noinline__ HD void set_own(typename Calls::type *ivars, const typename Calls::type *values,
                                    int n)
{
    for (int i = 0; i < n; i++)
        Calls::p(&ivars[i], values[i], gshmem_my_pe());
    gshmem_quiet();
}

template <class Calls>
static __noinline__ HD void check_edges(typename Calls::type *ivars, verdict *v)
{
    typedef typename Calls::type T;
    for (int a = 0; a < n_edges; a++) {
        const T value = edge<T>(a);
        set_own<Calls>(ivars, &value, 1);
        for (int b = 0; b < n_edges; b++)
            for (int cmp = 0; cmp < n_cmps; cmp++) {
                const bool want = holds(value, cmp, edge<T>(b));
                EXPECT_AT(v, Calls::test(ivars, cmp, edge<T>(b)) != 0, want,
                          a * 100 + b * 10 + cmp);
                if (want) /* must return */
                    Calls::until(ivars, cmp, edge<T>(b));
            }
    }
}

/* Whether exactly the elements of `want` are in indices[0 .. n), each once. */
static __noinline__ HD bool are_indices(const size_t *indices, size_t n, unsigned want)
{
    unsigned found = 0;
    for (size_t i = 0; i < n; i++) {
        if (indices[i] >= n_ivars || (found & 1u << indices[i]))
            return false;
        found |= 1u << indices[i];
    }
    return found == want;
}

/* One set: which comparisons hold, and which are excluded, as bits. */
template <class Calls>
static __noinline__ HD void check_set(typename Calls::type *ivars, size_t n, const int *status,
                                      int cmp, const typename Calls::type *values,
                                      typename Calls::type value, typename Calls::type *wanted,
                                      verdict *v)
{
    unsigned watched = 0, held = 0, held_vector = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned bit = status && status[i] ? 0 : 1u << i;
        watched |= bit;
        held |= holds(values[i], cmp, value) ? bit : 0;
        held_vector |= holds(values[i], cmp, wanted[i]) ? bit : 0;
    }
    size_t indices[n_ivars] = {99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};
    size_t got;

    EXPECT_EQ(v, Calls::test_all(ivars, n, status, cmp, value) != 0, held == watched);
    EXPECT_EQ(v, Calls::test_all_vector(ivars, n, status, cmp, wanted) != 0,
              held_vector == watched);
    got = Calls::test_any(ivars, n, status, cmp, value);
    EXPECT_AT(v, held ? got < n && (held & 1u << got) : got == SIZE_MAX, true, got);
    got = Calls::test_any_vector(ivars, n, status, cmp, wanted);
    EXPECT_AT(v, held_vector ? got < n && (held_vector & 1u << got) : got == SIZE_MAX, true, got);
    got = Calls::test_some(ivars, n, indices, status, cmp, value);
    EXPECT_AT(v, got <= n && are_indices(indices, got, held), true, got);
    got = Calls::test_some_vector(ivars, n, indices, status, cmp, wanted);
    EXPECT_AT(v, got <= n && are_indices(indices, got, held_vector), true, got);

    /* Waits that must not block: something holds, or all is excluded. */
    if (held || !watched) {
        got = Calls::until_any(ivars, n, status, cmp, value);
        EXPECT_AT(v, held ? got < n && (held & 1u << got) : got == SIZE_MAX, true, got);
        got = Calls::until_some(ivars, n, indices, status, cmp, value);
        EXPECT_AT(v, got <= n && are_indices(indices, got, held), true, got);
    }
    if (held_vector || !watched) {
        got = Calls::until_any_vector(ivars, n, status, cmp, wanted);
        EXPECT_AT(v, held_vector ? got < n && (held_vector & 1u << got) : got == SIZE_MAX, true,
                  got);
        got = Calls::until_some_vector(ivars, n, indices, status, cmp, wanted);
        EXPECT_AT(v, got <= n && are_indices(indices, got, held_vector), true, got);
    }
    if (held == watched)
        Calls::until_all(ivars, n, status, cmp, value);
    if (held_vector == watched)
        Calls::until_all_vector(ivars, n, status, cmp, wanted);
}

template <class Calls>
static __noinline__ HD void check_sets(typename Calls::type *ivars, verdict *v)
{
    typedef typename Calls::type T;
    T values[n_ivars], wanted[n_ivars];
    for (int i = 0; i < n_ivars; i++) {
        values[i] = (T)(i - 3); /* for an unsigned type the first three are the greatest */
        wanted[i] = (T)(i % 2 ? i - 3 : i - 2);
    }
    set_own<Calls>(ivars, values, n_ivars);
    int status[n_ivars];
    for (int mask = 0; mask < 4; mask++) { /* none excluded, some, all but one, all */
        for (int i = 0; i < n_ivars; i++)
            status[i] = mask == 0 ? 0 : mask == 1 ? i % 2 : mask == 2 ? (i == 5 ? 0 : 7) : -1;
        for (int cmp = 0; cmp < n_cmps; cmp++)
            for (int value = -4; value <= 5; value += 3) {
                check_set<Calls>(ivars, n_ivars, status, cmp, values, (T)value, wanted, v);
                check_set<Calls>(ivars, 1, mask ? status : nullptr, cmp, values, (T)value, wanted,
                                 v);
            }
    }
    for (int cmp = 0; cmp < n_cmps; cmp++) {
        check_set<Calls>(ivars, n_ivars, nullptr, cmp, values, (T)0, wanted, v);
        check_set<Calls>(ivars, 0, nullptr, cmp, values, (T)0, wanted, v);
        check_set<Calls>(ivars, 0, status, cmp, values, (T)0, wanted, v);
    }
}

/* ---- sets that the previous PE changes while this one waits ---------------------------------- */

/* Every PE plays both parts. The previous PE may be ahead of this one, so values only grow, with a
 * fence between the waves, and the waits ask for at least a value; only the last wave is waited for
 * exactly. */
template <class Calls>
static __noinline__ HD void check_arrivals(typename Calls::type *ivars, int next, verdict *v)
{
    typedef typename Calls::type T;
    T wanted[n_ivars];
    int status[n_ivars] = {0};
    size_t indices[n_ivars];
    for (int i = 0; i < n_ivars; i++)
        wanted[i] = (T)(20 + i);

    Calls::p(&ivars[3], (T)10, next);
    Calls::until(&ivars[3], GSHMEM_CMP_GE, (T)10);
    gshmem_fence();

    /* Each element arrives once and is taken once, by the first call to find it. */
    for (int i = n_ivars; i-- > 0;)
        Calls::p(&ivars[i], (T)(20 + i), next);
    for (size_t n_taken = 0; n_taken < n_ivars / 2; n_taken++) {
        const size_t at =
            n_taken % 2 ? Calls::until_any(ivars, n_ivars, status, GSHMEM_CMP_GE, (T)20)
                        : Calls::until_any_vector(ivars, n_ivars, status, GSHMEM_CMP_GE, wanted);
        EXPECT_AT(v, at < n_ivars && status[at] == 0, true, at);
        if (at < n_ivars)
            status[at] = 1;
    }
    size_t n_left = 0;
    for (int i = 0; i < n_ivars; i++)
        n_left += status[i] == 0;
    EXPECT_EQ(v, n_left, n_ivars - n_ivars / 2);
    for (int turn = 0; n_left > 0 && v->n_failed == 0; turn++) {
        const size_t got =
            turn % 2
                ? Calls::until_some(ivars, n_ivars, indices, status, GSHMEM_CMP_GT, (T)19)
                : Calls::until_some_vector(ivars, n_ivars, indices, status, GSHMEM_CMP_GE, wanted);
        EXPECT_AT(v, got >= 1 && got <= n_left, true, got);
        for (size_t i = 0; i < got; i++) {
            EXPECT_AT(v, indices[i] < n_ivars && status[indices[i]] == 0, true, indices[i]);
            if (indices[i] < n_ivars)
                status[indices[i]] = 1;
        }
        n_left -= got <= n_left ? got : n_left;
    }
    EXPECT_EQ(v, Calls::until_any(ivars, n_ivars, status, GSHMEM_CMP_EQ, (T)77), SIZE_MAX);

    /* The last two waves, each as a whole. */
    gshmem_fence();
    for (int i = 0; i < n_ivars; i++)
        Calls::p(&ivars[i], (T)(40 + i), next);
    Calls::until_all(ivars, n_ivars, nullptr, GSHMEM_CMP_GE, (T)40);
    gshmem_fence();
    for (int i = 0; i < n_ivars; i++) {
        wanted[i] = (T)(60 + i);
        Calls::p(&ivars[i], (T)(60 + i), next);
    }
    Calls::until_all_vector(ivars, n_ivars, nullptr, GSHMEM_CMP_EQ, wanted);
    for (int i = 0; i < n_ivars; i++)
        EXPECT_AT(v, Calls::test(&ivars[i], GSHMEM_CMP_EQ, wanted[i]) != 0, true, i);
}

template <class Calls> __global__ void still_kernel(typename Calls::type *ivars, verdict *v)
{
    check_edges<Calls>(ivars, v);
    check_sets<Calls>(ivars, v);
}

template <class Calls> __global__ void arrivals_kernel(typename Calls::type *ivars, verdict *v)
{
    check_arrivals<Calls>(ivars, (gshmem_my_pe() + 1) % gshmem_n_pes(), v);
}

/* ---- on a stream ----------------------------------------------------------------------------- */

template <class Calls>
static void check_stream(const test_pe *pe, typename Calls::type *ivars, const char *name)
{
    typedef typename Calls::type T;
    T *copy = (T *)test_device((n_ivars + 1) * sizeof(T));
    T *wanted = (T *)test_device(n_ivars * sizeof(T));
    int *status = (int *)test_device(n_ivars * sizeof(int));
    T host_wanted[n_ivars], found[n_ivars + 1], zero[n_ivars + 1] = {};
    int host_status[n_ivars];
    for (int i = 0; i < n_ivars; i++) {
        host_wanted[i] = (T)(6 + i);
        host_status[i] = i % 2;
    }
    test_copy(wanted, host_wanted, sizeof host_wanted);
    test_copy(status, host_status, sizeof host_status);
    test_copy(copy, zero, sizeof zero);

    /* Each copy takes its turn after a wait, and nothing has been put before the barrier. */
    Calls::until_on_stream(&ivars[0], GSHMEM_CMP_GE, (T)5, pe->stream);
    CUDA(cudaMemcpyAsync(&copy[n_ivars], &ivars[0], sizeof(T), cudaMemcpyDefault, pe->stream));
    Calls::until_all_on_stream(ivars, n_ivars, status, GSHMEM_CMP_NE, (T)0, pe->stream);
    Calls::until_all_on_stream(ivars, 0, nullptr, GSHMEM_CMP_NE, (T)0, pe->stream);
    Calls::until_all_vector_on_stream(ivars, n_ivars, nullptr, GSHMEM_CMP_EQ, wanted, pe->stream);
    CUDA(cudaMemcpyAsync(copy, ivars, n_ivars * sizeof(T), cudaMemcpyDefault, pe->stream));
    gshmem_barrier_all();
    for (int i = n_ivars; i-- > 0;)
        Calls::p(&ivars[i], (T)(6 + i), pe->next);
    test_sync(pe);
    test_copy(found, copy, sizeof found);
    bool is_good = CHECK(found[n_ivars] >= (T)5);
    for (int i = 0; i < n_ivars; i++)
        is_good = CHECK_EQ(found[i], host_wanted[i]) && is_good;
    if (!is_good)
        fprintf(stderr, "    with type %s on PE %d, on a stream\n", name, pe->me);
    test_free(status);
    test_free(wanted);
    test_free(copy);
}

/* ---- all types ------------------------------------------------------------------------------- */

/* All PEs have zeros in ivars, and know that. */
template <class T> static void clear(T *ivars)
{
    const T zero[n_ivars] = {};
    gshmem_barrier_all();
    test_copy(ivars, zero, sizeof zero);
    gshmem_barrier_all();
}

template <class Calls> static void check_type(const test_pe *pe, const char *name)
{
    typedef typename Calls::type T;
    T *ivars = (T *)test_heap(n_ivars * sizeof(T));
    verdict *v = test_verdict();
    verdict on_host = {};
    char text[64];

    gshmem_launch(still_kernel<Calls>, dim3(1), dim3(1), 0, pe->stream, ivars, v);
    test_sync(pe);
    snprintf(text, sizeof text, "type %s, in a kernel", name);
    JUDGE(pe, v, text);
    clear(ivars);
    test_collective(pe, arrivals_kernel<Calls>, 1, 1, ivars, v);
    test_sync(pe);
    JUDGE(pe, v, text);
    test_free(v);

    gshmem_barrier_all();
    check_edges<Calls>(ivars, &on_host);
    check_sets<Calls>(ivars, &on_host);
    clear(ivars);
    check_arrivals<Calls>(ivars, pe->next, &on_host);
    if (on_host.n_failed) {
        snprintf(text, sizeof text, "type %s, PE %d, on the host: %lld and %lld at %lld", name,
                 pe->me, on_host.a, on_host.b, on_host.where);
        test_check(false, __FILE__, on_host.line, text);
    }
    clear(ivars);
    check_stream<Calls>(pe, ivars, name);
    gshmem_free(ivars);
}

/* ---- signals --------------------------------------------------------------------------------- */

static HD void check_signals(uint64_t *sig, int me, int next, verdict *v)
{
    /* A signal is unsigned: values above the greatest signed value are greater, not negative. */
    gshmemx_signal_op(&sig[0], 1ull << 63, GSHMEM_SIGNAL_SET, me);
    gshmem_quiet();
    EXPECT_EQ(v, gshmem_signal_fetch(&sig[0]), 1ull << 63);
    EXPECT_EQ(v, gshmem_signal_wait_until(&sig[0], GSHMEM_CMP_GT, 5), 1ull << 63);
    EXPECT_EQ(v, gshmem_signal_wait_until(&sig[0], GSHMEM_CMP_NE, 0), 1ull << 63);
    gshmemx_signal_op(&sig[0], UINT64_MAX, GSHMEM_SIGNAL_ADD, me);
    gshmem_quiet();
    EXPECT_EQ(v, gshmem_signal_wait_until(&sig[0], GSHMEM_CMP_LT, 1ull << 63), (1ull << 63) - 1);
    /* From the previous PE; the value that ended the wait is the one returned. */
    gshmemx_signal_op(&sig[1], 40, GSHMEM_SIGNAL_ADD, next);
    gshmemx_signal_op(&sig[1], 2, GSHMEM_SIGNAL_ADD, next);
    EXPECT_EQ(v, gshmem_signal_wait_until(&sig[1], GSHMEM_CMP_EQ, 42), 42);
    gshmemx_signal_op(&sig[2], 7, GSHMEM_SIGNAL_SET, next);
    EXPECT_EQ(v, gshmem_signal_wait_until(&sig[2], GSHMEM_CMP_LE, 7) <= 7, true);
}

__global__ void signals_kernel(uint64_t *sig, verdict *v)
{
    check_signals(sig, gshmem_my_pe(), (gshmem_my_pe() + 1) % gshmem_n_pes(), v);
}

static void check_signals_everywhere(const test_pe *pe)
{
    uint64_t *sig = (uint64_t *)test_heap(n_ivars * sizeof *sig);
    verdict *v = test_verdict();
    verdict on_host = {};
    test_collective(pe, signals_kernel, 1, 1, sig, v);
    test_sync(pe);
    JUDGE(pe, v, "signals, in a kernel");
    clear(sig);
    check_signals(sig, pe->me, pe->next, &on_host);
    CHECK_EQ(on_host.n_failed, 0);
    clear(sig);
    gshmemx_signal_wait_until_on_stream(&sig[0], GSHMEM_CMP_EQ, 9, pe->stream);
    gshmemx_signal_op_on_stream(&sig[1], 3, GSHMEM_SIGNAL_ADD, pe->me, pe->stream);
    gshmem_barrier_all();
    uint64_t found;
    test_copy(&found, &sig[1], sizeof found);
    CHECK_EQ(found, 0); /* after the wait */
    gshmem_barrier_all();
    gshmemx_signal_op(&sig[0], 9, GSHMEM_SIGNAL_SET, pe->next);
    test_sync(pe);
    test_copy(&found, &sig[1], sizeof found);
    CHECK_EQ(found, 3);
    test_free(v);
    gshmem_free(sig);
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const char *type = test_option(argc, argv, "type");
#define TYPE(NAME, T)                \
    if (test_is_wanted(type, #NAME)) \
        check_type<NAME##_wait>(&pe, #NAME);
    GSHMEM_TYPES_WAIT(TYPE)
#undef TYPE
    check_signals_everywhere(&pe);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
