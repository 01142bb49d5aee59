/* SPDX-License-Identifier: Apache-2.0
 * Proves that host memory reserves large aligned ranges, commits and releases pages in them, and
 * lets another mapping of the same process see them, as a memory kind's table promises. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/sanitizer.h"
#include "heap/memory.h"
#include "tests/test.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static const struct gsh_memory_ops *const ops = &gsh_memory_host;

static struct gsh_memory *create(int n_slots)
{
    struct gsh_memory *memory = NULL;
    struct gsh_memory_options options = {.n_slots = n_slots, .is_shared = true};
    if (!CHECK(ops->create(&options, &memory) == GSH_OK)) {
        exit(1);
    }
    return memory;
}

static struct gsh_reservation reserve(uint64_t bytes, uint64_t align)
{
    struct gsh_reservation range = {0};
    if (!CHECK(ops->reserve(bytes, align, &range) == GSH_OK)) {
        exit(1);
    }
    CHECK(range.bytes == bytes && range.base % range.align == 0);
    return range;
}

/* Whether the kernel can read the byte: checks without a signal. */
static bool is_readable(uint64_t address)
{
    int ends[2];
    if (!CHECK(pipe(ends) == 0)) {
        return false;
    }
    bool ok = write(ends[1], (const void *)(uintptr_t)address, 1) == 1;
    CHECK(ok || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return ok;
}

static void test_reserve(void)
{
    /* As for 8 PEs of 32 GiB; takes no memory. */
    struct gsh_reservation range = reserve(256 * GIB, 32 * GIB);
    CHECK_EQ(range.align, 32 * GIB);
    CHECK(!is_readable(range.base) && !is_readable(range.base + 256 * GIB - 1));
    ops->unreserve(&range);
    CHECK(range.base == 0 && range.raw_bytes == 0);
    ops->unreserve(&range);
    CHECK(ops->reserve((uint64_t)1 << 60, 2 * MIB, &range) == GSH_ERR_NOMEM);
    CHECK(strstr(gsh_last_error(), "GSHMEM_HEAP_RANGE") != NULL);
}

static uint64_t file_bytes(int fd)
{
    struct stat st;
    CHECK(fstat(fd, &st) == 0);
    return (uint64_t)st.st_blocks * 512;
}

static void test_commit_and_release(void)
{
    struct gsh_memory *memory = create(1);
    struct gsh_reservation range = reserve(GIB, 2 * MIB);
    struct gsh_share share;
    const struct gsh_chunk a = {0, 4 * MIB}, b = {4 * MIB, 2 * MIB};
    char path[64], name[64] = "";
    CHECK(ops->admit(memory, MIB) == GSH_OK);
    CHECK(ops->admit(memory, (uint64_t)1 << 60) == GSH_ERR_NOMEM);
    CHECK(ops->commit(memory, range.base, a) == GSH_OK);
    CHECK(ops->commit(memory, range.base + b.off, b) == GSH_OK);
    CHECK(ops->share(memory, range.base, a, &share) == GSH_OK);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", share.fd);
    CHECK(readlink(path, name, sizeof(name) - 1) > 0 && strstr(name, "memfd:gshmem") != NULL);
    CHECK(fcntl(share.fd, F_GETFD) & FD_CLOEXEC);
    CHECK_EQ(file_bytes(share.fd), 6 * MIB); /* all present before the first touch */

    memset((void *)(uintptr_t)range.base, 1, 6 * MIB);
    CHECK(ops->zero(memory, range.base + MIB, MIB) == GSH_OK);
    CHECK_EQ(*(char *)(uintptr_t)(range.base + MIB), 0);
    CHECK_EQ(*(char *)(uintptr_t)(range.base + 2 * MIB), 1);
    ops->unmap(range.base + b.off, b.bytes);
    ops->release(memory, b.off);
    CHECK(!is_readable(range.base + b.off) && is_readable(range.base + b.off - 1));
    CHECK_EQ(file_bytes(share.fd), 4 * MIB);
    CHECK(ops->commit(memory, range.base + b.off, b) == GSH_OK);
    CHECK_EQ(*(char *)(uintptr_t)(range.base + b.off), 0);
    close(share.fd);
    ops->unmap(range.base, a.bytes);
    ops->unmap(range.base + b.off, b.bytes);
    ops->destroy(&memory);
    CHECK(memory == NULL);
    ops->unreserve(&range);
}

/* A process that has no room for one more descriptor says so. */
static void check_accept_without_room(struct gsh_memory *mine, uint64_t addr,
                                      struct gsh_chunk chunk, const struct gsh_share *share)
{
    struct rlimit most, none;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &most), 0);
    none = most;
    none.rlim_cur = 1; /* which the first descriptor takes */
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK(ops->accept(mine, 1, addr, chunk, share) == GSH_ERR_SYSTEM);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &most), 0);
    CHECK(strstr(gsh_last_error(), "Too many open files") != NULL);
}

