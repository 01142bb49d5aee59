#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes OpenSHMEM's names over gshmem's: for each call that gshmem.h and gshmemx.h declare, shmem_
and its profiling name pshmem_, the generic interfaces over those, and the calls of kernels. So what
the library has, the dialect has, with no second list.

usage: generate.py GENERIC.H CALLS.H XCALLS.H GENERIC_OUT.H DEVICE.H XDEVICE.H SITES.H XSITES.H CALLS.C CC ARGS...
           -- CXX ARGS...

CC preprocesses the public headers, CXX the device header as it is for the CPU device."""

import collections
import pathlib
import re
import subprocess
import sys

# shmem.h and calls.c have these by hand: their meaning, or their C, is not quite the same.
BY_HAND = {"init", "init_thread", "finalize", "barrier", "pcontrol"}
# Of gshmemx.h, what has nothing to do with OpenSHMEM's programs: GPUs' modules, what kernels for
# the CPU device need, other ways to start, and what takes a function.
NOT_OURS = re.compile(r"_on_stream$|module|culibrary|^cpu_|^run$|uniqueid|^set_attr_|^init_attr$|^call_prefix$|"
                      r"^call_site$|^vendor_")
# Calls that other implementations had as shmemx_ before 1.6 had them.
WERE_EXTENSIONS = re.compile(r"(ctx_)?(\w+_)?ib(put|get)\d*|\w+_sum_(in|ex)scan")
NEVER_WAITS = re.compile(r"my_pe|n_pes|team_my_pe|team_n_pes|ptr|pcontrol|global_exit|error_string|trace_\w+|info_\w+|"
                         r"set_error_handler")
# Of shmem.h and shmem_old.h, calls that wait.
HAND_WAITS = ["init", "init_thread", "finalize", "complexf_sum_inscan", "complexf_sum_exscan", "complexd_sum_inscan",
              "complexd_sum_exscan", "wait", "team_barrier"]
HAND_WAITS += [f"{t}_wait" for t in ("short", "int", "long", "longlong")]
HAND_WAITS += [f"{c}{bits}" for c in ("broadcast", "collect", "fcollect", "alltoall", "alltoalls") for bits in (32, 64)]
INTEGERS = ("short", "int", "long", "longlong")
FLOATS = ("float", "double", "longdouble")
HAND_WAITS += [f"{t}_{op}_to_all" for ops, types in (
    (("and", "or", "xor"), INTEGERS), (("min", "max"), INTEGERS + FLOATS),
    (("sum", "prod"), INTEGERS + FLOATS + ("complexf", "complexd"))) for op in ops for t in types]
DEFINITION = re.compile(r"(template <int unused = 0> )?static inline ([A-Za-z_][\w\s]*?[\s*]+)(gshmemx?)_(\w+)\s*"
                        r"\(([^()]*)\)\s*\{")
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


def argument_pairs(parameters):
    """[(declaration, argument)] of a parameter list."""
    found = [p.strip() for p in parameters.split(",")]
    return [] if found in (["void"], [""]) else [(p, re.search(r"(\w+)$", p).group(1)) for p in found]


def of_kernels(command):
    """[(is a template, call)] of the device header's definitions."""
    options = ["-E", "-P", "-x", "c++", "-std=c++17", "-include", "gshmem_device.cuh", "/dev/null"]
    text = subprocess.run([*command, *options],
                          check=True, capture_output=True, text=True).stdout
    text = " ".join(re.sub(r"#[^\n]*\n", "", text).split())
    found, definitions = {}, DEFINITION.findall(text)
    times = collections.Counter((d[2], d[3]) for d in definitions)
    for lazy, result, prefix, name, parameters in definitions:
        is_ours = name not in BY_HAND if prefix == "gshmem" else not NOT_OURS.search(name)
        if is_ours and times[prefix, name] == 1:  # more: an overload of the generic interfaces
            found[prefix, name] = (bool(lazy), (result.strip(), prefix, name, argument_pairs(parameters)))
    if len(found) < 3000:
        sys.exit(f"generate.py: only {len(found)} calls of kernels found")
    return found


