/* SPDX-License-Identifier: Apache-2.0
 * See queue.h. A doorbell's entries are copied when the doorbell is seen, and compared with the
 * copies when they are complete. This finds entries that are written too late, or written again too
 * early. */
#include "nic/model/queue.h"
#include "nic/names.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum gsh_result gsh_model_set_state(struct gsh_model_queue *queue, enum gsh_model_state state)
{
    uint32_t was = __atomic_load_n(&queue->link->state, __ATOMIC_RELAXED);
    bool is_free = state == GSH_MODEL_ERROR || state == GSH_MODEL_RESET;
    if (!is_free && was + 1 != (uint32_t)state) {
        return gsh_note(GSH_ERR_STATE, "the model NIC: queue %u cannot go from state %u to %u",
                        queue->number, was, (unsigned)state);
    }
    /* release: the other end sees to which queue this one is joined */
    __atomic_store_n(&queue->link->state, (uint32_t)state, __ATOMIC_RELEASE);
    return GSH_OK;
}

/* ---- a broken rule ---- */

__attribute__((format(printf, 5, 6))) static void misuse(struct gsh_model *model,
                                                         struct gsh_model_queue *queue,
                                                         uint64_t position, unsigned byte,
                                                         const char *format, ...)
{
    char what[160], text[320];
    const struct gsh_adapter_options *o = &model->base.options;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(text, sizeof(text), "the model NIC: queue %u to PE %d, index %" PRIu64 ", byte %u: %s",
             queue->number, queue->pe, position & 0xffff, byte, what);
    queue->has_failed = true;
    o->fail(o->context, queue->pe, false, text);
}

/* ---- doorbells ---- */

static bool one_in(struct gsh_model *model, uint32_t n)
{
    return n != 0 && gsh_model_any_below(model, n) == 0;
}

uint32_t gsh_model_entry_blocks(const struct gsh_wq_block *entry)
{
    uint32_t ds = (uint32_t)(gsh_wq_be64(entry->word[0]) & 0x3f);
    return (ds + 3) / 4;
}

const struct gsh_wq_block *gsh_model_entry(const struct gsh_model_queue *queue, uint64_t position)
{
    return &queue->copies[position & (queue->depth - 1)];
}

/* What the queue has at that position now. */
static struct gsh_wq_block block_now(const struct gsh_model *model,
                                     const struct gsh_model_queue *queue, uint64_t position)
{
    const struct gsh_adapter_options *o = &model->base.options;
    const struct gsh_wq_block *at = &queue->entries[position & (queue->depth - 1)];
    struct gsh_wq_block block = {0};
    if (!o->in_device || o->copy == NULL) {
        return *at;
    }
    (void)!o->copy(o->context, &block, at, sizeof(block)); /* a failure ends the job elsewhere */
    return block;
}

/* Copies the entry at `position` if it is whole and what it should be; how many blocks it takes, 0:
 * it is wrong. end: of what the doorbell covers. */
static uint32_t copy_entry(struct gsh_model *model, struct gsh_model_queue *queue,
                           uint64_t position, uint64_t end)
{
    const uint32_t mask = queue->depth - 1;
    const struct gsh_wq_block entry = block_now(model, queue, position);
    const uint64_t control = gsh_wq_be64(entry.word[0]);
    const unsigned index = (unsigned)(control >> 40 & 0xffff),
                   opcode = (unsigned)(control >> 32) & 0xff;
    const unsigned number = (unsigned)(control >> 8 & 0xffffff);
    const uint32_t n = gsh_model_entry_blocks(&entry);
    if (index != (position & 0xffff)) {
        misuse(model, queue, position, 1,
               "the doorbell rang before the entry was visible: the block holds index %u", index);
        return 0;
    }
    if (number != queue->number) {
        misuse(model, queue, position, 4, "the entry names queue %u", number);
        return 0;
    }
    if (gsh_nic_opcode_name(opcode) == NULL) {
        misuse(model, queue, position, 3, "the entry has the unknown opcode 0x%02x", opcode);
        return 0;
    }
    if (n == 0 || n > end - position) {
        misuse(model, queue, position, 7,
               "the entry takes %u blocks; the doorbell covers %" PRIu64 " more", n,
               end - position);
        return 0;
    }
    queue->copies[position & mask] = entry;
    for (uint32_t i = 1; i < n; i++) {
        queue->copies[(position + i) & mask] = block_now(model, queue, position + i);
    }
    return n;
}

static void take_entries(struct gsh_model *model, struct gsh_model_queue *queue, uint64_t end)
{
    while (queue->taken < end && !queue->has_failed) {
        queue->taken += copy_entry(model, queue, queue->taken, end);
    }
}

/* The position that the record names, or the doorbell if there is none. It is at most `depth` after
 * what is complete. */
static uint64_t end_of_record(struct gsh_model *model, struct gsh_model_queue *queue, uint32_t bell)
{
    /* acquire: pairs with the fence of the thread that rings: the entries are visible */
    uint32_t record = queue->record != NULL
                          ? gsh_wq_be32(__atomic_load_n(queue->record, __ATOMIC_ACQUIRE))
                          : bell;
    uint64_t ahead = (record - (uint32_t)queue->taken) & 0xffff;
    uint64_t end = queue->taken + ahead;
    if (end - queue->completed > queue->depth) {
        misuse(model, queue, end, 0,
               "the doorbell%s says %u: %" PRIu64
               " blocks after what is complete, in a queue of %u",
               queue->record != NULL ? " record" : "", record & 0xffff, end - queue->completed,
               queue->depth);
        return queue->taken;
    }
    return end;
}

