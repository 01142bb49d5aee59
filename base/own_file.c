/* SPDX-License-Identifier: Apache-2.0 */
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAX_LINKS 40 /* one after another, as many as the system follows */

/* The file that the link at path names, if the link is of root (/dev/stderr) or of this user, in
 * path. What is looked at is what is followed: the name may lead elsewhere by then. In /proc, where
 * nobody else can make links, they lead to what has no name: *is_final. False: not to be followed;
 * errno says why. */
static bool follow_link(char path[PATH_MAX], bool *is_final)
{
    char target[PATH_MAX];
    struct stat link;
    struct statfs system;
    ssize_t n = -1;
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool is_ours = fstat(fd, &link) == 0 && fstatfs(fd, &system) == 0 &&
                   (link.st_uid == geteuid() || link.st_uid == 0);
    *is_final = is_ours && system.f_type == PROC_SUPER_MAGIC;
    if (is_ours && !*is_final) {
        n = readlinkat(fd, "", target, sizeof(target) - 1);
    }
    close(fd);
    const char *slash = strrchr(path, '/');
    size_t dir_bytes = n > 0 && target[0] != '/' && slash != NULL ? (size_t)(slash - path) + 1 : 0;
    if (n <= 0 || dir_bytes + (size_t)n >= PATH_MAX) {
        errno = ELOOP;
        return *is_final;
    }
    memcpy(path + dir_bytes, target, (size_t)n);
    path[dir_bytes + (size_t)n] = '\0';
    return true;
}

int gsh_own_file_open(const char *name, int more_flags)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | more_flags;
    char path[PATH_MAX];
    bool is_final = false;
    snprintf(path, sizeof(path), "%s", name);
    int fd = open(path, flags | O_NOFOLLOW, 0644);
    for (int i = 0; i < MAX_LINKS && fd < 0 && errno == ELOOP && follow_link(path, &is_final);
         i++) {
        fd = open(path, flags | (is_final ? 0 : O_NOFOLLOW), 0644);
    }
    return fd;
}

FILE *gsh_own_file_create(const char *name)
{
    int fd = gsh_own_file_open(name, O_TRUNC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (fd >= 0 && file == NULL) {
        close(fd);
    }
    return file;
}
