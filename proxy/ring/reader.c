/* SPDX-License-Identifier: Apache-2.0
 * See reader.h; ring.h has the invariants and the encoding, push.cuh the other side. */
#include <inttypes.h>
#include <string.h>
#include "base/atomic.h"
#include "base/util.h"
#include "gshmem/types.h"
#include "proxy/ring/reader.h"
#include "wire/state.h"

/* A request as it came, with the lap bits removed and the values restored. */
struct raw {
    uint64_t word[2];
    unsigned op, arg;
    int pe;
    unsigned n_payload;
    uint64_t value[GSH_RING_MAX_VALUES];
};

enum gsh_result gsh_ring_reader_init(struct gsh_ring_reader *reader, struct gsh_ring_slot *slots,
                                     uint64_t n_slots, struct gsh_ring_cpu *cpu, void *heap_base,
                                     int n_pes)
{
    if (n_slots < GSH_RING_MIN_SLOTS || !gsh_is_pow2(n_slots)) {
        return gsh_fail(GSH_ERR_ARG, "a ring of %" PRIu64 " slots", n_slots);
    }
    *reader = (struct gsh_ring_reader){
        .slots = slots,
        .cpu = cpu,
        .n_slots = n_slots,
        .heap_base = (uint64_t)(uintptr_t)heap_base,
        .n_pes = n_pes,
        .position = cpu->cpu_tail,
        .published = cpu->cpu_tail,
    };
    return GSH_OK;
}

/* Both words of the slot at this position, without their lap bit; false: not yet written. */
static bool read_slot(const struct gsh_ring_reader *reader, uint64_t position, uint64_t word[2])
{
    const struct gsh_ring_slot *slot = &reader->slots[position & (reader->n_slots - 1)];
    uint64_t lap = GSH_RING_LAP_BIT(position, reader->n_slots);
    /* acquire: pairs with the producer's fence before it wrote the words */
    word[0] = gsh_load_acquire_u64(&slot->word[0]);
    word[1] = gsh_load_acquire_u64(&slot->word[1]);
    if (((word[0] ^ lap) | (word[1] ^ lap)) & GSH_RING_LAP) {
        return false;
    }
    word[0] &= ~GSH_RING_LAP;
    word[1] &= ~GSH_RING_LAP;
    return true;
}

/* The meaning of each operation, and its least and most payload slots. */
static const struct {
    uint8_t kind; /* enum gsh_far_op */
    uint8_t least, most;
} encodings[GSH_RING_OPS] = {
    [GSH_RING_PUT] = {GSH_FAR_PUT, 0, 0},
    [GSH_RING_GET] = {GSH_FAR_GET, 0, 0},
    [GSH_RING_PUT_LARGE] = {GSH_FAR_PUT, 2, 2},
    [GSH_RING_GET_LARGE] = {GSH_FAR_GET, 2, 2},
    [GSH_RING_PUT_INLINE] = {GSH_FAR_P, 1, 7},
    [GSH_RING_G] = {GSH_FAR_G, 2, 2},
    [GSH_RING_AMO] = {GSH_FAR_AMO, 1, 2},
    [GSH_RING_IPUT] = {GSH_FAR_IPUT, 3, 3},
    [GSH_RING_IGET] = {GSH_FAR_IGET, 3, 3},
    [GSH_RING_PUT_SIGNAL] = {GSH_FAR_PUT_SIGNAL, 3, 3},
    [GSH_RING_PUT_SIGNAL_INLINE] = {GSH_FAR_PUT_SIGNAL, 2, 7},
    [GSH_RING_FENCE] = {GSH_FAR_FENCE, 0, 0},
    [GSH_RING_QUIET] = {GSH_FAR_QUIET, 0, 0},
};
_Static_assert(GSH_REQUEST_INLINE_MAX == GSH_RING_INLINE_MAX, "an inline put fits a request");
_Static_assert(GSH_SIGNAL_SET == GSHMEM_SIGNAL_SET && GSH_SIGNAL_ADD == GSHMEM_SIGNAL_ADD, "equal");

