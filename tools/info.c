/* SPDX-License-Identifier: Apache-2.0
 * The tool gshmem-info: the version, how it was built, the devices, links and transports of this
 * machine, and every environment variable. It starts no PE. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/coll_table.h"
#include "base/cuda.h"
#include "base/env.h"
#include "base/log.h"
#include "gshmem/types.h"
#include "gshmem/version.h"
#include "check.h"
#include "nic/nic.h"
#include "proxy/transport.h"
#include "tools/info_job.h"
#include "tools/info_serve.h"
#include "tools/info_nic.h"

/* Given by the build. */
#ifndef GSH_INFO_ARCHS
#define GSH_INFO_ARCHS "" /* GPU architectures of the library's kernels */
#define GSH_INFO_MPI   0  /* whether the plug-in was built */
#endif
#ifndef GSH_CHECKS
#define GSH_CHECKS 0
#endif

static void print_build(void)
{
    printf("gshmem %d.%d.%d (the calls of OpenSHMEM %d.%d)\n\nbuild\n", GSHMEM_VENDOR_MAJOR_VERSION,
           GSHMEM_VENDOR_MINOR_VERSION, GSHMEM_VENDOR_PATCH_VERSION, GSHMEM_MAJOR_VERSION,
           GSHMEM_MINOR_VERSION);
#if defined(__clang__)
    printf("  compiler     clang %s\n", __clang_version__);
#else
    printf("  compiler     gcc %s\n", __VERSION__);
#endif
#ifdef GSH_HAVE_CUDA
    printf("  CUDA         %d.%d, kernels for %s\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10,
           GSH_INFO_ARCHS);
#else
    printf("  CUDA         no\n");
#endif
    printf("  MPI plug-in  %s\n", GSH_INFO_MPI ? "yes" : "no");
    printf("  checks       %s\n", GSH_CHECKS ? "yes: every address, range and PE" : "no");
}

#ifdef GSH_HAVE_CUDA

static int count_gpus(void)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    int n = 0;
    return cuda != NULL && cuda->DeviceGetCount(&n) == CUDA_SUCCESS ? n : 0;
}

static int attribute(CUdevice_attribute what, int gpu)
{
    int value = 0;
    return gsh_cuda()->DeviceGetAttribute(&value, what, gpu) == CUDA_SUCCESS ? value : 0;
}

static int link_attribute(CUdevice_P2PAttribute what, int from, int to)
{
    int value = 0;
    return gsh_cuda()->DeviceGetP2PAttribute(&value, what, from, to) == CUDA_SUCCESS ? value : 0;
}

static void print_gpu(int gpu)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    char name[128] = "?", bus[32] = "?";
    size_t bytes = 0;
    (void)cuda->DeviceGetName(name, sizeof(name), gpu);
    (void)cuda->DeviceTotalMem(&bytes, gpu);
    (void)cuda->DeviceGetPCIBusId(bus, sizeof(bus), gpu);
    printf("  GPU %-8d %s, %.1f GiB, sm_%d%d, %s\n", gpu, name, (double)bytes / (1u << 30),
           attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu),
           attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu), bus);
}

/* As gshmemx_route_name would return it. */
static const char *link_name(int from, int to)
{
    if (from == to) {
        return "self";
    }
    if (!link_attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, from, to)) {
        return "none";
    }
    return link_attribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, from, to) ? "nvlink"
                                                                                     : "pcie";
}

static void print_links(int n)
{
    printf(
        "\ntopology: how the GPU of the row reaches the memory of the GPU of the column\n        ");
    for (int to = 0; to < n; to++) {
        printf(" GPU %-3d", to);
    }
    for (int from = 0; from < n; from++) {
        printf("\n  GPU %-2d", from);
        for (int to = 0; to < n; to++) {
            printf(" %-7s", link_name(from, to));
        }
    }
    printf("\n");
}

#else

static int count_gpus(void)
{
    return 0;
}

static void print_gpu(int gpu)
{
    (void)gpu;
}

static void print_links(int n)
{
    (void)n;
}

#endif

static void print_devices(void)
{
    int n = count_gpus();
    printf("\ndevices\n  CPU device   %ld cores\n", sysconf(_SC_NPROCESSORS_ONLN));
    for (int gpu = 0; gpu < n; gpu++) {
        print_gpu(gpu);
    }
    if (n == 0) {
        printf("  no GPU       %s\n",
               gsh_last_error()[0] ? gsh_last_error() : "this build has no CUDA");
    }
    if (n > 1) {
        print_links(n);
    }
}

static void print_transports(void)
{
    const char *plugin = gsh_env_text("GSHMEM_UCX_PLUGIN");
    const char *version =
        gsh_transport_ucx_version(plugin != NULL && *plugin ? plugin : "libgshmem_ucx.so");
    printf("\ntransports to PEs on other nodes\n  loop         between threads of one process\n");
    if (version != NULL) {
        printf("  ucx          UCX %s\n", version);
    } else {
        printf("  ucx          no: %s\n", gsh_last_error());
    }
}

