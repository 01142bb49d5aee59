#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every name of the standard is there: declared by shmem.h (a function, or what the generic interfaces
choose) and exported by the library, under its own name and as pshmem_; and the library exports no
name that the headers do not declare.

usage: names.py NAMES LIBRARY HEADER... -- COMPILER ARGS..."""

import pathlib
import re
import subprocess
import sys
import tempfile

ACTIVE_SET = re.compile(r"(broadcast|collect|alltoalls?)(32|64)$|_to_all$")


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines()}


def wanted(path):
    for line in pathlib.Path(path).read_text().splitlines():
        if line and line[0] != "#":
            yield from line.split()


def is_generic(name, names):
    """put, atomic_add: a name that others have with a type in it."""
    return f"int_{name}" in names or f"uint_{name}" in names


def undeclared(command, names, generics):
    """Those of the names that a C11 program cannot use."""
    lines = ["#include <shmem.h>", "#include <shmemx.h>"]
    for name in names:
        lines += [f"void *use_{name}(void);", f"void *use_{name}(void) {{ return (void *)&shmem_{name}; }}"]
    for name in generics:
        lines += [f"#ifndef shmem_{name}", f"#error missing shmem_{name}", "#endif"]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "names.c"
        source.write_text("\n".join(lines) + "\n")
        done = subprocess.run([*command, "-std=c11", "-fsyntax-only", "-w", str(source)],
                              capture_output=True, text=True)
    found = set(re.findall(r"error: .*?[‘'`]shmem_(\w+)[’'`] undeclared", done.stderr))
    found |= set(re.findall(r"missing shmem_(\w+)", done.stderr))
    if done.returncode != 0 and not found:
        sys.exit(f"names.py: shmem.h does not compile:\n{done.stderr[:2000]}")
    return found


def main():
    names_path, library = sys.argv[1:3]
    end = sys.argv.index("--")
    headers, command = sys.argv[3:end], sys.argv[end + 1:]
    names = list(wanted(names_path))
    exports = exported(library)
    wrong = []
    generics = [n for n in names if is_generic(n, set(names))]
    functions = [n for n in names if n not in set(generics)]
    missing = undeclared(command, functions, generics)
    for name in names:
        profiling = name not in generics and not ACTIVE_SET.search(name) and name not in {"sync", "barrier"}
        is_there = name not in missing and (name in generics or f"shmem_{name}" in exports)
        is_there = is_there and (not profiling or f"pshmem_{name}" in exports)
        if not is_there:
            wrong.append(f"missing: shmem_{name}")
    words = set(re.findall(r"\w+", "\n".join(pathlib.Path(h).read_text() for h in headers)))
    stamped = re.compile(r"^p?shmem_(int|long|longlong|short|float|double|longdouble|complex[fd])_|(32|64)$")
    for name in sorted(exports):
        if name not in words and not stamped.search(name):
            wrong.append(f"exported but not declared: {name}")
    print("\n".join(wrong))
    print(f"{len(names)} names of the standard, {len(exports)} exported")
    sys.exit(1 if wrong else 0)


main()
