/* SPDX-License-Identifier: Apache-2.0
 * Which file of this process a piece of its memory belongs to, so that other processes can map it.
 */
#ifndef GSH_MODEL_FILES_H
#define GSH_MODEL_FILES_H

#include <stdint.h>
#include "base/result.h"

/* The part of [address, address + bytes), from its beginning on, that lies in one file: a
 * descriptor, which the caller closes, where the memory begins in the file, and how many bytes.
 * GSH_ERR_UNSUPPORTED, noted: it is not shared memory of a file that the process has open. */
GSH_CHECK_RESULT enum gsh_result gsh_model_find_file(uint64_t address, uint64_t bytes, int *fd,
                                                     uint64_t *file_off, uint64_t *found);

#endif
