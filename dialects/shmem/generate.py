#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes OpenSHMEM's names over gshmem's: for each call that gshmem.h and gshmemx.h declare, shmem_
and its profiling name pshmem_, and the generic interfaces over those. So what the library has, the
dialect has, with no second list.

usage: generate.py GENERIC.H CALLS.H XCALLS.H GENERIC_OUT.H CALLS.C COMPILER ARGS...

COMPILER ARGS... preprocesses C; it is given the names of the public headers."""

import pathlib
import re
import subprocess
import sys

# shmem.h and calls.c have these by hand: their meaning, or their C, is not quite the same.
BY_HAND = {"init", "init_thread", "finalize", "barrier", "pcontrol"}
# Of gshmemx.h, what has nothing to do with OpenSHMEM's programs: GPUs' modules, what kernels for
# the CPU device need, other ways to start, and what takes a function.
NOT_OURS = re.compile(r"_on_stream$|module|culibrary|^cpu_|^run$|uniqueid|^set_attr_|^init_attr$|^call_prefix$|"
                      r"^vendor_")
PROTOTYPE = re.compile(r"([A-Za-z_][\w\s]*?[\s*]+)(gshmemx?)_(\w+)\s*\(([^()]*)\)\s*;")


def prototypes(command, header):
    """[(result, prefix, name, [(declaration, argument)])], as the header has them."""
    text = subprocess.run([*command, "-E", "-P", "-x", "c", "-std=c11", "-include", header, "/dev/null"],
                          check=True, capture_output=True, text=True).stdout
    text = re.sub(r"#[^\n]*\n", "", text)
    text = re.sub(r"\bgshmem_(complex[fd]_t)\b", r"shmem_\1", " ".join(text.split()))
    found = []
    for result, prefix, name, parameters in PROTOTYPE.findall(text):
        result = result.strip().removeprefix("extern ").strip()
        parameters = [p.strip() for p in parameters.split(",")]
        if parameters == ["void"]:
            parameters = []
        if "return" in result.split() or "..." in parameters:
            continue
        found.append((result, prefix, name, [(p, re.search(r"(\w+)$", p).group(1)) for p in parameters]))
    return found


def text_of(parameters):
    return ", ".join(p for p, _ in parameters) or "void"


def declare(call):
    result, prefix, name, parameters = call
    shmem = prefix.replace("gshmem", "shmem")
    space = "" if result.endswith("*") else " "
    return "".join(f"{result}{space}{p}{shmem}_{name}({text_of(parameters)});\n" for p in ("", "p"))


def define(call):
    """The profiling name forwards; the other is the same function, for a profiler to replace."""
    result, prefix, name, parameters = call
    shmem = prefix.replace("gshmem", "shmem")
    space = "" if result.endswith("*") else " "
    head = f"{result}{space}p{shmem}_{name}({text_of(parameters)})"
    value = "" if result == "void" else "return "
    arguments = ", ".join(a for _, a in parameters)
    return (f"{head}\n{{\n    {value}{prefix}_{name}({arguments});\n}}\n"
            f"{result}{space}{shmem}_{name}({text_of(parameters)}) "
            f"__attribute__((weak, alias(\"p{shmem}_{name}\")));\n\n")


def rename_generic(text):
    """gshmem's own generic interfaces with the other names, and macros of their own."""
    macros = set(re.findall(r"#define (GSHMEM_\w+)", text)) | {"GSHMEM_CTX", "GSHMEM_CTX_ARG", "GSHMEM_CALL"}
    # Also the beginnings of names that are pasted together.
    text = re.sub(r"\bGSHMEM_\w+", lambda m: "GSH_OF_" + m[0][1:] if m[0] in macros or m[0].endswith("_")
                  and any(name.startswith(m[0]) for name in macros) else m[0], text)
    text = re.sub(r"\bgshmem_(?!ctx_t\b|team_t\b|half_t\b|bfloat16_t\b)", "shmem_", text)
    return text


def generic(path):
    """generic.h with the headers that are parts of it in their places, and without the prototypes."""
    def part(match):
        name = pathlib.Path(match[1]).name
        return generic(path.parent / name) if name.startswith(("generic_", "overloads")) else ""
    text = path.read_text().replace("#if defined(GSHMEM_HAS_COMPLEX)", "#if 1") # shmem.h's always are
    text = re.sub(r"#ifdef GSHMEM_DEVICE_CODE\n#include.*\n#endif\n", "", text)
    return re.sub(r'#include "([^"]+)"\n', part, text)


def main():
    generic_h, calls_h, xcalls_h, generic_out, calls_c = sys.argv[1:6]
    command = sys.argv[6:]
    calls = [c for c in prototypes(command, "gshmem.h") if c[1] == "gshmem" and c[2] not in BY_HAND]
    xcalls = [c for c in prototypes(command, "gshmemx.h") if c[1] == "gshmemx" and not NOT_OURS.search(c[2])]
    in_plain = {(c[1], c[2]) for c in prototypes(command, "gshmem.h")}
    xcalls += [c for c in prototypes(command, "gshmem.h")
               if c[1] == "gshmemx" and not NOT_OURS.search(c[2]) and c[2] not in {x[2] for x in xcalls}]
    if len(calls) < 900 or ("gshmem", "putmem") not in in_plain:
        sys.exit(f"generate.py: only {len(calls)} calls found in gshmem.h")
    note = "/* SPDX-License-Identifier: Apache-2.0\n * Made by generate.py. */\n"
    pathlib.Path(calls_h).write_text(note + "".join(map(declare, calls)))
    pathlib.Path(xcalls_h).write_text(note + "".join(map(declare, xcalls)))
    pathlib.Path(generic_out).write_text(note + rename_generic(generic(pathlib.Path(generic_h))))
    pathlib.Path(calls_c).write_text(note + '#include <gshmemx.h>\n#include "shmemx.h"\n\n'
                                     + "".join(map(define, calls + xcalls)))


main()
