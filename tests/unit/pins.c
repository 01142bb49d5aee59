/* SPDX-License-Identifier: Apache-2.0
 * Proves that each registered buffer can be copied whole, since it lies in one registration of
 * CUDA's, that nothing else is pinned, and that the program's own registrations are left alone:
 * neighbours on one page in every order of going, buffers within what the program has pinned and
 * partly outside it, buffers of two PEs that overlap, failures, and random sequences. On the model
 * of the driver; every step checks all buffers. */
#include "tests/rig/cuda_model.h"

#ifdef GSH_HAVE_CUDA

#include "base/pages.h"
#include "runtime/backend/cuda/pins.h"

enum { n_pages = 64, max_live = 64 };
static char *memory;
static size_t page_bytes;

/* The bytes [first, end) of the memory. */
struct buffer {
    size_t first, end;
};

/* What should be pinned: the registered buffers, and what the program has pinned itself. */
static struct buffer live[max_live], owned[4];
static int n_live, n_owned;

static struct buffer at(int page, size_t skip, size_t bytes)
{
    const size_t first = (size_t)page * page_bytes + skip;
    return (struct buffer){first, first + bytes};
}

static bool is_in(size_t i, const struct buffer *list, int n)
{
    for (int k = 0; k < n; k++) {
        if (i >= list[k].first && i < list[k].end) {
            return true;
        }
    }
    return false;
}

static bool is_pinned(size_t i)
{
    return model_pin_of((uint64_t)(uintptr_t)memory + i) != NULL;
}

/* Whether each buffer can be copied, and what is pinned ends where a buffer or the program's pin
 * does. */
static void check_all(void)
{
    static char copy[n_pages << 16];
    const struct buffer *const lists[] = {live, owned};
    const int ns[] = {n_live, n_owned};
    for (int i = 0; i < n_live; i++) {
        const struct buffer b = live[i];
        CHECK(model_is_one_registration((uint64_t)(uintptr_t)memory + b.first, b.end - b.first));
        CHECK(gsh_cuda()->Memcpy((CUdeviceptr)(uintptr_t)copy,
                                 (CUdeviceptr)(uintptr_t)memory + b.first,
                                 b.end - b.first) == CUDA_SUCCESS);
    }
    for (int which = 0; which < 2; which++) {
        for (int i = 0; i < ns[which]; i++) {
            const size_t edges[] = {lists[which][i].first - 1, lists[which][i].first,
                                    lists[which][i].end - 1, lists[which][i].end};
            for (int k = 0; k < 4; k++) {
                CHECK(is_pinned(edges[k]) ==
                      (is_in(edges[k], live, n_live) || is_in(edges[k], owned, n_owned)));
            }
        }
    }
    for (int i = 0; i < MODEL_MAPPINGS; i++) { /* nothing that was forgotten */
        const size_t first = model_pins[i].start - (uint64_t)(uintptr_t)memory;
        CHECK(!model_pins[i].bytes || is_in(first, live, n_live) || is_in(first, owned, n_owned));
    }
}

static CUresult try_pin(struct buffer b)
{
    CUresult code = gsh_cuda_pin_memory(gsh_cuda(), memory + b.first, b.end - b.first);
    if (code == CUDA_SUCCESS) {
        live[n_live++] = b;
    }
    check_all();
    return code;
}

static void pin(struct buffer b)
{
    CHECK(try_pin(b) == CUDA_SUCCESS);
}

static void unpin(struct buffer b)
{
    gsh_cuda_unpin_memory(gsh_cuda(), memory + b.first, b.end - b.first);
    for (int i = 0; i < n_live; i++) {
        if (live[i].first == b.first && live[i].end == b.end) {
            live[i] = live[--n_live];
            break;
        }
    }
    check_all();
}

static void own(struct buffer b)
{
    CHECK(model_host_register(memory + b.first, b.end - b.first, 0) == CUDA_SUCCESS);
    owned[n_owned++] = b;
}

/* All that the program has pinned is still there, and nothing else. */
static void expect_own_alone(void)
{
    int n = 0;
    while (n_owned > 0) {
        CHECK(model_host_unregister(memory + owned[--n_owned].first) == CUDA_SUCCESS);
    }
    for (int i = 0; i < MODEL_MAPPINGS; i++) {
        n += model_pins[i].bytes != 0;
    }
    CHECK(n == 0 && n_live == 0);
}

static void test_alone(void)
{
    const struct buffer b = at(3, 100, 6 * page_bytes);
    pin(b);
    unpin(b);
    unpin(b); /* nothing to do */
    expect_own_alone();
}

/* The second begins on the last page of the first, and the third on the second's. */
static void test_neighbours(void)
{
    const struct buffer all[] = {at(3, 0, 5 * page_bytes + 100), at(8, 100, 4 * page_bytes + 28),
                                 at(12, 128, 64)};
    const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int come = 0; come < 6; come++) {
        for (int go = 0; go < 6; go++) {
            for (int i = 0; i < 3; i++) {
                pin(all[orders[come][i]]);
            }
            unpin(all[orders[go][0]]);
            pin(all[orders[go][0]]);
            for (int i = 0; i < 3; i++) {
                unpin(all[orders[go][i]]);
            }
        }
    }
    expect_own_alone();
}

