/* Threads that add to a plain counter under a gsh_lock lose nothing, whether they wait for the lock
 * or only try it; trying to take a held lock fails.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include "base/lock.h"
#include "tests/test.h"

enum { n_threads = 4, n_adds = 100000 };

static struct gsh_lock lock;
static long counter;
static pthread_barrier_t begin;

static void *add(void *tries)
{
    pthread_barrier_wait(&begin);
    for (int i = 0; i < n_adds; i++) {
        unsigned backoff = 0;
        if (tries) {
            while (!gsh_lock_try(&lock)) {
                gsh_backoff(&backoff);
            }
        } else {
            gsh_lock_take(&lock);
        }
        counter++;
        gsh_lock_give(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[n_threads];
    pthread_barrier_init(&begin, NULL, n_threads);
    for (int i = 0; i < n_threads; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, add, i % 2 ? &counter : NULL), 0);
    }
    for (int i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&begin);
    CHECK_EQ(counter, (long)n_threads * n_adds);

    gsh_lock_take(&lock);
    CHECK(!gsh_lock_try(&lock));
    gsh_lock_give(&lock);
    CHECK(gsh_lock_try(&lock));
    return test_result();
}
