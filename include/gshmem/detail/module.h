/* SPDX-License-Identifier: Apache-2.0
 * Not for users' programs: what code that the device and launch headers put into a program calls.
 * The names and what they do may change with any version. */
#ifndef GSHMEM_DETAIL_MODULE_H
#define GSHMEM_DETAIL_MODULE_H

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The constructor in the device headers calls these two. */
struct gsh_module;
void gshmemx_module_register(struct gsh_module *module);
void gshmemx_module_unregister(struct gsh_module *module);
/* The launch headers call these two around a launch, so that a hang report can say that CUDA has
 * not returned from it; call: a literal. */
void gshmemx_launch_begin(const char *call);
void gshmemx_launch_end(void);
/* The launch headers call it: says that a collective launch of n_blocks, which cannot all run at
 * the same time, was refused; at most `most` can. */
void gshmemx_launch_refused(unsigned long long n_blocks, int most);
/* The same for a launch of blocks of n_threads, whose kernel uses more registers per thread than
 * the `most` for which such a block has room. */
void gshmemx_launch_lacks_registers(const char *call, int n_registers, int n_threads, int most);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
