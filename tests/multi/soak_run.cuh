/* SPDX-License-Identifier: Apache-2.0
 * What an actor of soak.cu does: it carries out the operations that soak_plan.cuh plans, in a
 * kernel or on the host, and compares the results with the model. */
#ifndef GSH_TEST_SOAK_RUN_CUH
#define GSH_TEST_SOAK_RUN_CUH

#include "tests/multi/soak_plan.cuh"

/* ---- who makes a call ------------------------------------------------------------------------ */

/* nvcc need not look for a kernel's calls on the host's side, or the reverse. */
#ifdef __CUDACC__
#define EITHER_SIDE _Pragma("nv_exec_check_disable")
#else
#define EITHER_SIDE
#endif

/* clang-format off */
#define SOAK_CALLS(M)                                                                              \
    M(putmem) M(putmem_nbi) M(getmem) M(getmem_nbi) M(putmem_signal) M(putmem_signal_nbi)          \
    M(iput8) M(iput16) M(iput32) M(iput64) M(iget8) M(iget16) M(iget32) M(iget64)
/* clang-format on */

struct in_kernel {
    const soak_plan *p;
    __device__ unsigned rank() const { return threadIdx.x; }
    __device__ unsigned size() const { return blockDim.x; }
    __device__ void sync() const { __syncthreads(); }
    __device__ bool is_caller() const
    {
        return p->group == by_block ||
               (p->group == by_warp ? threadIdx.x / 32 : threadIdx.x) == p->who;
    }
    __device__ bool is_one() const { return threadIdx.x == p->who; }
    __device__ uint8_t *source(const soak_actor *a) const { return a->out; }
    __device__ uint8_t *dest(const soak_actor *a) const { return a->in; }
    __device__ void fetch(const soak_actor *, const soak_range *) const {}
#define CALL(NAME)                                                    \
    template <class... Args> __device__ void NAME(Args... args) const \
    {                                                                 \
        if (p->group == by_block)                                     \
            gshmemx_##NAME##_block(args...);                          \
        else if (p->group == by_warp)                                 \
            gshmemx_##NAME##_warp(args...);                           \
        else                                                          \
            gshmem_##NAME(args...);                                   \
    }
    SOAK_CALLS(CALL)
#undef CALL
};

/* The other side of its calls alternates between host memory and the heap. */
struct on_host {
    const soak_plan *p;
    unsigned rank() const { return 0; }
    unsigned size() const { return 1; }
    void sync() const {}
    bool is_caller() const { return true; }
    bool is_one() const { return true; }
    uint8_t *source(const soak_actor *a) const
    {
        const soak_range *r = &p->range;
        if (!r->is_in_heap)
            return a->out;
        const size_t bytes = p->op == op_mail ? mail_words * sizeof(uint64_t)
                                              : soak_extent(r->piece, r->count, r->local_step);
        test_copy(a->heap_out + r->local_at, a->out + r->local_at, bytes);
        return a->heap_out;
    }
    uint8_t *dest(const soak_actor *a) const { return p->range.is_in_heap ? a->heap_in : a->in; }
    void fetch(const soak_actor *a, const soak_range *r) const
    {
        if (r->is_in_heap)
            test_copy(a->in + r->local_at, a->heap_in + r->local_at,
                      soak_extent(r->piece, r->count, r->local_step));
    }
#define CALL(NAME)                                         \
    template <class... Args> void NAME(Args... args) const \
    {                                                      \
        gshmem_##NAME(args...);                            \
    }
    SOAK_CALLS(CALL)
#undef CALL
};

/* ---- one operation, made by all threads of the actor ----------------------------------------- */

static HD void compare(const soak_actor *a, const soak_range *r, unsigned rank, unsigned size)
{
    const uint8_t *want = a->mirror + (size_t)r->pe * box_bytes, *in = a->in;
    soak_each_byte(r, rank, size, [=](uint32_t at, uint32_t local_at, uint32_t) {
        EXPECT_AT(a->v, in[local_at], want[at], (long long)r->pe << 32 | at);
    });
}

EITHER_SIDE
template <class C> static HD void put_in_order(C c, const soak_actor *a)
{
    if (c.p->order == order_fence)
        gshmem_fence();
    else if (c.p->order == order_quiet)
        gshmem_quiet();
    c.sync();
    for (int i = 0; c.p->order == order_quiet && i < a->n_pending; i++) {
        if (!a->pending[i].is_get)
            continue;
        c.fetch(a, &a->pending[i]);
        compare(a, &a->pending[i], c.rank(), c.size());
    }
    c.sync();
}

