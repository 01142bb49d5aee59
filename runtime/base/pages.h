/* SPDX-License-Identifier: Apache-2.0
 * Pages of the program that change places under it: what is behind an address becomes other memory
 * with the same contents, in one step. */
#ifndef GSH_PAGES_H
#define GSH_PAGES_H

#include <stdbool.h>
#include <stdint.h>

/* What a page of memory has. */
uint64_t gsh_page_size(void);
/* Whole words, also what lies between the program's objects, which the address sanitizer would not
 * have memcpy read. */
void gsh_pages_copy(void *to, const void *from, uint64_t bytes);
/* The same for whole pages from private memory to shared memory of a file: pages that are zero
 * throughout take no memory there, nor here. */
void gsh_pages_copy_sparse(void *to, const void *from, uint64_t bytes);
/* The mapping at `from` goes to `to`, in the place of what is there; from_bytes 0: a second mapping
 * of the same shared pages does. */
bool gsh_pages_remap(void *from, uint64_t from_bytes, void *to, uint64_t bytes);
/* Private pages in the place of [at, at + bytes), with the same contents. False: there is no memory
 * for them, and nothing has changed. */
bool gsh_pages_make_private(void *at, uint64_t bytes);
/* The same, without what is zero for want of a page: next_data says for an offset from `at` where
 * the next page is that there is, from there on; bytes or more: there is none. */
bool gsh_pages_make_private_sparse(void *at, uint64_t bytes,
                                   uint64_t (*next_data)(void *context, uint64_t off),
                                   void *context);

#endif
