#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a linker script in which each name of the headers' lists is also pncclName.

    pnccl.py HEADER... SCRIPT"""
import re, sys

names = []
for header in sys.argv[1:-1]:
    with open(header) as f:
        text = f.read()
    names += re.findall(r'^GSHMEM_NCCL_P\((\w+)\);', text, re.M)
    names += re.findall(r'\bpnccl(\w+)\s+__asm__', text)
with open(sys.argv[-1], 'w') as f:
    f.writelines(f'pnccl{name} = nccl{name};\n' for name in names)
