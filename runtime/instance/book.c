/* SPDX-License-Identifier: Apache-2.0
 * See book.h. A record is a length and a blob; records of a part have one size. */
#include "runtime/instance/book.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/array.h"
#include "base/lock.h"
#include "base/siphash.h"
#include "base/util.h"

/* At the beginning of the shared memory. */
struct shared_head {
    uint64_t n_written; /* parts so far; atomic: the writer adds with release, readers acquire */
    uint64_t reserved[7];
};

struct part {
    uint64_t number;
    uint64_t at, bytes; /* in the shared memory, if is_shared */
    bool is_shared;
    size_t record_bytes;
    uint8_t *own;   /* the records; NULL: they are in the shared memory, and settled */
    uint64_t *sums; /* one for each group, if they are shared */
};

struct gsh_book {
    struct gsh_lock lock;
    uint8_t *shared;
    uint64_t room;
    bool is_writer;
    int n_pes;
    uint8_t key[GSH_SIPHASH_KEY_BYTES];
    struct part *parts;
    size_t n_parts, parts_room;
    uint8_t *group; /* of the latest look-up */
    size_t group_bytes;
};

static struct part *find_part(const struct gsh_book *book, uint64_t number)
{
    for (size_t i = 0; i < book->n_parts; i++) {
        if (book->parts[i].number == number) {
            return &book->parts[i];
        }
    }
    return NULL;
}

/* The first place in the shared memory; false: there is none. */
static bool find_space(const struct gsh_book *book, uint64_t bytes, uint64_t *at)
{
    bool is_free = false;
    *at = sizeof(struct shared_head);
    while (!is_free) {
        is_free = true;
        for (size_t i = 0; i < book->n_parts; i++) {
            const struct part *p = &book->parts[i];
            if (p->is_shared && *at < p->at + p->bytes && p->at < *at + bytes) {
                *at = p->at + p->bytes;
                is_free = false;
            }
        }
    }
    return book->shared != NULL && *at <= book->room && bytes <= book->room - *at;
}

static int n_groups(const struct gsh_book *book)
{
    return (int)(gsh_book_sums_bytes(book->n_pes) / sizeof(uint64_t));
}

/* Of the group's records. */
static size_t bytes_of_group(const struct gsh_book *book, const struct part *p, int group)
{
    const int left = book->n_pes - group * GSH_BOOK_GROUP;
    return (size_t)(left < GSH_BOOK_GROUP ? left : GSH_BOOK_GROUP) * p->record_bytes;
}

static size_t off_of_group(const struct part *p, int group)
{
    return (size_t)group * GSH_BOOK_GROUP * p->record_bytes;
}

static uint32_t length_of(const struct gsh_book_source *from, int pe)
{
    uint32_t length;
    memcpy(&length, (const uint8_t *)from->lengths + (size_t)pe * from->length_stride,
           sizeof(length));
    return (uint32_t)gsh_min_u64(length, from->blob_stride);
}

static void make_group(const struct gsh_book *book, const struct part *p,
                       const struct gsh_book_source *from, int group, uint8_t *records)
{
    memset(records, 0, bytes_of_group(book, p, group));
    const int end = group * GSH_BOOK_GROUP + GSH_BOOK_GROUP;
    for (int pe = group * GSH_BOOK_GROUP; pe < end && pe < book->n_pes; pe++) {
        const uint32_t length = length_of(from, pe);
        memcpy(records, &length, sizeof(length));
        memcpy(records + sizeof(length),
               (const uint8_t *)from->blobs + (size_t)pe * from->blob_stride, length);
        records += p->record_bytes;
    }
}

static void write_part(struct gsh_book *book, struct part *p, const struct gsh_book_source *from)
{
    for (int g = 0; g < n_groups(book); g++) {
        uint8_t *records = p->own + off_of_group(p, g);
        const size_t bytes = bytes_of_group(book, p, g);
        make_group(book, p, from, g, records);
        if (p->is_shared) {
            p->sums[g] = gsh_siphash(book->key, records, bytes);
        }
        if (p->is_shared && book->is_writer) {
            memcpy(book->shared + p->at + off_of_group(p, g), records, bytes);
        }
    }
    if (p->is_shared && book->is_writer) {
        /* release: pairs with the acquire in gsh_book_look_up */
        (void)__atomic_fetch_add(&((struct shared_head *)book->shared)->n_written, 1,
                                 __ATOMIC_RELEASE);
    }
}

static enum gsh_result fill_part(struct gsh_book *book, struct part *p,
                                 const struct gsh_book_source *from)
{
    p->own = malloc((size_t)book->n_pes * p->record_bytes);
    p->sums = p->is_shared ? malloc(gsh_book_sums_bytes(book->n_pes)) : NULL;
    if (p->own == NULL || (p->is_shared && p->sums == NULL)) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for %d far PEs", book->n_pes);
    }
    write_part(book, p, from);
    return GSH_OK;
}