static void test_own(void)
{
    own(at(3, 0, 2 * page_bytes + 500));
    own(at(10, 500, 24)); /* less than a page, and not at its start */
    const struct buffer whole = at(3, 0, 2 * page_bytes + 500), inside = at(3, 100, page_bytes);
    const struct buffer behind = at(5, 500, 5 * page_bytes); /* up to the other one */
    const struct buffer parts[] = {at(2, 0, page_bytes + 1), at(5, 499, 100),
                                   at(1, 0, 20 * page_bytes), at(10, 400, 101)};
    pin(whole);
    pin(inside);
    pin(behind);
    unpin(whole);
    for (int i = 0; i < 4; i++) {
        CHECK(try_pin(parts[i]) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    unpin(behind);
    for (int i = 0; i < 4; i++) {
        CHECK(try_pin(parts[i]) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    unpin(inside);
    expect_own_alone();
}

/* Two PEs of one process may have the same buffer, or buffers that overlap. */
static void test_overlaps(void)
{
    const struct buffer b = at(3, 100, 6 * page_bytes), inside = at(4, 0, 10);
    const struct buffer left = at(2, 0, page_bytes + 200), right = at(9, 99, page_bytes);
    const struct buffer all[] = {b, b, inside, left, right};
    for (int first = 0; first < 5; first++) {
        for (int step = 1; step < 5; step++) {
            for (int i = 0; i < 5; i++) {
                pin(all[(first + i * step) % 5]);
            }
            for (int i = 0; i < 5; i++) {
                unpin(all[i]);
            }
        }
    }
    expect_own_alone();
}

/* What only shares a page, and the same bytes once more, touch no registration: one made anew would
 * fail here. */
static void test_undisturbed(void)
{
    const struct buffer b = at(3, 100, 6 * page_bytes), mate = at(9, 100, 20);
    pin(b);
    pin(mate);
    model_fail_at = 1;
    pin(b);
    unpin(mate);
    unpin(b);
    model_fail_at = 0;
    unpin(b);
    expect_own_alone();
}

static void test_failures(void)
{
    const struct buffer left = at(2, 0, page_bytes), mate = at(3, 0, 100), right = at(8, 5, 100);
    pin(left);
    pin(right);
    model_fail_at = 1; /* nothing of another buffer is undone for it */
    CHECK(try_pin(mate) == CUDA_ERROR_OUT_OF_MEMORY);
    model_fail_at = 0;
    own(at(5, 0, 10));
    CHECK(try_pin(at(2, 10, 10 * page_bytes)) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    unpin(left);
    unpin(right);
    expect_own_alone();
}

/* Buffers of any place and length come and go beside the program's own pins. */
static void test_sequences(void)
{
    enum { n_buffers = 24 };
    struct buffer buffers[n_buffers];
    bool is_there[n_buffers] = {false};
    uint64_t state = 7;
    int n_refused = 0, n_pinned = 0;
    own(at(20, 0, 2 * page_bytes));
    own(at(40, 1000, 96));
    for (int round = 0; round < 2000; round++) {
        const int k = (int)(test_random(&state) % n_buffers);
        if (is_there[k]) {
            unpin(buffers[k]);
            is_there[k] = false;
            continue;
        }
        const int page = 1 + (int)(test_random(&state) % (n_pages - 4));
        const size_t most = test_random(&state) % 4 == 0 ? 2 * page_bytes : page_bytes / 4;
        const struct buffer b =
            at(page, test_random(&state) % page_bytes, 1 + test_random(&state) % most);
        bool is_part = false;
        for (int i = 0; i < n_owned; i++) {
            is_part |= b.first < owned[i].end && owned[i].first < b.end &&
                       (b.first < owned[i].first || b.end > owned[i].end);
        }
        const CUresult code = try_pin(b);
        CHECK(code == (is_part ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_SUCCESS));
        n_refused += is_part;
        n_pinned += !is_part;
        buffers[k] = b;
        is_there[k] = code == CUDA_SUCCESS;
    }
    CHECK(n_refused > 10 && n_pinned > 500);
    for (int i = 0; i < n_buffers; i++) {
        if (is_there[i]) {
            unpin(buffers[i]);
        }
    }
    expect_own_alone();
}

int main(void)
{
    page_bytes = gsh_page_size();
    memory = mmap(NULL, n_pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
    model_install(NULL);
    test_alone();
    test_neighbours();
    test_own();
    test_overlaps();
    test_undisturbed();
    test_failures();
    test_sequences();
    munmap(memory, n_pages * page_bytes);
    return test_result();
}

#else

int main(void)
{
    return 0;
}

#endif
