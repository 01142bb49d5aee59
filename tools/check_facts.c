/* SPDX-License-Identifier: Apache-2.0
 * What the PEs of a job ought to have in common. */
#include <gshmemx.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "base/cuda.h"
#include "base/env.h"
#include "check.h"
#include "proxy/transport.h"

enum fact {
    FACT_VERSION,
    FACT_CUDA,
    FACT_DRIVER,
    FACT_UCX,
    FACT_LINUX,
    FACT_DEVICE,
    FACT_GPU_CLOCKS,
    FACT_CPUS,
    FACT_CLOCK,
    N_FACTS,
};

static const struct {
    const char *name, *remedy;
} rows[N_FACTS] = {
    [FACT_VERSION] = {"version of gshmem", "install the same one on every host"},
    [FACT_CUDA] = {"CUDA driver's version", "update the older drivers"},
    [FACT_DRIVER] = {"NVIDIA kernel driver", "install the same one on every host"},
    [FACT_UCX] = {"UCX", "install the same one on every host"},
    [FACT_LINUX] = {"Linux", "harmless, unless pairs of these hosts are slow"},
    [FACT_DEVICE] = {"device", "the job goes at the pace of the slowest"},
    [FACT_GPU_CLOCKS] = {"highest clocks of the GPU (MHz, of its cores and memory)",
                         "the job goes at the pace of the slowest"},
    [FACT_CPUS] = {"CPUs that the PE may use", "look at how the launcher binds PEs"},
    [FACT_CLOCK] = {"kernel's clock source", "times of these hosts cannot be compared well"},
};

enum { SETTINGS_BYTES = 4096 };

/* Symmetric. */
struct facts {
    char host[64], texts[N_FACTS][CHECK_TEXT_BYTES];
    char settings[SETTINGS_BYTES]; /* lines NAME=VALUE of what is set */
    double clock;                  /* seconds since the epoch, between two barriers */
};

static void read_line(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");
    if (f == NULL || fgets(out, (int)size, f) == NULL) {
        snprintf(out, size, "none");
    }
    out[strcspn(out, "\n")] = '\0';
    if (f != NULL) {
        fclose(f);
    }
}

static void note_gpu(struct facts *mine)
{
    snprintf(mine->texts[FACT_CUDA], CHECK_TEXT_BYTES, "none");
    snprintf(mine->texts[FACT_GPU_CLOCKS], CHECK_TEXT_BYTES, "none");
#ifdef GSH_HAVE_CUDA
    const struct gsh_cuda *cuda = strcmp(gshmemx_device_name(), "cpu") != 0 ? gsh_cuda() : NULL;
    int version = 0, cores = 0, memory = 0;
    CUdevice device;
    if (cuda == NULL || cuda->DriverGetVersion(&version) != CUDA_SUCCESS) {
        return;
    }
    snprintf(mine->texts[FACT_CUDA], CHECK_TEXT_BYTES, "%d.%d", version / 1000,
             version % 1000 / 10);
    if (cuda->CtxGetDevice(&device) == CUDA_SUCCESS &&
        cuda->DeviceGetAttribute(&cores, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device) == CUDA_SUCCESS &&
        cuda->DeviceGetAttribute(&memory, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device) ==
            CUDA_SUCCESS) {
        snprintf(mine->texts[FACT_GPU_CLOCKS], CHECK_TEXT_BYTES, "%d,%d", cores / 1000,
                 memory / 1000);
    }
#endif
}

static void note_settings(struct facts *mine)
{
    static const char *const names[] = {
#define ENV(field, name, kind, def, allowed, doc) "GSHMEM_" #name,
#include "base/env.def"
#undef ENV
    };
    static const char of_pe[] = " GSHMEM_UID GSHMEM_RANK GSHMEM_N_RANKS GSHMEM_LAUNCHER ";
    size_t used = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char spaced[80];
        const char *text = gsh_env_text(names[i]);
        snprintf(spaced, sizeof(spaced), " %s ", names[i]);
        size_t bytes = text != NULL ? strlen(names[i]) + strlen(text) + 2 : 0;
        if (text != NULL && strstr(of_pe, spaced) == NULL &&
            used + bytes < sizeof(mine->settings)) {
            used += (size_t)snprintf(mine->settings + used, sizeof(mine->settings) - used,
                                     "%s=%s\n", names[i], text);
        }
    }
}

