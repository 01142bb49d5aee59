/* SPDX-License-Identifier: Apache-2.0
 * See selection.h. */
#include "dialects/nccl/coll/selection.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include "dialects/nccl/base/error.h"

#define OF(KIND) (1u << (KIND))
#define IN_PARTS (OF(GSH_NCCL_ALL_GATHER) | OF(GSH_NCCL_REDUCE_SCATTER))

/* The collectives that NCCL may carry out by each. */
static const struct {
    const char *name;
    unsigned kinds;
} algorithms[] = {
    {"ring", OF(GSH_NCCL_ALL_REDUCE) | OF(GSH_NCCL_REDUCE) | OF(GSH_NCCL_BROADCAST) | IN_PARTS},
    {"tree", OF(GSH_NCCL_ALL_REDUCE)},
    {"collnetdirect", OF(GSH_NCCL_ALL_REDUCE) | IN_PARTS},
    {"collnetchain", OF(GSH_NCCL_ALL_REDUCE)},
    {"nvls", OF(GSH_NCCL_ALL_REDUCE) | IN_PARTS},
    {"nvlstree", OF(GSH_NCCL_ALL_REDUCE)},
    {"pat", IN_PARTS},
};
enum { N_ALGORITHMS = sizeof(algorithms) / sizeof(algorithms[0]) };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A name's number; N_ALGORITHMS: there is none. */
static size_t find(const char *name, size_t length)
{
    size_t i = 0;
    while (i < N_ALGORITHMS && (strlen(algorithms[i].name) != length ||
                                strncasecmp(algorithms[i].name, name, length) != 0)) {
        i++;
    }
    return i;
}

/* The next name from *text on, without blanks; *length 0: it is empty. False: there are no more. */
static bool next_name(const char **text, const char **name, size_t *length)
{
    const char *from = *text;
    if (from == NULL) {
        return false;
    }
    const char *end = from + strcspn(from, ",");
    *text = *end == ',' ? end + 1 : NULL;
    while (from < end && is_blank(*from)) {
        from++;
    }
    while (from < end && is_blank(end[-1])) {
        end--;
    }
    *name = from;
    *length = (size_t)(end - from);
    return true;
}

ncclResult_t gsh_nccl_selection_check(const char *call, enum gsh_nccl_kind kind, const char *text,
                                      bool may_be_ignored)
{
    unsigned named = 0;
    const char *rest = text, *name = NULL;
    size_t length = 0;
    if (text == NULL || may_be_ignored) {
        return ncclSuccess;
    }
    while (is_blank(*rest)) {
        rest++;
    }
    const bool are_others = *rest == '^';
    rest += are_others;
    while (next_name(&rest, &name, &length)) {
        const size_t i = length > 0 ? find(name, length) : 0;
        if (i == N_ALGORITHMS) {
            return gsh_nccl_fail(ncclInvalidArgument,
                                 "%s: algSelection is \"%s\" in the config: NCCL has no algorithm "
                                 "%.*s",
                                 call, text, (int)(length < 64 ? length : 64), name);
        }
        named |= length > 0 ? 1u << i : 0;
    }
    if (named == 0 && !are_others) {
        return ncclSuccess;
    }
    bool is_possible = false;
    for (size_t i = 0; named != 0 && i < N_ALGORITHMS; i++) {
        const bool is_named = (named & 1u << i) != 0;
        is_possible = is_possible || (is_named != are_others && (algorithms[i].kinds & OF(kind)));
    }
    return is_possible ? ncclSuccess
                       : gsh_nccl_fail(ncclInvalidArgument,
                                       "%s: algSelection is \"%s\" in the config, which leaves "
                                       "nothing that NCCL has for this collective",
                                       call, text);
}
