/* SPDX-License-Identifier: Apache-2.0
 * See execute.h. Words are copied whole and atomically, as adapters do; all else by memcpy. Atomics
 * are the host's, so they are atomic with those of every PE's host and of the CPU device. */
#include "nic/model/execute.h"

#include <string.h>
#include "base/copy.h"
#include "base/util.h"
#include "nic/model/queue.h"

#define STAGE_BYTES 65536u /* at a time, by way of the host */

/* What is left to read of an entry that may take several blocks, and go round the end. */
struct reader {
    const struct gsh_model_queue *queue;
    uint64_t position;
    uint32_t at, end; /* bytes */
};

/* Returns false, and zeroes, beyond the entry's end. */
static bool read_bytes(struct reader *r, void *out, uint32_t bytes)
{
    if (bytes > r->end - r->at) {
        memset(out, 0, bytes);
        return false;
    }
    for (uint32_t done = 0; done < bytes;) {
        const struct gsh_wq_block *block =
            gsh_model_entry(r->queue, r->position + r->at / GSH_WQ_BLOCK);
        uint32_t inside = r->at % GSH_WQ_BLOCK;
        uint32_t n = (uint32_t)gsh_min_u64(bytes - done, GSH_WQ_BLOCK - inside);
        memcpy((uint8_t *)out + done, (const uint8_t *)block + inside, n);
        r->at += n;
        done += n;
    }
    return true;
}

struct entry {
    unsigned opcode, opmod, flags;
    uint32_t immediate;
    uint64_t remote;
    uint32_t key;
};

static unsigned opcode_of(const struct gsh_wq_block *entry)
{
    return (unsigned)(gsh_wq_be64(entry->word[0]) >> 32) & 0xff;
}

bool gsh_model_is_write(const struct gsh_wq_block *entry)
{
    return opcode_of(entry) == GSH_WQ_WRITE || opcode_of(entry) == GSH_WQ_WRITE_IMM;
}

bool gsh_model_is_loose(const struct gsh_wq_block *entry)
{
    return opcode_of(entry) != GSH_WQ_NOP && !gsh_model_is_write(entry);
}

bool gsh_model_is_fenced(const struct gsh_wq_block *entry)
{
    return (entry->word[1] >> 24 & GSH_WQ_FENCE) != 0;
}

/* ---- memory ---- */

/* One side of an entry: addresses of a key. */
struct side {
    struct gsh_model_view *view;
    bool is_own;
    uint32_t key, domain, rights;
    uint64_t address;
};

static struct side own_side(struct gsh_model *model, const struct gsh_model_queue *queue,
                            uint32_t key, uint32_t rights, uint64_t address)
{
    return (struct side){&model->own, true, key, queue->link->domain, rights, address};
}

/* Where the side's next bytes lie, at most `bytes`. NULL: it may not be touched. */
static uint8_t *find(const struct side *s, uint64_t bytes, uint64_t *found)
{
    return gsh_model_view_find(s->view, s->is_own, s->key, s->domain, s->rights, s->address, bytes,
                               found);
}

static bool is_accessible(struct side s, uint64_t bytes)
{
    for (uint64_t found; bytes > 0; bytes -= found) {
        if (find(&s, bytes, &found) == NULL) {
            return false;
        }
        s.address += found;
    }
    return true;
}

/* Bytes that have been found on that side, from host memory. False: the device has failed. */
static bool write_side(const struct side *s, uint8_t *to, const uint8_t *bytes, uint64_t n)
{
    if (gsh_model_view_is_device(s->view)) {
        return gsh_model_view_copy(s->view, to, bytes, n);
    }
    gsh_copy_to_shared(to, bytes, n);
    return true;
}

static bool read_side(const struct side *s, const uint8_t *from, uint8_t *bytes, uint64_t n)
{
    if (gsh_model_view_is_device(s->view)) {
        return gsh_model_view_copy(s->view, bytes, from, n);
    }
    gsh_copy_from_shared(bytes, from, n);
    return true;
}

/* By way of the host, where one of them is a device. */
static bool copy_found(const struct side *to, uint8_t *dest, const struct side *from,
                       const uint8_t *source, uint64_t bytes)
{
    uint8_t between[STAGE_BYTES];
    if (!gsh_model_view_is_device(to->view)) {
        return read_side(from, source, dest, bytes);
    }
    for (uint64_t done = 0; done < bytes;) {
        const uint64_t n = gsh_min_u64(bytes - done, sizeof(between));
        if (!read_side(from, source + done, between, n) ||
            !write_side(to, dest + done, between, n)) {
            return false;
        }
        done += n;
    }
    return true;
}

