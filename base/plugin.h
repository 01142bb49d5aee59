/* SPDX-License-Identifier: Apache-2.0
 * Finding the plug-ins that are installed beside libgshmem. */
#ifndef GSH_PLUGIN_H
#define GSH_PLUGIN_H

/* dlopen with these flags. A name without a slash is looked for in the directory of libgshmem (of
 * the program when it is linked in statically) first, then along the system's search path. NULL:
 * dlerror() has the reason. */
void *gsh_plugin_open(const char *name, int flags);

#endif
