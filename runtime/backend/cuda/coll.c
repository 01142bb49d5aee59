/* SPDX-License-Identifier: Apache-2.0
 * Collectives of the CUDA row: the library's kernels. All of them are loaded at the first call,
 * because their code is large and many programs make none; where PEs share a GPU, at set-up. A
 * dialect may load those on any memory alone. */
#include "runtime/backend/cuda/device.h"
#include "runtime/instance/block_limit.h"
#include "runtime/instance/instance.h"
#include "runtime/team/team.h"

/* Threads of a block. */
#define THREADS 512u
/* LL: four lines of 8 bytes for each thread. A second block costs 1.2 us, since blocks must agree
 * that all have read the number of the call. */
#define LL_BYTES_PER_BLOCK ((uint64_t)4 * 8 * THREADS)
/* For calls whose members give different sizes, and must agree on the number of blocks. */
#define AGREED_BLOCKS 16u

extern const unsigned char gsh_coll_0_fatbin[], gsh_coll_1_fatbin[], gsh_coll_2_fatbin[],
    gsh_coll_3_fatbin[], gsh_coll_4_fatbin[], gsh_coll_5_fatbin[], gsh_lines_fatbin[];
enum { LINES = GSH_COLL_PARTS };

/* Where each kernel is. */
struct kernel_location {
    const char *name;
    int part;
};

static const struct kernel_location locations[GSH_COLL_ALL_KERNELS] = {
    [GSH_COLL_KERNEL_move] = {"gsh_kernel_coll_move", 0},
    [GSH_COLL_KERNEL_alltoalls] = {"gsh_kernel_coll_alltoalls", 0},
    [GSH_COLL_KERNEL_far] = {"gsh_kernel_coll_far", 5},
    [GSH_COLL_KERNEL_lines_move] = {"gsh_kernel_lines_move", LINES},
    [GSH_COLL_KERNEL_lines_sums_of_two] = {"gsh_kernel_lines_sums_of_two", LINES},
    [GSH_COLL_KERNEL_lines_long_move] = {"gsh_kernel_lines_long_move", LINES},
    [GSH_COLL_KERNEL_lines_long_sums_of_two] = {"gsh_kernel_lines_long_sums_of_two", LINES},
    [GSH_COLL_KERNEL_lines_of_two] = {"gsh_kernel_lines_of_two", LINES},
    [GSH_COLL_KERNEL_lines_of_more] = {"gsh_kernel_lines_of_more", LINES},
    [GSH_COLL_KERNEL_lines_read_move] = {"gsh_kernel_lines_read_move", LINES},
    [GSH_COLL_KERNEL_lines_read_sums_of_two] = {"gsh_kernel_lines_read_sums_of_two", LINES},
    [GSH_COLL_KERNEL_lines_read_of_two] = {"gsh_kernel_lines_read_of_two", LINES},
    [GSH_COLL_KERNEL_pieces_move] = {"gsh_kernel_pieces_move", LINES},
    [GSH_COLL_KERNEL_pieces_sums_of_two] = {"gsh_kernel_pieces_sums_of_two", LINES},
    [GSH_COLL_KERNEL_lines_short_move] = {"gsh_kernel_lines_short_move", LINES},
    [GSH_COLL_KERNEL_lines_short_sums] = {"gsh_kernel_lines_short_sums", LINES},
    [GSH_COLL_KERNEL_lines_short_move_by_4] = {"gsh_kernel_lines_short_move_by_4", LINES},
    [GSH_COLL_KERNEL_lines_short_sums_by_4] = {"gsh_kernel_lines_short_sums_by_4", LINES},
    [GSH_COLL_KERNEL_lines_steps_move] = {"gsh_kernel_lines_steps_move", LINES},
    [GSH_COLL_KERNEL_lines_steps_sums] = {"gsh_kernel_lines_steps_sums", LINES},
#define ROW(OP, NAME, T) [GSH_COLL_KERNEL_##OP##_##NAME] = {"gsh_kernel_coll_" #OP "_" #NAME, 1},
    GSH_COLL_PART_1_KERNELS(ROW)
#undef ROW
#define ROW(OP, NAME, T) [GSH_COLL_KERNEL_##OP##_##NAME] = {"gsh_kernel_coll_" #OP "_" #NAME, 2},
        GSH_COLL_PART_2_KERNELS(ROW)
#undef ROW
#define ROW(OP, NAME, T) [GSH_COLL_KERNEL_##OP##_##NAME] = {"gsh_kernel_coll_" #OP "_" #NAME, 3},
            GSH_COLL_PART_3_KERNELS(ROW)
#undef ROW
#define ROW(OP, NAME, T) [GSH_COLL_KERNEL_##OP##_##NAME] = {"gsh_kernel_coll_" #OP "_" #NAME, 4},
                GSH_COLL_PART_4_KERNELS(ROW)
#undef ROW
};

