/* SPDX-License-Identifier: Apache-2.0
 * See pages.h. */
#include "base/pages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool gsh_file_may_have(uint64_t bytes)
{
    struct rlimit limit;
    bool is_allowed = getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
    errno = is_allowed ? errno : EFBIG;
    return is_allowed;
}

uint64_t gsh_page_size(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* volatile, so that this does not become a memcpy. */
__attribute__((no_sanitize("address", "thread"))) void gsh_pages_copy(void *to, const void *from,
                                                                      uint64_t bytes)
{
    volatile uint64_t *dest = to;
    const volatile uint64_t *source = from;
    for (uint64_t i = 0; i < bytes / sizeof(*dest); i++) {
        dest[i] = source[i];
    }
}

__attribute__((no_sanitize("address", "thread"))) static bool is_zero(const void *page,
                                                                      uint64_t bytes)
{
    const volatile uint64_t *words = page;
    for (uint64_t i = 0; i < bytes / sizeof(*words); i++) {
        if (words[i] != 0) {
            return false;
        }
    }
    return true;
}

void gsh_pages_copy_sparse(void *to, const void *from, uint64_t bytes)
{
    const uint64_t page = gsh_page_size();
    char *dest = to;
    const char *source = from;
    for (uint64_t at = 0, n; at < bytes; at += n) {
        n = page;
        if (!is_zero(source + at, page)) {
            gsh_pages_copy(dest + at, source + at, page);
            continue;
        }
        while (at + n < bytes && is_zero(source + at + n, page)) {
            n += page;
        }
        if (madvise(dest + at, n, MADV_REMOVE) != 0) {
            gsh_pages_copy(dest + at, source + at, n);
        }
    }
}

/* The system call itself: libraries that replace mremap, as UCX does, lose the last argument. */
bool gsh_pages_remap(void *from, uint64_t from_bytes, void *to, uint64_t bytes)
{
    return syscall(SYS_mremap, from, from_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
           (long)(intptr_t)to;
}

/* Bytes to copy before asking again where there are pages. */
#define STRETCH ((uint64_t)64 << 10)

static uint64_t all_is_data(void *context, uint64_t off)
{
    (void)context;
    return off;
}

bool gsh_pages_make_private(void *at, uint64_t bytes)
{
    return gsh_pages_make_private_sparse(at, bytes, all_is_data, NULL);
}

bool gsh_pages_make_private_sparse(void *at, uint64_t bytes,
                                   uint64_t (*next_data)(void *context, uint64_t off),
                                   void *context)
{
    char *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) {
        return false;
    }
    for (uint64_t off = next_data(context, 0); off < bytes;) {
        uint64_t n = bytes - off < STRETCH ? bytes - off : STRETCH;
        gsh_pages_copy(copy + off, (const char *)at + off, n);
        off = next_data(context, off + n);
    }
    if (!gsh_pages_remap(copy, bytes, at, bytes)) {
        munmap(copy, bytes);
        return false;
    }
    return true;
}

/* What another thread opens and closes between the look and the duplicate is another file then: the
 * duplicate counts. */
int gsh_file_find_descriptor(dev_t device, ino_t inode)
{
    int fd = -1;
    struct stat s;
    DIR *all = opendir("/proc/self/fd");
    for (const struct dirent *e; all != NULL && fd < 0 && (e = readdir(all)) != NULL;) {
        char path[300], *end;
        long n = strtol(e->d_name, &end, 10);
        snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
        if (*end != '\0' || end == e->d_name || stat(path, &s) != 0 || s.st_dev != device ||
            s.st_ino != inode) {
            continue;
        }
        fd = fcntl((int)n, F_DUPFD_CLOEXEC, 3);
        if (fd >= 0 && (fstat(fd, &s) != 0 || s.st_dev != device || s.st_ino != inode ||
                        (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)) {
            close(fd);
            fd = -1;
        }
    }
    if (all != NULL) {
        closedir(all);
    }
    return fd;
}
