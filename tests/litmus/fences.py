#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every fence, acquire and release of the device library and of the NCCL and MSCCL++ layers is in the lists of
docs/internals/memory-model.md, and the lists have nothing else: an item begins with `file`
`function`, then the names of the calls there, and a colon. No code of theirs uses an aligned barrier of a block: see
sync_block in device/group.cuh, which alone may name one, for the CPU device.

usage: fences.py SOURCE_ROOT [--list]"""

import pathlib
import re
import sys

ORDERED = re.compile(r"\b(fence_acq_rel|fence_release|fence_seq_cst|fence_gpu|fence_alias|fence_proxy|load_acquire"
                     r"|acquire_awaited|store_release|atomic_load|await_stores)\(")
ALIGNED = re.compile(r"\b(__syncthreads\w*|bar\.(?:sync|red|arrive)|barrier\.(?:cta\.)?\w+\.aligned)\b")
DEFINES_BARRIERS = "group.cuh"
# A definition begins at the start of a line, or is a member: four spaces and __device__.
DEFINITION = re.compile(r"^(?:    )?(?:static )?(?:template\b.*|__device__|__global__|inline|struct|#define"
                        r"|MSCCLPP_DEVICE_INLINE)")
NAME = re.compile(r"(\w+)\s*\(")
NO_NAMES = {"__launch_bounds__", "decltype", "alignas"}
DEFINES_THEM = {"memory.cuh", "memory_cpu.cuh"}


def found_in(path):
    """{(file, function, call)}"""
    found, name = set(), None
    expects_name = False
    for line in path.read_text().splitlines():
        if DEFINITION.match(line):
            expects_name = True
        if expects_name:
            names = [n for n in NAME.findall(line) if n not in NO_NAMES]
            if names and not line.startswith("#define GSHMEM_FORMS"):
                name, expects_name = names[0], False
        code = line.split("/*")[0].split("//")[0]
        if line.startswith(" *"):
            continue
        for call in ORDERED.findall(code):
            if call != name:  # else it is the call's definition
                found.add((path.name, name, call))
    return found


def aligned_in(path):
    return [(path.name, at, call) for at, line in enumerate(path.read_text().splitlines(), 1)
            if not line.lstrip().startswith(("*", "/*", "//"))
            for call in ALIGNED.findall(line.split("/*")[0].split("//")[0])]


def documented(text):
    rows = re.findall(r"^- `([\w.]+)` `(\w+)` ((?:`\w+`(?:, )?)+):", text, re.M)
    return {(file, function, call) for file, function, calls in rows
            for call in re.findall(r"`(\w+)`", calls)}


def main():
    root = pathlib.Path(sys.argv[1])
    library, aligned = set(), []
    for path in sorted([*(root / "device").glob("*.cu*"), *(root / "device/coll").glob("*.cu*"),
                        *(root / "kernels").glob("*.cu*"),
                        *(root / "dialects/nccl/include/nccl_device").glob("*.h"),
                        *(root / "dialects/nccl/kernels").glob("*.cu*"),
                        *(root / "dialects/mscclpp/include/mscclpp").glob("*_device.hpp")]):
        if path.name not in DEFINES_THEM:
            library |= found_in(path)
        if path.name != DEFINES_BARRIERS:
            aligned += aligned_in(path)
    if sys.argv[2:] == ["--list"]:
        print("\n".join(f"- `{f}` `{n}` `{c}`:" for f, n, c in sorted(library)))
        return
    document = documented((root / "docs" / "internals" / "memory-model.md").read_text())
    for row in sorted(library - document):
        print("docs/internals/memory-model.md lacks: {} {} {}".format(*row))
    for row in sorted(document - library):
        print("docs/internals/memory-model.md names what is not there: {} {} {}".format(*row))
    for file, at, call in aligned:
        print(f"{file}:{at}: {call} is for warps whose threads come together; gshmem::group_block().sync() is not")
    sys.exit(1 if library != document or aligned else 0)


main()