/* Writes the data into `out` and the mirror. */
EITHER_SIDE
template <class C> static HD void make_data(C c, const soak_actor *a)
{
    const soak_plan *p = c.p;
    uint8_t *mirror = a->mirror + (size_t)p->range.pe * box_bytes, *out = a->out;
    const uint32_t key = p->key;
    soak_each_byte(&p->range, c.rank(), c.size(), [=](uint32_t at, uint32_t local_at, uint32_t i) {
        out[local_at] = mirror[at] = soak_byte(key, i);
    });
    c.sync();
}

EITHER_SIDE
template <class C> static HD void run_copy(C c, const soak_actor *a)
{
    const soak_plan *p = c.p;
    const soak_range *r = &p->range;
    const size_t bytes = r->piece;
    const ptrdiff_t remote = r->step / r->piece, local = r->local_step / r->piece;
    uint8_t *box = a->box + r->at;
    if (!c.is_caller())
        return;
    uint8_t *out = r->is_get ? nullptr : c.source(a) + r->local_at;
    uint8_t *in = r->is_get ? c.dest(a) + r->local_at : nullptr;
    if (p->op == op_put)
        c.putmem(box, out, bytes, r->pe);
    else if (p->op == op_put_nbi)
        c.putmem_nbi(box, out, bytes, r->pe);
    else if (p->op == op_get)
        c.getmem(in, box, bytes, r->pe);
    else if (p->op == op_get_nbi)
        c.getmem_nbi(in, box, bytes, r->pe);
    else if (p->op == op_put_signal)
        c.putmem_signal(box, out, bytes, &a->words->sig, p->value, GSHMEM_SIGNAL_ADD, r->pe);
    else if (p->op == op_put_signal_nbi)
        c.putmem_signal_nbi(box, out, bytes, &a->words->sig, p->value, GSHMEM_SIGNAL_ADD, r->pe);
#define WIDTH(BITS)                                                     \
    else if (r->piece == BITS / 8 && p->op == op_iput)                  \
        c.iput##BITS(box, out, remote, local, (size_t)r->count, r->pe); \
    else if (r->piece == BITS / 8) c.iget##BITS(in, box, local, remote, (size_t)r->count, r->pe);
    WIDTH(8)
    WIDTH(16)
    WIDTH(32)
    WIDTH(64)
#undef WIDTH
}

/* Words: by one thread, or one by each thread. */
template <class T> static HD void p_or_g(const soak_actor *a, uint32_t i)
{
    const soak_range *r = &a->plan.range;
    const uint32_t at = r->at + i * (uint32_t)sizeof(T),
                   local_at = r->local_at + i * (uint32_t)sizeof(T);
    T value, want;
    memcpy(&value, a->out + local_at, sizeof value);
    memcpy(&want, a->mirror + (size_t)r->pe * box_bytes + at, sizeof want);
    T *const remote = (T *)(a->box + at);
    if constexpr (sizeof(T) == 1) {
        if (r->is_get)
            value = gshmem_uint8_g(remote, r->pe);
        else
            gshmem_uint8_p(remote, value, r->pe);
    } else if constexpr (sizeof(T) == 2) {
        if (r->is_get)
            value = gshmem_uint16_g(remote, r->pe);
        else
            gshmem_uint16_p(remote, value, r->pe);
    } else if constexpr (sizeof(T) == 4) {
        if (r->is_get)
            value = gshmem_uint32_g(remote, r->pe);
        else
            gshmem_uint32_p(remote, value, r->pe);
    } else {
        if (r->is_get)
            value = gshmem_uint64_g(remote, r->pe);
        else
            gshmem_uint64_p(remote, value, r->pe);
    }
    if (r->is_get)
        EXPECT_AT(a->v, value, want, (long long)r->pe << 32 | at);
}

static HD void run_word(const soak_actor *a)
{
    switch (a->plan.range.piece) {
    case 1:
        p_or_g<uint8_t>(a, 0);
        break;
    case 2:
        p_or_g<uint16_t>(a, 0);
        break;
    case 4:
        p_or_g<uint32_t>(a, 0);
        break;
    default:
        p_or_g<uint64_t>(a, 0);
    }
}

/* Word i of a mail states its number, as its signal does. */
EITHER_SIDE
template <class C> static HD void run_mail(C c, const soak_actor *a)
{
    const soak_plan *p = c.p;
    const uint32_t n = p->mail == 0 ? 8 : mail_words;
    uint64_t *out = (uint64_t *)(a->out + p->range.local_at);
    for (uint32_t i = c.rank(); i < n; i += c.size())
        out[i] = p->value;
    c.sync();
    if (c.is_caller())
        c.putmem_signal_nbi(a->words->mail[p->mail], c.source(a) + p->range.local_at,
                            n * sizeof(uint64_t), &a->words->mail_sig[p->mail], p->value,
                            GSHMEM_SIGNAL_SET, p->range.pe);
}

