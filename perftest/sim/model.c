/* SPDX-License-Identifier: Apache-2.0
 * See model.h. */
#include "perftest/sim/model.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t at;
    double value;
} parameters[] = {
    {"node_pes", offsetof(struct sim_model, node_pes), 8},
    {"host_nodes", offsetof(struct sim_model, host_nodes), 1},
    {"dealt.hosts", offsetof(struct sim_model, dealt_hosts), 0},
    {"mixed.hosts", offsetof(struct sim_model, mixed_hosts), 0},
    {"launcher.carries", offsetof(struct sim_model, launcher_carries), 0},
    {"adapters", offsetof(struct sim_model, adapters), 8},
    {"leaf_nodes", offsetof(struct sim_model, leaf_nodes), 32},
    {"pod_nodes", offsetof(struct sim_model, pod_nodes), 1024},
    {"near.cpu", offsetof(struct sim_model, way[SIM_NEAR].cpu), 80},
    {"near.gap", offsetof(struct sim_model, way[SIM_NEAR].gap), 0},
    {"near.latency", offsetof(struct sim_model, way[SIM_NEAR].latency), 150},
    {"near.bandwidth", offsetof(struct sim_model, way[SIM_NEAR].bandwidth), 200},
    {"far.cpu", offsetof(struct sim_model, way[SIM_FAR].cpu), 350},
    {"far.byte", offsetof(struct sim_model, way[SIM_FAR].byte), 0},
    {"far.gap", offsetof(struct sim_model, way[SIM_FAR].gap), 8},
    {"far.latency", offsetof(struct sim_model, way[SIM_FAR].latency), 1100},
    {"far.hop", offsetof(struct sim_model, way[SIM_FAR].hop), 600},
    {"far.bandwidth", offsetof(struct sim_model, way[SIM_FAR].bandwidth), 48},
    {"tcp.cpu", offsetof(struct sim_model, way[SIM_TCP].cpu), 9000},
    {"tcp.byte", offsetof(struct sim_model, way[SIM_TCP].byte), 0},
    {"tcp.gap", offsetof(struct sim_model, way[SIM_TCP].gap), 200},
    {"tcp.latency", offsetof(struct sim_model, way[SIM_TCP].latency), 22000},
    {"tcp.hop", offsetof(struct sim_model, way[SIM_TCP].hop), 1000},
    {"tcp.bandwidth", offsetof(struct sim_model, way[SIM_TCP].bandwidth), 3},
    {"tcp.listen", offsetof(struct sim_model, tcp_listen), 0},
    {"tcp.connect", offsetof(struct sim_model, tcp_connect), 60000},
    {"tcp.watch", offsetof(struct sim_model, tcp_watch), 1000},
    {"local.cpu", offsetof(struct sim_model, way[SIM_LOCAL].cpu), 6000},
    {"local.latency", offsetof(struct sim_model, way[SIM_LOCAL].latency), 5000},
    {"local.connect", offsetof(struct sim_model, local_connect), 40000},
    {"far.loss", offsetof(struct sim_model, far_loss), 4e9},
    {"message_max", offsetof(struct sim_model, message_max), 8136},
    {"team_units", offsetof(struct sim_model, team_units), 192},
    {"far_piece", offsetof(struct sim_model, far_piece), 262144},
    {"far_flat", offsetof(struct sim_model, far_flat), 262144},
    {"half_slot", offsetof(struct sim_model, half_slot), 16384},
    {"cpu.cores", offsetof(struct sim_model, cores), 0},
    {"cpu.switch", offsetof(struct sim_model, core_switch), 0},
    {"cpu.begin", offsetof(struct sim_model, begin), 0},
    {"cpu.open", offsetof(struct sim_model, open), 0},
    {"cpu.close", offsetof(struct sim_model, close), 0},
    {"reserve", offsetof(struct sim_model, reserve), 1800000},
    {"grow", offsetof(struct sim_model, grow), 400000},
    {"timeout", offsetof(struct sim_model, timeout), 300e9},
};
enum { N_PARAMETERS = sizeof(parameters) / sizeof(parameters[0]) };

static double *value_of(struct sim_model *m, int i)
{
    return (double *)(void *)((char *)m + parameters[i].at);
}

void sim_model_init(struct sim_model *m)
{
    memset(m, 0, sizeof(*m));
    for (int i = 0; i < N_PARAMETERS; i++) {
        *value_of(m, i) = parameters[i].value;
    }
}

static bool set(struct sim_model *m, const char *name, size_t length, const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);
    for (int i = 0; i < N_PARAMETERS; i++) {
        if (strlen(parameters[i].name) == length && memcmp(parameters[i].name, name, length) == 0) {
            /* those without a point count things, of which there is one at least */
            const bool counts = memchr(name, '.', length) == NULL ||
                                strstr(parameters[i].name, ".bandwidth") != NULL;
            *value_of(m, i) = value;
            return end != text && end[strspn(end, " \t\n")] == '\0' && value >= counts &&
                   value <= 1e15;
        }
    }
    return false;
}

bool sim_model_set(struct sim_model *m, const char *setting)
{
    const char *equal = strchr(setting, '=');
    if (equal == NULL || !set(m, setting, (size_t)(equal - setting), equal + 1)) {
        fprintf(stderr, "%s: no parameter of the model, or no number for it\n", setting);
        return false;
    }
    return true;
}

bool sim_model_read(struct sim_model *m, FILE *file, const char *name)
{
    char line[256];
    for (int number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
        line[strcspn(line, "#\n")] = '\0';
        const char *begin = line + strspn(line, " \t");
        const size_t length = strcspn(begin, " \t");
        if (length > 0 && !set(m, begin, length, begin + length)) {
            fprintf(stderr, "%s:%d: no parameter of the model, or no number for it\n", name,
                    number);
            return false;
        }
    }
    return true;
}

void sim_model_write(const struct sim_model *m, FILE *file)
{
    for (int i = 0; i < N_PARAMETERS; i++) {
        fprintf(file, "%-15s %.15g\n", parameters[i].name,
                *(const double *)(const void *)((const char *)m + parameters[i].at));
    }
}
