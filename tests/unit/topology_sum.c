/* Proves what PEs on several nodes combine of their devices: the greatest memory, the least number
 * of multiprocessors, whether settings differ, whether all must look at all; and that each PE finds
 * its routes by the attributes of its node alone. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include "runtime/init/topology.h"
#include "runtime/instance/instance.h"
#include "tests/test.h"

/* PEs are on the nodes by turns. */
enum { N_NODES = 2, ON_NODE = 3, N = N_NODES * ON_NODE };

static struct gsh_device_attr attrs[N];
static int blind_pe; /* reaches no other; -1: all reach all */
static const char *kind;

static const char *find_route(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                              const struct gsh_device_attr *theirs, int other)
{
    CHECK(mine == &attrs[pe->my_pe]);
    CHECK_EQ(memcmp(theirs, &attrs[other], sizeof(*theirs)), 0);
    return pe->my_pe == blind_pe ? NULL : kind;
}

static const struct gsh_device_ops ops = {.route = find_route};

static void reset(void)
{
    memset(attrs, 0, sizeof(attrs));
    blind_pe = -1;
    kind = "nvlink";
    for (int i = 0; i < N; i++) {
        attrs[i].is_cuda = 1;
        attrs[i].ordinal = i / N_NODES;
        attrs[i].uuid[15] = (uint8_t)(i / N_NODES); /* the same on each node */
        attrs[i].n_sms = 132;
        attrs[i].memory_bytes = 80;
        snprintf(attrs[i].name, sizeof(attrs[i].name), "GPU of PE %d", i);
    }
}

/* What all PEs get. */
static struct gsh_device_sum add_up(int node_pes)
{
    struct gsh_device_sum all = {0};
    for (int p = 0; p < N; p++) {
        struct gsh_peer peers[N];
        struct gsh_near near[ON_NODE] = {{0}};
        struct gsh_device_attr told[ON_NODE];
        struct gsh_instance pe = {.my_pe = p,
                                  .n_pes = N,
                                  .n_nodes = N_NODES,
                                  .peers = peers,
                                  .near = near,
                                  .device_ops = &ops,
                                  .env = {.node_pes = node_pes}};
        struct gsh_device_sum mine;
        for (int i = 0; i < N; i++) {
            peers[i] =
                (struct gsh_peer){.node = i % N_NODES, .node_index = (unsigned)(i / N_NODES)};
        }
        for (int i = 0; i < ON_NODE; i++) {
            told[i] = attrs[i * N_NODES + p % N_NODES];
        }
        gsh_topology_add_own(&pe, &attrs[p], told, ON_NODE, &mine);
        const bool has_looked = near[p / N_NODES].route_name != NULL;
        CHECK(!has_looked || strcmp(near[p / N_NODES].route_name, "self") == 0);
        if (p == 0) {
            all = mine;
        } else {
            gsh_topology_fold(&all, &mine);
        }
    }
    return all;
}

static void expect(uint32_t flags, bool is_same)
{
    const struct gsh_device_sum sum = add_up(0);
    CHECK_EQ(sum.flags, flags);
    CHECK_EQ(sum.least == sum.most, is_same);
}

int main(void)
{
    reset();
    attrs[2].memory_bytes = 141;
    attrs[5].n_sms = 66;
    struct gsh_device_sum sum = add_up(0);
    CHECK_EQ(sum.memory_bytes, 141);
    CHECK_EQ(sum.n_sms, 66);
    expect(0, true); /* sizes and names may differ, and nodes have equal GPUs */
    CHECK_EQ(add_up(ON_NODE).flags, GSH_DEVICE_IS_SUSPECT); /* nodes of one host may share them */

    attrs[4].keep_bytes = 1;
    expect(0, false);
    reset();
    attrs[4].range_bytes = 1;
    expect(0, false);
    reset();
    attrs[4].coll_table.far_piece = 1;
    expect(0, false);

    reset();
    attrs[3].uuid[15] = attrs[1].uuid[15];
    expect(GSH_DEVICE_IS_SUSPECT, true);
    reset();
    attrs[3].result = GSH_ERR_UNSUPPORTED;
    expect(GSH_DEVICE_IS_SUSPECT, true);
    reset();
    attrs[1].is_cuda = attrs[3].is_cuda = attrs[5].is_cuda = 0; /* another node has CPUs */
    expect(0, false);

    reset();
    blind_pe = 3;
    expect(GSH_DEVICE_LACKS_NODE, true);
    reset();
    kind = "pcie";
    expect(GSH_DEVICE_LACKS_LINES, true);
    return test_result();
}
