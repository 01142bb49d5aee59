/* Where the proxy's thread runs: lists of CPUs are read and written as Linux has them, the nearest
 * CPUs come from Linux (a made-up /sys) or from hwloc (a made-up machine), the choice never leaves
 * the CPUs that the process may use, and a running PE's thread is in the chosen place.
 *
 *     place MACHINE.xml [PLUG-IN]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/far/affinity.h"

#include <dirent.h>
#include <gshmem.h>
#include <gshmemx.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/test.h"

static struct gsh_cpus set(const char *text)
{
    struct gsh_cpus cpus;
    CHECK(gsh_cpus_parse(text, &cpus));
    return cpus;
}

static void test_lists(void)
{
    static const char *const same[] = {"", "0", "0-3,8", "63-64", "5,7,9-127,8191"};
    static const char *const bad[] = {
        "x",    "-1",   "3-",      "3-1", "1,",   ",1",   "1 2",
        "0x10", "8192", "0-99999", "+1",  "1\n2", "1,\n", "99999999999999999999"};
    struct gsh_cpus cpus;
    char text[64];
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        CHECK(gsh_cpus_parse(same[i], &cpus));
        CHECK_STR(gsh_cpus_print(&cpus, text, sizeof(text)), same[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (!CHECK(!gsh_cpus_parse(bad[i], &cpus))) {
            fprintf(stderr, "    \"%s\"\n", bad[i]);
        }
        CHECK(!gsh_affinity_is_setting(bad[i]));
    }
    CHECK(gsh_cpus_parse("1,0,2-3\n", &cpus)); /* as in a file */
    CHECK_STR(gsh_cpus_print(&cpus, text, sizeof(text)), "0-3");
    CHECK(gsh_affinity_is_setting("auto") && gsh_affinity_is_setting("none") &&
          gsh_affinity_is_setting("0-3,8") && !gsh_affinity_is_setting(""));
}

/* The choice, as a text: a list, "as is" or "outside". "" for gpu and nic: none. */
static const char *chosen(const char *setting, const char *allowed, const char *gpu,
                          const char *nic)
{
    static char text[64];
    struct gsh_cpus out, may = set(allowed), near_gpu = set(gpu), near_nic = set(nic);
    switch (gsh_affinity_choose(setting, &may, *gpu ? &near_gpu : NULL, *nic ? &near_nic : NULL,
                                &out)) {
    case GSH_AFFINITY_AS_IS:
        return "as is";
    case GSH_AFFINITY_OUTSIDE:
        return "outside";
    default:
        return gsh_cpus_print(&out, text, sizeof(text));
    }
}

static void test_choice(void)
{
    CHECK_STR(chosen("auto", "0-7", "", ""), "as is");
    CHECK_STR(chosen("auto", "0-7", "4-7", ""), "4-7");
    CHECK_STR(chosen("auto", "2-5", "4-7", ""), "4-5");
    CHECK_STR(chosen("auto", "4-5", "4-7", ""), "as is"); /* it is there already */
    CHECK_STR(chosen("auto", "0-3", "4-7", ""), "outside");
    CHECK_STR(chosen("auto", "0-7", "4-7", "6-9"), "6-7");
    CHECK_STR(chosen("auto", "0-5", "4-7", "6-9"), "4-5"); /* the GPU comes first */
    CHECK_STR(chosen("auto", "0-7", "", "6-9"), "as is");
    CHECK_STR(chosen("none", "0-7", "4-7", "4-7"), "as is");
    CHECK_STR(chosen("1,3", "0-7", "4-7", "4-7"), "1,3");
    CHECK_STR(chosen("1,3,8-9", "0-3", "", ""), "1,3");
    CHECK_STR(chosen("0-7", "0-3", "", ""), "as is");
    CHECK_STR(chosen("8", "0-7", "", ""), "outside");
}

/* ---- a made-up /sys -------------------------------------------------------------------------- */