static const unsigned char *image_of(int part)
{
    const unsigned char *const images[GSH_COLL_MODULES] = {
        gsh_coll_0_fatbin, gsh_coll_1_fatbin, gsh_coll_2_fatbin, gsh_coll_3_fatbin,
        gsh_coll_4_fatbin, gsh_coll_5_fatbin, gsh_lines_fatbin};
    return images[part];
}

/* The context is current; coll_lock is held. */
static enum gsh_result load_part(struct gsh_instance *pe, int part)
{
    struct gsh_cuda_device *d = pe->device;
    CUmodule *module = &d->coll_modules[part];
    if (*module != NULL) {
        return GSH_OK;
    }
    enum gsh_result r = gsh_cuda_result(d->cuda->ModuleLoadData(module, image_of(part)),
                                        "the collectives' kernels");
    return r == GSH_OK ? gsh_cuda_fill_own(pe, *module, &pe->state) : r;
}

/* Loads all kernels, or those in wire/lines.h, before any of them runs. To load code, the driver
 * may wait for running kernels, and these may be collectives that wait for another PE, which is
 * loading, too. The context is current; coll_lock is held. */
static enum gsh_result load_kernels(struct gsh_instance *pe, bool all)
{
    struct gsh_cuda_device *d = pe->device;
    enum gsh_result r = GSH_OK;
    for (int i = 0; r == GSH_OK && i < GSH_COLL_ALL_KERNELS; i++) {
        CUfunction kernel = NULL;
        if (locations[i].name == NULL || d->coll_kernels[i] != NULL ||
            (!all && locations[i].part != LINES)) {
            continue;
        }
        r = load_part(pe, locations[i].part);
        if (r == GSH_OK) {
            r = gsh_cuda_load_kernel(d, d->coll_modules[locations[i].part], locations[i].name,
                                     &kernel);
        }
        d->coll_kernels[i] = r == GSH_OK ? kernel : NULL;
    }
    if (r == GSH_OK) { /* release: pairs with the acquire in are_loaded */
        __atomic_store_n(&d->has_lines_kernels, true, __ATOMIC_RELEASE);
        __atomic_store_n(&d->has_coll_kernels, all, __ATOMIC_RELEASE);
    }
    return r;
}

static bool are_loaded(const struct gsh_cuda_device *d, bool all)
{
    /* acquire: pairs with the release in load_kernels */
    return __atomic_load_n(all ? &d->has_coll_kernels : &d->has_lines_kernels, __ATOMIC_ACQUIRE);
}

static enum gsh_result find_kernel(struct gsh_instance *pe, const struct gsh_coll_launch *launch,
                                   CUfunction *function)
{
    struct gsh_cuda_device *d = pe->device;
    uint32_t kernel = launch->kernel;
    enum gsh_result r = GSH_OK;
    uint32_t adder = kernel == GSH_COLL_KERNEL_far ? launch->args->compute.adder : (uint32_t)kernel;
    if (locations[adder].name == NULL) {
        return gsh_fail(GSH_ERR_UNSUPPORTED, "GPUs have no long double");
    }
    const bool is_of_lines = locations[kernel].part == LINES;
    if (!are_loaded(d, !is_of_lines)) {
        /* The caller may be capturing a graph; loading is not part of it. */
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        pthread_mutex_lock(&d->coll_lock);
        if (!are_loaded(d, !is_of_lines)) {
            d->cuda->ThreadExchangeStreamCaptureMode(&mode);
            r = load_kernels(pe, true);
            d->cuda->ThreadExchangeStreamCaptureMode(&mode);
        }
        pthread_mutex_unlock(&d->coll_lock);
    }
    *function = d->coll_kernels[kernel];
    return r;
}