static void note_facts(struct facts *mine)
{
    struct utsname system;
    cpu_set_t cpus;
    const char *plugin = gsh_env_text("GSHMEM_UCX_PLUGIN");
    const char *ucx = gsh_transport_ucx_version(plugin != NULL ? plugin : "libgshmem_ucx.so");
    const char *device = gshmemx_device_name();
    if (gethostname(mine->host, sizeof(mine->host) - 1) != 0) {
        mine->host[0] = '\0';
    }
    snprintf(mine->texts[FACT_VERSION], CHECK_TEXT_BYTES, "%s", GSHMEM_VENDOR_STRING);
    read_line("/sys/module/nvidia/version", mine->texts[FACT_DRIVER], CHECK_TEXT_BYTES);
    snprintf(mine->texts[FACT_UCX], CHECK_TEXT_BYTES, "%s", ucx != NULL ? ucx : "none");
    if (uname(&system) == 0) {
        snprintf(mine->texts[FACT_LINUX], CHECK_TEXT_BYTES, "%s", system.release);
    }
    snprintf(mine->texts[FACT_DEVICE], CHECK_TEXT_BYTES, "%s", device != NULL ? device : "none");
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) {
        snprintf(mine->texts[FACT_CPUS], CHECK_TEXT_BYTES, "%d", CPU_COUNT(&cpus));
    }
    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
              mine->texts[FACT_CLOCK], CHECK_TEXT_BYTES);
    note_gpu(mine);
    note_settings(mine);
}

/* The line of that name in the settings, without its end; "": it is not set. */
static void find_setting(const char *settings, const char *name, size_t name_bytes, char *out)
{
    out[0] = '\0';
    for (const char *at = settings; *at != '\0'; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, name, name_bytes) == 0 && at[name_bytes] == '=') {
            snprintf(out, CHECK_TEXT_BYTES, "%.*s", (int)strcspn(at, "\n"), at);
            return;
        }
    }
}

/* Prints "PEs 0-3, 7: text" for each text, if there are several; whether there are. */
static bool print_difference(FILE *out, const char *what, const char *remedy, int n_pes,
                             char (*texts)[CHECK_TEXT_BYTES])
{
    bool differs = false;
    for (int pe = 1; pe < n_pes; pe++) {
        differs = differs || strcmp(texts[0], texts[pe]) != 0;
    }
    if (!differs) {
        return false;
    }
    fprintf(out, "  %s differs: %s\n", what, remedy);
    for (int first = 0; first < n_pes; first++) {
        bool is_new = true;
        for (int pe = 0; pe < first && is_new; pe++) {
            is_new = strcmp(texts[pe], texts[first]) != 0;
        }
        if (!is_new) {
            continue;
        }
        fprintf(out, "    PE");
        for (int pe = first, end; pe < n_pes; pe = end) {
            end = pe + 1;
            if (strcmp(texts[pe], texts[first]) != 0) {
                continue;
            }
            while (end < n_pes && strcmp(texts[end], texts[first]) == 0) {
                end++;
            }
            fprintf(out, end - pe > 1 ? " %d-%d" : " %d", pe, end - 1);
        }
        fprintf(out, ": %s\n", texts[first][0] != '\0' ? texts[first] : "not set");
    }
    return true;
}

