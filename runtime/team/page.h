/* SPDX-License-Identifier: Apache-2.0
 * What follows the head of a PE's shared page (instance/page.h): the words of host synchronisation,
 * one pair for each unit of the team pool, an inbox for the messages of each PE of the node, and a
 * dialect's words for each unit. */
#ifndef GSH_TEAM_PAGE_H
#define GSH_TEAM_PAGE_H

#include <stdint.h>

struct gsh_instance;

/* For one unit of the team pool, and the team whose handle it is. */
struct gsh_page_words {
    /* The PE's latest arrival at a host sync on the team; written by the PE with release, read with
     * acquire by the members, never decreases within one job. */
    uint64_t epoch;
    /* Of the first member of a node, for teams on several: the epoch in which all nodes have
     * arrived; written by it with release, read with acquire by the others of the node. */
    uint64_t released;
};

/* For messages of one PE of the node to the page's owner (agree.c). */
struct gsh_page_inbox {
    uint64_t sent; /* messages so far; written by the sender with release */
    uint64_t reserved0[7];
    uint64_t taken; /* written by the owner with release */
    uint64_t reserved1[7];
    uint64_t words[]; /* of the latest message; the sender writes them when taken equals sent */
};

/* A bit for each PE of the node, by its number there: that PE has sent a message. The sender sets
 * its bit after the message, and the owner clears the bit before it looks at the inbox. So an owner
 * that looks for messages of all PEs need not touch the inboxes of those that have sent none. */
uint64_t *gsh_page_senders(const struct gsh_instance *pe, int owner);

/* For the team of one unit: a dialect's words, by the rules of runtime/layer.h. */
enum { GSH_PAGE_DIALECT_WORDS = 72 };

/* The same on all PEs, once their teams are planned. */
uint64_t gsh_page_bytes(const struct gsh_instance *pe);
/* The words of `owner`, a PE of this node. */
struct gsh_page_words *gsh_page_words(const struct gsh_instance *pe, int owner, uint32_t unit);
struct gsh_page_inbox *gsh_page_inbox(const struct gsh_instance *pe, int owner, int sender);
uint64_t *gsh_page_dialect_words(const struct gsh_instance *pe, int owner, uint32_t unit);

#endif
