/* SPDX-License-Identifier: Apache-2.0
 * The kernels the library launches itself, as nvcc built them from device/kernels.cu. The build
 * gives the file's name. */
    .section .rodata
    .globl gsh_kernels_fatbin
    .hidden gsh_kernels_fatbin
    .type gsh_kernels_fatbin, %object
    .balign 64
gsh_kernels_fatbin:
    .incbin GSH_KERNELS_FATBIN
    .size gsh_kernels_fatbin, . - gsh_kernels_fatbin
    .section .note.GNU-stack, "", %progbits
