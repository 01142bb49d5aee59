/* SPDX-License-Identifier: Apache-2.0
 * Chooses among the addresses that getifaddrs lists: each gets a preference; the highest wins, and
 * among equals the first. */
#define _GNU_SOURCE 1
#include "bootstrap/netif.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include "base/log.h"

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* 0 for an unusable entry, else 4 or 6. */
static int family_of(const struct ifaddrs *entry)
{
    if (entry->ifa_addr == NULL || !(entry->ifa_flags & IFF_UP)) {
        return 0;
    }
    if (entry->ifa_addr->sa_family == AF_INET) {
        return 4;
    }
    if (entry->ifa_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)entry->ifa_addr;
        return IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) ? 0 : 6;
    }
    return 0;
}

/* 0: not allowed. */
static int preference(const struct ifaddrs *entry, const char *ifname, const char *family)
{
    int number = family_of(entry), points = 1;
    if (number == 0 || (strcmp(family, "ipv4") == 0 && number != 4) ||
        (strcmp(family, "ipv6") == 0 && number != 6)) {
        return 0;
    }
    if (ifname[0] == '^' ? begins_with(entry->ifa_name, ifname + 1)
                         : !begins_with(entry->ifa_name, ifname)) {
        return 0;
    }
    if (strcmp(entry->ifa_name, ifname) == 0) {
        points += 8;
    }
    if (!(entry->ifa_flags & IFF_LOOPBACK)) {
        points += 4;
    }
    if (number == 4) {
        points += 2;
    }
    return points;
}

static void fill(const struct ifaddrs *entry, struct gsh_address *out)
{
    memset(out, 0, sizeof(*out));
    out->family = (uint8_t)family_of(entry);
    if (out->family == 6) {
        memcpy(out->ip, &((const struct sockaddr_in6 *)entry->ifa_addr)->sin6_addr, 16);
    } else {
        memcpy(out->ip, &((const struct sockaddr_in *)entry->ifa_addr)->sin_addr, 4);
    }
}

static enum gsh_result fail_no_match(const struct ifaddrs *list, const char *ifname,
                                     const char *family)
{
    char names[256] = "";
    size_t used = 0;
    for (const struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
        if (family_of(entry) && used < sizeof(names)) {
            used += (size_t)snprintf(names + used, sizeof(names) - used, " %s(ipv%d)",
                                     entry->ifa_name, family_of(entry));
        }
    }
    return gsh_fail(GSH_ERR_ARG,
                    "no network interface fits GSHMEM_UID_IFNAME='%s' GSHMEM_UID_FAMILY=%s; "
                    "there are:%s",
                    ifname, family, names[0] ? names : " none");
}

enum gsh_result gsh_netif_choose(const char *ifname, const char *family, const char *purpose,
                                 struct gsh_address *out)
{
    struct ifaddrs *list = NULL, *best = NULL;
    enum gsh_result r = GSH_OK;
    int best_points = 0;
    if (ifname == NULL) {
        ifname = "";
    }
    if (family == NULL || !family[0]) {
        family = "any";
    }
    if (getifaddrs(&list) != 0) {
        return gsh_fail_errno(GSH_ERR_SYSTEM, "getifaddrs");
    }
    for (struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
        int points = preference(entry, ifname, family);
        if (points > best_points) {
            best_points = points;
            best = entry;
        }
    }
    if (best != NULL) {
        char ip[INET6_ADDRSTRLEN] = "?";
        fill(best, out);
        inet_ntop(best->ifa_addr->sa_family, out->ip, ip, sizeof(ip));
        gsh_log(GSH_LOG_INFO, GSH_LOG_BOOTSTRAP, "%s uses interface %s, address %s", purpose,
                best->ifa_name, ip);
    } else {
        r = fail_no_match(list, ifname, family);
    }
    freeifaddrs(list);
    return r;
}
