/* SPDX-License-Identifier: Apache-2.0
 * A program linked to another libnccl.so.2, whose directory its DT_RPATH names: 0 if it runs on
 * gshmem's. Built with TEST_OTHER it is that other library. */
#include <stdio.h>

int ncclGetVersion(int *version);

#ifdef TEST_OTHER
int ncclGetVersion(int *version)
{
    *version = 1;
    return 0;
}
#else
int main(void)
{
    int version = 0;
    int r = ncclGetVersion(&version);
    printf("version %d\n", version);
    return r != 0 || version < 22809;
}
#endif
