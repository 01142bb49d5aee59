/* SPDX-License-Identifier: Apache-2.0
 * Parses the variables of env.def into struct gsh_env, and prints the table. Text becomes values
 * here and nowhere else. */
#include "base/env.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/config.h"
#include "base/log.h"
#include "base/log_file.h"
#include "base/util.h"

#define PREFIX "GSHMEM_"

enum kind { KIND_BOOL, KIND_SIZE, KIND_SECONDS, KIND_INT, KIND_STRING, KIND_CHOICE };

struct row {
    const char *name, *default_text, *allowed, *doc;
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
#define ENV(field, name, kind, def, allowed, doc) \
    {PREFIX #name, def, allowed, doc, KIND_##kind, MEMBER_##kind(field)},
#include "base/env.def"
#undef ENV
};

/* The index of the word [text, text + length) in a '|'-divided list, -1: not there. */
static int find_choice(const char *choices, const char *text, size_t length)
{
    int index = 0;
    for (const char *p = choices;; index++) {
        size_t n = strcspn(p, "|");
        if (n == length && strncasecmp(p, text, n) == 0) {
            return index;
        }
        if (p[n] == '\0') {
            return -1;
        }
        p += n + 1;
    }
}

static bool parse_bool(const char *text, bool *out)
{
    int i = find_choice("0|no|off|false|1|yes|on|true", text, strlen(text));
    if (i < 0) {
        return false;
    }
    *out = i >= 4;
    return true;
}

/* A non-negative decimal number; *rest is what follows it. */
static bool parse_decimal(const char *text, double *out, const char **rest)
{
    char *end;
    if ((!isdigit((unsigned char)text[0]) && text[0] != '.') ||
        tolower((unsigned char)text[1]) == 'x') {
        return false;
    }
    *out = strtod(text, &end);
    *rest = end;
    return end != text && isfinite(*out) && *out >= 0;
}

bool gsh_env_parse_size(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    char *end;
    if (!isdigit((unsigned char)text[0])) {
        return false;
    }
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0) {
        return false;
    }
    unsigned shift = 0;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit != NULL) {
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
        if (strcasecmp(end, "iB") == 0) {
            end += 2;
        }
    }
    if (toupper((unsigned char)*end) == 'B') {
        end++;
    }
    if (*end || value > UINT64_MAX >> shift) {
        return false;
    }
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
    if (!parse_decimal(text, &value, &unit)) {
        return false;
    }
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
    if (errno != 0 || end == text || *end || value < INT32_MIN || value > INT32_MAX) {
        return false;
    }
    *out = (int)value;
    return true;
}

/* Stores the choice in its canonical spelling. */
static bool parse_choice(const char *choices, const char *text, char *out, size_t bytes)
{
    size_t length = strlen(text);
    if (find_choice(choices, text, length) < 0 || length >= bytes) {
        return false;
    }
    for (size_t i = 0; i <= length; i++) {
        out[i] = (char)tolower((unsigned char)text[i]);
    }
    return true;
}

/* "LEAST" or "LEAST..MOST". */
static bool parse_range(const char *text, int *least, int *most)
{
    char number[16];
    const size_t n = strcspn(text, ".");
    *most = INT32_MAX;
    if (n >= sizeof(number) || (text[n] != '\0' && !parse_int(text + n + 2, most))) {
        return false;
    }
    memcpy(number, text, n);
    number[n] = '\0';
    return parse_int(number, least);
}

/* Whether the number is within what the row allows, or is the default. */
static bool is_in_range(const struct row *row, const struct gsh_env *env)
{
    uint64_t value, least, otherwise;
    int number, least_number, most_number, otherwise_number;
    if (row->kind == KIND_SIZE) {
        memcpy(&value, (const char *)env + row->offset, sizeof(value));
        return gsh_env_parse_size(row->allowed, &least) &&
               gsh_env_parse_size(row->default_text, &otherwise) &&
               (value >= least || value == otherwise);
    }
    memcpy(&number, (const char *)env + row->offset, sizeof(number));
    return parse_range(row->allowed, &least_number, &most_number) &&
           parse_int(row->default_text, &otherwise_number) &&
           ((number >= least_number && number <= most_number) || number == otherwise_number);
}