def text_of(parameters):
    return ", ".join(p for p, _ in parameters) or "void"


def declare(call, prefixes):
    result, prefix, name, parameters = call
    shmem = prefix.replace("gshmem", "shmem")
    space = "" if result.endswith("*") else " "
    return "".join(f"{result}{space}{p}{shmem}_{name}({text_of(parameters)});\n" for p in prefixes)


def is_long_double(call):
    """GPUs lack the type: files that nvcc compiles have such calls on the host alone."""
    return "longdouble_" in call[2]


# clang warns of functions that return a type of C++ that is not defined yet, which C might lack. Half and bfloat16 are
# two bytes in either language.
NO_WARNING = ("#if defined(__clang__)\n#pragma clang diagnostic push\n"
              '#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"\n#endif\n')
WARNING_AGAIN = "#if defined(__clang__)\n#pragma clang diagnostic pop\n#endif\n"


def declare_all(calls, kernels):
    """Where kernels are compiled, the calls that they have are in the header of wrappers."""
    in_both = [c for c in calls if c[1:3] in kernels]
    text = NO_WARNING + "".join(declare(c, ("p",) if c in in_both else ("", "p")) for c in calls)
    text += "#if !defined(SHMEM_DEVICE_CODE)\n" + "".join(declare(c, ("",)) for c in in_both if not is_long_double(c))
    text += "#endif\n#if !defined(SHMEM_DEVICE_CODE) || defined(__CUDACC__)\n"
    text += "".join(declare(c, ("",)) for c in in_both if is_long_double(c)) + "#endif\n"
    return text + WARNING_AGAIN


def former_names(calls):
    """Macros, so that a profiler of the call sees these as well."""
    return "".join(f"#define {p}shmemx_{c[2]} {p}shmem_{c[2]}\n" for c in calls if WERE_EXTENSIONS.fullmatch(c[2])
                   for p in ("", "p"))


def wrap(kernel, hosts):
    """The call of kernels, or of both sides."""
    is_lazy, (result, prefix, name, parameters) = kernel
    shmem = prefix.replace("gshmem", "shmem")
    space = "" if result.endswith("*") else " "
    value = "" if result == "void" else "return "
    # With the place of the call, where files have that (device/call_sites.cuh).
    declared = f"{text_of(parameters)} GSHMEM_SITE" if parameters else "GSHMEM_ONLY_SITE"
    given = ", ".join(a for _, a in parameters) + " GSHMEM_PASS_SITE" if parameters else "GSHMEM_ONLY_PASS_SITE"
    return (f"{'GSHMEM_LAZY ' if is_lazy else ''}static inline "
            f"{'__host__ ' if (prefix, name) in hosts else ''}__device__ {result}{space}{shmem}_{name}"
            f"({declared})\n{{\n"
            f"    {value}{prefix}_{name}{' GSHMEM_PASS_LAZY' if is_lazy else ''}({given});\n}}\n")


def wrap_all(kernels, hosts):
    text = "".join(wrap(k, hosts) for k in kernels if not is_long_double(k[1]))
    text += "#if !defined(__CUDACC__)\n" + "".join(wrap(k, hosts) for k in kernels if is_long_double(k[1])) + "#endif\n"
    return text


def tell_site(name):
    return f"#define {name}(...) GSHMEM_AT_SITE({name}(__VA_ARGS__))\n"


