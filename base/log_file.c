/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/own_file.h"
#include "base/util.h"

static void append(char *out, size_t size, size_t *used, const char *text)
{
    size_t n = gsh_min_u64(strlen(text), size - 1 - *used);
    memcpy(out + *used, text, n);
    *used += n;
    out[*used] = '\0';
}

/* Writes pattern to out with its tokens filled in. */
static void expand_path(const char *pattern, int pe, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *p = pattern; *p; p++) {
        char piece[256] = {*p, '\0'};
        if (p[0] == '%' && p[1] == 'h') {
            if (gethostname(piece, sizeof(piece) - 1) != 0) {
                strcpy(piece, "host");
            }
            p++;
        } else if (p[0] == '%' && (p[1] == 'p' || p[1] == 'r')) {
            snprintf(piece, sizeof(piece), "%d", p[1] == 'p' ? (int)getpid() : pe);
            p++;
        } else if (p[0] == '%' && p[1] == '%') {
            p++;
        }
        append(out, size, &used, piece);
    }
}

bool gsh_log_file_is_per_pe(const char *pattern)
{
    for (const char *p = strchr(pattern, '%'); p != NULL && p[1] != '\0'; p = strchr(p + 2, '%')) {
        if (p[1] == 'r') {
            return true;
        }
    }
    return false;
}

const char *gsh_log_file_bad_token(const char *pattern)
{
    for (const char *p = strchr(pattern, '%'); p != NULL; p = strchr(p + 2, '%')) {
        if (p[1] == '\0' || strchr("hpr%", p[1]) == NULL) {
            return p;
        }
    }
    return NULL;
}

int gsh_log_file_open(const char *pattern, int pe, char *name, size_t size)
{
    expand_path(pattern, pe, name, size);
    return gsh_own_file_open(name, O_APPEND);
}
