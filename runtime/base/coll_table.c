/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/coll_table.h"
#include <stdbool.h>
#include <string.h>
#include "runtime/base/env.h"
#include "runtime/base/util.h"

/* Two PEs on cores of one machine: moving a cache line between them costs as much as a barrier, so
 * only small collectives are flagged. */
const struct gsh_coll_table gsh_coll_table_cpu = {
    .flagged_max = {64, 64, 64, 64},
    .max_blocks = 1,
    .bytes_per_block = 1,
    .far_flat = 256u << 10,
    .far_piece = 256u << 10,
};

/* Measured on two H200s over NVLink (perftest/results/). */
const struct gsh_coll_table gsh_coll_table_cuda = {
    .flagged_max = {256, 4u << 10, 64u << 10, 256u << 10},
    .max_blocks = 128,
    .bytes_per_block = 16u << 10,
    .far_flat = 64u << 10,
    .far_piece = 256u << 10,
};

struct entry {
    const char *name;
    size_t offset;
    uint32_t least, most;
};

static const struct entry entries[] = {
    {"thread", offsetof(struct gsh_coll_table, flagged_max[0]), 0, 1u << 30},
    {"warp", offsetof(struct gsh_coll_table, flagged_max[1]), 0, 1u << 30},
    {"block", offsetof(struct gsh_coll_table, flagged_max[2]), 0, 1u << 30},
    {"blocks", offsetof(struct gsh_coll_table, flagged_max[3]), 0, 1u << 30},
    {"per_block", offsetof(struct gsh_coll_table, bytes_per_block), 256, 1u << 30},
    {"far", offsetof(struct gsh_coll_table, far_flat), 0, 1u << 30},
    {"far_piece", offsetof(struct gsh_coll_table, far_piece), 16, 1u << 30},
    {"grid", offsetof(struct gsh_coll_table, max_blocks), 1, 1024},
};

void gsh_coll_table_print(FILE *out, const struct gsh_coll_table *t)
{
    static const char *const callers[] = {"a thread", "a warp", "a block", "several blocks"};
    for (int i = 0; i < 4; i++) {
        fprintf(out, "  %-15s up to %u bytes to all others in one flight, data beside flags\n",
                callers[i], t->flagged_max[i]);
    }
    fprintf(out,
            "  above           members meet, each moves or adds up its part straight from and to\n"
            "                  the others' buffers, members meet\n"
            "  on a stream     %u bytes for each block, up to %u blocks\n"
            "  several nodes   up to %u bytes of all together by way of the nodes' leaders, in\n"
            "                  log2(nodes) messages of each\n"
            "  above           in pieces of %u bytes: near members by loads and stores, and each\n"
            "                  piece once to each other node, by the members in turn; the next\n"
            "                  piece is on its way meanwhile\n",
            t->bytes_per_block, t->max_blocks, t->far_flat, t->far_piece);
}

static uint32_t *word_of(struct gsh_coll_table *table, const struct entry *e)
{
    return (uint32_t *)((char *)table + e->offset);
}

static bool set(const char *text, size_t length, struct gsh_coll_table *table)
{
    char item[64];
    uint64_t value = 0;
    if (length >= sizeof(item)) {
        return false;
    }
    memcpy(item, text, length);
    item[length] = '\0';
    char *equals = strchr(item, '=');
    if (equals == NULL || !gsh_env_parse_size(equals + 1, &value)) {
        return false;
    }
    *equals = '\0';
    for (size_t i = 0; i < GSH_ARRAY_LEN(entries); i++) {
        const struct entry *e = &entries[i];
        if (strcmp(item, e->name) == 0 && value >= e->least && value <= e->most) {
            *word_of(table, e) = (uint32_t)value;
            return true;
        }
    }
    return false;
}

enum gsh_result gsh_coll_table_read(const char *text, struct gsh_coll_table *table)
{
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (!set(at, length, table)) {
            return gsh_fail(GSH_ERR_ARG,
                            "init: GSHMEM_COLLECTIVES: '%.*s' is not NAME=BYTES with thread, warp, "
                            "block, blocks, per_block, far or far_piece, nor grid=NUMBER",
                            (int)length, at);
        }
        at += length + (at[length] == ',');
    }
    return GSH_OK;
}

const char *gsh_coll_table_difference(const struct gsh_coll_table *a,
                                      const struct gsh_coll_table *b, uint32_t *value_a,
                                      uint32_t *value_b)
{
    struct gsh_coll_table first = *a, second = *b;
    for (size_t i = 0; i < GSH_ARRAY_LEN(entries); i++) {
        *value_a = *word_of(&first, &entries[i]);
        *value_b = *word_of(&second, &entries[i]);
        if (*value_a != *value_b) {
            return entries[i].name;
        }
    }
    return NULL;
}
