/* SPDX-License-Identifier: Apache-2.0
 * In place of the library's kernels for GPUs, in programs that link its core without them. */
const unsigned char gsh_kernels_fatbin[1], gsh_coll_0_fatbin[1], gsh_coll_1_fatbin[1],
    gsh_coll_2_fatbin[1], gsh_coll_3_fatbin[1], gsh_coll_4_fatbin[1], gsh_coll_5_fatbin[1],
    gsh_lines_fatbin[1];