/* NULL, or what is wrong. */
static const char *parse_header(const struct gsh_ring_reader *reader, struct raw *raw)
{
    uint64_t first = raw->word[0];
    raw->op = first & ((1u << GSH_RING_AT_PAYLOAD) - 1);
    raw->n_payload = first >> GSH_RING_AT_PAYLOAD & (GSH_RING_MAX_SLOTS - 1);
    raw->pe = (int)(first >> GSH_RING_AT_PE & (GSH_RING_MAX_PES - 1));
    raw->arg = first >> GSH_RING_AT_ARG & ((1u << (GSH_RING_AT_TOPS - GSH_RING_AT_ARG)) - 1);
    if (raw->op == GSH_RING_NONE || raw->op >= GSH_RING_OPS) {
        return "operation";
    }
    if (raw->n_payload < encodings[raw->op].least || raw->n_payload > encodings[raw->op].most) {
        return "number of slots";
    }
    return raw->pe >= reader->n_pes ? "PE" : NULL;
}

/* False: not all of it is written yet. */
static bool read_payload(const struct gsh_ring_reader *reader, struct raw *raw)
{
    for (unsigned i = 0; i < raw->n_payload; i++) {
        if (!read_slot(reader, reader->position + 1 + i, &raw->value[(size_t)2 * i])) {
            return false;
        }
    }
    for (unsigned i = 0; i < 2 * raw->n_payload; i++) {
        raw->value[i] |= (raw->word[0] >> (GSH_RING_AT_TOPS + i) & 1) << 63;
    }
    return true;
}

/* ---- from raw to request: NULL, or what is wrong ---- */

/* Whether [start, start + bytes) does not wrap around. */
static bool fits(uint64_t start, uint64_t bytes)
{
    return bytes <= UINT64_MAX - start;
}

/* Whether n elements, `stride` apart from start on, do not wrap around. */
static bool strided_fits(uint64_t start, uint64_t stride, uint64_t elem_bytes, uint64_t n)
{
    uint64_t elements, bytes;
    return !__builtin_mul_overflow(n - 1, stride, &elements) &&
           !__builtin_add_overflow(elements, 1, &elements) &&
           !__builtin_mul_overflow(elements, elem_bytes, &bytes) && fits(start, bytes);
}

static const char *decode_compact(const struct gsh_ring_reader *reader, const struct raw *raw,
                                  struct gsh_request *out)
{
    uint64_t low = raw->word[1] >> GSH_RING_AT_LOCAL_LOW;
    uint64_t high = raw->word[0] >> GSH_RING_AT_LOCAL_HIGH;
    out->local = (void *)(uintptr_t)(reader->heap_base + (high << 5 | low));
    out->remote_off = raw->word[1] & (GSH_RING_COMPACT_OFF - 1);
    out->bytes = raw->word[1] >> GSH_RING_AT_BYTES & (GSH_RING_COMPACT_BYTES - 1);
    return out->bytes == 0 ? "number of bytes" : NULL;
}

/* Kernels omit the top bit of a short request's offset, which is set only below the heap. Restores
 * it, so that reports name the intended address. */
static void restore_top(struct gsh_request *out)
{
    out->remote_off |= (out->remote_off & UINT64_C(1) << 62) << 1;
}

/* Both inline forms; the bytes come after n_values values. */
static const char *decode_inline(const struct raw *raw, unsigned n_values, struct gsh_request *out)
{
    uint64_t bytes = raw->word[1];
    if (bytes == 0 || bytes > (uint64_t)8 * (GSH_RING_MAX_VALUES - n_values)) {
        return "number of bytes";
    }
    if (raw->n_payload != (n_values + (bytes + 7) / 8 + 1) / 2) {
        return "number of slots";
    }
    out->bytes = bytes;
    restore_top(out);
    memcpy(out->inline_data, &raw->value[n_values], bytes);
    return NULL;
}