static void print_nics(void)
{
    struct gsh_adapter_listing nic;
    const char *plugin = gsh_env_text("GSHMEM_NIC_PLUGIN");
    plugin = plugin != NULL && *plugin ? plugin : "libgshmem_mlx5.so";
    for (unsigned i = 0; gsh_adapter_list(plugin, i, &nic); i++) {
        printf("  %-12s %s\n", nic.name, nic.what);
        if (nic.lacks[0] != '\0') {
            printf("  %-12s but %s\n", "", nic.lacks);
        }
    }
}

/* The number of wrong variables. */
static int print_collectives(void)
{
    static const struct {
        const char *name;
        const struct gsh_coll_table *table;
    } devices[] = {{"CPU device", &gsh_coll_table_cpu}, {"GPUs", &gsh_coll_table_cuda}};
    const char *text = gsh_env_text("GSHMEM_COLLECTIVES");
    for (int i = 0; i < 2; i++) {
        struct gsh_coll_table table = *devices[i].table;
        if (text != NULL && gsh_coll_table_read(text, &table) != GSH_OK) {
            return 1;
        }
        printf("%scollectives, %s, called by\n", i > 0 ? "\n" : "", devices[i].name);
        gsh_coll_table_print(stdout, &table);
    }
    return 0;
}

static int usage(void)
{
    fprintf(
        stdout,
        "usage: gshmem-info [OPTION]\n"
        "Prints gshmem's version, how it was built, the devices, links and transports\n"
        "of this machine, and every environment variable with its value and meaning.\n"
        "Fails when one has a value that is not allowed, or is none of gshmem's.\n"
        "  --version      the version alone\n"
        "  --gpus         the number of usable GPUs alone\n"
        "  --variables    the variables alone\n"
        "  --collectives  how collectives choose their algorithm\n"
        "  --nics         the NICs to which kernels can post by themselves\n"
        "  --check [--svg FILE]  by gshmemrun, on the PEs' places: what differs between\n"
        "                 PEs, and the speed and bytes of calls between each two;\n"
        "                 with a picture\n"
        "  --check-nic    whether the NIC of GSHMEM_NIC does all that kernels ask of it;\n"
        "                 status 3: there is none\n"
        "  --job [ID]     what each PE of a running job of yours waits for, and why it hangs;\n"
        "                 ID: the job's, or the number of gshmemrun or of one of its processes;\n"
        "                 --json after it: as JSON\n"
        "  --serve PATH   a socket there, for you alone, that gives health checkers this JSON of\n"
        "                 all your jobs on this node\n"
        "  --help         this text\n");
    return 0;
}

static int usage_error(const char *what, const char *option)
{
    fprintf(stderr, "gshmem-info: %s %s\n(gshmem-info --help says more)\n", what, option);
    return 2;
}

int main(int argc, char **argv)
{
    const char *option = argc > 1 ? argv[1] : "";
    int n_wrong = 0;
    gsh_log_setup(GSH_LOG_WARN, GSH_LOG_ALL, NULL);
    if (strcmp(option, "--check") == 0 &&
        (argc == 2 || (argc == 4 && strcmp(argv[2], "--svg") == 0))) {
        return check_main(argc == 4 ? argv[3] : NULL);
    }
    if (strcmp(option, "--job") == 0) {
        return gsh_info_job(argc - 2, argv + 2);
    }
    if (strcmp(option, "--serve") == 0) {
        return gsh_info_serve(argc - 2, argv + 2);
    }
    if (strcmp(option, "--check") == 0) {
        return usage_error("only --svg FILE may follow", option);
    }
    if (argc > 2) {
        return usage_error("nothing may follow", option);
    }
    if (strcmp(option, "--version") == 0) {
        printf("%s\n", GSHMEM_VENDOR_STRING);
    } else if (strcmp(option, "--gpus") == 0) {
        printf("%d\n", count_gpus());
    } else if (strcmp(option, "--variables") == 0) {
        n_wrong = gsh_env_print(stdout);
    } else if (strcmp(option, "--collectives") == 0) {
        n_wrong = print_collectives();
    } else if (strcmp(option, "--nics") == 0) {
        print_nics();
    } else if (strcmp(option, "--check-nic") == 0) {
        return gsh_info_check_nic();
    } else if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
        return usage();
    } else if (argc > 1) {
        return usage_error("unknown option", option);
    } else {
        print_build();
        print_devices();
        print_transports();
        printf("\nNICs to which kernels can post by themselves\n");
        print_nics();
        printf("\nvariables\n");
        n_wrong = gsh_env_print(stdout);
    }
    bool is_written = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (!is_written) {
        fprintf(stderr, "gshmem-info: cannot write to stdout: %s\n", strerror(errno));
    }
    if (n_wrong > 0) {
        if (n_wrong == 1) {
            fprintf(stderr, "gshmem-info: a variable or a line of a file is wrong (see above)\n");
        } else {
            fprintf(stderr, "gshmem-info: %d variables or lines of files are wrong (see above)\n",
                    n_wrong);
        }
    }
    return is_written && n_wrong == 0 ? 0 : 1;
}
