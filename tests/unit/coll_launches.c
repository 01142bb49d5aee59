/* SPDX-License-Identifier: Apache-2.0
 * A collective of the host or on a stream over several nodes is one launch, however many pieces its
 * bytes go in; checking builds make one more, which compares the members' calls. Four PEs on two
 * nodes, which are threads, with a table of device functions that counts. */
#include <gshmemx.h>
#include <pthread.h>
#include "runtime/init/setup.h"
#include "runtime/instance/device_ops.h"
#include "runtime/instance/instance.h"
#include "tests/test.h"

enum { N_PES = 4, N = 400 };

static _Thread_local unsigned n_launches;
static const struct gsh_device_ops *device;

static enum gsh_result count_coll(struct gsh_instance *pe, const struct gsh_coll_launch *launch)
{
    n_launches++;
    return device->coll(pe, launch);
}

static enum gsh_result count_stream_coll(struct gsh_instance *pe,
                                         const struct gsh_coll_launch *launch, gsh_stream stream)
{
    n_launches++;
    return device->stream_coll(pe, launch, stream);
}

/* Makes one call of each kind that computes or broadcasts, each of n elements. */
static void calls(long *dest, long *source, size_t n, bool is_on_stream)
{
    const gshmem_team_t team = GSHMEM_TEAM_WORLD;
    const long me = gshmem_my_pe();
    const unsigned each = 1 + GSH_CHECKS;
#define CALL(NAME, ...)                                                             \
    n_launches = 0;                                                                 \
    CHECK_EQ(is_on_stream ? gshmemx_long_##NAME##_on_stream(__VA_ARGS__, NULL)      \
                          : gshmem_long_##NAME(__VA_ARGS__),                        \
             0);                                                                    \
    gshmemx_quiet_on_stream(NULL);                                                  \
    (void)gshmemx_long_g_on_stream(dest, (int)me, NULL); /* waits for the stream */ \
    CHECK_EQ(n_launches, each)
    CALL(sum_reduce, team, dest, source, n);
    CHECK_EQ(dest[0], 0 + 1 + 2 + 3);
    CHECK_EQ(dest[n - 1], 0 + 1 + 2 + 3 + N_PES * (long)(n - 1));
    CALL(max_reduce, team, dest, source, n);
    CHECK_EQ(dest[n - 1], N_PES - 1 + (long)(n - 1));
    CALL(sum_reducescatter, team, dest, source, n / N_PES);
    CHECK_EQ(dest[0], 6 + N_PES * me * (long)(n / N_PES));
    CALL(sum_inscan, team, dest, source, n);
    CHECK_EQ(dest[n - 1], me * (me + 1) / 2 + (me + 1) * (long)(n - 1));
    CALL(sum_exscan, team, dest, source, n);
    CHECK_EQ(dest[n - 1], me * (me - 1) / 2 + me * (long)(n - 1));
    CALL(broadcast, team, dest, source, n, 1);
    CHECK_EQ(dest[n - 1], 1 + (long)(n - 1));
    CALL(fcollect, team, dest, source, n / N_PES);
    CHECK_EQ(dest[n / N_PES * 3], 3);
#undef CALL
}

static void *pe_main(void *arg)
{
    static int key;
    static struct gsh_device_ops counting;
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    gshmemx_set_attr_thread_args((int)(intptr_t)arg, N_PES, &key, &attr);
    if (!CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_THREAD_PES, &attr), 0)) {
        exit(1);
    }
    struct gsh_instance *pe = gsh_instance_need_device("coll_launches");
    if (gshmem_my_pe() == 0) {
        device = pe->device_ops;
        counting = *device;
        counting.coll = count_coll;
        counting.stream_coll = count_stream_coll;
    }
    long *dest = gshmem_malloc(N * sizeof(long)), *source = gshmem_malloc(N * sizeof(long));
    for (long i = 0; i < N; i++) {
        source[i] = gshmem_my_pe() + i;
    }
    gshmem_barrier_all(); /* the table is complete */
    pe->device_ops = &counting;
    for (int is_on_stream = 0; is_on_stream < 2; is_on_stream++) {
        calls(dest, source, N_PES, is_on_stream != 0);
        calls(dest, source, N, is_on_stream != 0);
    }
    gshmem_barrier_all();
    pe->device_ops = device;
    gshmem_free(source);
    gshmem_free(dest);
    gshmem_finalize();
    return NULL;
}

int main(void)
{
    pthread_t threads[N_PES];
    setenv("GSHMEM_DEVICE", "cpu", 1);
    setenv("GSHMEM_NODE_PES", "2", 1);
    setenv("GSHMEM_COLLECTIVES", "far=256,far_piece=256", 1);
    for (int i = 0; i < N_PES; i++) {
        pthread_create(&threads[i], NULL, pe_main, (void *)(intptr_t)i);
    }
    for (int i = 0; i < N_PES; i++) {
        pthread_join(threads[i], NULL);
    }
    return test_result();
}
