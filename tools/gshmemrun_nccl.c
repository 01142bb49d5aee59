/* SPDX-License-Identifier: Apache-2.0
 * See gshmemrun_nccl.h. LD_LIBRARY_PATH alone does not reach a library whose own search path comes
 * first (DT_RPATH), as in PyTorch's wheels. A library in LD_PRELOAD is loaded before all others: by
 * its path, so that no DT_RPATH of the program itself leads elsewhere, and again by its name, so
 * that whoever asks for that name later gets it. */
#define _GNU_SOURCE 1
#include "tools/gshmemrun_nccl.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/gshmemrun_options.h"
#include "tools/gshmemrun_output.h"

static const char library[] = "libnccl.so.2";

/* The directory of this program; false: unknown. */
static bool find_own(char *dir, size_t bytes)
{
    ssize_t n = readlink("/proc/self/exe", dir, bytes - 1);
    if (n <= 0) {
        return false;
    }
    dir[n] = '\0';
    char *name = strrchr(dir, '/');
    if (name == NULL) {
        return false;
    }
    *name = '\0';
    return true;
}

/* The library's directory: of the installation, wherever it has been moved, or the build's. */
static bool find_library(char *out, size_t bytes)
{
    static const char *const folders[] = {GSHMEMRUN_NCCL_DIR, "dialects/nccl"};
    char own[PATH_MAX], file[3 * PATH_MAX];
    if (!find_own(own, sizeof(own))) {
        return false;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        const bool is_whole = folders[i][0] == '/';
        snprintf(out, bytes, "%s%s%s", is_whole ? "" : own, is_whole ? "" : "/", folders[i]);
        snprintf(file, sizeof(file), "%s/%s", out, library);
        if (access(file, R_OK) == 0) {
            return true;
        }
    }
    return false;
}

/* Puts it before what the variable has. */
static void put_first(const char *name, const char *value)
{
    const char *was = secure_getenv(name);
    char *text = NULL;
    if (was == NULL || was[0] == '\0') {
        setenv(name, value, 1);
    } else if (asprintf(&text, "%s:%s", value, was) >= 0) {
        setenv(name, text, 1);
        free(text);
    }
}

void gshmemrun_use_nccl(void)
{
    char dir[2 * PATH_MAX], preload[3 * PATH_MAX];
    if (!find_library(dir, sizeof(dir))) {
        gshmemrun_say("--nccl: there is no %s in %s", library, GSHMEMRUN_NCCL_DIR);
        exit(GSHMEMRUN_CANNOT_RUN);
    }
    put_first("LD_LIBRARY_PATH", dir);
    /* blanks and colons divide what LD_PRELOAD lists */
    const bool is_plain = strpbrk(dir, " :") == NULL;
    snprintf(preload, sizeof(preload), "%s%s%s%s", is_plain ? dir : "", is_plain ? "/" : "",
             is_plain ? "libnccl.so.2:" : "", library);
    put_first("LD_PRELOAD", preload);
}

void gshmemrun_become(const struct gshmemrun_options *o)
{
    execv(o->path, o->command);
    gshmemrun_say("cannot start %s: %s", o->command[0], strerror(errno));
    exit(GSHMEMRUN_CANNOT_RUN);
}