def tell_sites(calls, kernels, others=(), generics=()):
    """Macros by which calls of the host tell their place (gshmem/detail/call_sites.h)."""
    names = {c[1].replace("gshmem", "shmem") + "_" + c[2]: c for c in calls if not NEVER_WAITS.fullmatch(c[2])}
    alone = [n for n, c in names.items() if c[1:3] not in kernels] + list(others)
    both = [n for n, c in names.items() if c[1:3] in kernels]
    text = "".join(map(tell_site, alone)) + "#if !defined(SHMEM_DEVICE_CODE)\n" + "".join(map(tell_site, both))
    if generics:
        text += "#if defined(__cplusplus)\n" + "".join(map(tell_site, sorted(generics))) + "#endif\n"
    return text + "#endif\n"


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
    """gshmem's own generic interfaces under the other names, with separate macros."""
    macros = set(re.findall(r"#define (GSHMEM_\w+)", text)) | {"GSHMEM_CTX", "GSHMEM_CTX_ARG", "GSHMEM_CALL"}
    # Also the beginnings of names that are pasted together.
    text = re.sub(r"\bGSHMEM_\w+", lambda m: "GSH_OF_" + m[0][1:] if m[0] in macros or m[0].endswith("_")
                  and any(name.startswith(m[0]) for name in macros) else m[0], text)
    # Without half and bfloat16, where these are not yet defined.
    text = text.replace("GSHMEM_TYPES_DISTINCT(", "GSHMEM_TYPE_TABLE(GSHMEM_SEL_DISTINCT, ")
    text = text.replace("GSHMEM_TYPE_TABLE(", "SHMEM_TYPE_TABLE(")
    text = re.sub(r"\bgshmem_(?!ctx_t\b|team_t\b|half_t\b|bfloat16_t\b)", "shmem_", text)
    return text


def generic(path, include=None):
    """generic.h with the headers that are parts of it inlined, and without the prototypes."""
    include = include or path.parent.parent

    def part(match):
        name = pathlib.Path(match[1]).name
        return generic(include / match[1], include) if name.startswith(("generic_", "overloads")) else ""
    text = path.read_text().replace("#if defined(GSHMEM_HAS_COMPLEX)", "#if 1") # shmem.h's always are
    text = re.sub(r"#ifdef GSHMEM_DEVICE_CODE\n#include.*\n#endif\n", "", text)
    return re.sub(r'#include "([^"]+)"\n', part, text)


def main():
    generic_h, calls_h, xcalls_h, generic_out, device_h, xdevice_h, sites_h, xsites_h, calls_c = sys.argv[1:10]
    end = sys.argv.index("--")
    command = sys.argv[10:end]
    kernels = of_kernels(sys.argv[end + 1:])
    calls = [c for c in prototypes(command, "gshmem.h") if c[1] == "gshmem" and c[2] not in BY_HAND]
    xcalls = [c for c in prototypes(command, "gshmemx.h") if c[1] == "gshmemx" and not NOT_OURS.search(c[2])]
    in_plain = {(c[1], c[2]) for c in prototypes(command, "gshmem.h")}
    xcalls += [c for c in prototypes(command, "gshmem.h")
               if c[1] == "gshmemx" and not NOT_OURS.search(c[2]) and c[2] not in {x[2] for x in xcalls}]
    if len(calls) < 900 or ("gshmem", "putmem") not in in_plain:
        sys.exit(f"generate.py: only {len(calls)} calls found in gshmem.h")
    note = "/* SPDX-License-Identifier: Apache-2.0\n * Made by generate.py. */\n"
    hosts = {c[1:3] for c in calls + xcalls}
    wrapped = {p: wrap_all([k for (prefix, _), k in kernels.items() if prefix == p], hosts)
               for p in ("gshmem", "gshmemx")}
    pathlib.Path(calls_h).write_text(note + declare_all(calls, kernels))
    pathlib.Path(xcalls_h).write_text(note + declare_all(xcalls, kernels) + former_names(calls))
    generics = rename_generic(generic(pathlib.Path(generic_h)))
    pathlib.Path(generic_out).write_text(note + generics)
    names = set(re.findall(r"#define (shmem_\w+)\(", generics)) | {"shmem_barrier", "shmem_sync"}
    pathlib.Path(sites_h).write_text(note + tell_sites(calls, kernels, [f"shmem_{n}" for n in HAND_WAITS], names))
    pathlib.Path(xsites_h).write_text(note + tell_sites(xcalls, kernels))
    pathlib.Path(device_h).write_text(note + wrapped["gshmem"])
    pathlib.Path(xdevice_h).write_text(note + wrapped["gshmemx"])
    pathlib.Path(calls_c).write_text(note + '#include <gshmemx.h>\n#include "shmemx.h"\n\n'
                                     + "".join(map(define, calls + xcalls)))


main()