static int compare_settings(FILE *out, const struct facts *all, int n_pes,
                            char (*texts)[CHECK_TEXT_BYTES])
{
    int n = 0;
    for (int from = 0; from < n_pes; from++) {
        for (const char *at = all[from].settings; *at != '\0'; at += strcspn(at, "\n") + 1) {
            char name[64], before[CHECK_TEXT_BYTES];
            size_t bytes = strcspn(at, "=");
            bool is_new = bytes < sizeof(name);
            for (int pe = 0; pe < from && is_new; pe++) {
                find_setting(all[pe].settings, at, bytes, before);
                is_new = before[0] == '\0';
            }
            if (is_new) {
                snprintf(name, sizeof(name), "%.*s", (int)bytes, at);
                for (int pe = 0; pe < n_pes; pe++) {
                    find_setting(all[pe].settings, at, bytes, texts[pe]);
                }
                n += print_difference(out, name, "set it alike for all PEs", n_pes, texts);
            }
        }
    }
    return n;
}

/* Times of day that are more than a second apart. */
static int compare_clocks(FILE *out, const struct facts *all, int n_pes)
{
    int n = 0;
    for (int pe = 1; pe < n_pes; pe++) {
        double off = all[pe].clock - all[0].clock;
        if (off > 1 || off < -1) {
            fprintf(out,
                    "  the clock of PE %d (%s) is %.1f s off that of PE 0 (%s): set it by NTP\n",
                    pe, all[pe].host, off, all[0].host);
            n++;
        }
    }
    return n;
}

static int print_all(FILE *out, const struct facts *all, int n_pes)
{
    int n = 0, n_hosts = 0;
    char(*texts)[CHECK_TEXT_BYTES] = calloc((size_t)n_pes, sizeof(*texts));
    if (texts == NULL) {
        return 0;
    }
    for (int pe = 0; pe < n_pes; pe++) {
        bool is_new = true;
        for (int other = 0; other < pe && is_new; other++) {
            is_new = strcmp(all[other].host, all[pe].host) != 0;
        }
        n_hosts += is_new;
        int n_beside = 0;
        for (int other = 0; is_new && other < n_pes; other++) {
            n_beside += strcmp(all[other].host, all[pe].host) == 0;
        }
        check_is_crowded = check_is_crowded || n_beside > atoi(all[pe].texts[FACT_CPUS]);
    }
    fprintf(out, "%d PE%s on %d host%s, %s\n\ndifferences\n", n_pes, n_pes > 1 ? "s" : "", n_hosts,
            n_hosts > 1 ? "s" : "", all[0].texts[FACT_VERSION]);
    for (int fact = 0; fact < N_FACTS; fact++) {
        for (int pe = 0; pe < n_pes; pe++) {
            memcpy(texts[pe], all[pe].texts[fact], CHECK_TEXT_BYTES);
        }
        n += print_difference(out, rows[fact].name, rows[fact].remedy, n_pes, texts);
    }
    n += compare_settings(out, all, n_pes, texts);
    n += compare_clocks(out, all, n_pes);
    if (n == 0) {
        fprintf(out, "  none\n");
    }
    fflush(out);
    free(texts);
    return n;
}

int check_compare(FILE *out)
{
    const int me = gshmem_my_pe(), n_pes = gshmem_n_pes();
    struct facts *symmetric = gshmem_malloc(sizeof(*symmetric)), *mine = calloc(1, sizeof(*mine));
    struct facts *all = me == 0 ? calloc((size_t)n_pes, sizeof(*all)) : NULL;
    struct timespec t;
    int n = 0;
    if (symmetric == NULL || mine == NULL || (me == 0 && all == NULL)) {
        fprintf(stderr, "gshmem-info: no memory to compare %d PEs\n", n_pes);
        gshmem_global_exit(1);
    }
    note_facts(mine);
    gshmem_barrier_all();
    clock_gettime(CLOCK_REALTIME, &t);
    mine->clock = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
    gshmem_putmem(symmetric, mine, sizeof(*mine), me);
    gshmem_barrier_all();
    for (int pe = 0; me == 0 && pe < n_pes; pe++) {
        gshmem_getmem(&all[pe], symmetric, sizeof(*all), pe);
    }
    if (me == 0) {
        n = print_all(out, all, n_pes);
    }
    gshmem_free(symmetric);
    free(mine);
    free(all);
    return n;
}
