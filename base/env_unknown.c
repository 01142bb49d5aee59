/* SPDX-License-Identifier: Apache-2.0
 * Finds GSHMEM_ variables that do not exist, in the environment and in files of settings, and the
 * name that was probably meant. */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include "base/config.h"
#include "base/env.h"
#include "base/log.h"
#include "base/util.h"

#define PREFIX "GSHMEM_"

extern char **environ;

static const char *const names[] = {
#define ENV(field, name, kind, def, allowed, doc) PREFIX #name,
#include "base/env.def"
#undef ENV
};

static bool is_known(const char *name)
{
    for (size_t i = 0; i < GSH_ARRAY_LEN(names); i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Edit distance of two names (insert, delete, replace), for suggesting the one that was meant. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[64];
    size_t n = gsh_min_u64(strlen(b), GSH_ARRAY_LEN(row) - 1);
    for (size_t j = 0; j <= n; j++) {
        row[j] = (unsigned)j;
    }
    for (size_t i = 0; a[i]; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 1; j <= n; j++) {
            unsigned replaced = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            unsigned shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];
            row[j] = replaced < shorter + 1 ? replaced : shorter + 1;
        }
    }
    return row[n];
}

/* Describes what is wrong with a name that no row has. */
static void word_unknown(const char *name, char *out, size_t size)
{
    if (strcmp(name, PREFIX "SYMMETRIC_SIZE") == 0) { /* as OpenSHMEM and NVSHMEM have it */
        snprintf(
            out, size,
            "%s is not a variable of gshmem and is ignored; the heap grows as it is needed, up to "
            "GSHMEM_HEAP_RANGE",
            name);
        return;
    }
    const char *nearest = NULL;
    unsigned best = UINT32_MAX;
    for (size_t i = 0; i < GSH_ARRAY_LEN(names); i++) {
        unsigned d = distance(name, names[i]);
        if (d < best) {
            best = d;
            nearest = names[i];
        }
    }
    bool is_near = nearest != NULL && best <= 1 + strlen(nearest + strlen(PREFIX)) / 3;
    snprintf(out, size, "%s is not a variable of gshmem and is ignored%s%s%s", name,
             is_near ? "; did you mean " : "; gshmem-info lists them", is_near ? nearest : "",
             is_near ? "?" : "");
}

/* The next GSHMEM_ variable from *at on that no row has; *at moves past it. */
static bool find_unknown(char ***at, char *name, size_t size)
{
    if (getauxval(AT_SECURE) != 0) {
        return false;
    }
    for (; *at != NULL && **at != NULL; ++*at) {
        size_t n = strcspn(**at, "=");
        if (strncmp(**at, PREFIX, strlen(PREFIX)) != 0 || n >= size) {
            continue;
        }
        memcpy(name, **at, n);
        name[n] = '\0';
        if (!is_known(name)) {
            ++*at;
            return true;
        }
    }
    return false;
}

static void warn_of_environment(void)
{
    char name[128], text[320];
    for (char **at = environ; find_unknown(&at, name, sizeof(name));) {
        word_unknown(name, text, sizeof(text));
        gsh_log(GSH_LOG_WARN, GSH_LOG_INIT, "%s", text);
    }
    bool has_any = false;
    for (char **at = environ; at != NULL && *at != NULL; at++) { /* NULL after clearenv */
        has_any = has_any || strncmp(*at, PREFIX, strlen(PREFIX)) == 0;
    }
    if (getauxval(AT_SECURE) != 0 && has_any) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_INIT,
                "this program has more rights than the user who started it (setuid): all variables "
                "of the environment are ignored, those of its launcher, too");
    }
}

/* The next line of a file that has an unknown name, from *at on, which moves past it. */
static const struct gsh_config_line *find_unknown_line(size_t *at)
{
    size_t n;
    const struct gsh_config_line *lines = gsh_config_lines(&n);
    while (*at < n) {
        const struct gsh_config_line *line = &lines[(*at)++];
        if (!is_known(line->name)) {
            return line;
        }
    }
    return NULL;
}

static void warn_of_files(void)
{
    const char *fault;
    const struct gsh_config_line *line;
    for (size_t i = 0; (fault = gsh_config_fault(i)) != NULL; i++) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_INIT, "%s", fault);
    }
    for (size_t at = 0; (line = find_unknown_line(&at)) != NULL;) {
        char text[320];
        word_unknown(line->name, text, sizeof(text));
        gsh_log(GSH_LOG_WARN, GSH_LOG_INIT, "%s:%d: %s", line->file, line->number, text);
    }
}

void gsh_env_warn(bool of_environment, bool of_files)
{
    static bool is_done[2]; /* once per process, however many PEs it holds */
    if (of_environment && !__atomic_exchange_n(&is_done[0], true, __ATOMIC_RELAXED)) {
        warn_of_environment();
    }
    if (of_files && !__atomic_exchange_n(&is_done[1], true, __ATOMIC_RELAXED)) {
        warn_of_files();
    }
}

int gsh_env_print_unknown(FILE *out)
{
    char name[128], words[320];
    const char *fault;
    const struct gsh_config_line *line;
    int n_wrong = 0;
    for (char **at = environ; find_unknown(&at, name, sizeof(name)); n_wrong++) {
        word_unknown(name, words, sizeof(words));
        fprintf(out, "%s=%s  (environment, UNKNOWN)\n    %s\n", name, secure_getenv(name), words);
    }
    for (size_t at = 0; (line = find_unknown_line(&at)) != NULL; n_wrong++) {
        word_unknown(line->name, words, sizeof(words));
        fprintf(out, "%s=%s  (%s:%d, UNKNOWN)\n    %s\n", line->name, line->value, line->file,
                line->number, words);
    }
    for (size_t i = 0; (fault = gsh_config_fault(i)) != NULL; i++, n_wrong++) {
        fprintf(out, "%s\n", fault);
    }
    return n_wrong;
}