/* Both sides are accessible. is_get: from the other PE's memory; else to it. False: the device has
 * failed. */
static bool copy_sides(struct side remote, struct side local, uint64_t bytes, bool is_get)
{
    while (bytes > 0) {
        uint64_t n = bytes;
        uint8_t *there = find(&remote, n, &n);
        uint8_t *here = find(&local, n, &n);
        if (there == NULL || here == NULL) {
            return true; /* another process has taken it away meanwhile */
        }
        if (gsh_model_view_is_device(remote.view) || gsh_model_view_is_device(local.view)) {
            if (!(is_get ? copy_found(&local, here, &remote, there, n)
                         : copy_found(&remote, there, &local, here, n))) {
                return false;
            }
        } else if (is_get) {
            gsh_copy_from_shared(here, there, n);
        } else {
            gsh_copy_to_shared(there, here, n);
        }
        remote.address += n;
        local.address += n;
        bytes -= n;
    }
    return true;
}

/* ---- writes and reads ---- */

/* One data or inline segment; advances `remote`. */
static unsigned move_segment(struct gsh_model *model, struct reader *r, struct side *remote,
                             bool is_get)
{
    struct gsh_wq_data data;
    uint8_t bytes[GSH_WQ_INLINE2_MAX + 1024];
    uint32_t number;
    const uint32_t begin = r->at;
    if (!read_bytes(r, &number, sizeof(number))) {
        return GSH_WQ_LOCAL_OPERATION;
    }
    number = gsh_wq_be32(number);
    uint64_t n = number & ~GSH_WQ_INLINE_BIT;
    if ((number & GSH_WQ_INLINE_BIT) != 0) {
        if (is_get || n > sizeof(bytes) || !read_bytes(r, bytes, (uint32_t)n)) {
            return GSH_WQ_LOCAL_OPERATION;
        }
        r->at = (uint32_t)gsh_min_u64(gsh_align_up(r->at - begin, 16) + begin, r->end);
        uint64_t found = n;
        for (uint64_t done = 0; done < n; done += found) {
            uint8_t *there = find(remote, n - done, &found);
            if (there == NULL) {
                return GSH_WQ_REMOTE_ACCESS;
            }
            if (!write_side(remote, there, bytes + done, found)) {
                return GSH_WQ_REMOTE_OPERATION;
            }
            remote->address += found;
        }
        return 0;
    }
    r->at = begin;
    if (!read_bytes(r, &data, sizeof(data))) {
        return GSH_WQ_LOCAL_OPERATION;
    }
    n = n == 0 ? UINT64_C(1) << 31 : n; /* as adapters count */
    struct side local = own_side(model, r->queue, gsh_wq_be32(data.key),
                                 is_get ? GSH_MODEL_LOCAL_WRITE : 0, gsh_wq_be64(data.address));
    if (!is_accessible(local, n)) {
        return GSH_WQ_LOCAL_PROTECTION;
    }
    if (!is_accessible(*remote, n)) {
        return GSH_WQ_REMOTE_ACCESS;
    }
    if (!copy_sides(*remote, local, n, is_get)) {
        return GSH_WQ_REMOTE_OPERATION;
    }
    remote->address += n;
    return 0;
}

static unsigned move_segments(struct gsh_model *model, struct reader *r, struct side remote,
                              bool is_get)
{
    unsigned syndrome = 0;
    while (syndrome == 0 && r->at < r->end) {
        syndrome = move_segment(model, r, &remote, is_get);
    }
    return syndrome;
}

/* ---- atomics ---- */

/* What becomes of a word: where compare_mask sees `compare`, swap under swap_mask; and `add`, in
 * fields that end at the bits of `boundary`. */
struct change {
    bool is_add;
    uint64_t add, boundary, swap, compare, swap_mask, compare_mask;
    uint32_t bytes;
};

/* No carry passes a bit of `boundary`. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t boundary)
{
    return ((a & ~boundary) + (b & ~boundary)) ^ ((a ^ b) & boundary);
}

static uint64_t changed(const struct change *c, uint64_t old)
{
    if (c->is_add) {
        return c->boundary == 0 ? old + c->add : add_fields(old, c->add, c->boundary);
    }
    bool is_equal = ((old ^ c->compare) & c->compare_mask) == 0;
    return is_equal ? (old & ~c->swap_mask) | (c->swap & c->swap_mask) : old;
}

/* Acquire and release: pair with the waits and signals of the word's owner. Returns the former
 * value. */
