/* SPDX-License-Identifier: Apache-2.0
 * Replaces pages under the running program: in one step, an address gets other memory with the same
 * contents. And what is needed to know of the files behind pages. */
#ifndef GSH_PAGES_H
#define GSH_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The size of a page in bytes. */
uint64_t gsh_page_size(void);
/* Whether a file, also one that is only memory, may have that many bytes. If not errno is EFBIG;
 * making it that large all the same would end the process by SIGXFSZ. */
bool gsh_file_may_have(uint64_t bytes);
/* Copies whole words, including gaps between the program's objects, for which the address sanitizer
 * would report memcpy. */
void gsh_pages_copy(void *to, const void *from, uint64_t bytes);
/* The same for whole pages from private memory to shared memory of a file: pages that are all zeros
 * take no memory there or here. */
void gsh_pages_copy_sparse(void *to, const void *from, uint64_t bytes);
/* Moves the mapping at `from` to `to`, replacing what is there; from_bytes 0: makes a second
 * mapping of the same shared pages instead. */
bool gsh_pages_remap(void *from, uint64_t from_bytes, void *to, uint64_t bytes);
/* Replaces [at, at + bytes) by private pages with the same contents. False: out of memory, and
 * nothing has changed. */
bool gsh_pages_make_private(void *at, uint64_t bytes);
/* As above, but skips zeros that have no page: from an offset from `at`, next_data gives the offset
 * of the next existing page; bytes or more: there is none. */
bool gsh_pages_make_private_sparse(void *at, uint64_t bytes,
                                   uint64_t (*next_data)(void *context, uint64_t off),
                                   void *context);

/* A duplicate, close-on-exec, of a descriptor of this process that is open for reading and writing
 * and is the file with that device and inode, as /proc/self/maps has them; -1: there is none. Other
 * threads may open and close descriptors meanwhile. */
int gsh_file_find_descriptor(dev_t device, ino_t inode);

#endif
