/* Proves that PEs which share a GPU are found, the first ones by number, with as many comparisons
 * as sorting takes and not one for each pair; and what init says of them. SPDX-License-Identifier:
 * Apache-2.0 */
#include <string.h>

static unsigned long n_compared;

static int count_memcmp(const void *a, const void *b, size_t bytes)
{
    n_compared++;
    return memcmp(a, b, bytes);
}

#define memcmp count_memcmp
#include "runtime/init/topology.c"
#undef memcmp
#include "base/log.h"
#include "tests/test.h"

enum { N = 4096, NODE = 8 };

static struct gsh_peer peers[N];
static uint64_t hosts[N / NODE];
static struct gsh_device_attr attrs[N];

/* Each node's PEs have the same GPUs' ids as another node's. */
static void set_up(struct gsh_instance *pe)
{
    pe->n_pes = N;
    pe->peers = peers;
    pe->host_of_node = hosts;
    for (int i = 0; i < N; i++) {
        hosts[i / NODE] = (uint64_t)(i / NODE);
        peers[i].node = i / NODE;
        peers[i].is_of_process = i / NODE == 0; /* this PE is the first */
        attrs[i].is_cuda = true;
        attrs[i].ordinal = i % NODE;
        attrs[i].uuid[3] = (uint8_t)(i % NODE);
        snprintf(attrs[i].name, sizeof(attrs[i].name), "GPU of a test");
    }
}

static void share(int pe, int with)
{
    peers[pe].node = peers[with].node;
    attrs[pe].ordinal = attrs[with].ordinal;
    memcpy(attrs[pe].uuid, attrs[with].uuid, sizeof(attrs[pe].uuid));
}

int main(void)
{
    static struct gsh_instance pe;
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
    set_up(&pe);
    CHECK_EQ(check_shared_gpu(&pe, attrs), GSH_OK);
    CHECK(n_compared > 0 && n_compared <= 100UL * N); /* each pair: 8 million */
    share(4095, 11);
    share(4000, 3001);
    share(4001, 3001);
    CHECK_EQ(check_shared_gpu(&pe, attrs), GSH_ERR_ARG);
    CHECK(strstr(gsh_last_error(), "PE 3001 and PE 4000 both use GPU 1 (GPU of a test); give each "
                                   "its own, or set GSHMEM_SHARE_DEVICE=1") != NULL);
    pe.env.share_device = true;
    CHECK_EQ(check_shared_gpu(&pe, attrs), GSH_OK);
    share(7, 2); /* of this process */
    CHECK_EQ(check_shared_gpu(&pe, attrs), GSH_ERR_ARG);
    CHECK(strstr(gsh_last_error(), "PE 2 and PE 7 are threads of one process on GPU 2") != NULL);
    attrs[7].n_parts = 1;
    CHECK_EQ(check_shared_gpu(&pe, attrs), GSH_OK);
    return test_result();
}