static uint64_t change_word(void *word, const struct change *c)
{
    if (c->bytes == 8) {
        uint64_t *p = word, old = __atomic_load_n(p, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(p, &old, changed(c, old), true, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED)) {
        }
        return old;
    }
    uint32_t *p = word, old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, (uint32_t)changed(c, old), true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
    }
    return old;
}

static uint64_t read_number(struct reader *r, uint32_t bytes, bool *is_good)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    *is_good =
        (bytes == 8 ? read_bytes(r, &wide, bytes) : read_bytes(r, &narrow, bytes)) && *is_good;
    return bytes == 8 ? gsh_wq_be64(wide) : gsh_wq_be32(narrow);
}

static bool read_change(struct reader *r, const struct entry *e, struct change *c)
{
    bool is_good = true;
    uint64_t all;
    c->bytes = e->opmod == GSH_WQ_MASKED_4 ? 4 : 8;
    all = c->bytes == 8 ? UINT64_MAX : UINT32_MAX;
    c->is_add = e->opcode == GSH_WQ_FA || e->opcode == GSH_WQ_MASKED_FA;
    c->swap_mask = c->compare_mask = all;
    if (e->opcode == GSH_WQ_MASKED_FA) {
        c->add = read_number(r, c->bytes, &is_good);
        c->boundary = read_number(r, c->bytes, &is_good);
        if (c->bytes == 4) {
            (void)read_number(r, 8, &is_good);
        }
        return is_good && (e->opmod == GSH_WQ_MASKED_4 || e->opmod == GSH_WQ_MASKED_8);
    }
    c->swap = c->add = read_number(r, c->bytes, &is_good);
    c->compare = read_number(r, c->bytes, &is_good);
    if (e->opcode == GSH_WQ_MASKED_CS) {
        c->swap_mask = read_number(r, c->bytes, &is_good);
        c->compare_mask = read_number(r, c->bytes, &is_good);
        return is_good && (e->opmod == GSH_WQ_MASKED_4 || e->opmod == GSH_WQ_MASKED_8);
    }
    return is_good && e->opmod == 0;
}

static unsigned execute_atomic(struct gsh_model *model, struct reader *r, const struct entry *e,
                               const struct side *remote)
{
    struct change c = {0};
    struct gsh_wq_data data;
    uint64_t found = 0;
    if (gsh_model_view_is_device(remote->view) || gsh_model_view_is_device(&model->own)) {
        return GSH_WQ_REMOTE_INVALID; /* none of its would be atomic with the device's */
    }
    if (!read_change(r, e, &c) || !read_bytes(r, &data, sizeof(data)) ||
        gsh_wq_be32(data.bytes) != c.bytes) {
        return GSH_WQ_LOCAL_OPERATION;
    }
    struct side local = own_side(model, r->queue, gsh_wq_be32(data.key), GSH_MODEL_LOCAL_WRITE,
                                 gsh_wq_be64(data.address));
    uint8_t *here = find(&local, c.bytes, &found);
    if (here == NULL || found < c.bytes) {
        return GSH_WQ_LOCAL_PROTECTION;
    }
    if (remote->address % c.bytes != 0) {
        return GSH_WQ_REMOTE_INVALID;
    }
    uint8_t *there = find(remote, c.bytes, &found);
    if (there == NULL || found < c.bytes) {
        return GSH_WQ_REMOTE_ACCESS;
    }
    uint64_t old = change_word(there, &c);
    memcpy(here, &old, c.bytes); /* the host's order, lower bytes first */
    return 0;
}

/* ---- all of it ---- */

/* The other end of the queue is there, and joined to this one. */
static bool is_answered(const struct gsh_model_queue *queue, const struct gsh_model_peer *peer,
                        int my_pe)
{
    if (queue->link->peer_number == 0 || queue->link->peer_number > peer->view.n_links) {
        return false;
    }
    const struct gsh_model_link *its = &peer->view.sheet->links[queue->link->peer_number - 1];
    uint32_t state = __atomic_load_n(&its->state, __ATOMIC_ACQUIRE);
    return (state == GSH_MODEL_TO_RECEIVE || state == GSH_MODEL_TO_SEND) && its->pe == my_pe &&
           its->peer_number == queue->number;
}

