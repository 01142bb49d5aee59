/* SPDX-License-Identifier: Apache-2.0
 * The wire format of protocol buffers. */
#include "trace/proto.h"

#include <string.h>
#include "base/array.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, LENGTH_BYTES = 4, VARINT_MAX = 10 };

static uint8_t *reserve(struct gsh_proto *p, size_t bytes)
{
    if (!gsh_array_reserve(&p->data, &p->room, p->n + bytes, 1)) {
        p->has_failed = true;
        return NULL;
    }
    return p->data + p->n;
}

static void put_varint(struct gsh_proto *p, uint64_t value)
{
    uint8_t *at = reserve(p, VARINT_MAX);
    if (at == NULL) {
        return;
    }
    for (; value >= 0x80; value >>= 7) {
        *at++ = (uint8_t)(value | 0x80);
        p->n++;
    }
    *at = (uint8_t)value;
    p->n++;
}

static void put_tag(struct gsh_proto *p, uint32_t field, unsigned type)
{
    put_varint(p, (uint64_t)field << 3 | type);
}

static void put_bytes(struct gsh_proto *p, const void *bytes, size_t n)
{
    uint8_t *at = reserve(p, n);
    if (at != NULL && n > 0) {
        memcpy(at, bytes, n);
        p->n += n;
    }
}

void gsh_proto_uint(struct gsh_proto *p, uint32_t field, uint64_t value)
{
    put_tag(p, field, VARINT);
    put_varint(p, value);
}

void gsh_proto_fixed64(struct gsh_proto *p, uint32_t field, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
    put_tag(p, field, FIXED64);
    put_bytes(p, bytes, sizeof(bytes));
}

void gsh_proto_text(struct gsh_proto *p, uint32_t field, const char *text)
{
    put_tag(p, field, BYTES);
    put_varint(p, strlen(text));
    put_bytes(p, text, strlen(text));
}

size_t gsh_proto_open(struct gsh_proto *p, uint32_t field)
{
    static const uint8_t zeros[LENGTH_BYTES];
    put_tag(p, field, BYTES);
    put_bytes(p, zeros, sizeof(zeros));
    return p->n;
}

void gsh_proto_close(struct gsh_proto *p, size_t opened)
{
    if (p->has_failed) {
        return;
    }
    size_t bytes = p->n - opened;
    if (bytes >= (size_t)1 << 28) {
        p->has_failed = true;
        return;
    }
    for (int i = 0; i < LENGTH_BYTES; i++, bytes >>= 7) {
        p->data[opened - LENGTH_BYTES + (size_t)i] =
            (uint8_t)((bytes & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
    }
}
