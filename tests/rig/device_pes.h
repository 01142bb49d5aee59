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
    gsh_team_state teams[2][GSH_TEAM_SLOTS] = {};
    gsh_alloc_range allocations[1] = {{user_off, stride / 2}};
    gsh_state states[2] = {};
    int32_t reversed[2] = {1, 0}; /* the members of team 1 */
    int32_t slots[2] = {0, 1};
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
        gsh_team_state *t = teams[pe];
        t[0] = {2, pe, 0, 1, 0, GSH_WORLD_SYNC_OFF, 0, 0, 0, 0, 0, 0};
        t[1] = {2, 1 - pe, 0, 0, (uint64_t)(uintptr_t)reversed, area, 0, 0, 0, 0, 0, 0};
        t[3] = {1, 0, pe, 0, 0, 2 * area, 0, 0, 0, 0, 0, 0};
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
        s.teams = (uint64_t)(uintptr_t)t;
        s.control = (uint64_t)(uintptr_t)&control[pe];
        s.wait_timeout_ns = wait_timeout_ns;
        s.user_off = user_off;
        devices[pe] = gshmemx_cpu_device_create(nullptr);
        gshmemx_cpu_device_set_state(devices[pe], &s);
    }

    /* From here on every PE's slot is looked up. */
    void drop_run()
    {
        for (int pe = 0; pe < 2; pe++) {
            states[pe].run_n = 0;
            states[pe].slot_of = (uint64_t)(uintptr_t)slots;
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