static unsigned blocks_for(const struct gsh_instance *pe, const struct gsh_coll_launch *l)
{
    const struct gsh_coll_table *t = &pe->coll_table;
    if (l->kernel >= GSH_COLL_KERNEL_COUNT) {
        return l->n_blocks;
    }
    const struct gsh_block_limit limit = gsh_block_limit_get();
    if (l->bytes == GSH_COLL_UNKNOWN_BYTES) {
        return gsh_block_limit_apply(limit, AGREED_BLOCKS, t->max_blocks);
    }
    uint64_t others = l->team->n_pes > 1 ? (uint64_t)l->team->n_pes - 1 : 1;
    bool may_be_ll = l->kernel != GSH_COLL_KERNEL_far;
    uint64_t blocks = may_be_ll && l->bytes <= t->ll_max[GSH_GROUP_BLOCKS]
                          ? (l->bytes * others + LL_BYTES_PER_BLOCK - 1) / LL_BYTES_PER_BLOCK
                          : (l->bytes + t->bytes_per_block - 1) / t->bytes_per_block;
    return gsh_block_limit_apply(limit,
                                 blocks < 1               ? 1
                                 : blocks < t->max_blocks ? (unsigned)blocks
                                                          : t->max_blocks,
                                 t->max_blocks);
}

static unsigned threads_for(const struct gsh_coll_launch *l)
{
    if (l->kernel >= GSH_COLL_KERNEL_COUNT) {
        return l->n_threads;
    }
    return l->bytes <= 256 ? 64 : l->bytes <= 1024 ? 128 : THREADS;
}

enum gsh_result gsh_cuda_stream_coll(struct gsh_instance *pe, const struct gsh_coll_launch *launch,
                                     gsh_stream stream)
{
    struct gsh_cuda_device *d = pe->device;
    CUfunction function = NULL;
    void *params[] = {launch->kernel >= GSH_COLL_KERNEL_COUNT ? (void *)launch->lines
                                                              : (void *)launch->args};
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = find_kernel(pe, launch, &function);
    if (r == GSH_OK) {
        r = gsh_cuda_result(d->cuda->LaunchKernel(function, blocks_for(pe, launch), 1, 1,
                                                  threads_for(launch), 1, 1, 0, stream, params,
                                                  NULL),
                            "cuLaunchKernel");
    }
    gsh_cuda_leave(d, entered);
    return r;
}

/* The context is current. */
static enum gsh_result make_stream(struct gsh_cuda_device *d)
{
    return d->coll_stream != NULL
               ? GSH_OK
               : gsh_cuda_result(
                     d->cuda->StreamCreateWithPriority(&d->coll_stream, CU_STREAM_NON_BLOCKING, -1),
                     "cuStreamCreateWithPriority");
}

/* For set-up where PEs share the GPU, or are far. At the first call it would be too late: the
 * driver may wait for kernels that wait for another PE, and keep the proxy from CUDA meanwhile. */
enum gsh_result gsh_cuda_load_colls(struct gsh_instance *pe, bool all)
{
    struct gsh_cuda_device *d = pe->device;
    enum gsh_result r = GSH_OK;
    pthread_mutex_lock(&d->coll_lock);
    bool entered = gsh_cuda_enter(d);
    if (!are_loaded(d, all)) {
        r = load_kernels(pe, all);
    }
    if (r == GSH_OK && all) {
        r = make_stream(d);
    }
    gsh_cuda_leave(d, entered);
    pthread_mutex_unlock(&d->coll_lock);
    return r;
}

/* On a stream of its own: a member may be waiting for other host threads' calls. */
enum gsh_result gsh_cuda_coll(struct gsh_instance *pe, const struct gsh_coll_launch *launch)
{
    struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d); /* first: who has the lock may be in the driver for long */
    pthread_mutex_lock(&d->coll_call_lock);
    enum gsh_result r = make_stream(d);
    if (r == GSH_OK) {
        r = gsh_cuda_stream_coll(pe, launch, d->coll_stream);
    }
    if (r == GSH_OK) {
        r = gsh_cuda_stream_synchronize(pe, d->coll_stream);
    }
    pthread_mutex_unlock(&d->coll_call_lock);
    gsh_cuda_leave(d, entered);
    return r;
}