/* Leaves the immediate with the other end; false: it has no receive for it. */
static bool send_letter(const struct gsh_model_queue *queue, struct gsh_model_peer *peer,
                        uint32_t immediate)
{
    struct gsh_model_link *its = &peer->view.sheet->links[queue->link->peer_number - 1];
    uint32_t n = __atomic_load_n(&its->n_letters, __ATOMIC_RELAXED);
    if (__atomic_load_n(&its->n_receives, __ATOMIC_ACQUIRE) == n) {
        return false;
    }
    its->letters[n % GSH_MODEL_LETTERS] = immediate;
    __atomic_store_n(&its->n_letters, n + 1, __ATOMIC_RELEASE); /* pairs with deliver_letters */
    return true;
}

static unsigned execute_entry(struct gsh_model *model, struct reader *r, const struct entry *e,
                              struct gsh_model_peer *peer)
{
    struct side remote = {
        .view = &peer->view, .key = e->key, .address = e->remote, .domain = r->queue->link->domain};
    unsigned syndrome;
    switch (e->opcode) {
    case GSH_WQ_WRITE:
    case GSH_WQ_WRITE_IMM:
        remote.rights = GSH_MODEL_REMOTE_WRITE;
        syndrome = move_segments(model, r, remote, false);
        return syndrome == 0 && e->opcode == GSH_WQ_WRITE_IMM &&
                       !send_letter(r->queue, peer, e->immediate)
                   ? GSH_WQ_RETRY_EXCEEDED
                   : syndrome;
    case GSH_WQ_READ:
        remote.rights = GSH_MODEL_REMOTE_READ;
        return move_segments(model, r, remote, true);
    default:
        remote.rights = GSH_MODEL_REMOTE_ATOMIC;
        return execute_atomic(model, r, e, &remote);
    }
}

/* What GSHMEM_NIC_MODEL asks for. */
static unsigned inject(struct gsh_model *model, const struct gsh_model_queue *queue)
{
    struct gsh_model_settings *s = &model->settings;
    const uint64_t n = ++model->n_executed;
    if (queue->pe == s->lose_pe && n > s->lose_after) {
        return GSH_WQ_RETRY_EXCEEDED;
    }
    if (queue->pe == s->deny_pe && n > s->deny_after) {
        s->deny_pe = -1;
        return GSH_WQ_REMOTE_ACCESS;
    }
    if (queue->pe == s->break_pe && n > s->break_after) {
        s->break_pe = -1;
        return GSH_WQ_LOCAL_OPERATION;
    }
    return 0;
}

unsigned gsh_model_execute(struct gsh_model *model, struct gsh_model_queue *queue,
                           uint64_t position)
{
    const struct gsh_wq_block *first = gsh_model_entry(queue, position);
    const uint64_t control = gsh_wq_be64(first->word[0]);
    struct reader r = {
        .queue = queue, .position = position, .at = 32, .end = 16 * (uint32_t)(control & 0x3f)};
    struct entry e = {.opcode = opcode_of(first),
                      .opmod = (unsigned)(control >> 56),
                      .immediate = (uint32_t)gsh_wq_be64(first->word[1]),
                      .remote = gsh_wq_be64(first->word[2]),
                      .key = gsh_wq_be32((uint32_t)first->word[3])};
    const uint32_t state = __atomic_load_n(&queue->link->state, __ATOMIC_RELAXED);
    if (state != GSH_MODEL_TO_SEND) {
        return state == GSH_MODEL_ERROR ? GSH_WQ_FLUSHED : GSH_WQ_LOCAL_OPERATION;
    }
    struct gsh_model_peer *peer = &model->peers[queue->pe];
    unsigned syndrome = inject(model, queue);
    if (syndrome != 0 || e.opcode == GSH_WQ_NOP) {
        return syndrome;
    }
    if (r.end < 32) {
        return GSH_WQ_LOCAL_OPERATION;
    }
    if (peer->is_lost || !gsh_model_view_enter(&peer->view)) {
        return model->base.options.outlives_losses ? 0 : GSH_WQ_RETRY_EXCEEDED;
    }
    syndrome = is_answered(queue, peer, model->base.options.my_pe)
                   ? execute_entry(model, &r, &e, peer)
                   : GSH_WQ_RETRY_EXCEEDED;
    gsh_model_view_leave(&peer->view);
    return syndrome;
}
