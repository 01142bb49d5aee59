/* SPDX-License-Identifier: Apache-2.0
 * Proves what programs do with NVSHMEM's headers besides calls, in C++14 without kernels: version
 * and other macros, names of their own, the sizes of structs, and the ways to start, with an
 * attribute struct in which only the flag's own members are set; and the NVSHMEM_... variables,
 * also in a file; and regions. Run without an argument as a PE of a job, with `uid`, and the file,
 * alone. */
#include <nvshmem.h>
#include <nvshmemx.h>
#include <gshmemx.h>
#include "tests/test.h"
#include <unistd.h>

#include <device_host/nvshmem_common.cuh>
#include <device_host/nvshmem_types.h>
#include <host/nvshmemx_api.h>

/* Names that NVSHMEM's programs define themselves. */
enum { NVSHMEM_INT, NVSHMEM_FLOAT, NVSHMEM_FP16 };
enum { NVSHMEM_MIN, NVSHMEM_MAX, NVSHMEM_SUM, NVSHMEM_PROD, NVSHMEM_AND, NVSHMEM_OR, NVSHMEM_XOR };
enum { NVSHMEM_THREAD, NVSHMEM_WARP, NVSHMEM_BLOCK, NVSHMEM_ALL_SCOPES };
typedef int NVSHMEM_DATATYPE_T, NVSHMEM_REDUCE_OP_T, NVSHMEM_THREADGROUP_SCOPE_T;
#define NVSHMEMI_TEST_STRINGIFY(x) #x
static int nvshmemi_init_mpi;

#if !defined(NVSHMEM_VENDOR_MAJOR_VERSION) || NVSHMEM_VENDOR_MAJOR_VERSION < 3
#error "NVSHMEM 3 is expected"
#endif
#if NVSHMEM_VENDOR_VERSION < 30000 || NVSHMEM_VENDOR_MAJOR_VERSION * 100 < 300 || \
    NVSHMEM_MAJOR_VERSION != 1 || NVSHMEM_MINOR_VERSION != 3
#error "the versions do not agree"
#endif
#ifndef nvshmem_sync
#error "nvshmem_sync is a macro"
#endif
static_assert(sizeof(nvshmemx_uniqueid_t) == 128 && sizeof(nvshmemx_init_attr_t) == 144 &&
                  sizeof(nvshmemx_init_args_t) == 128 && sizeof(nvshmem_team_config_t) == 64,
              "sizes are NVSHMEM's");

static void check_versions()
{
    int major = 0, minor = 0, patch = -1;
    char name[NVSHMEM_MAX_NAME_LEN];
    nvshmem_info_get_version(&major, &minor);
    CHECK(major == NVSHMEM_MAJOR_VERSION && minor == NVSHMEM_MINOR_VERSION);
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    CHECK(major == NVSHMEM_VENDOR_MAJOR_VERSION && minor == NVSHMEM_VENDOR_MINOR_VERSION &&
          patch == NVSHMEM_VENDOR_PATCH_VERSION);
    nvshmem_info_get_name(name);
    CHECK(strlen(name) > 0);
}

static void check_job()
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    long *word = (long *)nvshmem_calloc(1, sizeof(long));
    CHECK(word != NULL);
    nvshmem_long_atomic_add(word, me + 1, 0);
    nvshmem_barrier_all();
    CHECK_EQ(nvshmem_long_atomic_fetch(word, 0), n * (n + 1) / 2);
    double *sum = (double *)nvshmem_calloc(1, sizeof(double));
    CHECK(sum != NULL);
    nvshmem_double_atomic_add(sum, 0.5, 0);
    CHECK(nvshmem_double_atomic_fetch_add(sum, 0.5, 0) >= 0.5);
    nvshmemx_flush();
    nvshmem_barrier_all();
    CHECK(nvshmem_double_g(sum, 0) == n);
    nvshmem_barrier_all(); /* all have looked at it */
    nvshmemx_double_atomic_add(sum, 1.5, me);
    nvshmemx_flush_on_stream(NULL);
    CHECK(nvshmemx_double_atomic_fetch_add(sum, 0, me) == (me == 0 ? n : 0) + 1.5);
    nvshmem_team_config_t config;
    memset(&config, 0x55, sizeof config);
    nvshmem_team_get_config(NVSHMEM_TEAM_WORLD, &config);
    CHECK(config.num_contexts >= 0 && config.num_contexts != 0x55555555);
    const int n_qps = 20; /* more than have their own streams */
    nvshmemx_qp_handle_t *qps = NULL;
    CHECK_EQ(nvshmemx_qp_create(0, &qps), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_qp_create(n_qps, &qps), 0);
    for (int q = 0; qps != NULL && q < n_qps; q++)
        CHECK(qps[q] > NVSHMEMX_QP_DEFAULT && qps[q] < NVSHMEMX_QP_ANY &&
              (q == 0 || qps[q] != qps[q - 1]));
    free(qps);
}