static const char *decode_large(const struct raw *raw, struct gsh_request *out)
{
    out->local = (void *)(uintptr_t)raw->value[1];
    out->bytes = raw->value[2];
    bool is_right =
        out->bytes > 0 && fits(out->remote_off, out->bytes) && fits(raw->value[1], out->bytes);
    return is_right ? NULL : "number of bytes";
}

static const char *decode_g(const struct raw *raw, struct gsh_request *out)
{
    out->word_bytes = (uint8_t)raw->arg;
    out->is_fetch = true;
    out->ticket = raw->word[1];
    bool is_size = raw->arg == 1 || raw->arg == 2 || raw->arg == 4 || raw->arg == 8;
    return is_size ? NULL : "size of the word";
}

static const char *decode_amo(const struct raw *raw, struct gsh_request *out)
{
    unsigned code = raw->arg & (GSH_RING_AMO_IS_8 - 1);
    bool is_8 = (raw->arg & GSH_RING_AMO_IS_8) != 0, is_half = false;
    out->amo_op = (uint8_t)code;
    if ((raw->arg & GSH_RING_AMO_OTHER) != 0) {
        is_half = code <= GSH_RING_AMO_HALF_ADD;
        out->amo_op = (uint8_t)(code < GSH_RING_AMO_HALF_ADD ? code : GSH_AMO_FLOAT_ADD);
        if (code > GSH_RING_AMO_FLOAT_ADD || (is_half && is_8)) {
            return "argument";
        }
    }
    out->word_bytes = is_half ? 2 : is_8 ? 8 : 4;
    out->is_fetch = (raw->arg & GSH_RING_AMO_FETCHES) != 0;
    out->ticket = out->is_fetch ? raw->word[1] : 0;
    out->operand = raw->value[1];
    out->cond = raw->n_payload > 1 ? raw->value[2] : 0;
    restore_top(out);
    return (raw->n_payload == 2) == out->is_fetch ? NULL : "number of slots";
}

static const char *decode_strided(const struct raw *raw, struct gsh_request *out)
{
    out->elem_bytes = raw->word[1];
    out->local = (void *)(uintptr_t)raw->value[1];
    out->remote_stride = (ptrdiff_t)raw->value[2];
    out->local_stride = (ptrdiff_t)raw->value[3];
    out->nelems = raw->value[4];
    if (out->remote_stride < 1 || out->local_stride < 1) {
        return "stride";
    }
    if (out->elem_bytes == 0 || out->nelems == 0) {
        return "number of elements";
    }
    bool is_right = strided_fits(out->remote_off, raw->value[2], out->elem_bytes, out->nelems) &&
                    strided_fits(raw->value[1], raw->value[3], out->elem_bytes, out->nelems);
    return is_right ? NULL : "range";
}

static const char *decode_put_signal(const struct raw *raw, struct gsh_request *out)
{
    bool is_inline = raw->op == GSH_RING_PUT_SIGNAL_INLINE;
    const uint64_t *signal = &raw->value[is_inline ? 1 : 3];
    out->sig_off = signal[0];
    out->signal = signal[1];
    out->sig_op = (uint8_t)(raw->arg & ~(unsigned)GSH_SIGNAL_STRONG);
    out->is_strong = (raw->arg & GSH_SIGNAL_STRONG) != 0;
    if (out->sig_op != GSHMEM_SIGNAL_SET && out->sig_op != GSHMEM_SIGNAL_ADD) {
        return "signal operation";
    }
    if (!is_inline && raw->value[1] == 0) { /* would mean that the bytes are in the request */
        return "local address";
    }
    return is_inline ? decode_inline(raw, 3, out) : decode_large(raw, out);
}

