#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every name of names.txt is there where it says: declared by the headers for files without kernels
(C++14) and with them (C++17, for the CPU device), and exported by the library, which exports nothing
else; and what is absent is refused by the compiler with its reason.

usage: names.py NAMES LIBRARY CXX ARGS... -- MORE_ARGS_FOR_KERNELS..."""

import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDES = "#include <nvshmem.h>\n#include <nvshmemx.h>\n"


def read(path):
    """name -> the words after it."""
    lines = [l.split(maxsplit=2) for l in pathlib.Path(path).read_text().splitlines() if l and l[0] != "#"]
    return {l[0]: (set(l[1].split(",")), l[2] if len(l) > 2 else "") for l in lines}


def compile_text(command, text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "names.cc"
        source.write_text(INCLUDES + text)
        return subprocess.run([*command, "-fsyntax-only", "-w", "-fmax-errors=0", str(source)],
                              capture_output=True, text=True)


def check(what, command, text, n):
    """The names that the compiler does not find."""
    done = compile_text(command, text)
    if done.returncode == 0:
        print(f"{n} names {what}")
        return []
    found = set(re.findall(r"missing (\w+)", done.stderr))
    found |= set(re.findall(r"[‘'`](?:nvshmemx::)?(\w+)[’'`] (?:was not declared|has not been declared)",
                            done.stderr))
    return [f"missing {what}: {name}" for name in sorted(found)] or [done.stderr[:2000]]


def take(names):
    lines = []
    for name, (where, _) in names.items():
        if "inline" in where:
            lines.append(f"#ifndef {name}\n#error missing {name}\n#endif")
        elif "tile" in where:
            lines.append(f"using {name};")
        else:
            lines.append(f"static_assert(sizeof(decltype(&{name}{'<>' if 'lazy' in where else ''})) > 0, \"\");")
    return "\n".join(lines) + "\n"


def main():
    names, library = read(sys.argv[1]), sys.argv[2]
    end = sys.argv.index("--")
    host_command = sys.argv[3:end] + ["-std=c++14"]
    kernel_command = sys.argv[3:end] + ["-std=c++17", *sys.argv[end + 1:]]
    absent = {n: reason for n, (where, reason) in names.items() if "absent" in where}
    there = {n: v for n, v in names.items() if n not in absent}
    in_host = {n: (v[0] - {"lazy"}, "") for n, v in there.items() if v[0] & {"host", "both"}}
    wrong = check("without kernels", host_command, take(in_host), len(in_host))
    wrong += check("with kernels", kernel_command, take(there), len(there))

    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1] for line in text.splitlines()}
    wrong += [f"not exported: {n}" for n in sorted(in_host.keys() - exported)]
    # A name that is absent is made when the base has a call for it.
    wrong += [f"exported but not in the list: {n}" for n in sorted(exported - in_host.keys() - absent.keys())]

    for name, reason in absent.items():
        if not reason:
            wrong.append(f"absent without a reason: {name}")
    refused = [n for n in absent if n not in exported and "::" not in n]
    done = compile_text(kernel_command, "\n".join(f"int use_{n}() {{ return {n}(1); }}" for n in refused) + "\n")
    wrong += [f"not refused with a reason: {n}" for n in refused if f"{n} is not there: {absent[n]}" not in done.stderr]
    print("\n".join(wrong))
    print(f"{len(there)} names there, {len(absent)} absent, {len(exported)} exported")
    sys.exit(1 if wrong else 0)


main()
