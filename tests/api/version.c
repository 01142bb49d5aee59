/* SPDX-License-Identifier: Apache-2.0
 * Proves that the library, its headers and the build name the same version (EXPECTED), and that the
 * number for #if is made of its parts. */
#include <stdio.h>
#include <string.h>
#include "gshmemx.h"
#include "tests/test.h"

#if GSHMEM_VENDOR_VERSION < 200 /* 0.2.0 */
#error "the preprocessor can compare versions"
#endif

int main(void)
{
    char text[64], name[GSHMEM_MAX_NAME_LEN];
    int major = -1, minor = -1, patch = -1;
    gshmemx_vendor_get_version_info(&major, &minor, &patch);
    snprintf(text, sizeof(text), "%d.%d.%d", major, minor, patch);
    CHECK(strcmp(text, EXPECTED) == 0);
    CHECK_EQ(major, GSHMEM_VENDOR_MAJOR_VERSION);
    CHECK_EQ(minor, GSHMEM_VENDOR_MINOR_VERSION);
    CHECK_EQ(patch, GSHMEM_VENDOR_PATCH_VERSION);
    CHECK_EQ(GSHMEM_VENDOR_VERSION, major * 10000 + minor * 100 + patch);
    gshmem_info_get_name(name);
    CHECK(strcmp(name, "gshmem " EXPECTED) == 0);
    CHECK(strcmp(name, GSHMEM_VENDOR_STRING) == 0);
    return test_result();
}
