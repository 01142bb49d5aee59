/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NVSHMEM_TENSOR_H
#define NVSHMEM_TENSOR_H
#endif
