/* SPDX-License-Identifier: Apache-2.0 */
#include "base/coll_table.h"
#include <stdbool.h>
#include <string.h>
#include "base/env.h"
#include "base/util.h"

/* Two PEs on cores of one machine: moving a cache line between them costs as much as a barrier, so
 * only small collectives use LL. */
const struct gsh_coll_table gsh_coll_table_cpu = {
    .ll_max = {64, 64, 64, 64},
    .max_blocks = 1,
    .bytes_per_block = 1,
    .far_flat = 256u << 10,
    .far_piece = 256u << 10,
    .lines_flat = 4u << 10,
    .read_above = 64u << 10,
    .pieces_above = 64u << 10,
    .reduce_in_pieces = 64u << 10,
    .sums_in_pieces = 64u << 10,
    .swaps_in_pieces = 64u << 10,
};

/* Measured on two H200s, and H100s, over NVLink (perftest/results/): 64 blocks fill the link. */
const struct gsh_coll_table gsh_coll_table_cuda = {
    .ll_max = {64, 2u << 10, 32u << 10, 256u << 10},
    .max_blocks = 64,
    .bytes_per_block = 16u << 10,
    .far_flat = 64u << 10,
    .far_piece = 256u << 10,
    .lines_above = 8u << 10,
    .lines_most = 4u << 20,
    .sums_above = 16u << 10,
    .sums_most = 4u << 20,
    .lines_flat = 256u << 10,
    .read_above = 4u << 20,
    .pieces_above = 24u << 20,
    .reduce_in_pieces = 12u << 20,
    .sums_in_pieces = 48u << 20,
    .swaps_in_pieces = 96u << 20,
};

struct entry {
    const char *name;
    size_t offset;
    uint32_t least, most;
};

static const struct entry entries[] = {
    {"thread", offsetof(struct gsh_coll_table, ll_max[0]), 0, 1u << 30},
    {"warp", offsetof(struct gsh_coll_table, ll_max[1]), 0, 1u << 30},
    {"block", offsetof(struct gsh_coll_table, ll_max[2]), 0, 1u << 30},
    {"blocks", offsetof(struct gsh_coll_table, ll_max[3]), 0, 1u << 30},
    {"per_block", offsetof(struct gsh_coll_table, bytes_per_block), 256, 1u << 30},
    {"far", offsetof(struct gsh_coll_table, far_flat), 0, 1u << 30},
    {"far_piece", offsetof(struct gsh_coll_table, far_piece), 16, 1u << 30},
    {"lines_above", offsetof(struct gsh_coll_table, lines_above), 0, 1u << 30},
    {"lines", offsetof(struct gsh_coll_table, lines_most), 0, 1u << 30},
    {"sums_above", offsetof(struct gsh_coll_table, sums_above), 0, 1u << 30},
    {"sums", offsetof(struct gsh_coll_table, sums_most), 0, 1u << 30},
    {"lines_flat", offsetof(struct gsh_coll_table, lines_flat), 0, 1u << 30},
    {"read_above", offsetof(struct gsh_coll_table, read_above), 0, 1u << 30},
    {"pieces_above", offsetof(struct gsh_coll_table, pieces_above), 0, 1u << 30},
    {"pieces_reduce", offsetof(struct gsh_coll_table, reduce_in_pieces), 0, 1u << 30},
    {"pieces_sums", offsetof(struct gsh_coll_table, sums_in_pieces), 0, 1u << 30},
    {"pieces_swap", offsetof(struct gsh_coll_table, swaps_in_pieces), 0, 1u << 30},
    {"grid", offsetof(struct gsh_coll_table, max_blocks), 1, 1024},
};

#define BLANKS " \t\n"

void gsh_coll_table_print(FILE *out, const struct gsh_coll_table *t)
{
    static const char *const callers[] = {"a thread", "a warp", "a block", "several blocks"};
    for (int i = 0; i < 4; i++) {
        fprintf(out, "  %-15s up to %u bytes to all others at once, data beside flags (LL)\n",
                callers[i], t->ll_max[i]);
    }
    fprintf(out, "                  (on GPUs twice as many in a broadcast)\n");
    fprintf(out,
            "  above           members meet, each moves or adds up its part straight from and to\n"
            "                  the others' buffers, members meet\n"
            "  on a stream     above %u and up to %u bytes, of sums above %u and up to %u, in\n"
            "                  lines with flags through an inbox, where the team has one; what is\n"
            "                  added up to all at once if that is at most %u bytes more; above\n"
            "                  %u bytes, of two ranks one reads what the other has in a window\n"
            "                  straight from there\n",
            t->lines_above, t->lines_most, t->sums_above, t->sums_most, t->lines_flat,
            t->read_above);
    fprintf(out,
            "  in a dialect    of two ranks one streams in pieces through slots above %u\n"
            "                  bytes, in a reduce above %u, and both in an all-reduce above %u,\n"
            "                  in an all-gather or all-to-all of blocks above %u\n",
            t->pieces_above, t->reduce_in_pieces, t->sums_in_pieces, t->swaps_in_pieces);
    fprintf(out,
            "  otherwise       %u bytes for each block, up to %u blocks, and on at most half of a\n"
            "                  GPU's multiprocessors\n"
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

static const struct entry *find(const char *name)
{
    for (size_t i = 0; i < GSH_ARRAY_LEN(entries); i++) {
        if (strcmp(name, entries[i].name) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

/* Without the blanks around it, in place. */
static char *trim(char *text)
{
    text += strspn(text, BLANKS);
    size_t n = strlen(text);
    while (n > 0 && strchr(BLANKS, text[n - 1]) != NULL) {
        text[--n] = '\0';
    }
    return text;
}

/* Takes one NAME=NUMBER. */
static enum gsh_result set(const char *text, size_t length, struct gsh_coll_table *table)
{
    char item[64] = "";
    uint64_t value = 0;
    if (length < sizeof(item)) {
        memcpy(item, text, length);
    }
    char *equals = strchr(item, '=');
    const struct entry *e = NULL;
    if (equals != NULL) {
        *equals = '\0';
        e = find(trim(item));
    }
    if (e == NULL || !gsh_env_parse_size(trim(equals + 1), &value)) {
        return gsh_fail(GSH_ERR_ARG,
                        "init: GSHMEM_COLLECTIVES: '%.*s' is not NAME=BYTES with thread, warp, "
                        "block, blocks, per_block, far, far_piece, lines_above, lines, sums_above, "
                        "sums, lines_flat, read_above, pieces_above, pieces_reduce, pieces_sums "
                        "or pieces_swap, nor grid=NUMBER",
                        (int)length, text);
    }
    if (value < e->least || value > e->most) {
        return gsh_fail(GSH_ERR_ARG,
                        "init: GSHMEM_COLLECTIVES: '%.*s' is out of range: %s can be %u to %u",
                        (int)length, text, e->name, e->least, e->most);
    }
    *word_of(table, e) = (uint32_t)value;
    return GSH_OK;
}

enum gsh_result gsh_coll_table_read(const char *text, struct gsh_coll_table *table)
{
    enum gsh_result r = GSH_OK;
    for (const char *at = text; r == GSH_OK && *at != '\0';) {
        at += strspn(at, BLANKS);
        size_t length = strcspn(at, ",");
        if (*at != '\0') {
            r = set(at, length, table);
        }
        at += length + (at[length] == ',');
    }
    return r;
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
