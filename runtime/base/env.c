/* SPDX-License-Identifier: Apache-2.0
 * Parses the variables of env.def into struct gsh_env, and prints the table. Text becomes values
 * here and nowhere else. */
#include "runtime/base/env.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/log.h"
#include "runtime/base/util.h"

#define PREFIX "GSHMEM_"

extern char **environ;

enum kind { KIND_BOOL, KIND_SIZE, KIND_SECONDS, KIND_INT, KIND_STRING, KIND_CHOICE };

struct row {
    const char *name, *default_text, *choices, *doc;
    enum kind kind;
    size_t offset, bytes; /* of the member of struct gsh_env */
};

#define MEMBER(m)         offsetof(struct gsh_env, m), sizeof(((struct gsh_env *)0)->m)
#define MEMBER_BOOL(f)    MEMBER(f)
#define MEMBER_SIZE(f)    MEMBER(f##_bytes)
#define MEMBER_SECONDS(f) MEMBER(f##_ns)
#define MEMBER_INT(f)     MEMBER(f)
#define MEMBER_STRING(f)  MEMBER(f)
#define MEMBER_CHOICE(f)  MEMBER(f)

static const struct row rows[] = {
#define ENV(field, name, kind, def, choices, doc) \
    {PREFIX #name, def, choices, doc, KIND_##kind, MEMBER_##kind(field)},
#include "runtime/base/env.def"
#undef ENV
};

static const char *const subsys_names[] = {"init", "bootstrap", "heap", "device",
                                           "rma",  "sync",      "proxy"};

/* The index of the word [text, text + length) in a '|'-divided list, -1: not there. */
static int find_choice(const char *choices, const char *text, size_t length)
{
    int index = 0;
    for (const char *p = choices;; index++) {
        size_t n = strcspn(p, "|");
        if (n == length && strncasecmp(p, text, n) == 0)
            return index;
        if (p[n] == '\0')
            return -1;
        p += n + 1;
    }
}

static bool parse_bool(const char *text, bool *out)
{
    int i = find_choice("0|no|off|false|1|yes|on|true", text, strlen(text));
    if (i < 0)
        return false;
    *out = i >= 4;
    return true;
}

/* A non-negative decimal number; *rest is what follows it. */
static bool parse_decimal(const char *text, double *out, const char **rest)
{
    char *end;
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return false;
    *out = strtod(text, &end);
    *rest = end;
    return end != text && isfinite(*out) && *out >= 0;
}

static bool parse_size(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    unsigned shift = 0;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
        if (strcasecmp(end, "iB") == 0)
            end += 2;
    }
    if (toupper((unsigned char)*end) == 'B')
        end++;
    if (*end || value > UINT64_MAX >> shift)
        return false;
    *out = value << shift;
    return true;
}

static bool parse_seconds(const char *text, uint64_t *out_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9}};
    double value;
    const char *unit;
    if (!parse_decimal(text, &value, &unit))
        return false;
    for (size_t i = 0; i < GSH_ARRAY_LEN(units); i++) {
        double ns = value * units[i].ns;
        if (strcmp(unit, units[i].name) == 0 && ns < 9e18) {
            *out_ns = (uint64_t)(ns + 0.5);
            return true;
        }
    }
    return false;
}

static bool parse_int(const char *text, int *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end || value < INT32_MIN || value > INT32_MAX)
        return false;
    *out = (int)value;
    return true;
}

/* Stores the choice in its canonical spelling. */
static bool parse_choice(const char *choices, const char *text, char *out, size_t bytes)
{
    size_t length = strlen(text);
    if (find_choice(choices, text, length) < 0 || length >= bytes)
        return false;
    for (size_t i = 0; i <= length; i++)
        out[i] = (char)tolower((unsigned char)text[i]);
    return true;
}

static bool parse(const struct row *row, const char *text, struct gsh_env *env)
{
    void *member = (char *)env + row->offset;
    switch (row->kind) {
    case KIND_BOOL:
        return parse_bool(text, member);
    case KIND_SIZE:
        return parse_size(text, member);
    case KIND_SECONDS:
        return parse_seconds(text, member);
    case KIND_INT:
        return parse_int(text, member);
    case KIND_CHOICE:
        return parse_choice(row->choices, text, member, row->bytes);
    case KIND_STRING:
        if (strlen(text) >= row->bytes)
            return false;
        strcpy(member, text);
        return true;
    }
    return false;
}

/* What the row's kind allows, in words. */
static void describe(const struct row *row, char *out, size_t size)
{
    static const char *const texts[] = {
        [KIND_BOOL] = "0 or 1 (no or yes, off or on, false or true)",
        [KIND_SIZE] = "a number of bytes, or of K, M, G or T, such as 64M",
        [KIND_SECONDS] = "seconds, such as 5 or 0.5, or with a unit, such as 100ms",
        [KIND_INT] = "a whole number",
        [KIND_STRING] = "a text of at most 255 characters",
    };
    if (row->kind != KIND_CHOICE) {
        snprintf(out, size, "%s", texts[row->kind]);
        return;
    }
    size_t used = (size_t)snprintf(out, size, "one of ");
    for (const char *p = row->choices; *p && used + 2 < size; p++) {
        used += (size_t)snprintf(out + used, size - used, *p == '|' ? ", " : "%c", *p);
    }
}