/* NULL, or what is wrong. done, context and next belong to the user of the request. */
static const char *decode(const struct gsh_ring_reader *reader, const struct raw *raw,
                          struct gsh_request *out)
{
    memset(out, 0, offsetof(struct gsh_request, inline_data));
    out->op = encodings[raw->op].kind;
    out->pe = raw->pe;
    out->position = reader->position + 1 + raw->n_payload;
    out->remote_off = raw->n_payload > 0 ? raw->value[0] : 0;
    switch (raw->op) {
    case GSH_RING_PUT:
    case GSH_RING_GET:
        return decode_compact(reader, raw, out);
    case GSH_RING_PUT_LARGE:
    case GSH_RING_GET_LARGE:
        return decode_large(raw, out);
    case GSH_RING_PUT_INLINE:
        return decode_inline(raw, 1, out);
    case GSH_RING_G:
        return decode_g(raw, out);
    case GSH_RING_AMO:
        return decode_amo(raw, out);
    case GSH_RING_IPUT:
    case GSH_RING_IGET:
        return decode_strided(raw, out);
    case GSH_RING_PUT_SIGNAL:
    case GSH_RING_PUT_SIGNAL_INLINE:
        return decode_put_signal(raw, out);
    default: /* FENCE, QUIET */
        return NULL;
    }
}

/* ---- taking and reporting ---- */

enum gsh_result gsh_ring_reader_next(struct gsh_ring_reader *reader, struct gsh_request *request,
                                     bool *has)
{
    *has = false;
    if (reader->failure != GSH_OK) {
        return reader->failure;
    }
    struct raw raw;
    if (!read_slot(reader, reader->position, raw.word)) {
        gsh_ring_reader_publish(reader);
        return GSH_OK;
    }
    const char *wrong = parse_header(reader, &raw);
    if (wrong == NULL) {
        if (!read_payload(reader, &raw)) {
            gsh_ring_reader_publish(reader);
            return GSH_OK;
        }
        wrong = decode(reader, &raw, request);
    }
    if (wrong != NULL) {
        reader->failure =
            gsh_note(GSH_ERR_BUG,
                     "ring: request at position %" PRIu64 " (operation %u, PE %d, "
                     "%u slots, argument %u): wrong %s",
                     reader->position, raw.op, raw.pe, 1 + raw.n_payload, raw.arg, wrong);
        return reader->failure;
    }
    reader->position = request->position;
    if (reader->position - reader->published >= reader->n_slots / 8) {
        gsh_ring_reader_publish(reader);
    }
    *has = true;
    return GSH_OK;
}

enum gsh_result gsh_ring_reader_poll(struct gsh_ring_reader *reader, struct gsh_request *requests,
                                     unsigned max, unsigned *n)
{
    *n = 0;
    while (*n < max) {
        bool has;
        enum gsh_result r = gsh_ring_reader_next(reader, &requests[*n], &has);
        if (r != GSH_OK) {
            return r;
        }
        if (!has) {
            return GSH_OK;
        }
        ++*n;
    }
    gsh_ring_reader_publish(reader);
    return GSH_OK;
}

bool gsh_ring_reader_is_ready(const struct gsh_ring_reader *reader)
{
    uint64_t word[2];
    return read_slot(reader, reader->position, word);
}

void gsh_ring_reader_publish(struct gsh_ring_reader *reader)
{
    if (reader->published == reader->position) {
        return;
    }
    reader->published = reader->position;
    /* release: the slots have been read before a producer, in await_room, learns that it may write
     * them */
    gsh_store_release_u64(&reader->cpu->cpu_tail, reader->position);
}

void gsh_ring_reader_done(struct gsh_ring_reader *reader, uint64_t position)
{
    /* release: pairs with the acquire in await_word; the data of gets have arrived */
    gsh_store_release_u64(&reader->cpu->cpu_done, position);
}

void gsh_ring_reader_reply(struct gsh_ring_reader *reader, uint64_t ticket, uint64_t value)
{
    struct gsh_ring_reply *cell = &reader->cpu->reply[ticket % GSH_RING_REPLIES];
    uint64_t mark = GSH_RING_REPLY_MARK(ticket);
    /* release: a fence after the asker has read the words acquires what the answer saw */
    gsh_store_release_u64(&cell->word[0], mark | (uint32_t)value);
    gsh_store_release_u64(&cell->word[1], mark | value >> 32);
}