static bool parse(const struct row *row, const char *text, struct gsh_env *env)
{
    void *member = (char *)env + row->offset;
    switch (row->kind) {
    case KIND_BOOL:
        return parse_bool(text, member);
    case KIND_SIZE:
        return gsh_env_parse_size(text, member) && is_in_range(row, env);
    case KIND_SECONDS:
        return parse_seconds(text, member);
    case KIND_INT:
        return parse_int(text, member) && is_in_range(row, env);
    case KIND_CHOICE:
        return parse_choice(row->allowed, text, member, row->bytes);
    case KIND_STRING:
        if (strlen(text) >= row->bytes) {
            return false;
        }
        strcpy(member, text);
        return true;
    }
    return false;
}

/* Whether the default is a value of its own, such as 0 for "off", below what the row allows. */
static bool is_default_too_small(const struct row *row)
{
    uint64_t least = 0, otherwise = 0;
    int least_number = 0, most_number = 0, otherwise_number = 0;
    if (row->kind == KIND_SIZE) {
        return gsh_env_parse_size(row->allowed, &least) &&
               gsh_env_parse_size(row->default_text, &otherwise) && otherwise < least;
    }
    return parse_range(row->allowed, &least_number, &most_number) &&
           parse_int(row->default_text, &otherwise_number) && otherwise_number < least_number;
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
    if (row->kind == KIND_SIZE || row->kind == KIND_INT) {
        const int n = (int)strcspn(row->allowed, ".");
        const char *most = row->allowed[n] != '\0' ? row->allowed + n + 2 : "";
        snprintf(out, size,
                 is_default_too_small(row) ? "%s; at least %.*s%s%s, or %s, which is the default"
                                           : "%s; at least %.*s%s%s; the default is %s",
                 texts[row->kind], n, row->allowed, most[0] != '\0' ? ", at most " : "", most,
                 row->default_text);
        return;
    }
    if (row->kind != KIND_CHOICE) {
        snprintf(out, size, "%s", texts[row->kind]);
        return;
    }
    size_t used = (size_t)snprintf(out, size, "one of ");
    for (const char *p = row->allowed; *p && used + 2 < size; p++) {
        used += (size_t)snprintf(out + used, size - used, *p == '|' ? ", " : "%c", *p);
    }
}

static char *offered[GSH_ARRAY_LEN(rows)]; /* atomic */

bool gsh_env_offer(const char *name, const char *value)
{
    for (size_t i = 0; i < GSH_ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            char *text = strdup(value), *before = NULL;
            /* release: pairs with the acquire in set_text */
            if (text != NULL && !__atomic_compare_exchange_n(&offered[i], &before, text, false,
                                                             __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
                free(text);
                return true;
            }
            return text != NULL;
        }
    }
    return false;
}

/* Where a variable's text comes from. */
enum origin { FROM_DEFAULT, FROM_ENVIRONMENT, FROM_PROGRAM, FROM_FILE };

/* The variable's text in the environment, else what was offered for it, else what a file of
 * settings says; NULL when it is unset or empty. A program that has more rights than the user who
 * started it has no such environment. */
static const char *set_text(const struct row *row, enum origin *origin)
{
    const char *text = secure_getenv(row->name);
    *origin = FROM_ENVIRONMENT;
    if (text == NULL || text[0] == '\0') {
        text = __atomic_load_n(&offered[row - rows], __ATOMIC_ACQUIRE);
        *origin = FROM_PROGRAM;
    }
    const struct gsh_config_line *line = text == NULL ? gsh_config_find(row->name) : NULL;
    if (text == NULL) {
        text = line != NULL ? line->value : NULL;
        *origin = line != NULL ? FROM_FILE : FROM_DEFAULT;
    }
    return text;
}

const char *gsh_env_text(const char *name)
{
    enum origin origin;
    for (size_t i = 0; i < GSH_ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return set_text(&rows[i], &origin);
        }
    }
    return NULL;
}

/* The origin in words. */
static void describe_origin(const struct row *row, enum origin origin, char *out, size_t size)
{
    static const char *const words[] = {"default", "environment", "program"};
    if (origin == FROM_FILE) {
        const struct gsh_config_line *line = gsh_config_find(row->name);
        snprintf(out, size, "%s:%d", line->file, line->number);
    } else {
        snprintf(out, size, "%s", words[origin]);
    }
}

