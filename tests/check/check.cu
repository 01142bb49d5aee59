/* SPDX-License-Identifier: Apache-2.0
 * Proves that every RMA call moves exactly its bytes: for operation x type x place x size x
 * misalignment x target PE, all bytes of both sides, and the signals, equal a model's.
 *
 * Many calls run at once, each on its own piece of two arenas of random bytes: one symmetric, one
 * for the local side (heap, device or host memory). Afterwards both arenas and all signals are
 * compared as a whole, so the random bytes between the pieces are the guard zones.
 *
 *     check [--quick] [--seed=N] [--op=NAME] [--type=NAME] [--place=NAME] [--size=BYTES]
 *           [--bench] [--list] */
#include "tests/check/calls.cuh"
#include "tests/check/bench.cuh"

enum { max_calls = 2048, guard = 16 };

enum local_kind { local_heap, local_device, local_host, n_locals };
static const char *const local_names[n_locals] = {"heap", "device memory", "host memory"};

/* Where a call's bytes lie: offsets in the two arenas, first byte. */
struct piece {
    size_t nelems;
    size_t dest_off, source_off;
    ptrdiff_t dst, sst;
    uint64_t signal;
    int sig_op;
};

struct options {
    uint64_t seed;
    const char *op, *type, *place;
    size_t size; /* 0: all */
    bool is_quick;
};

/* One PE's memory for the whole run. `arena` bytes each. */
struct checker {
    test_pe pe;
    options opt;
    size_t arena;
    char *sym, *local[n_locals];
    uint64_t *sig; /* symmetric, max_calls */
    call *calls;   /* device memory, max_calls */
    piece pieces[max_calls];
    call host_calls[max_calls];
    uint64_t want_sig[max_calls], got_sig[max_calls];
    char *want, *source, *got; /* host */
};

/* One operation of one type in one place to one PE. */
struct combo {
    int op, where, shift;
    const type_row *type;
    int local;
    uint64_t key;
};

static size_t below(uint64_t *random, size_t n)
{
    return (size_t)(test_random(random) % n);
}

static size_t extent(const type_row *type, size_t nelems, ptrdiff_t stride)
{
    return nelems == 0 ? 0 : ((nelems - 1) * (size_t)stride + 1) * type->size;
}

/* ---- the calls to make ----------------------------------------------------------------------- */

/* How many dense cases there are: sizes 0 to 300 bytes x misalignments of both sides. */
static size_t n_dense(const combo *c)
{
    const size_t sizes = op_is_element(c->op) ? 1 : 300 / c->type->size + 1;
    const size_t offs = 16 / c->type->align;
    return sizes * offs * offs;
}

static piece dense_piece(const combo *c, size_t i)
{
    const size_t offs = 16 / c->type->align;
    piece p = {};
    p.dest_off = i % offs * c->type->align;
    p.source_off = i / offs % offs * c->type->align;
    p.nelems = op_is_element(c->op) ? 1 : i / offs / offs;
    return p;
}

/* Case i of n: dense ones (all of them, or a random choice), then long ones. */
static piece choose(const checker *x, const combo *c, size_t i, size_t n_short, uint64_t *random)
{
    const size_t offs = 16 / c->type->align;
    piece p = {};
    if (x->opt.size) {
        p = dense_piece(c, i % (offs * offs));
        p.nelems = op_is_element(c->op) ? 1 : x->opt.size / c->type->size;
    } else if (i < n_short) {
        p = dense_piece(c, n_short == n_dense(c) ? i : below(random, n_dense(c)));
    } else {
        const size_t bytes = (size_t)1024 << (i - n_short);
        p = dense_piece(c, below(random, offs * offs));
        p.nelems = bytes / c->type->size + below(random, 5) - 2;
    }
    p.dst = p.sst = 1;
    if (op_is_strided(c->op)) {
        const size_t most = 4096 / c->type->size;
        p.nelems = p.nelems > most ? most : p.nelems;
        p.dst = 1 + (ptrdiff_t)below(random, 4);
        p.sst = 1 + (ptrdiff_t)below(random, 4);
    }
    p.signal = test_random(random);
    p.sig_op = below(random, 2) ? GSHMEM_SIGNAL_SET : GSHMEM_SIGNAL_ADD;
    return p;
}