/* The variable's text in the environment; NULL when it is unset or empty. */
static const char *set_text(const struct row *row)
{
    const char *text = getenv(row->name);
    return text && text[0] ? text : NULL;
}

static enum gsh_result parse_subsystems(const char *text, unsigned *mask)
{
    *mask = 0;
    while (*text) {
        size_t n = strcspn(text, ",");
        unsigned bit = 0;
        for (unsigned i = 0; i < GSH_ARRAY_LEN(subsys_names); i++) {
            if (strlen(subsys_names[i]) == n && strncasecmp(text, subsys_names[i], n) == 0)
                bit = 1u << i;
        }
        if (n == 3 && strncasecmp(text, "all", n) == 0)
            bit = GSH_LOG_ALL;
        if (bit == 0 && n > 0)
            return gsh_fail(GSH_ERR_ARG,
                            "GSHMEM_DEBUG_SUBSYS: no subsystem '%.*s'; allowed: init, bootstrap, "
                            "heap, device, rma, sync, proxy, all",
                            (int)n, text);
        *mask |= bit;
        text += n + (text[n] == ',');
    }
    return GSH_OK;
}

/* Edit distance of two names (insert, delete, replace), for suggesting the one that was meant. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[64];
    size_t n = gsh_min_u64(strlen(b), GSH_ARRAY_LEN(row) - 1);
    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
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

static void warn_unknown_name(const char *name)
{
    const struct row *nearest = NULL;
    unsigned best = UINT32_MAX;
    for (size_t i = 0; i < GSH_ARRAY_LEN(rows); i++) {
        unsigned d = distance(name, rows[i].name);
        if (d < best) {
            best = d;
            nearest = &rows[i];
        }
    }
    bool is_near = nearest && best <= 1 + strlen(nearest->name + strlen(PREFIX)) / 3;
    gsh_log(GSH_LOG_WARN, GSH_LOG_INIT, "%s is not a variable of gshmem and is ignored%s%s%s", name,
            is_near ? "; did you mean " : "; gshmem-info lists them", is_near ? nearest->name : "",
            is_near ? "?" : "");
}

static void warn_unknown(void)
{
    static bool is_done; /* once per process, however many PEs it holds */
    if (__atomic_exchange_n(&is_done, true, __ATOMIC_RELAXED))
        return;
    for (char **p = environ; p && *p; p++) {
        char name[128];
        size_t n = strcspn(*p, "=");
        if (strncmp(*p, PREFIX, strlen(PREFIX)) != 0 || n >= sizeof name)
            continue;
        memcpy(name, *p, n);
        name[n] = '\0';
        bool is_known = false;
        for (size_t i = 0; i < GSH_ARRAY_LEN(rows); i++)
            is_known = is_known || strcmp(rows[i].name, name) == 0;
        if (!is_known)
            warn_unknown_name(name);
    }
}

enum gsh_result gsh_env_read(struct gsh_env *env)
{
    struct gsh_env read = {0};
    for (size_t i = 0; i < GSH_ARRAY_LEN(rows); i++) {
        const char *text = set_text(&rows[i]);
        if (parse(&rows[i], text ? text : rows[i].default_text, &read))
            continue;
        if (!text)
            return gsh_fail(GSH_ERR_BUG, "%s: bad default", rows[i].name);
        char allowed[256];
        describe(&rows[i], allowed, sizeof allowed);
        return gsh_fail(GSH_ERR_ARG, "%s=%s is not allowed: it must be %s", rows[i].name, text,
                        allowed);
    }
    unsigned mask = 0;
    enum gsh_result r = parse_subsystems(read.debug_subsys, &mask);
    if (r)
        return r;
    /* env.def lists the choices of debug in the order of enum gsh_log_level. */
    int level = find_choice("none|error|warn|info|trace", read.debug, strlen(read.debug));
    gsh_log_setup((enum gsh_log_level)level, mask, read.debug_file[0] ? read.debug_file : NULL);
    warn_unknown();
    *env = read;
    return GSH_OK;
}

void gsh_env_print(FILE *out)
{
    for (size_t i = 0; i < GSH_ARRAY_LEN(rows); i++) {
        struct gsh_env scratch;
        const char *text = set_text(&rows[i]);
        const char *source = "default";
        char allowed[256];
        if (text)
            source = parse(&rows[i], text, &scratch) ? "environment" : "environment, NOT ALLOWED";
        describe(&rows[i], allowed, sizeof allowed);
        fprintf(out, "%s=%s  (%s)\n    %s\n    allowed: %s\n", rows[i].name,
                text ? text : rows[i].default_text, source, rows[i].doc, allowed);
    }
}