static enum gsh_result parse_subsystems(const char *text, unsigned *mask)
{
    *mask = 0;
    while (*text) {
        size_t n = strcspn(text, ",");
        unsigned bit = 0;
        for (unsigned one = 1; one < GSH_LOG_ALL; one <<= 1) {
            const char *name = gsh_log_subsys_name(one);
            if (strlen(name) == n && strncasecmp(text, name, n) == 0) {
                bit = one;
            }
        }
        if (n == 3 && strncasecmp(text, "all", n) == 0) {
            bit = GSH_LOG_ALL;
        }
        if (bit == 0 && n > 0) {
            return gsh_fail(GSH_ERR_ARG,
                            "GSHMEM_DEBUG_SUBSYS: no subsystem '%.*s'; allowed: init, bootstrap, "
                            "heap, device, rma, sync, proxy, all",
                            (int)n, text);
        }
        *mask |= bit;
        text += n + (text[n] == ',');
    }
    return GSH_OK;
}

static enum gsh_result check_log_file(const char *name, const char *pattern)
{
    const char *bad = gsh_log_file_bad_token(pattern);
    return bad == NULL
               ? GSH_OK
               : gsh_fail(GSH_ERR_ARG,
                          "%s=%s: '%.2s' stands for nothing: h, p, r or a second percent sign "
                          "follows the first",
                          name, pattern, bad);
}

/* What is printed is kept, and sent to others. */
static bool is_secret(const struct row *row)
{
    return row->offset == offsetof(struct gsh_env, uid);
}

enum gsh_result gsh_env_read(struct gsh_env *env)
{
    struct gsh_env read = {0};
    for (size_t i = 0; i < GSH_ARRAY_LEN(rows); i++) {
        enum origin origin;
        const char *text = set_text(&rows[i], &origin);
        if (parse(&rows[i], text != NULL ? text : rows[i].default_text, &read)) {
            continue;
        }
        if (text == NULL) {
            return gsh_fail(GSH_ERR_BUG, "%s: bad default", rows[i].name);
        }
        char allowed[256], where[300] = "";
        describe(&rows[i], allowed, sizeof(allowed));
        text = is_secret(&rows[i]) ? "(secret)" : text;
        if (origin == FROM_FILE) {
            describe_origin(&rows[i], origin, where, sizeof(where));
        }
        return gsh_fail(GSH_ERR_ARG, "%s%s%s=%s is not allowed: it must be %s", where,
                        where[0] ? ": " : "", rows[i].name, text, allowed);
    }
    unsigned mask = 0;
    enum gsh_result r = parse_subsystems(read.debug_subsys, &mask);
    if (r == GSH_OK) {
        r = check_log_file("GSHMEM_LOG_FILE", read.log_file);
    }
    if (r == GSH_OK) {
        r = check_log_file("GSHMEM_DEBUG_FILE", read.debug_file);
    }
    if (r) {
        return r;
    }
    /* env.def lists the choices of debug in the order of enum gsh_log_level. */
    int level = find_choice("none|error|warn|info|trace", read.debug, strlen(read.debug));
    const char *file = read.log_file[0] ? read.log_file : read.debug_file;
    if (strcmp(read.log_format, "json") == 0) {
        gsh_log_use_json();
    }
    gsh_log_setup((enum gsh_log_level)level, mask, file[0] ? file : NULL);
    *env = read;
    return GSH_OK;
}

static bool is_allowed(const struct row *row, const char *text)
{
    struct gsh_env scratch;
    unsigned mask;
    if (!parse(row, text, &scratch)) {
        return false;
    }
    if (row->offset == offsetof(struct gsh_env, log_file) ||
        row->offset == offsetof(struct gsh_env, debug_file)) {
        return gsh_log_file_bad_token(text) == NULL;
    }
    return row->offset != offsetof(struct gsh_env, debug_subsys) ||
           parse_subsystems(text, &mask) == GSH_OK;
}

int gsh_env_print(FILE *out)
{
    char words[320], source[340];
    int n_wrong = 0;
    for (size_t i = 0; i < GSH_ARRAY_LEN(rows); i++) {
        enum origin origin;
        const char *text = set_text(&rows[i], &origin);
        bool is_wrong = text != NULL && !is_allowed(&rows[i], text);
        n_wrong += is_wrong;
        describe_origin(&rows[i], origin, source, sizeof(source));
        describe(&rows[i], words, sizeof(words));
        if (text != NULL && is_secret(&rows[i])) {
            text = "(secret)";
        }
        fprintf(out, "%s=%s  (%s%s)\n    %s\n    allowed: %s\n", rows[i].name,
                text != NULL ? text : rows[i].default_text, source, is_wrong ? ", NOT ALLOWED" : "",
                rows[i].doc, words);
    }
    return n_wrong + gsh_env_print_unknown(out);
}
