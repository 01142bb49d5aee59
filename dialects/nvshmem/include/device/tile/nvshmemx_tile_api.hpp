/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NVSHMEM_TILE_H
#define NVSHMEM_TILE_H
#endif
