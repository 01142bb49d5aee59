/* SPDX-License-Identifier: Apache-2.0
 * The cost of starting: the time of init and device set-up, the GPU memory they take before the
 * user's first byte, the time of malloc and free by size. Init happens once per process, so its
 * rows have one sample; run the program again for more. */
#include "perftest/common.h"

namespace
{

using namespace perftest;

void add_once(bench *b, const char *name, double value, const char *unit)
{
    row r;
    r.operation = name;
    r.group = "host";
    r.unit = unit;
    if (b->leads() && wants(*b, name))
        b->out.add(r, {value});
}

/* The first allocation of a size grows the heap; later ones may find it grown. */
void measure_malloc(bench *b, size_t bytes)
{
    row r;
    r.group = "host";
    r.bytes = bytes;
    r.made.repetitions = b->o.repetitions ? b->o.repetitions : b->o.is_quick ? 3 : 11;
    std::vector<double> first, later, freed;
    for (int i = 0; i < r.made.repetitions; i++) {
        gshmem_barrier_all();
        const double start = now_us();
        void *const p = gshmem_malloc(bytes);
        const double made = now_us();
        if (!p) {
            fprintf(stderr, "perftest: gshmem_malloc(%zu) failed\n", bytes);
            b->has_failed = true;
            return;
        }
        gshmem_free(p);
        (i == 0 ? first : later).push_back(made - start);
        freed.push_back(now_us() - made);
    }
    if (!b->leads())
        return;
    const struct {
        const char *name;
        const std::vector<double> &us;
    } rows[] = {{"malloc_first", first}, {"malloc", later}, {"free", freed}};
    for (const auto &one : rows) {
        if (one.us.empty() || !wants(*b, one.name))
            continue;
        r.operation = one.name;
        r.made.repetitions = (int)one.us.size();
        b->out.add(r, one.us);
    }
}

int pe_main(int argc, char **argv)
{
    const program p = {
        "start",
        "what it costs to begin, in time and memory, and to allocate",
        {"context", "init", "setup", "begin", "memory", "malloc_first", "malloc", "free"},
        true,
        false,
        false};
    bench b = {};
    const int status = begin(&b, p, argc, argv, 0);
    if (status >= 0)
        return status;
    add_once(&b, "context", b.start.context_us, "us"); /* CUDA's own */
    add_once(&b, "init", b.start.init_us, "us");
    add_once(&b, "setup", b.start.setup_us, "us");
    add_once(&b, "begin", b.start.init_us + b.start.setup_us, "us");
    if (!is_cpu)
        add_once(&b, "memory", b.start.footprint_mib, "MiB");
    for (size_t bytes : sizes(b, 4096, (size_t)4 << 30))
        measure_malloc(&b, bytes);
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