/* ---- one batch ------------------------------------------------------------------------------- */

static uint64_t key_of(const combo *c, int pe, int what)
{
    uint64_t state = c->key + (uint64_t)pe * 8 + (uint64_t)what;
    return test_random(&state);
}
enum { key_sym, key_local, key_sig };

static void make_calls(checker *x, const combo *c, int n)
{
    const int target = (x->pe.me + c->shift) % x->pe.n;
    for (int i = 0; i < n; i++) {
        const piece *p = &x->pieces[i];
        call *to = &x->host_calls[i];
        char *dest = op_is_get(c->op) ? x->local[c->local] : x->sym;
        const char *source = op_is_get(c->op) ? x->sym : x->local[c->local];
        *to = {dest + p->dest_off,
               source + p->source_off,
               p->nelems,
               p->dst,
               p->sst,
               &x->sig[i],
               p->signal,
               p->sig_op,
               target};
    }
}

/* Threads of a kernel's block: 1 to 3 dimensions, whole warps or not. */
static dim3 shape(const combo *c, bool is_cpu)
{
    static const dim3 gpu[] = {dim3(256), dim3(8, 16, 2), dim3(7, 5, 3)};
    static const dim3 cpu[] = {dim3(64), dim3(4, 8, 2), dim3(7, 5)};
    if (is_cpu && c->where == place_thread)
        return dim3(16);
    const size_t i = (size_t)(c->key >> 32) % 3;
    return is_cpu ? cpu[i] : gpu[i];
}

static void run(checker *x, const combo *c, int n)
{
    if (c->where == place_host) {
        for (int i = 0; i < n; i++)
            c->type->on_host(c->op, x->host_calls[i]);
        gshmem_quiet();
    } else if (c->where == place_stream) {
        for (int i = 0; i < n; i++)
            c->type->on_stream(c->op, x->host_calls[i], x->pe.stream);
        gshmemx_quiet_on_stream(x->pe.stream);
    } else {
        test_copy(x->calls, x->host_calls, (size_t)n * sizeof(call));
        const unsigned grid = !x->pe.is_cpu ? 32 : x->opt.is_quick ? 1 : 2;
        c->type->launch(c->where, grid, shape(c, x->pe.is_cpu), c->op, x->calls, n, x->pe.stream);
    }
    test_sync(&x->pe);
}

