/* SPDX-License-Identifier: Apache-2.0
 * The first exchange of init: who the other PEs are, and whether all are of one version and have
 * the same settings.
 *
 * Each PE tells those of its host 24 bytes, a gsh_identity; all others, too, if the bootstrap
 * cannot say which PEs are of which host. The PEs of other hosts it then numbers by nodes from what
 * the bootstrap knows. What must be the same on all PEs, or is of one PE alone, travels in the same
 * messages as a gsh_identity_sum, which is combined: settings as a digest, of which all learn the
 * least and the greatest. Only if these are not the same, a second exchange has the versions of
 * all, or their settings, and finds the PE to name. */
#ifndef GSH_IDENTITY_H
#define GSH_IDENTITY_H

#include <stdint.h>
#include "base/keys.h"
#include "base/result.h"

struct gsh_instance;

struct gsh_identity {
    uint64_t host;     /* PEs with equal ones can pass descriptors and map each other's memory */
    uint64_t process;  /* gsh_process_id */
    uint32_t instance; /* gsh_instance_numbered */
    uint32_t bell;     /* bell.h: its name */
};
_Static_assert(sizeof(struct gsh_identity) == 24, "the same in every version");

/* All that a second exchange has where the versions differ. */
struct gsh_version {
    uint32_t magic;
    uint8_t version[3]; /* the library's */
    uint8_t state_version;
};
_Static_assert(sizeof(struct gsh_version) == 8, "the same in every version");

enum {
    GSH_IDENTITY_CHOOSES = 1, /* some PE's device may be no CPU */
    GSH_IDENTITY_NO_BELL = 2, /* some PE could not make its bell */
    GSH_IDENTITY_ROOMY = 4,   /* some PE's heap is to be as usual: gsh_instance.is_small */
};

/* PEs of all versions fold the first two alike; the rest may depend on the version. */
struct gsh_identity_sum {
    struct gsh_version least, most; /* as bytes */
    uint8_t least_settings[16], most_settings[16];
    uint8_t random[GSH_SECRET_BYTES]; /* rank 0's, zeros of the others; is in the job's secret */
    uint64_t memory_bytes;            /* of gsh_device_attr, the greatest */
    uint32_t flags;                   /* of any PE */
    uint32_t zero;
};
_Static_assert(sizeof(struct gsh_identity_sum) == 80, "the same in every version");

/* Collective. Fills the peers, nodes, hosts, the secret, what all have told of their devices, and
 * the bell, which only a job on several nodes keeps. */
GSH_CHECK_RESULT enum gsh_result gsh_identity_exchange(struct gsh_instance *pe);
/* Frees what all have told of their devices. */
void gsh_identity_forget(struct gsh_instance *pe);

#endif