bool gsh_model_take(struct gsh_model *model, struct gsh_model_queue *queue)
{
    const struct gsh_model_settings *s = &model->settings;
    /* acquire: pairs with the fence of the thread that rings: the record is visible */
    const uint64_t bell = __atomic_load_n(queue->doorbell, __ATOMIC_ACQUIRE);
    if (bell == queue->seen_doorbell || queue->has_failed) {
        return false;
    }
    if (one_in(model, s->late_bell) || one_in(model, s->stale)) {
        return true; /* the doorbell, or its record, is not seen yet */
    }
    const uint64_t named = gsh_wq_be64(bell);
    const uint32_t number = (uint32_t)named >> 8, index = gsh_wq_rung_index(bell);
    const uint64_t end = end_of_record(model, queue, index);
    if (queue->has_failed) {
        return false;
    }
    if (number != queue->number) {
        misuse(model, queue, queue->taken, 4, "its doorbell names queue %u", number);
        return false;
    }
    if ((uint16_t)((uint32_t)end - index) >= 0x8000) {
        misuse(model, queue, end, 0,
               "the doorbell names index %u before the doorbell record does: it is stale", index);
        return false;
    }
    take_entries(model, queue, end);
    queue->seen_doorbell = one_in(model, s->twice) ? 0 : bell;
    return false;
}

/* ---- completions ---- */

static void write_completion(struct gsh_model *model, struct gsh_model_queue *queue,
                             struct gsh_wq_completion completion)
{
    const uint32_t n = queue->n_completions;
    struct gsh_wq_completion *to = &queue->completions[queue->n_completed % n];
    uint32_t last;
    if (queue->consumed != NULL) {
        uint32_t taken = gsh_wq_be32(__atomic_load_n(queue->consumed, __ATOMIC_ACQUIRE));
        if (((queue->n_completed - taken) & 0xffffff) >= n) {
            misuse(model, queue, queue->completed, 63,
                   "the completion queue is full: %u completions, and the host has taken %u", n,
                   taken);
            return;
        }
    }
    completion.op_own |= (uint8_t)(queue->n_completed / n & 1);
    memcpy(&last, (const uint8_t *)&completion + GSH_WQ_COMPLETION_LAST, sizeof(last));
    memcpy(to, &completion, GSH_WQ_COMPLETION_LAST);
    /* release: pairs with the acquire of the thread that polls, which sees all that this queue did
     * before */
    __atomic_store_n((uint32_t *)(void *)((uint8_t *)to + GSH_WQ_COMPLETION_LAST), last,
                     __ATOMIC_RELEASE);
    queue->n_completed++;
}

static void check_unchanged(struct gsh_model *model, struct gsh_model_queue *queue,
                            uint64_t position, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct gsh_wq_block block = block_now(model, queue, position + i);
        const uint8_t *now = (const uint8_t *)&block;
        const uint8_t *before = (const uint8_t *)gsh_model_entry(queue, position + i);
        for (unsigned byte = 0; byte < GSH_WQ_BLOCK; byte++) {
            if (now[byte] != before[byte]) {
                misuse(model, queue, position + i, byte,
                       "the entry was overwritten before its completion");
                return;
            }
        }
    }
}

static void fail_entry(struct gsh_model *model, struct gsh_model_queue *queue, unsigned opcode,
                       unsigned syndrome)
{
    char text[320];
    const struct gsh_adapter_options *o = &model->base.options;
    (void)!gsh_model_set_state(queue, GSH_MODEL_ERROR);
    snprintf(text, sizeof(text),
             "the NIC's queue %u to PE %d, index %" PRIu64 ": %s failed, syndrome 0x%02x (%s)",
             queue->number, queue->pe, queue->completed & 0xffff, gsh_nic_opcode_name(opcode),
             syndrome, gsh_nic_syndrome_name(syndrome));
    o->fail(o->context, queue->pe, syndrome == GSH_WQ_RETRY_EXCEEDED, text);
}

void gsh_model_complete(struct gsh_model *model, struct gsh_model_queue *queue, unsigned syndrome)
{
    const struct gsh_wq_block *entry = gsh_model_entry(queue, queue->completed);
    const uint32_t n = gsh_model_entry_blocks(entry);
    const unsigned opcode = (unsigned)(gsh_wq_be64(entry->word[0]) >> 32) & 0xff;
    const unsigned flags = (unsigned)(entry->word[1] >> 24) & 0xff;
    struct gsh_wq_completion completion = {
        .opcode_number = gsh_wq_be32((uint32_t)opcode << 24 | queue->number),
        .syndrome = (uint8_t)syndrome,
        .index = gsh_wq_be16((uint16_t)queue->completed),
        .op_own = (uint8_t)((syndrome != 0 ? GSH_WQ_ERROR : GSH_WQ_DONE) << 4)};
    check_unchanged(model, queue, queue->completed, n);
    if (syndrome != 0 || (flags & GSH_WQ_COMPLETE) != 0) {
        write_completion(model, queue, completion);
    }
    bool is_first = syndrome != 0 && syndrome != GSH_WQ_FLUSHED;
    if (is_first) {
        fail_entry(model, queue, opcode, syndrome);
    }
    __atomic_store_n(&queue->completed, queue->completed + n, __ATOMIC_RELEASE);
}

void gsh_model_receive(struct gsh_model *model, struct gsh_model_queue *queue, uint32_t immediate)
{
    struct gsh_wq_completion completion = {.immediate = gsh_wq_be32(immediate),
                                           .opcode_number = gsh_wq_be32(queue->number),
                                           .index = gsh_wq_be16((uint16_t)queue->n_letters),
                                           .op_own = GSH_WQ_GOT_WRITE_IMM << 4};
    queue->n_letters++;
    write_completion(model, queue, completion);
}
