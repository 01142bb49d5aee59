/* SPDX-License-Identifier: Apache-2.0
 * A unique id as bytes, which the user carries to the other processes, and as text. uid_wire.h has
 * what the bytes mean. */
#ifndef GSH_UID_ID_H
#define GSH_UID_ID_H

#include <stdint.h>
#include "base/result.h"

#define GSH_UID_BYTES 124

struct gsh_uid {
    uint8_t bytes[GSH_UID_BYTES];
};

/* Text form for an environment variable: hex digits and a NUL. */
void gsh_uid_to_text(const struct gsh_uid *id, char text[2 * GSH_UID_BYTES + 1]);
GSH_CHECK_RESULT enum gsh_result gsh_uid_from_text(const char *text, struct gsh_uid *out);

#endif
