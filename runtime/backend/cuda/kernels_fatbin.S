/* SPDX-License-Identifier: Apache-2.0
 * The kernels the library launches itself, as nvcc built them from device/. The build gives the
 * file's name, and that of the symbol. */
    .section .rodata
    .globl GSH_KERNELS_NAME
    .hidden GSH_KERNELS_NAME
    .type GSH_KERNELS_NAME, %object
    .balign 64
GSH_KERNELS_NAME:
    .incbin GSH_KERNELS_FATBIN
    .size GSH_KERNELS_NAME, . - GSH_KERNELS_NAME
    .section .note.GNU-stack, "", %progbits
