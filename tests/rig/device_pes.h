/* SPDX-License-Identifier: Apache-2.0
 * Two PEs made by hand: two CPU devices whose heaps are neighbours in one range. */
#ifndef GSH_DEVICE_PES_H
#define GSH_DEVICE_PES_H

#include <sys/mman.h>
#include "gshmem/launch.h"
#include "tests/test.h"

struct pes {
    static const size_t stride = 1 << 20, user_off = 8192, area = 1024;
    char *range;
    gsh_control control[2] = {};
    struct alignas(GSH_TEAM_UNIT) unit {
        gsh_team_state team;
    };
    unit teams[2][GSH_TEAM_PREDEFINED] = {};
    gsh_alloc_range allocations[1] = {{user_off, stride / 2}};
    gsh_state states[2] = {};
    int32_t reversed[2] = {1, 0}; /* the members of team 1 */
    gsh_peer_route routes[2] = {{0, GSH_ROUTE_NEAR}, {1, GSH_ROUTE_NEAR}};
    gsh_cpu_device *devices[2];

    explicit pes(uint64_t wait_timeout_ns = 0)
    {
        void *p =
            mmap(nullptr, 2 * stride, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            abort();
        range = (char *)p;
        for (int pe = 0; pe < 2; pe++)
            make(pe, wait_timeout_ns);
    }
    ~pes()
    {
        for (gsh_cpu_device *d : devices)
            gshmemx_cpu_device_destroy(d);
        munmap(range, 2 * stride);
    }
    pes(const pes &) = delete;

    void make(int pe, uint64_t wait_timeout_ns)
    {
        make_team(pe, 0, 2, pe, 0)->sync_off = GSH_WORLD_SYNC_OFF;
        make_team(pe, 1, 2, 1 - pe, 0)->pes = (uint64_t)(uintptr_t)reversed;
        make_team(pe, 3, 1, 0, pe);
        control[pe].alloc_table = (uint64_t)(uintptr_t)allocations;
        control[pe].n_allocs = 1;
        gsh_state &s = states[pe];
        s.magic = GSH_STATE_MAGIC;
        s.version = GSH_STATE_VERSION;
        s.bytes = sizeof s;
        s.my_pe = s.my_slot = pe;
        s.n_pes = s.n_slots = s.run_n = 2;
        s.base = (uint64_t)(uintptr_t)(range + pe * stride);
        s.stride = stride;
        s.teams = (uint64_t)(uintptr_t)teams[pe];
        s.n_team_units = GSH_TEAM_PREDEFINED;
        s.control = (uint64_t)(uintptr_t)&control[pe];
        s.wait_timeout_ns = wait_timeout_ns;
        s.user_off = user_off;
        devices[pe] = gshmemx_cpu_device_create(nullptr);
        gshmemx_cpu_device_set_state(devices[pe], &s);
    }

    gsh_team_state *make_team(int pe, int handle, int n_pes, int my_index, int first_pe)
    {
        gsh_team_state *t = &teams[pe][handle].team;
        t->magic = GSH_TEAM_MAGIC;
        t->handle = handle;
        t->n_pes = n_pes;
        t->my_index = my_index;
        t->first_pe = first_pe;
        t->pe_stride = 1;
        t->n_channels = 1;
        t->sync_off = (uint64_t)handle * area;
        return t;
    }

    /* From here on every PE's route is looked up. */
    void drop_run()
    {
        for (int pe = 0; pe < 2; pe++) {
            states[pe].run_n = 0;
            states[pe].routes = (uint64_t)(uintptr_t)routes;
            gshmemx_cpu_device_set_state(devices[pe], &states[pe]);
        }
    }

    char *heap(int pe) { return range + pe * stride + user_off; }

    void clear()
    {
        memset(heap(0), 0, stride - user_off);
        memset(heap(1), 0, stride - user_off);
    }

    /* Launches on both and waits for both. */
    template <class F> void run_on(F launch)
    {
        for (int pe = 0; pe < 2; pe++) {
            gshmemx_cpu_device_bind(devices[pe]);
            CHECK_EQ(launch(pe), cudaSuccess);
        }
        for (gsh_cpu_device *d : devices)
            gshmemx_cpu_device_synchronize(d);
        gshmemx_cpu_device_bind(nullptr);
    }

    template <class K, class... A>
    void run(K kernel, dim3 block, char *heap0, char *heap1, A... args)
    {
        run_on([&](int pe) {
            return gshmem_launch(kernel, dim3(1), block, 0, nullptr, pe == 0 ? heap0 : heap1,
                                 args...);
        });
    }
};

#endif
