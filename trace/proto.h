/* SPDX-License-Identifier: Apache-2.0
 * Writes protocol buffers: fields of a message, and messages in messages. A message's length is
 * always four bytes, so it can be filled in at the message's end. */
#ifndef GSH_TRACE_PROTO_H
#define GSH_TRACE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gsh_proto {
    uint8_t *data; /* from malloc */
    size_t n, room;
    bool has_failed; /* there was no memory, or a message was too long */
};

void gsh_proto_uint(struct gsh_proto *p, uint32_t field, uint64_t value);
void gsh_proto_fixed64(struct gsh_proto *p, uint32_t field, uint64_t value);
void gsh_proto_text(struct gsh_proto *p, uint32_t field, const char *text);
/* What is written until close belongs to the message. */
size_t gsh_proto_open(struct gsh_proto *p, uint32_t field);
void gsh_proto_close(struct gsh_proto *p, size_t opened);

#endif
