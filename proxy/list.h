/* SPDX-License-Identifier: Apache-2.0
 * The proxy's two kinds of lists: a ring of links, from which any link can be removed, and a queue
 * of requests. Neither allocates. */
#ifndef GSH_LIST_H
#define GSH_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include "proxy/request.h"

/* The object of this type that holds this member. */
#define GSH_HOLDER(type, member, pointer) ((type *)((char *)(pointer)-offsetof(type, member)))

/* A list's head and each member's link. A link outside every list points to itself. */
struct gsh_link {
    struct gsh_link *prev, *next;
};

static inline void gsh_link_init(struct gsh_link *link)
{
    link->prev = link->next = link;
}

/* For a head: the list is empty; for a member: it is in no list. */
static inline bool gsh_link_is_alone(const struct gsh_link *link)
{
    return link->next == link;
}

/* Removes the link from its list, if it is in one. */
static inline void gsh_link_remove(struct gsh_link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    gsh_link_init(link);
}

/* Appends at the end. The link must be in no list. */
static inline void gsh_link_append(struct gsh_link *head, struct gsh_link *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

struct gsh_queue {
    struct gsh_request *head, *tail;
};

static inline void gsh_queue_push(struct gsh_queue *queue, struct gsh_request *request)
{
    request->next = NULL;
    if (queue->head != NULL) {
        queue->tail->next = request;
    } else {
        queue->head = request;
    }
    queue->tail = request;
}

/* The queue is not empty. */
static inline struct gsh_request *gsh_queue_pop(struct gsh_queue *queue)
{
    struct gsh_request *request = queue->head;
    queue->head = request->next;
    return request;
}

#endif
