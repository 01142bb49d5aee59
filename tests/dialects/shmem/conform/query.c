/* SPDX-License-Identifier: Apache-2.0
 * 9.1, 9.2: PE numbers and counts, versions, threads, accessibility. */
#include "conform.h"

int conform_query(const struct conform *c)
{
    int major = -1, minor = -1, provided = -1, is_initialized = -1;
    char name[SHMEM_MAX_NAME_LEN];
    CHECK_EQ(shmem_my_pe(), c->me);
    CHECK_EQ(shmem_n_pes(), c->n);
    shmem_info_get_version(&major, &minor);
    CHECK(major == 1 && minor == 5);
    CHECK(SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION == 5);
    memset(name, 'x', sizeof(name));
    shmem_info_get_name(name);
    CHECK(memchr(name, '\0', sizeof(name)) != NULL);
    CHECK_STR(name, SHMEM_VENDOR_STRING);
    shmem_query_thread(&provided);
    CHECK(provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE);
    CHECK(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED &&
          SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED &&
          SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE);
    shmem_query_initialized(&is_initialized);
    CHECK_EQ(is_initialized, 1);
    shmem_pcontrol(0);
    shmem_pcontrol(2, 1, 2);

    long local = 0, *there = conform_memory(sizeof(*there));
    for (int pe = 0; pe < c->n; pe++) {
        CHECK_EQ(shmem_pe_accessible(pe), 1);
        CHECK_EQ(shmem_addr_accessible(there, pe), 1);
        CHECK_EQ(shmem_addr_accessible(&local, pe), 0);
        CHECK(shmem_ptr(&local, pe) == NULL);
        long *seen = shmem_ptr(there, pe);
        CHECK(pe != c->me || seen == there);
        if (seen != NULL && pe == c->next) {
            *seen = 100 + c->me; /* only this PE stores there */
        }
    }
    CHECK_EQ(shmem_pe_accessible(-1), 0);
    CHECK_EQ(shmem_pe_accessible(c->n), 0);
    CHECK_EQ(shmem_addr_accessible(there, c->n), 0);
    CHECK(shmem_ptr(there, -1) == NULL && shmem_ptr(there, c->n) == NULL);
    shmem_barrier_all();
    CHECK_EQ(*there, shmem_ptr(there, c->previous) != NULL ? 100 + c->previous : 0);
    shmem_barrier_all();
    shmem_free(there);
    return test_result();
}
