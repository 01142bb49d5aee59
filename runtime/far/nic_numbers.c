/* SPDX-License-Identifier: Apache-2.0
 * See nic_numbers.h. */
#include "runtime/far/nic_numbers.h"

#include "base/util.h"
#include "proxy/proxy.h"
#include "runtime/instance/death.h"
#include "runtime/instance/host_wait.h"
#include "runtime/instance/message_tag.h"
#include "runtime/instance/waits.h"

#define NUMBER_MASK 0xffffffu /* of 24 bits */

enum { ROUND_EVEN, ROUND_EACH };

struct gsh_nic_even gsh_nic_numbers_pack(const uint32_t *numbers, uint32_t n)
{
    struct gsh_nic_even even = {
        .first = numbers[0],
        .step = n > 1 ? (numbers[1] - numbers[0]) & NUMBER_MASK : 0,
        .n = n,
        .is_even = 1,
    };
    for (uint32_t i = 0; i < n; i++) {
        if (numbers[i] != ((even.first + i * even.step) & NUMBER_MASK)) {
            even.is_even = 0;
        }
    }
    return even;
}

bool gsh_nic_numbers_unpack(const struct gsh_nic_even *even, uint32_t *numbers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        numbers[i] = (even->first + i * even->step) & NUMBER_MASK;
    }
    return even->n == n && even->is_even <= 1 && even->first <= NUMBER_MASK;
}

struct wait {
    struct gsh_instance *pe;
    uint64_t start_ns;
};

static enum gsh_result check_wait(void *context, int from)
{
    struct wait *wait = context;
    const struct gsh_waiting what = {
        .call = gsh_waits_call(), .kind = GSH_WAITS_COLLECTIVE, .pe = from, .team = -1};
    if (gsh_host_sync_check(wait->pe, &wait->start_ns, &what)) {
        return gsh_note(GSH_ERR_TIMEOUT, "waited %.1f s for the NIC's numbers of PE %d",
                        gsh_host_sync_limit_s(wait->pe), from);
    }
    return gsh_is_death(wait->pe) ? gsh_note_death("init") : GSH_OK;
}

static enum gsh_result receive(struct wait *wait, int from, unsigned round, void *data,
                               size_t bytes)
{
    return gsh_proxy_receive(wait->pe->proxy, from, GSH_NET_TAG(GSH_NET_NIC, 0, round), data, bytes,
                             check_wait, wait);
}

enum gsh_result gsh_nic_numbers_send(struct gsh_instance *pe, int to, const uint32_t *numbers,
                                     uint32_t n)
{
    const struct gsh_nic_even even = gsh_nic_numbers_pack(numbers, n);
    enum gsh_result r =
        gsh_proxy_send(pe->proxy, to, GSH_NET_TAG(GSH_NET_NIC, 0, ROUND_EVEN), &even, sizeof(even));
    return r == GSH_OK && even.is_even == 0
               ? gsh_proxy_send(pe->proxy, to, GSH_NET_TAG(GSH_NET_NIC, 0, ROUND_EACH), numbers,
                                n * sizeof(*numbers))
               : r;
}

enum gsh_result gsh_nic_numbers_receive(struct gsh_instance *pe, int from, uint32_t *numbers,
                                        uint32_t n)
{
    struct wait wait = {.pe = pe};
    struct gsh_nic_even even = {0};
    enum gsh_result r = receive(&wait, from, ROUND_EVEN, &even, sizeof(even));
    if (r == GSH_OK && !gsh_nic_numbers_unpack(&even, numbers, n)) {
        return gsh_note(GSH_ERR_ARG, "PE %d told other numbers of the NIC's queues than %u", from,
                        n);
    }
    if (r == GSH_OK && even.is_even == 0) {
        r = receive(&wait, from, ROUND_EACH, numbers, n * sizeof(*numbers));
    }
    for (uint32_t i = 0; r == GSH_OK && i < n; i++) {
        numbers[i] &= NUMBER_MASK;
    }
    return r;
}
