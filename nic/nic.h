/* SPDX-License-Identifier: Apache-2.0
 * Network adapters to which kernels post by themselves: the table of one adapter. The runtime makes
 * one for each PE with far peers, hands it this PE's memory as it comes and goes, and tells kernels
 * where the queues lie (wire/nic.h). The host sees no operation of a kernel; it hears of failures.
 * An adapter knows nothing of heaps, contexts or teams.
 *
 * Queues are reliable connections in pairs: queue i of this PE and queue j of another, each of
 * which carries out entries (wire/wq.h) on the other PE's memory. A PE has one key for all the
 * memory that it gives, whose addresses are offsets: mlx5's indirect keys, to which memory is bound
 * and unbound while the key is in use.
 *
 * Except where it is said, calls come from one thread at a time, and nothing here blocks. */
#ifndef GSH_ADAPTER_H
#define GSH_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/copy.h"
#include "base/result.h"
#include "wire/nic.h"

#define GSH_ADAPTER_NAME 64 /* bytes, with the NUL */

struct gsh_adapter;

struct gsh_adapter_options {
    int my_pe, n_pes;
    const char *name;     /* GSHMEM_NIC */
    const char *settings; /* GSHMEM_NIC_MODEL: the model's (model/settings.h) */
    uint32_t n_queues;    /* they get the indices below it */
    uint32_t depth;       /* blocks of each, a power of two, GSH_WQ_DEPTH_MIN to _MAX */
    const char *plugin;   /* GSHMEM_NIC_PLUGIN, for real adapters */
    const char *pci_bus;  /* of this PE's GPU, like "0000:1b:00.0"; "": it has none */
    /* How near n adapters, by their names, are to that GPU: the more, the nearer. False: not known,
     * and the adapter's own rule decides, as it does if this is NULL. */
    bool (*nearness)(void *context, const char *pci_bus, const char *const *names, unsigned n,
                     unsigned *near);
    /* Of a PE that has several adapters, which this is: others than those with other numbers, and
     * nearer to the GPU than those with higher ones. n_stripes: 0 counts as 1. */
    uint32_t stripe, n_stripes;
    /* GSHMEM_NIC_PORT and so on; see base/env.def. 0: the first active one; gid: -1: chosen. */
    int port, gid, traffic_class, service_level, retry, timeout;
    bool is_one_process; /* all PEs are threads of this process */
    /* What is posted to a PE that has ended is dropped silently. */
    bool outlives_losses;
    void *context; /* of the functions here, which are called on any thread */
    /* An entry has failed, or a rule of the wire was broken: one line, which names queue, index and
     * operation, or byte. pe: the queue's; is_silent: it does not answer. Ends the job; may not
     * return. */
    void (*fail)(void *context, int pe, bool is_silent, const char *text);
    void (*thread_start)(void *context); /* on the adapter's own thread, first */
    /* A dma-buf descriptor of GPU memory, which the adapter closes; NULL: memory is the host's. */
    enum gsh_result (*share)(void *context, void *memory, uint64_t bytes, int *fd);
    /* Copies between this PE's memory and memory of the host, and waits until it is done; for
     * adapters in software. Any thread. NULL: this PE's memory is the host's. */
    enum gsh_result (*copy)(void *context, void *dest, const void *source, uint64_t bytes);
    /* Entries and doorbell records lie in memory that allocate gives, of this PE's device and full
     * of zeros; doorbells and completions in the host's all the same. release gives it back. */
    bool in_device;
    enum gsh_result (*allocate)(void *context, uint64_t bytes, void **memory);
    void (*release)(void *context, void *memory);
};

/* Where a queue lies, by offsets in the memory of the adapter's queues, entries and record in that
 * of the device, if it has some; doorbell_register: in its registers, if it has some. */
#define GSH_ADAPTER_NO_RECORD UINT64_MAX /* the doorbell alone tells how far the entries go */
struct gsh_adapter_site {
    uint64_t entries, record, doorbell, completion, doorbell_register;
    uint32_t number;
};

struct gsh_adapter_ops {
    const char *name;

    /* What each PE tells every other one; owned by a. */
    enum gsh_result (*address)(struct gsh_adapter *a, const void **blob, size_t *bytes);
    /* Another PE's. Noted, not logged, if the adapter cannot reach it. */
    enum gsh_result (*set_peer)(struct gsh_adapter *a, int pe, const void *blob, size_t bytes);
    /* The key that pe's memory has. pe's address is known. */
    uint32_t (*remote_key)(struct gsh_adapter *a, int pe);