/* Peeking reads while the next mail may be under way. */
#ifdef GSHMEM_CPU_TSAN
enum { may_peek = 0 };
#else
enum { may_peek = 1 };
#endif

/* Whoever sees the signal sees its mail, or a later one. */
static HD void run_peek(const soak_actor *a)
{
    const soak_plan *p = &a->plan;
    const soak_words *w = &a->all_words[p->from * a->n_actors + p->actor];
    const int n = p->mail == 0 ? 8 : mail_words;
    const uint64_t signal = gshmem_signal_fetch(&w->mail_sig[p->mail]);
    for (int i = n; i-- > 0;) {
        const uint64_t word = gshmem_uint64_g(&w->mail[p->mail][i], a->me);
        EXPECT_AT(a->v, word >= signal, true, (long long)word << 32 | (long long)signal);
    }
}

static HD void run_amo(const soak_actor *a)
{
    const soak_plan *p = &a->plan;
    const bool is_xor = p->amo == amo_xor || p->amo == amo_fetch_xor;
    soak_shared *s = a->shared;
    void *dest = p->is_32 ? (void *)&s->sum32 : (void *)&s->sum64;
    if (p->op == op_own)
        dest = p->is_32 ? (void *)&a->words->own32 : (void *)&a->words->own64;
    else if (p->op == op_bit)
        dest = p->is_32 ? (void *)&s->bits32 : (void *)&s->bits64;
    else if (is_xor)
        dest = p->is_32 ? (void *)&s->xor32 : (void *)&s->xor64;
    uint64_t got = 0;
    const amo_call call = {dest, p->value, p->cond, &got, p->range.pe};
    if (p->is_32)
        amo_run<uint32_row>(p->amo, call);
    else
        amo_run<uint64_row>(p->amo, call);
    if (soak_fetches(p->amo) && p->op == op_own)
        EXPECT_AT(a->v, got, p->want, p->amo);
    else if (soak_fetches(p->amo) && p->op == op_bit)
        EXPECT_AT(a->v, got & p->cond, p->want, p->amo);
}

static HD void count_by_cas(uint64_t *word, int pe)
{
    uint64_t old = gshmem_uint64_atomic_fetch(word, pe);
    for (;;) {
        const uint64_t found = gshmem_uint64_atomic_compare_swap(word, old, old + 1, pe);
        if (found == old)
            return;
        old = found;
    }
}

EITHER_SIDE
template <class C> static HD void run_plan(C c, const soak_actor *a)
{
    const soak_plan *p = c.p;
    const int pe = p->range.pe;
    if (p->order != order_none)
        put_in_order(c, a);
    switch (p->op) {
    case op_put:
    case op_put_nbi:
    case op_put_signal:
    case op_put_signal_nbi:
    case op_iput:
        make_data(c, a);
        run_copy(c, a);
        break;
    case op_get:
    case op_iget:
        run_copy(c, a);
        c.sync();
        c.fetch(a, &p->range);
        compare(a, &p->range, c.rank(), c.size());
        break;
    case op_get_nbi:
        run_copy(c, a);
        break;
    case op_each_p:
    case op_p:
        make_data(c, a);
        if (p->op == op_each_p)
            p_or_g<uint64_t>(a, c.rank());
        else if (c.is_one())
            run_word(a);
        break;
    case op_each_g:
        p_or_g<uint64_t>(a, c.rank());
        break;
    case op_g:
        if (c.is_one())
            run_word(a);
        break;
    case op_each_add:
        gshmem_uint64_atomic_add(&a->shared->sum64, c.rank() + 1, pe);
        break;
    case op_mail:
        run_mail(c, a);
        break;
    case op_peek:
        if (c.is_one() && may_peek)
            run_peek(a);
        break;
    case op_signal:
        if (c.is_one())
            gshmemx_signal_op(&a->words->sig, p->value, GSHMEM_SIGNAL_ADD, pe);
        break;
    case op_own:
    case op_shared:
    case op_bit:
        if (c.is_one())
            run_amo(a);
        break;
    case op_cas:
        if (c.is_one())
            count_by_cas(&a->shared->cas, pe);
        break;
    default:
        break;
    }
}

EITHER_SIDE
template <class C> static HD void soak_run(C c, soak_actor *a, uint64_t count)
{
    for (uint64_t i = 0; i <= count; i++) {
        if (c.rank() == 0) {
            if (i > 0)
                soak_book(a);
            soak_plan_next(a);
            if (i == count) { /* the last one completes everything */
                a->plan.op = op_quiet;
                a->plan.order = order_quiet;
            }
        }
        c.sync();
        run_plan(c, a);
        c.sync();
    }
}

#endif
