/* SPDX-License-Identifier: Apache-2.0
 * Proves that exactly the pages of registered buffers are pinned, and the program's own
 * registrations left alone: neighbours on one page in every order of going, buffers that begin, end
 * or have a hole in what the program has pinned, failures halfway, and random sequences against a
 * count for each page. On the model of the driver. */
#include "tests/rig/cuda_model.h"

#ifdef GSH_HAVE_CUDA

#include "runtime/backend/cuda/pins.h"
#include "runtime/base/pages.h"

enum { n_pages = 64 };
static char *memory;
static size_t page_bytes;

/* A buffer from byte `skip` of a page to byte `last` of another one. */
struct buffer {
    int first, skip, last, bytes;
};

static char *start_of(struct buffer b)
{
    return memory + (size_t)b.first * page_bytes + b.skip;
}

static size_t bytes_of(struct buffer b)
{
    return (size_t)(b.last - b.first) * page_bytes + (size_t)(b.bytes - b.skip);
}

static bool pin(struct buffer b)
{
    return gsh_cuda_pin_pages(gsh_cuda(), start_of(b), bytes_of(b)) == CUDA_SUCCESS;
}

static void unpin(struct buffer b)
{
    gsh_cuda_unpin_pages(gsh_cuda(), start_of(b), bytes_of(b));
}

static bool is_pinned(int page)
{
    return model_is_pinned(memory + (size_t)page * page_bytes);
}

/* Whether the pages [first, end) are pinned, and no others. */
static bool are_pinned(int first, int end)
{
    for (int i = 0; i < n_pages; i++) {
        if (is_pinned(i) != (i >= first && i < end)) {
            return false;
        }
    }
    return true;
}

static int count_pins(void)
{
    int n = 0;
    for (int i = 0; i < MODEL_MAPPINGS; i++) {
        n += model_pins[i].bytes != 0;
    }
    return n;
}

static void own(int page, int skip, size_t bytes)
{
    CHECK(model_host_register(memory + (size_t)page * page_bytes + skip, bytes, 0) == CUDA_SUCCESS);
}

static void own_end(int page, int skip)
{
    CHECK(model_host_unregister(memory + (size_t)page * page_bytes + skip) == CUDA_SUCCESS);
}

static void test_alone(void)
{
    const struct buffer b = {3, 100, 9, 5};
    CHECK(pin(b));
    CHECK(are_pinned(3, 10));
    CHECK_EQ(count_pins(), 1); /* CUDA copies nothing that spans two */
    unpin(b);
    CHECK(are_pinned(0, 0));
    unpin(b); /* nothing to do */
}

/* The second begins on the last page of the first. */
static void test_neighbours(bool first_goes_first)
{
    const struct buffer a = {3, 0, 8, 100}, b = {8, 100, 12, 128};
    CHECK(pin(a) && pin(b));
    CHECK(are_pinned(3, 13));
    unpin(first_goes_first ? a : b);
    CHECK(first_goes_first ? are_pinned(8, 13) : are_pinned(3, 9));
    CHECK(pin(first_goes_first ? a : b));
    CHECK(are_pinned(3, 13));
    unpin(b);
    unpin(a);
    CHECK(are_pinned(0, 0));
}

static void test_own(void)
{
    const struct buffer inside = {3, 100, 4, 10}, around = {1, 0, 20, 128}, tail = {4, 8, 9, 1};
    own(3, 0, 3 * page_bytes);
    CHECK(pin(inside));
    unpin(inside);
    CHECK(are_pinned(3, 6));
    CHECK(pin(tail)); /* begins on a page that CUDA knows */
    CHECK(are_pinned(3, 10));
    unpin(tail);
    CHECK(are_pinned(3, 6));
    own(10, 500, 24); /* less than a page, and not at its start */
    CHECK(pin(around));
    CHECK(are_pinned(1, 21));
    unpin(around);
    CHECK(is_pinned(3) && is_pinned(5) && is_pinned(10) && count_pins() == 2);
    own_end(3, 0);
    own_end(10, 500);
    CHECK(are_pinned(0, 0));
}

/* Two PEs of one process may have the same buffer. */
static void test_twice(void)
{
    const struct buffer b = {3, 100, 9, 5};
    CHECK(pin(b) && pin(b));
    unpin(b);
    CHECK(are_pinned(3, 10));
    unpin(b);
    CHECK(are_pinned(0, 0));
}

static void test_failures(void)
{
    const struct buffer left = {2, 0, 4, 128}, right = {8, 50, 9, 128}, b = {1, 0, 20, 10};
    CHECK(pin(left) && pin(right));
    for (unsigned at = 1; at <= 3; at++) { /* three gaps */
        model_fail_at = at;
        CHECK(!pin(b));
        model_fail_at = 0;
        CHECK_EQ(count_pins(), 2);
    }
    CHECK(pin(b));
    CHECK(are_pinned(1, 21));
    unpin(b);
    CHECK_EQ(count_pins(), 2);
    unpin(left);
    unpin(right);
    CHECK(are_pinned(0, 0));
}

/* Disjoint buffers of any length come and go beside the program's own pins. */
static void test_sequences(void)
{
    enum { n_buffers = 24 };
    struct buffer buffers[n_buffers];
    bool is_there[n_buffers] = {false};
    uint64_t state = 7;
    own(20, 0, 2 * page_bytes);
    own(40, 1000, 96);
    for (int round = 0; round < 400; round++) {
        const int k = (int)(test_random(&state) % n_buffers);
        if (is_there[k]) {
            unpin(buffers[k]);
            is_there[k] = false;
        } else { /* each has a piece of the memory for itself */
            const int quarter = 512 * (k % 4), first = k / 4 * 10 % n_pages;
            const bool is_long = test_random(&state) % 2 == 0 && k % 4 == 3;
            buffers[k] =
                (struct buffer){first, quarter, is_long ? first + 10 : first, quarter + 64};
            is_there[k] = CHECK(pin(buffers[k]));
        }
        for (int page = 0; page < n_pages; page++) {
            bool is_needed = page == 20 || page == 21 || page == 40;
            for (int i = 0; i < n_buffers; i++) {
                is_needed |= is_there[i] && page >= buffers[i].first && page <= buffers[i].last;
            }
            if (!CHECK(is_pinned(page) == is_needed)) {
                return;
            }
        }
    }
    for (int i = 0; i < n_buffers; i++) {
        if (is_there[i]) {
            unpin(buffers[i]);
        }
    }
    CHECK_EQ(count_pins(), 2);
    own_end(20, 0);
    own_end(40, 1000);
}

int main(void)
{
    page_bytes = gsh_page_size();
    memory = mmap(NULL, n_pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
    model_install(NULL);
    test_alone();
    test_neighbours(true);
    test_neighbours(false);
    test_own();
    test_twice();
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