static void make_device(const char *root, const char *folder, const char *cpus)
{
    char path[512];
    int n = snprintf(path, sizeof(path), "%s/%s/local_cpulist", root, folder);
    for (char *at = path + strlen(root) + 1; n > 0 && (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    if (CHECK(file != NULL)) {
        fprintf(file, "%s\n", cpus);
        fclose(file);
    }
}

static void remove_tree(const char *path)
{
    char inner[1024];
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlink(inner) != 0) {
            remove_tree(inner);
        }
    }
    if (folder) {
        closedir(folder);
    }
    rmdir(path);
}

static const char *near_device(const char *root, const char *device)
{
    static char text[64];
    struct gsh_cpus cpus;
    return gsh_affinity_near(root, device, &cpus) ? gsh_cpus_print(&cpus, text, sizeof(text)) : "?";
}

static void test_linux(void)
{
    char root[] = "/tmp/gshmem-place-XXXXXX";
    if (!CHECK(mkdtemp(root) != NULL)) {
        return;
    }
    make_device(root, "bus/pci/devices/0000:1b:00.0", "32-63,96-127");
    make_device(root, "bus/pci/devices/0000:1c:00.0", ""); /* as some virtual machines have it */
    make_device(root, "class/infiniband/mlx5_0/device", "32-47");
    make_device(root, "class/net/eth0/device", "0-31");
    CHECK_STR(near_device(root, "0000:1B:00.0"), "32-63,96-127");
    CHECK_STR(near_device(root, "0000:1c:00.0"), "?");
    CHECK_STR(near_device(root, "0000:1d:00.0"), "?");
    CHECK_STR(near_device(root, "mlx5_0"), "32-47");
    CHECK_STR(near_device(root, "eth0"), "0-31");
    CHECK_STR(near_device(root, "../net/eth0"), "?");
    remove_tree(root);
}

static void test_nic_names(void)
{
    char name[8];
    CHECK_STR(gsh_affinity_nic("mlx5_0:1,mlx5_1:1", name, sizeof(name)), "mlx5_0");
    CHECK_STR(gsh_affinity_nic("eth0", name, sizeof(name)), "eth0");
    static const char *const none[] = {NULL, "", "all", "^eth0", "mlx5_*", "too_long_a_name", ":1"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        CHECK(gsh_affinity_nic(none[i], name, sizeof(name)) == NULL);
    }
}

/* ---- hwloc ----------------------------------------------------------------------------------- */

static void test_hwloc(const char *machine, const char *plugin)
{
    struct gsh_cpus cpus, package = set("2-3");
    setenv("HWLOC_XMLFILE", machine, 1);
    CHECK(gsh_affinity_near_hwloc(plugin, "0000:1B:00.0", &cpus) &&
          gsh_cpus_is_equal(&cpus, &package));
    CHECK(gsh_affinity_near_hwloc(plugin, "mlx5_0", &cpus) && gsh_cpus_is_equal(&cpus, &package));
    CHECK(!gsh_affinity_near_hwloc(plugin, "0000:aa:00.0", &cpus));
    CHECK(!gsh_affinity_near_hwloc(plugin, "mlx5_3", &cpus));
    /* behind another bridge of the other package, of its package, behind its own bridge */
    static const char *const nics[] = {"mlx5_2", "mlx5_1", "mlx5_0", "mlx5_3"};
    unsigned near[4];
    CHECK(gsh_affinity_nearness(plugin, "0000:1B:00.0", nics, 3, near));
    CHECK(near[0] < near[1] && near[1] < near[2]);
    CHECK(!gsh_affinity_nearness(plugin, "0000:1b:00.0", nics, 4, near));
    CHECK(!gsh_affinity_nearness(plugin, "0000:aa:00.0", nics, 3, near));
    CHECK(!gsh_affinity_nearness("/nowhere.so", "0000:1b:00.0", nics, 3, near));
    unsetenv("HWLOC_XMLFILE");
}

