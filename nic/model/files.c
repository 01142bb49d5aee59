/* SPDX-License-Identifier: Apache-2.0
 * See files.h. The mapping names device and inode; a descriptor of the process has the same. */
#include "nic/model/files.h"

#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/pages.h"
#include "base/util.h"

struct mapped {
    uint64_t start, end, off;
    dev_t device;
    ino_t inode;
};

/* False: nothing that others can map is mapped there. */
static bool find_mapping(uint64_t address, struct mapped *out)
{
    char line[512];
    bool is_found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && !is_found && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long long start, end, off, inode;
        unsigned major, minor;
        char mode[5];
        if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &start, &end, mode, &off, &major, &minor,
                   &inode) == 7 &&
            address >= start && address < end) {
            is_found = mode[3] == 's' && inode != 0;
            *out = (struct mapped){start, end, off, makedev(major, minor), (ino_t)inode};
            break;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return is_found;
}

enum gsh_result gsh_model_find_file(uint64_t address, uint64_t bytes, int *fd, uint64_t *file_off,
                                    uint64_t *found)
{
    struct mapped m;
    *fd = find_mapping(address, &m) ? gsh_file_find_descriptor(m.device, m.inode) : -1;
    if (*fd < 0) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "the model NIC: the memory at 0x%llx is not shared memory that other "
                        "processes can map",
                        (unsigned long long)address);
    }
    *file_off = m.off + (address - m.start);
    *found = gsh_min_u64(bytes, m.end - address);
    return GSH_OK;
}
