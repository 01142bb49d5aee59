/* SPDX-License-Identifier: Apache-2.0
 * From where in the program allocations of the heap were made, for reports. Any thread. */
#ifndef GSH_SITES_H
#define GSH_SITES_H

#include <stddef.h>
#include <stdint.h>

struct gsh_instance;

/* The allocation at that offset is of a call that returns to `caller`. Of many allocations only the
 * last ones are kept. */
void gsh_sites_note(const struct gsh_instance *pe, uint64_t off, const void *caller);
/* "field.cu:41" if the call's place in the program is known (gshmemx_call_site), else
 * "program+0x1234", its place in its file as addr2line takes it; "": not known. */
void gsh_sites_word(const struct gsh_instance *pe, uint64_t off, char *text, size_t bytes);

#endif
