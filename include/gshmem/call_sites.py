#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the macros by which calls of the host tell where they stand in the program (gshmem/detail/call_sites.h).

    call_sites.py PREFIX NAMES_TXT OUTPUT [GENERIC_H...]

PREFIX is gshmem_ or gshmemx_: the calls whose names begin so, of tests/api/names.txt, and those of GENERIC_H. Calls
that kernels have, too, are left out where kernels are compiled: there they have a parameter more."""
import re
import sys

# What never waits, or would not do what it is for.
NOT_WAITING = re.compile(r'gshmemx?_(call_site|call_prefix|error_string|set_error_handler|run|trace_begin|trace_end|'
                         r'my_pe|n_pes|team_my_pe|team_n_pes|ptr|pcontrol|global_exit|module_\w+|culibrary_\w+|'
                         r'set_attr_\w+|info_\w+|vendor_\w+)')
HEAD = """/* SPDX-License-Identifier: Apache-2.0
 * Made by the build. Where calls stand, in files that are compiled with GSHMEM_CALL_SITES
 * (gshmem/detail/call_sites.h). */
"""


def macro(name):
    return f'#define {name}(...) GSHMEM_AT_SITE({name}(__VA_ARGS__))\n'


def main():
    prefix, names_txt, output, *generics = sys.argv[1:]
    with open(names_txt, encoding='utf-8') as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith('#')]
    alone, both = [], []
    for name, where, *_ in rows:
        kinds = where.split(',')
        if not name.startswith(prefix) or NOT_WAITING.fullmatch(name) or 'detail' in kinds or \
                not {'host', 'plain'} & set(kinds):
            continue
        (both if 'device' in kinds or 'plain' in kinds else alone).append(name)
    names = set()
    for path in generics:
        with open(path, encoding='utf-8') as file:
            names |= set(re.findall(r'#define (gshmem_\w+)\(', file.read()))
    text = HEAD + ''.join(map(macro, alone)) + '#if !defined(GSHMEM_DEVICE_CODE)\n' + ''.join(map(macro, both))
    if names:
        text += '#if defined(__cplusplus)\n' + ''.join(map(macro, sorted(names))) + '#endif\n'
    with open(output, 'w', encoding='utf-8') as file:
        file.write(text + '#endif\n')


main()