    /* Makes a queue. Then joins it to the other PE's queue of that index and number, which joins it
     * to this one: from then on kernels may post. its_number: 0 unless tells_numbers. */
    enum gsh_result (*create_queue)(struct gsh_adapter *a, uint32_t index,
                                    struct gsh_adapter_site *out);
    enum gsh_result (*connect_queue)(struct gsh_adapter *a, uint32_t index, int pe,
                                     uint32_t its_index, uint32_t its_number);

    /* This PE's memory [memory, memory + bytes) has offset off from now on. Parts do not overlap;
     * an entry may span several. remove: on return nobody's entry reaches it any more. */
    enum gsh_result (*add_region)(struct gsh_adapter *a, void *memory, uint64_t off,
                                  uint64_t bytes);
    enum gsh_result (*remove_region)(struct gsh_adapter *a, uint64_t off);
    /* NULL: keys never change. Else each added region makes a new key for all memory, local_key and
     * what own_key returns; earlier ones stay good for the memory of their time. The runtime tells
     * the other PEs, for whose adapters remote_key then returns it. */
    uint32_t (*own_key)(struct gsh_adapter *a);
    void (*set_remote_key)(struct gsh_adapter *a, int pe, uint32_t key);

    /* The queues are connected: entries are carried out. rings_for_kernels: a thread of the adapter
     * looks at the doorbells in memory and rings the registers, which kernels do not reach. */
    enum gsh_result (*start)(struct gsh_adapter *a, bool rings_for_kernels);
    /* Whether all entries that these queues' doorbell records cover are complete. An acquire: what
     * they brought is seen. Any thread. */
    bool (*is_idle)(struct gsh_adapter *a, uint32_t first, uint32_t n);
    /* Makes some progress, for threads that wait for memory to change; NULL: it needs none. Any
     * thread. */
    void (*help)(struct gsh_adapter *a);

    /* No other PE posts to this one any more. Accepts a half-made adapter. */
    void (*destroy)(struct gsh_adapter *a);
};

/* First member of every kind's own struct. */
struct gsh_adapter {
    const struct gsh_adapter_ops *ops;
    struct gsh_adapter_options options;
    char name[GSH_ADAPTER_NAME]; /* as GSHMEM_NIC names it */
    void *memory;                /* of the queues: page-aligned, to be mapped for the device */
    size_t memory_bytes;
    void *device_memory; /* options.in_device: of entries and records, where the device has it */
    /* Doorbells that are registers of the adapter, in pages to be mapped for the device; NULL:
     * doorbells lie in memory alone. */
    void *registers;
    size_t registers_bytes;
    uint32_t local_key, flags; /* enum gsh_nic_flags; of struct gsh_nic */
    bool reads_cuda;           /* regions may be memory of a CUDA device */
    bool tells_numbers;        /* the other PE must be told a queue's number */
    const struct gsh_nic_wake *wake;
};

/* Whether GSHMEM_NIC, a list, names the model. */
bool gsh_adapter_is_model(const char *name);

/* The adapter of that name. A failure is noted, not logged: no such adapter (GSH_ERR_ARG), bad
 * settings, not available here (GSH_ERR_UNSUPPORTED). */
GSH_CHECK_RESULT enum gsh_result gsh_adapter_create(const struct gsh_adapter_options *options,
                                                    struct gsh_adapter **out);
static inline void gsh_adapter_destroy(struct gsh_adapter **a)
{
    if (*a != NULL) {
        (*a)->ops->destroy(*a);
    }
    *a = NULL;
}

/* Copies from the memory of entries and records; false: the device has failed. */
static inline bool gsh_adapter_read(const struct gsh_adapter *a, uint64_t off, void *out,
                                    uint64_t bytes)
{
    const struct gsh_adapter_options *o = &a->options;
    const uint8_t *from =
        (const uint8_t *)(a->device_memory != NULL ? a->device_memory : a->memory) + off;
    if (a->device_memory != NULL && o->copy != NULL) {
        return o->copy(o->context, out, from, bytes) == GSH_OK;
    }
    gsh_copy_from_shared(out, from, bytes); /* an acquire of what is a word */
    return true;
}

/* Adapter i that GSHMEM_NIC may name: its name, what it is, and what it lacks on this machine ("":
 * nothing). False: there is none. plugin: as in the options. */
struct gsh_adapter_listing {
    char name[GSH_ADAPTER_NAME], what[96], lacks[192];
    bool is_there; /* false: kernels cannot post to it whatever is done, and lacks says why */
};
bool gsh_adapter_list(const char *plugin, unsigned i, struct gsh_adapter_listing *out);

#endif
