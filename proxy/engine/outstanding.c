/* SPDX-License-Identifier: Apache-2.0
 * See outstanding.h. */
#include "proxy/engine/outstanding.h"

#include <stdlib.h>
#include "base/array.h"

static bool grow(struct gsh_outstanding_table *table)
{
    const uint32_t n = table->n_entries;
    size_t room = n;
    if (n > UINT32_MAX / 2 ||
        !gsh_array_reserve(&table->entries, &room, room + 1, sizeof(*table->entries))) {
        return false;
    }
    for (uint32_t i = n; i < room; i++) {
        table->entries[i] = (struct gsh_outstanding){.next_free = i + 1};
    }
    table->n_entries = (uint32_t)room;
    table->first_free = n;
    return true;
}

bool gsh_outstanding_add(struct gsh_outstanding_table *table, const struct gsh_outstanding *asked,
                         uint64_t *token)
{
    if (table->first_free == table->n_entries && !grow(table)) {
        return false;
    }
    uint32_t index = table->first_free;
    struct gsh_outstanding *entry = &table->entries[index];
    uint32_t generation = entry->generation + 1;
    table->first_free = entry->next_free;
    *entry = *asked;
    entry->generation = generation;
    *token = (uint64_t)generation << 32 | index;
    return true;
}

static void take(struct gsh_outstanding_table *table, uint32_t index, struct gsh_outstanding *asked)
{
    struct gsh_outstanding *entry = &table->entries[index];
    *asked = *entry;
    entry->task = NULL;
    entry->next_free = table->first_free;
    table->first_free = index;
}

bool gsh_outstanding_take(struct gsh_outstanding_table *table, int pe, unsigned kind,
                          uint64_t token, struct gsh_outstanding *asked)
{
    uint32_t index = (uint32_t)token;
    struct gsh_outstanding *entry = index < table->n_entries ? &table->entries[index] : NULL;
    if (entry == NULL || entry->task == NULL || entry->generation != token >> 32 ||
        entry->pe != pe || entry->kind != kind) {
        return false;
    }
    take(table, index, asked);
    return true;
}

bool gsh_outstanding_take_of(struct gsh_outstanding_table *table, int pe, uint32_t *from,
                             struct gsh_outstanding *asked)
{
    while (*from < table->n_entries) {
        uint32_t index = (*from)++;
        if (table->entries[index].task != NULL && table->entries[index].pe == pe) {
            take(table, index, asked);
            return true;
        }
    }
    return false;
}

void gsh_outstanding_finish(struct gsh_outstanding_table *table)
{
    free(table->entries);
    *table = (struct gsh_outstanding_table){0};
}
