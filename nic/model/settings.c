/* SPDX-License-Identifier: Apache-2.0
 * See settings.h. */
#include "nic/model/settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The number that the text begins with, at most `most`; *rest: what follows it. */
static bool read_number(const char *text, uint64_t most, uint64_t *out, const char **rest)
{
    char *end;
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    *out = strtoull(text, &end, 10);
    *rest = end;
    return *out <= most;
}

/* PE@N */
static bool read_fault(const char *text, int *pe, uint64_t *after, const char **rest)
{
    uint64_t number;
    if (!read_number(text, INT_MAX, &number, rest) || **rest != '@') {
        return false;
    }
    *pe = (int)number;
    return read_number(*rest + 1, UINT64_MAX, after, rest);
}

static bool read_part(const char *name, size_t length, const char *value,
                      struct gsh_model_settings *s, const char **rest)
{
    const struct {
        const char *name;
        uint32_t *number;
    } numbers[] = {{"delay", &s->delay},
                   {"late_bell", &s->late_bell},
                   {"twice", &s->twice},
                   {"stale", &s->stale}};
    const struct {
        const char *name;
        int *pe;
        uint64_t *after;
    } faults[] = {{"lose", &s->lose_pe, &s->lose_after},
                  {"deny", &s->deny_pe, &s->deny_after},
                  {"break", &s->break_pe, &s->break_after}};
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (strlen(faults[i].name) == length && strncmp(faults[i].name, name, length) == 0) {
            return read_fault(value, faults[i].pe, faults[i].after, rest);
        }
    }
    if (!read_number(value, UINT32_MAX, &number, rest)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strlen(numbers[i].name) == length && strncmp(numbers[i].name, name, length) == 0) {
            *numbers[i].number = (uint32_t)number;
            return true;
        }
    }
    if (length == 4 && strncmp(name, "seed", length) == 0) {
        s->seed = number;
        return true;
    }
    if (length == 4 && strncmp(name, "amos", length) == 0) {
        s->has_amos = number != 0;
        return true;
    }
    if (length == 6 && strncmp(name, "record", length) == 0) {
        s->has_records = number != 0;
        return true;
    }
    return false;
}

enum gsh_result gsh_model_read_settings(const char *text, struct gsh_model_settings *out)
{
    *out = (struct gsh_model_settings){.seed = 1,
                                       .has_amos = true,
                                       .has_records = true,
                                       .lose_pe = -1,
                                       .deny_pe = -1,
                                       .break_pe = -1};
    while (*text != '\0') {
        size_t part = strcspn(text, ","), length = strcspn(text, "=,");
        const char *rest = text;
        if (length == part || !read_part(text, length, text + length + 1, out, &rest) ||
            rest != text + part) {
            return gsh_note(
                GSH_ERR_ARG,
                "GSHMEM_NIC_MODEL: '%.*s' is none of seed=, delay=, amos=, record=, late_bell=, "
                "twice= and stale= with a number, and lose=, deny= and break= with "
                "PE@NUMBER",
                (int)part, text);
        }
        text += part + (text[part] == ',');
    }
    return GSH_OK;
}