static void check_regions()
{
    nvshmemx_region_attrs_t attrs = NVSHMEMX_REGION_ATTRS_INITIALIZER, wrong = attrs;
    nvshmemx_region_handle_t plain = 0, batch = 0;
    int is_active = -1;
    CHECK_EQ(nvshmemx_region_is_active(0, &is_active), 0);
    CHECK_EQ(is_active, 0);
    CHECK_EQ(nvshmemx_region_start(&plain, &attrs), 0);
    CHECK_EQ(nvshmemx_region_is_active(NVSHMEMX_REGION_HINT_BATCH_RMA, &is_active), 0);
    CHECK_EQ(is_active, 0);
    attrs.hints = NVSHMEMX_REGION_HINT_BATCH_RMA;
    CHECK_EQ(nvshmemx_region_start(&batch, &attrs), 0);
    CHECK(batch != plain);
    CHECK_EQ(nvshmemx_region_is_active(NVSHMEMX_REGION_HINT_BATCH_RMA, &is_active), 0);
    CHECK_EQ(is_active, 1);
    CHECK_EQ(nvshmemx_region_stop(plain), 0);
    CHECK_EQ(nvshmemx_region_stop(plain), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_region_stop(batch), 0);
    CHECK_EQ(nvshmemx_region_is_active(0, &is_active), 0);
    CHECK_EQ(is_active, 0);
    wrong.reserved[59] = 1;
    CHECK_EQ(nvshmemx_region_start(&plain, &wrong), NVSHMEMX_ERROR_INVALID_VALUE);
    attrs.hints = 2;
    CHECK_EQ(nvshmemx_region_start(&plain, &attrs), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmemx_region_start(NULL, &wrong), NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(nvshmem_team_n_pes(NVSHMEM_TEAM_MC_SHARED), -1);
    CHECK_STR(nvshmemx_status_string(NVSHMEMX_ERROR_NOT_SUPPORTED), "not supported");
}

/* The variables in a file; what the environment says counts. */
static void write_settings(const char *path)
{
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs("# settings\n\n  NVSHMEM_MAX_MEMORY_PER_GPU = 64M \r\nNVSHMEM_MAX_MEMORY_PER_GPU=32M\n"
          "NVSHMEM_DEBUG=TRACE\nNVSHMEM_DEBUG_SUBSYS\nno setting\n",
          file);
    fclose(file);
    setenv("NVSHMEM_CONF_FILE", path, 1);
    setenv("NVSHMEM_DEBUG", "WARN", 1);
    unsetenv("NVSHMEM_MAX_MEMORY_PER_GPU");
}

static void start_by_uid()
{
    nvshmemx_uniqueid_t id;
    nvshmemx_init_attr_t attr;
    memset(&id, 0x77, sizeof id);
    memset(&attr, 0x77, sizeof attr);
    CHECK_EQ(nvshmemx_get_uniqueid(&id), 0);
    CHECK_EQ(nvshmemx_set_attr_uniqueid_args(0, 1, &id, &attr), 0);
    CHECK_EQ(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr), 0);
}

/* The communicator is invalid: init's message must be about MPI, not about the struct. */
static void refuse()
{
    nvshmemx_init_attr_t attr;
    memset(&attr, 0x77, sizeof attr);
    CHECK(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_THREAD_PES, &attr) != 0);
    CHECK(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM | NVSHMEMX_INIT_WITH_UNIQUEID,
                                     &attr) != 0);
    CHECK(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, NULL) != 0);
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_NOT_INITIALIZED);
}

int main(int argc, char **)
{
    setenv("NVSHMEM_DEBUG", "TRACE", 1);
    setenv("NVSHMEM_DEBUG_SUBSYS", "INIT,MEM,PROXY", 1);
    setenv("NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY", "AF_INET", 1);
    setenv("NVSHMEM_CUMEM_HANDLE_TYPE", "SOMETHING", 1);
    setenv("NVSHMEM_MAX_MEMORY_PER_GPU", "64M", 1);
    setenv("NVSHMEM_SYMMETRIC_SIZE", "1000000000", 1);
    setenv("GSHMEM_DEBUG", "error", 1);
    char settings[] = "/tmp/nvshmem_host_XXXXXX";
    const int file = mkstemp(settings);
    CHECK(file >= 0);
    close(file);
    if (argc > 1)
        write_settings(settings);
    check_versions();
    refuse();
    unlink(settings);
    if (argc > 1)
        start_by_uid();
    else
        CHECK_EQ(nvshmem_init_thread(NVSHMEM_THREAD_SERIALIZED, &nvshmemi_init_mpi), 0);
    CHECK_STR(getenv("GSHMEM_DEBUG"), "error");
    gshmemx_heap_info_t heap;
    CHECK_EQ(gshmemx_heap_info(&heap), 0);
    CHECK_EQ(heap.range, size_t(64) << 20);
    /* other threads may be reading it */
    CHECK(getenv("GSHMEM_HEAP_RANGE") == NULL);
    CHECK(getenv("GSHMEM_DEBUG_SUBSYS") == NULL);
    nvshmem_init(); /* counted */
    nvshmem_finalize();
    CHECK(nvshmemx_init_status() >= NVSHMEM_STATUS_IS_BOOTSTRAPPED);
    check_job();
    check_regions();
    nvshmem_finalize();
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_NOT_INITIALIZED);
    return test_result();
}
