/* SPDX-License-Identifier: Apache-2.0
 * Where the proxy's thread runs. */
#ifndef GSH_AFFINITY_PROXY_H
#define GSH_AFFINITY_PROXY_H

#include "runtime/instance/instance.h"

/* After device set-up, with the proxy's thread running; does nothing without a proxy. Not
 * collective. */
void gsh_affinity_proxy(struct gsh_instance *pe);

#endif
