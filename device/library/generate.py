#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the device library as a file of functions, for programs that are not C++, and the table of these functions.

    generate.py NVSHMEM_NAMES_TXT DEVICE_LIBRARY_CU DEVICE_FUNCTIONS_JSON -- CXX ARGS...

CXX preprocesses gshmem_device.cuh for the CPU device. The functions are the calls that languages other than C++ use
most, with C's names; types are those that numpy has. Each also has NVSHMEM's name, if NVSHMEM has the call. Compiled by
nvcc -dlto -ltoir, the file becomes what nvJitLink links into a kernel. In the headers the calls are inline functions of
C++: a macro gives these other names."""
import json
import re
import subprocess
import sys

DEFINITION = re.compile(r'static inline\s+((?:[A-Za-z_]\w*[\s*]+)+?)(gshmemx?_\w+)\s*\(([^()]*)\)\s*\{')
TYPES = '(float|double|int|long|u?int(8|16|32|64))'
SIZES = '(mem|8|16|32|64|128)'
CALLS = re.compile('|'.join([
    r'gshmem_(my_pe|n_pes|ptr|fence|quiet|barrier_all|sync_all|barrier|team_sync)',
    r'gshmem_team_(my_pe|n_pes|translate_pe)',
    r'gshmemx_(barrier_all|sync_all|barrier|team_sync)_(warp|block)',
    r'gshmemx_(barrier|team_sync)_channel(_warp|_block)?',
    r'gshmem_signal_(fetch|wait_until|add|set)|gshmemx_signal_op',
    rf'gshmemx?_({TYPES}_(put|get)|(put|get){SIZES})(_nbi)?(_warp|_block)?',
    rf'gshmemx?_({TYPES}_put|put{SIZES})_signal(_nbi)?(_warp|_block)?',
    rf'gshmem_{TYPES}_(p|g|wait_until|test|atomic_\w+?(?<!_nbi))',
    r'gshmemx?_(broadcast|fcollect|alltoall)mem(_warp|_block)?',
    r'gshmemx_(float|double|int32|int64|uint32|uint64)_(sum|min|max)_reduce_block']))

TEXT = """/* SPDX-License-Identifier: Apache-2.0
 * Made by the build: generate.py says what for. */
{renamed}
#include <gshmem_device.cuh>
{restored}
{functions}
#if defined(GSHMEM_WITH_RESULTS) /* for languages whose functions all have one, such as Triton's */
{with_results}
#endif
"""


def arguments_of(text):
    """[(type, name)] of the text between the parentheses."""
    parts = [p.strip() for p in text.split(',') if p.strip() not in ('', 'void')]
    return [(re.sub(r'\s+', ' ', p[:m.start()]).strip(), m.group()) for p in parts for m in [re.search(r'\w+$', p)]]


def define(name, result, arguments, body):
    shown = ', '.join(f'{t}{"" if t.endswith("*") else " "}{n}' for t, n in arguments)
    call = f'{body}({", ".join(n for _, n in arguments)});'
    if name.endswith('_with_result'):
        call += ' return 0;'
    elif result != 'void':
        call = 'return ' + call
    return f'extern "C" __device__ {result} {name}({shown})\n{{\n    {call}\n}}\n'


def main():
    names_txt, cu_out, json_out, *rest = sys.argv[1:]
    with open(names_txt, encoding='utf-8') as file:
        theirs = {line.split()[0] for line in file if line.strip() and not line.startswith('#')}
    text = subprocess.run([*rest[1:], '-E', '-P', '-std=c++17', '-x', 'c++', '-include', 'gshmem_device.cuh',
                           '/dev/null'], check=True, stdout=subprocess.PIPE, text=True).stdout
    table, functions, with_results, seen = [], [], [], set()
    for result, name, shown in DEFINITION.findall(text):
        if name in seen or not CALLS.fullmatch(name):
            continue
        seen.add(name)
        result, arguments = re.sub(r'\s+', ' ', result).strip(), arguments_of(shown)
        nvshmem = 'nv' + name[1:]
        aliases = [nvshmem] if nvshmem in theirs else []
        functions.append(define(name, result, arguments, f'inline_{name}'))
        functions += [define(alias, result, arguments, name) for alias in aliases]
        if result == 'void':
            with_results.append(define(f'{name}_with_result', 'int', arguments, name))
        table.append({'name': name, 'aliases': aliases, 'result': result,
                      'arguments': [{'type': t, 'name': n} for t, n in arguments]})
    if len(table) < 300:
        sys.exit(f'only {len(table)} calls were found in the device headers')
    with open(cu_out, 'w', encoding='utf-8') as file:
        file.write(TEXT.format(renamed='\n'.join(f'#define {n} inline_{n}' for n in sorted(seen)),
                               restored='\n'.join(f'#undef {n}' for n in sorted(seen)),
                               functions='\n'.join(functions), with_results='\n'.join(with_results)))
    with open(json_out, 'w', encoding='utf-8') as file:
        file.write('[\n' + ',\n'.join(json.dumps(row) for row in table) + '\n]\n')


main()