/* Slot 1 of this range is another memory's chunks, as in another process. */
static void test_share_and_accept(void)
{
    struct gsh_memory *mine = create(2), *other = create(1);
    struct gsh_reservation range = reserve(2 * GIB, GIB), far = reserve(GIB, GIB);
    struct gsh_share share = {.fd = -1};
    const struct gsh_chunk chunks[2] = {{0, 2 * MIB}, {2 * MIB, 4 * MIB}};
    CHECK(ops->accept(mine, 1, range.base + GIB, chunks[0], &share) == GSH_ERR_SYSTEM);
    for (int i = 0; i < 2; i++) {
        uint64_t off = chunks[i].off;
        CHECK(ops->commit(other, far.base + off, chunks[i]) == GSH_OK);
        if (ops->share_kind(other, off) == GSH_SHARE_FD) {
            CHECK(ops->share(other, far.base + off, chunks[i], &share) == GSH_OK);
            check_accept_without_room(mine, range.base + GIB + off, chunks[i], &share);
        }
        CHECK_EQ(ops->share_kind(other, off), i == 0 ? GSH_SHARE_FD : GSH_SHARE_NOTHING);
        CHECK(ops->accept(mine, 1, range.base + GIB + off, chunks[i], &share) == GSH_OK);
        if (share.fd >= 0) {
            close(share.fd);
        }
        share.fd = -1;
        /* what the peer has not got would end this process at an access */
        const struct gsh_chunk more = {off + chunks[i].bytes, 2 * MIB};
        CHECK(ops->accept(mine, 1, range.base + GIB + more.off, more, &share) == GSH_ERR_BUG);
        *(int *)(uintptr_t)(far.base + off + 8) = 40 + i;
        CHECK_EQ(*(int *)(uintptr_t)(range.base + GIB + off + 8), 40 + i);
    }
    ops->unmap(far.base, 2 * MIB);
    ops->unmap(far.base + 2 * MIB, 4 * MIB);
    ops->destroy(&other);
    /* The owner's end leaves the pages in place. */
    CHECK_EQ(*(int *)(uintptr_t)(range.base + GIB + 8), 40);
    ops->unmap(range.base + GIB, 2 * MIB);
    ops->unmap(range.base + GIB + 2 * MIB, 4 * MIB);
    CHECK(!is_readable(range.base + GIB));
    int short_file = memfd_create("short", MFD_CLOEXEC);
    const struct gsh_piece piece = {.bytes = 2 * MIB, .at = 0};
    share.fd = short_file;
    CHECK_EQ(ftruncate(short_file, MIB), 0);
    CHECK(ops->accept_piece(mine, 1, range.base + GIB, &piece, &share) == GSH_ERR_BUG);
    CHECK_EQ(ftruncate(short_file, 2 * MIB - 1), 0); /* the last page has what the piece needs */
    CHECK(ops->accept_piece(mine, 1, range.base + GIB, &piece, &share) == GSH_OK);
    ops->unmap(range.base + GIB, 2 * MIB);
    close(short_file);
    ops->destroy(&mine);
    ops->unreserve(&range);
    ops->unreserve(&far);
}

/* A commit that fails in its second half leaves the file unchanged. */
static void test_failed_commit(void)
{
    struct gsh_memory *memory = create(1);
    struct gsh_reservation range = reserve(GIB, 2 * MIB);
    struct gsh_share share = {.fd = -1};
    const struct gsh_chunk a = {0, 2 * MIB}, b = {2 * MIB, 2 * MIB};
    CHECK(ops->commit(memory, range.base, a) == GSH_OK);
    CHECK(ops->share(memory, range.base, a, &share) == GSH_OK);
    for (unsigned n = 1; n <= 2; n++) {
        gsh_fault_arm(n, false);
        CHECK(ops->commit(memory, range.base + b.off, b) == GSH_ERR_NOMEM);
        gsh_fault_arm(0, false);
        CHECK_EQ(file_bytes(share.fd), 2 * MIB);
        CHECK(!is_readable(range.base + b.off));
    }
    close(share.fd);
    ops->unmap(range.base, a.bytes);
    ops->destroy(&memory);
    ops->unreserve(&range);
}

/* Running out is an error of commit, and leaves the mappings unchanged. */
static void test_limit(void)
{
    struct gsh_memory *memory = create(1);
    struct gsh_reservation range = reserve(GIB, 2 * MIB);
    struct rlimit before, limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = 4 * MIB;
    CHECK(ops->commit(memory, range.base, (struct gsh_chunk){0, 2 * MIB}) == GSH_OK);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(ops->commit(memory, range.base + 2 * MIB, (struct gsh_chunk){2 * MIB, 4 * MIB}) ==
          GSH_ERR_NOMEM);
    CHECK(!is_readable(range.base + 2 * MIB));
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(ops->commit(memory, range.base + 2 * MIB, (struct gsh_chunk){2 * MIB, 4 * MIB}) ==
          GSH_OK);
    ops->unmap(range.base, 2 * MIB);
    ops->unmap(range.base + 2 * MIB, 4 * MIB);
    ops->destroy(&memory);
    ops->unreserve(&range);
}

/* Sanitizers' own mappings are beyond any such limit. */
static void test_no_addresses(void)
{
#if !defined(GSH_UNDER_TSAN) && !defined(__SANITIZE_ADDRESS__)
    struct rlimit before, limit;
    struct gsh_reservation range;
    CHECK_EQ(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = 64 * GIB;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    CHECK(ops->reserve(256 * GIB, 32 * GIB, &range) == GSH_ERR_NOMEM);
    CHECK(strstr(gsh_last_error(), "(ulimit -v) lets this process have 67108864 KiB") != NULL);
    CHECK_EQ(setrlimit(RLIMIT_AS, &before), 0);
#endif
}

int main(void)
{
    test_reserve();
    test_commit_and_release();
    test_share_and_accept();
    test_failed_commit();
    test_limit();
    test_no_addresses();
    return test_result();
}