/* ---- a running PE ---------------------------------------------------------------------------- */

enum { N_PES = 2, CPUS_TEXT = 256 };

/* The list of the first proxy's thread in this process. */
static void find_proxy(char text[CPUS_TEXT])
{
    char path[512], line[512];
    DIR *tasks = opendir("/proc/self/task");
    bool is_found = false;
    for (struct dirent *e; !is_found && (e = readdir(tasks));) {
        snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof(line), file)) {
            is_found |= strcmp(line, "Name:\tgshmem-proxy\n") == 0;
            if (is_found && sscanf(line, "Cpus_allowed_list: %255s", text) == 1) {
                break;
            }
        }
        if (file) {
            fclose(file);
        }
    }
    closedir(tasks);
    CHECK(is_found);
}

static void *pe_main(void *arg)
{
    static int key;
    static char lists[N_PES][CPUS_TEXT];
    int me = (int)(intptr_t)arg;
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    gshmemx_set_attr_thread_args(me, N_PES, &key, &attr);
    if (!CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_THREAD_PES, &attr), 0)) {
        exit(1);
    }
    gshmem_barrier_all(); /* the device is set up on both */
    find_proxy(lists[me]);
    gshmem_barrier_all();
    gshmem_finalize();
    return lists[me];
}

/* The list on which both PEs' proxies run if the process may use `allowed`. */
static void expect_proxy(const char *setting, const cpu_set_t *allowed, const char *want)
{
    pthread_t threads[N_PES];
    setenv("GSHMEM_PROXY_CPUS", setting, 1);
    CHECK_EQ(sched_setaffinity(0, sizeof(*allowed), allowed), 0);
    for (int i = 0; i < N_PES; i++) {
        pthread_create(&threads[i], NULL, pe_main, (void *)(intptr_t)i);
    }
    for (int i = 0; i < N_PES; i++) {
        void *list;
        pthread_join(threads[i], &list);
        if (!CHECK_STR(list, want)) {
            fprintf(stderr, "    with GSHMEM_PROXY_CPUS=%s\n", setting);
        }
    }
}

static int nth_cpu(const cpu_set_t *cpus, int n)
{
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, cpus) && n-- == 0) {
            return i;
        }
    }
    return -1;
}

static void test_running(void)
{
    cpu_set_t all, first;
    char all_text[CPUS_TEXT], one[16], two[32];
    struct gsh_cpus cpus = {{0}};
    CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    memcpy(&cpus, &all, sizeof(all));
    gsh_cpus_print(&cpus, all_text, sizeof(all_text));
    snprintf(one, sizeof(one), "%d", nth_cpu(&all, 0));
    CPU_ZERO(&first);
    CPU_SET(nth_cpu(&all, 0), &first);
    expect_proxy("auto", &all, all_text); /* no GPU: left alone */
    expect_proxy("none", &all, all_text);
    expect_proxy(one, &all, one);
    expect_proxy("auto", &first, one);
    expect_proxy("0-8191", &first, one);
    if (CPU_COUNT(&all) > 1) {
        snprintf(two, sizeof(two), "%d", nth_cpu(&all, 1));
        expect_proxy(two, &all, two);
        expect_proxy(two, &first, one); /* not allowed: left alone */
    }
    CHECK_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(int argc, char **argv)
{
    setenv("GSHMEM_DEVICE", "cpu", 1);
    setenv("GSHMEM_NODE_PES", "1", 1);
    setenv("GSHMEM_DEBUG", "error", 1); /* a list outside is warned about */
    test_lists();
    test_choice();
    test_linux();
    test_nic_names();
    if (argc > 2) {
        test_hwloc(argv[1], argv[2]);
    }
    struct gsh_cpus cpus;
    CHECK(!gsh_affinity_near_hwloc("libgshmem_none.so", "eth0", &cpus));
    test_running();
    return test_result();
}
