/* SPDX-License-Identifier: Apache-2.0
 * Whatever files of settings hold: each line is taken or has a fault that names the file and the
 * line; what is taken has a name and a value that the environment could have, of each name one line
 * counts, and what only the environment may say is never taken. The input: up to three files, with
 * a byte 255 in between. */
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/config.h"

#define FILES 3

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    clearenv();
    setenv("GSHMEM_CONFIG", "none", 1);
    return 0;
}

/* A file without a name, and the name by which it is opened. */
static int make_file(const uint8_t *data, size_t bytes, char *name, size_t room)
{
    int fd = memfd_create("settings", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    snprintf(name, room, "/proc/self/fd/%d", fd);
    return fd;
}

static void check_line(const struct gsh_config_line *line)
{
    size_t length = strlen(line->name);
    FUZZ_CHECK(length > 0 && length < 64 && line->number > 0);
    FUZZ_CHECK(strspn(line->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == length);
    FUZZ_CHECK(strcmp(line->name, "GSHMEM_UID") != 0 && strcmp(line->name, "GSHMEM_CONFIG") != 0 &&
               strcmp(line->name, "GSHMEM_RANK") != 0);
    FUZZ_CHECK(line->value[0] != '\0');
    for (const char *at = line->value; *at != '\0'; at++) {
        FUZZ_CHECK(!iscntrl((unsigned char)*at) || *at == '\t');
    }
    const struct gsh_config_line *counts = gsh_config_find(line->name);
    FUZZ_CHECK(counts != NULL && counts->counts && strcmp(counts->name, line->name) == 0);
    FUZZ_CHECK(!line->counts || counts == line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char name[FILES][64];
    int fd[FILES];
    size_t n = 0;
    for (int i = 0; i < FILES; i++) {
        const uint8_t *end = bytes > 0 ? memchr(data, 255, bytes) : NULL;
        size_t own = end != NULL && i + 1 < FILES ? (size_t)(end - data) : bytes;
        fd[i] = make_file(data, own, name[i], sizeof(name[i]));
        own += end != NULL && i + 1 < FILES;
        data += own;
        bytes -= own;
    }
    (void)gsh_config_lines(&n); /* what it reads once by itself comes first */
    gsh_config_read(name[0], name[1], name[2]);
    const struct gsh_config_line *lines = gsh_config_lines(&n);
    for (size_t i = 0; i < n; i++) {
        check_line(&lines[i]);
    }
    for (size_t i = 0; gsh_config_fault(i) != NULL; i++) {
        FUZZ_CHECK(strstr(gsh_config_fault(i), "/proc/self/fd/") == gsh_config_fault(i));
        FUZZ_CHECK(strchr(gsh_config_fault(i), '\n') == NULL);
    }
    for (int i = 0; i < FILES; i++) {
        close(fd[i]);
    }
    return 0;
}