enum gsh_result gsh_book_add(struct gsh_book *book, uint64_t number,
                             const struct gsh_book_source *from)
{
    struct part p = {.number = number};
    uint32_t longest = 0;
    for (int pe = 0; pe < book->n_pes; pe++) {
        longest = (uint32_t)gsh_max_u64(longest, length_of(from, pe));
    }
    p.record_bytes = sizeof(uint32_t) + longest;
    p.bytes = gsh_book_shared_bytes(book->n_pes, longest);
    gsh_lock_take(&book->lock);
    enum gsh_result r = GSH_ERR_NOMEM;
    if (gsh_array_reserve(&book->parts, &book->parts_room, book->n_parts + 1,
                          sizeof(*book->parts))) {
        p.is_shared = find_space(book, p.bytes, &p.at);
        book->parts[book->n_parts++] = p;
        r = fill_part(book, &book->parts[book->n_parts - 1], from);
    } else {
        r = gsh_note(r, "no host memory for a list of %zu regions", book->n_parts + 1);
    }
    gsh_lock_give(&book->lock);
    return r;
}

static void free_part(const struct part *p)
{
    free(p->own);
    free(p->sums);
}

void gsh_book_remove(struct gsh_book *book, uint64_t number)
{
    gsh_lock_take(&book->lock);
    struct part *p = find_part(book, number);
    if (p != NULL) {
        free_part(p);
        *p = book->parts[--book->n_parts];
    }
    gsh_lock_give(&book->lock);
}

void gsh_book_settle(struct gsh_book *book, uint64_t number)
{
    gsh_lock_take(&book->lock);
    struct part *p = find_part(book, number);
    if (p != NULL && p->is_shared) {
        free(p->own);
        p->own = NULL;
    }
    gsh_lock_give(&book->lock);
}

static bool make_room(struct gsh_book *book, size_t bytes)
{
    if (book->group_bytes < bytes) {
        free(book->group);
        book->group = malloc(bytes);
        book->group_bytes = book->group != NULL ? bytes : 0;
    }
    return book->group != NULL;
}

/* p has been filled. */
static enum gsh_result take_record(struct gsh_book *book, const struct part *p, int pe,
                                   const void **blob, size_t *bytes)
{
    const int group = pe / GSH_BOOK_GROUP;
    const size_t all = bytes_of_group(book, p, group);
    uint32_t length;
    const uint8_t *from = (p->own != NULL ? p->own : book->shared + p->at) + off_of_group(p, group);
    if (!make_room(book, all)) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for %d far PEs", book->n_pes);
    }
    memcpy(book->group, from, all);
    if (p->own == NULL && gsh_siphash(book->key, book->group, all) != p->sums[group]) {
        return gsh_note(
            GSH_ERR_BUG,
            "the address or key of PE %d has changed in the memory that PEs of this node "
            "share",
            pe);
    }
    const uint8_t *record = book->group + (size_t)(pe % GSH_BOOK_GROUP) * p->record_bytes;
    memcpy(&length, record, sizeof(length));
    *blob = record + sizeof(length);
    *bytes = gsh_min_u64(length, p->record_bytes - sizeof(length));
    return GSH_OK;
}

enum gsh_result gsh_book_look_up(struct gsh_book *book, uint64_t number, int pe, const void **blob,
                                 size_t *bytes)
{
    enum gsh_result r = GSH_ERR_BUG;
    if (book->shared != NULL) {
        /* acquire: pairs with the release in write_part */
        (void)__atomic_load_n(&((struct shared_head *)book->shared)->n_written, __ATOMIC_ACQUIRE);
    }
    gsh_lock_take(&book->lock);
    const struct part *p = find_part(book, number);
    if (p != NULL && (p->sums != NULL || p->own != NULL) && pe >= 0 && pe < book->n_pes) {
        r = take_record(book, p, pe, blob, bytes);
    } else {
        r = gsh_note(r, "PE %d has told no such address or key", pe);
    }
    gsh_lock_give(&book->lock);
    return r;
}

uint64_t gsh_book_own_bytes(const struct gsh_book *book)
{
    uint64_t bytes = sizeof(*book) + book->group_bytes + book->parts_room * sizeof(*book->parts);
    for (size_t i = 0; i < book->n_parts; i++) {
        const struct part *p = &book->parts[i];
        bytes += p->sums != NULL ? gsh_book_sums_bytes(book->n_pes) : 0;
        bytes += p->own != NULL ? (uint64_t)book->n_pes * p->record_bytes : 0;
    }
    return bytes;
}

enum gsh_result gsh_book_create(void *shared, uint64_t room, bool is_writer, int n_pes,
                                struct gsh_book **out)
{
    struct gsh_book *book = calloc(1, sizeof(*book));
    if (book == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for %d far PEs", n_pes);
    }
    book->shared = room >= sizeof(struct shared_head) ? shared : NULL;
    book->room = room;
    book->is_writer = is_writer;
    book->n_pes = n_pes;
    if (getrandom(book->key, sizeof(book->key), 0) != (ssize_t)sizeof(book->key)) {
        free(book);
        return gsh_note(GSH_ERR_SYSTEM, "init: getrandom");
    }
    *out = book;
    return GSH_OK;
}

void gsh_book_destroy(struct gsh_book **handle)
{
    struct gsh_book *book = *handle;
    if (book == NULL) {
        return;
    }
    for (size_t i = 0; i < book->n_parts; i++) {
        free_part(&book->parts[i]);
    }
    explicit_bzero(book->key, sizeof(book->key));
    free(book->parts);
    free(book->group);
    free(book);
    *handle = NULL;
}