/* Applies the calls to the model's dest and signals. */
static void model(const checker *x, const combo *c, int n, char *dest, const char *source,
                  uint64_t *sig)
{
    const size_t size = c->type->size;
    for (int i = 0; i < n; i++) {
        const piece *p = &x->pieces[i];
        if (p->dst == 1 && p->sst == 1)
            memcpy(dest + p->dest_off, source + p->source_off, p->nelems * size);
        else
            for (size_t e = 0; e < p->nelems; e++)
                memcpy(dest + p->dest_off + e * (size_t)p->dst * size,
                       source + p->source_off + e * (size_t)p->sst * size, size);
        if (op_has_signal(c->op))
            sig[i] = p->sig_op == GSHMEM_SIGNAL_SET ? p->signal : sig[i] + p->signal;
    }
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void report(checker *x, const combo *c, int i, const char *what, size_t at, uint64_t got,
                   uint64_t want)
{
    const piece *p = &x->pieces[i];
    const char *api =
        c->where == place_host || c->where == place_thread ? "" : place_names[c->where];
    char text[800];
    snprintf(
        text, sizeof text,
        "%s, type %s, on %s%s: PE %d, shift %d (PE %d is the target), local side in %s: %s "
        "at %zu is 0x%llx, must be 0x%llx; call %d: nelems %zu, dest misaligned by %zu, source by "
        "%zu, strides %td and %td, signal op %d\n    repeat: check --seed=%llu --op=%s --type=%s "
        "--place=%s%s --size=%zu",
        op_names[c->op], c->type->name, place_names[c->where], *api ? " scope" : "", x->pe.me,
        c->shift, (x->pe.me + c->shift) % x->pe.n, local_names[c->local], what, at,
        (unsigned long long)got, (unsigned long long)want, i, p->nelems, p->dest_off % 16,
        p->source_off % 16, p->dst, p->sst, p->sig_op, (unsigned long long)x->opt.seed,
        op_names[c->op], c->type->name, place_names[c->where], x->opt.is_quick ? " --quick" : "",
        x->opt.size);
    test_check(false, __FILE__, __LINE__, text);
}

/* The bytes found and wanted in one arena. A difference is blamed on the last call that begins
 * before it: it is at or in that call's piece, or in the guard zone behind. */
static void compare(checker *x, const combo *c, int n, const char *found, const char *want,
                    size_t bytes, bool is_dest)
{
    test_copy(x->got, found, bytes);
    if (memcmp(x->got, want, bytes) == 0)
        return;
    size_t at = 0;
    while (x->got[at] == want[at])
        at++;
    int owner = 0;
    size_t begin = 0;
    for (int i = 0; i < n; i++) {
        begin = is_dest ? x->pieces[i].dest_off : x->pieces[i].source_off;
        if (begin <= at)
            owner = i;
    }
    const piece *p = &x->pieces[owner];
    begin = is_dest ? p->dest_off : p->source_off;
    const size_t length = extent(c->type, p->nelems, is_dest ? p->dst : p->sst);
    const bool is_inside = at >= begin && at < begin + length;
    report(x, c, owner, is_dest ? is_inside ? "dest byte" : "guard byte of dest" : "source byte",
           at - begin, (unsigned char)x->got[at], (unsigned char)want[at]);
}

static void check_batch(checker *x, const combo *c, int n, size_t dest_bytes, size_t source_bytes)
{
    const bool is_get = op_is_get(c->op);
    const int me = x->pe.me, n_pes = x->pe.n;
    /* The PE whose local arena was put here, or whose heap was read. */
    const int other = is_get ? (me + c->shift) % n_pes : (me + n_pes - c->shift) % n_pes;
    test_fill(x->want, dest_bytes, key_of(c, me, is_get ? key_local : key_sym));
    test_fill(x->source, source_bytes, key_of(c, other, is_get ? key_sym : key_local));
    test_fill(x->want_sig, (size_t)n * sizeof x->want_sig[0], key_of(c, me, key_sig));
    model(x, c, n, x->want, x->source, x->want_sig);
    compare(x, c, n, is_get ? x->local[c->local] : x->sym, x->want, dest_bytes, true);

    test_fill(x->want, source_bytes, key_of(c, me, is_get ? key_sym : key_local));
    compare(x, c, n, is_get ? x->sym : x->local[c->local], x->want, source_bytes, false);

    test_copy(x->got_sig, x->sig, (size_t)n * sizeof x->sig[0]);
    for (int i = 0; i < n; i++)
        if (x->got_sig[i] != x->want_sig[i]) {
            report(x, c, i, "the signal", 0, x->got_sig[i], x->want_sig[i]);
            break;
        }
}

static void run_batch(checker *x, const combo *c, int n, size_t dest_bytes, size_t source_bytes)
{
    const int me = x->pe.me;
    const size_t sym_bytes = op_is_get(c->op) ? source_bytes : dest_bytes;
    const size_t local_bytes = op_is_get(c->op) ? dest_bytes : source_bytes;
    test_fill(x->got, sym_bytes, key_of(c, me, key_sym));
    test_copy(x->sym, x->got, sym_bytes);
    test_fill(x->got, local_bytes, key_of(c, me, key_local));
    test_copy(x->local[c->local], x->got, local_bytes);
    test_fill(x->got_sig, (size_t)n * sizeof x->got_sig[0], key_of(c, me, key_sig));
    test_copy(x->sig, x->got_sig, (size_t)n * sizeof x->sig[0]);
    make_calls(x, c, n);
    gshmem_barrier_all();
    run(x, c, n);
    gshmem_barrier_all();
    check_batch(x, c, n, dest_bytes, source_bytes);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* How many of the dense cases to run, and how many long ones. */
static void budget(const checker *x, const combo *c, size_t *n_short, size_t *n_long)
{
    const bool is_device = c->where != place_host && c->where != place_stream;
    size_t most = x->pe.is_cpu ? 200 : is_device ? 8000 : 300;
    if (x->opt.is_quick)
        most = 12;
    *n_short = n_dense(c) < most ? n_dense(c) : most;
    /* From 1 KiB, doubling: to 1 MiB if the type is only a size. */
    *n_long = op_is_element(c->op) ? 0 : x->opt.is_quick ? 2 : c->type->align == 1 ? 11 : 5;
    if (x->opt.size) {
        *n_short = (16 / c->type->align) * (16 / c->type->align);
        *n_long = 0;
    }
}

static void check_combo(checker *x, combo *c)
{
    uint64_t random = c->key;
    size_t n_short, n_long;
    budget(x, c, &n_short, &n_long);
    size_t dest_bytes = guard, source_bytes = guard;
    int n = 0;
    for (size_t i = 0; i < n_short + n_long; i++) {
        piece p = choose(x, c, i, n_short, &random);
        const size_t dest_length = extent(c->type, p.nelems, p.dst);
        const size_t source_length = extent(c->type, p.nelems, p.sst);
        if (n == max_calls || dest_bytes + dest_length + 4 * guard > x->arena ||
            source_bytes + source_length + 4 * guard > x->arena) {
            run_batch(x, c, n, dest_bytes, source_bytes);
            dest_bytes = source_bytes = guard;
            n = 0;
            c->key = test_random(&random);
        }
        p.dest_off += dest_bytes;
        p.source_off += source_bytes;
        dest_bytes = (p.dest_off + dest_length + 2 * guard - 1) / guard * guard;
        source_bytes = (p.source_off + source_length + 2 * guard - 1) / guard * guard;
        x->pieces[n++] = p;
    }
    run_batch(x, c, n, dest_bytes, source_bytes);
}

/* The local side: p and g pass the value itself; kernels reach device memory only. */
static int choose_local(const combo *c, uint64_t random)
{
    if (c->where == place_host)
        return op_is_element(c->op) ? (int)local_host : (int)(random % n_locals);
    if (c->where == place_stream && op_is_element(c->op))
        return local_host;
    return (int)(random % local_host);
}

static bool is_wanted(const checker *x, int op, const type_row *type, int where)
{
    return op_exists(op, type, where) && test_is_wanted(x->opt.type, type->name) &&
           test_is_wanted(x->opt.op, op_names[op]) &&
           test_is_wanted(x->opt.place, place_names[where]);
}

/* The target PEs: itself, the next, and the previous if that is a third one; if time is short only
 * one of them, mostly not itself. Returns how many. */
static int choose_shifts(const checker *x, uint64_t random, int shifts[3])
{
    const int n = x->pe.n;
    if (x->opt.is_quick) {
        shifts[0] = random % 4 == 0 || n == 1 ? 0 : random % 2 ? 1 : n - 1;
        return 1;
    }
    shifts[0] = 0;
    shifts[1] = 1;
    shifts[2] = n - 1;
    return n < 3 ? n : 3;
}

static int check_all(checker *x)
{
    int n_combos = 0;
    for (int t = 0; t < n_types; t++)
        for (int op = 0; op < n_ops; op++)
            for (int where = 0; where < n_places; where++) {
                const type_row *type = &type_rows[t];
                if (!is_wanted(x, op, type, where))
                    continue;
                uint64_t key =
                    x->opt.seed * 1000003 + (uint64_t)((t * n_ops + op) * n_places + where);
                int shifts[3];
                const int n_shifts = choose_shifts(x, test_random(&key) >> 16, shifts);
                for (int s = 0; s < n_shifts; s++) {
                    combo c = {op, where, shifts[s], type, 0, test_random(&key)};
                    c.local = choose_local(&c, c.key >> 8);
                    check_combo(x, &c);
                    n_combos++;
                }
            }
    return n_combos;
}

static void bench_all(checker *x)
{
    static const size_t sizes[] = {8, 64, 1024, 16384, 262144, 1048576};
    if (x->pe.me == 0)
        bench_header();
    for (int t = 0; x->pe.me == 0 && t < n_types; t++)
        for (int op = 0; op < n_ops; op++)
            for (int where = 0; where < n_places; where++) {
                const type_row *type = &type_rows[t];
                if (!is_wanted(x, op, type, where))
                    continue;
                bench b = {&x->pe, type, op, where, x->calls, x->host_calls, 0};
                const bool is_value =
                    op_is_element(op) && (where == place_host || where == place_stream);
                char *local = x->local[is_value ? local_host : local_device];
                for (size_t bytes : sizes) {
                    if (x->opt.size)
                        bytes = x->opt.size;
                    call c = {op_is_get(op) ? local : x->sym,
                              op_is_get(op) ? x->sym : local,
                              bytes / type->size,
                              1,
                              1,
                              x->sig,
                              1,
                              GSHMEM_SIGNAL_SET,
                              x->pe.next};
                    if (op_is_element(op))
                        c.nelems = 1;
                    b.n_calls = bytes < 8192 ? 1024 : bytes < 524288 ? (int)(8388608 / bytes) : 16;
                    bench_call(&b, &c);
                    if (x->opt.size || op_is_element(op))
                        break;
                }
            }
    gshmem_barrier_all();
}

/* ---- start and end --------------------------------------------------------------------------- */

static int list(void)
{
    printf("types: ");
    for (const type_row &type : type_rows)
        printf(" %s", type.name);
    printf("\noperations: ");
    for (const char *name : op_names)
        printf(" %s", name);
    printf("\nplaces: ");
    for (const char *name : place_names)
        printf(" %s", name);
    printf("\n");
    return 0;
}

static checker *create(int argc, char **argv)
{
    checker *x = (checker *)calloc(1, sizeof *x);
    if (x == NULL)
        test_fatal("out of memory");
    x->pe = test_begin();
    x->opt.seed = test_number(argc, argv, "seed", 1);
    x->opt.op = test_option(argc, argv, "op");
    x->opt.type = test_option(argc, argv, "type");
    x->opt.place = test_option(argc, argv, "place");
    x->opt.size = test_number(argc, argv, "size", 0);
    x->opt.is_quick = test_option(argc, argv, "quick") != NULL;
    const bool is_small = x->opt.is_quick && !test_option(argc, argv, "bench") && !x->opt.size;
    x->arena = is_small ? 256u << 10 : 4u << 20;
    if (x->opt.size > x->arena / 8)
        x->arena = x->opt.size * 8;
    x->sym = (char *)test_heap(x->arena);
    x->sig = (uint64_t *)test_heap(max_calls * sizeof *x->sig);
    x->local[local_heap] = (char *)test_heap(x->arena);
    x->local[local_device] = (char *)test_device(x->arena);
    x->calls = (call *)test_device(max_calls * sizeof *x->calls);
    char **hosts[] = {&x->local[local_host], &x->want, &x->source, &x->got};
    for (char **host : hosts)
        if ((*host = (char *)aligned_alloc(64, x->arena)) == NULL)
            test_fatal("out of memory");
    return x;
}

static void destroy(checker *x)
{
    gshmem_free(x->local[local_heap]);
    gshmem_free(x->sig);
    gshmem_free(x->sym);
    test_free(x->local[local_device]);
    test_free(x->calls);
    free(x->local[local_host]);
    free(x->want);
    free(x->source);
    free(x->got);
    test_end(&x->pe);
    free(x);
}

static int pe_main(int argc, char **argv)
{
    if (test_option(argc, argv, "list"))
        return list();
    checker *x = create(argc, argv);
    if (test_option(argc, argv, "bench")) {
        bench_all(x);
    } else {
        const int n_combos = check_all(x);
        if (x->pe.me == 0)
            printf("check: %d combinations, seed %llu, %d PEs on %s\n", n_combos,
                   (unsigned long long)x->opt.seed, x->pe.n, gshmemx_device_name());
        CHECK(n_combos > 0);
    }
    destroy(x);
    return test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
