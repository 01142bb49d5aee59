#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes NVSHMEM's names over gshmem's: for each name in names.txt that is not written by hand, the call
of gshmem with the same meaning, with the parameters that gshmem's own headers give it.

usage: generate.py NAMES HOST.H BOTH.H DEVICE.H SITES.H CALLS.C CC ARGS... -- CXX ARGS...

CC preprocesses the public headers, CXX the device header as it is for the CPU device."""

import pathlib
import re
import subprocess
import sys

PROTOTYPE = re.compile(r"([A-Za-z_][\w\s]*?[\s*]+)(gshmemx?_\w+)\s*\(([^()]*)\)\s*;")
DEFINITION = re.compile(r"(template <int unused = 0> )?static inline ([A-Za-z_][\w\s]*?[\s*]+)(gshmemx?_\w+)\s*"
                        r"\(([^()]*)\)\s*\{")
# Parameters that differ from gshmem's.
PARAMETERS = {"nvshmem_signal_fetch": [("uint64_t *sig_addr", "sig_addr")]}
# NVSHMEM's names for gshmem's calls of another name.
TWINS = {f"nvshmem_{t}_atomic_{o}": f"gshmemx_{t}_atomic_{o}"
         for t in ("half", "float", "double") for o in ("fetch", "set", "swap", "add", "fetch_add")
         if t == "half" or "add" in o}
NEVER_WAITS = re.compile(r"nvshmemx?_(my_pe|n_pes|team_my_pe|team_n_pes|ptr|mc_ptr|global_exit|info_\w+|vendor_\w+|"
                         r"set_attr_\w+|init_status|cumodule_\w+|culibrary_\w+|team_get_config)")
NOTE = "/* SPDX-License-Identifier: Apache-2.0\n * Made by generate.py. */\n"


def preprocessed(command, header):
    language = ["-x", "c++", "-std=c++17"] if header.endswith(".cuh") else ["-x", "c", "-std=c11"]
    text = subprocess.run([*command, "-E", "-P", *language, "-include", header, "/dev/null"],
                          check=True, capture_output=True, text=True).stdout
    return " ".join(re.sub(r"#[^\n]*\n", "", text).split())


def parts(parameters):
    """[(declaration, argument)] of a parameter list."""
    found = [p.strip() for p in parameters.split(",")]
    return [] if found in (["void"], [""]) else [(p, re.search(r"(\w+)$", p).group(1)) for p in found]


def read_calls(cc, cxx):
    """name -> (result, parameters), as the host has them and as kernels have them."""
    host, device = {}, {}
    for header in ("gshmem.h", "gshmemx.h"):
        for result, name, parameters in PROTOTYPE.findall(preprocessed(cc, header)):
            result = result.strip().removeprefix("extern ").strip()
            if "return" not in result.split() and "..." not in parameters:
                host[name] = (result, parts(parameters))
    for _, result, name, parameters in DEFINITION.findall(preprocessed(cxx, "gshmem_device.cuh")):
        device[name] = (result.strip(), parts(parameters))
    if len(host) < 2000 or len(device) < 3000:
        sys.exit(f"generate.py: only {len(host)} calls of the host and {len(device)} of kernels found")
    return host, device


def text_of(parameters):
    return ", ".join(p for p, _ in parameters) or "void"


def head(name, call):
    result, parameters = call
    return f"{result}{'' if result.endswith('*') else ' '}{name}({text_of(parameters)})"


def sited_head(name, call):
    """The same with the place of the call, where files have that (device/call_sites.cuh)."""
    site = " GSHMEM_SITE)" if call[1] else "GSHMEM_ONLY_SITE)"
    return head(name, call).removesuffix(")").removesuffix("" if call[1] else "void") + site


def body(twin, call, lazy=False, first="", last=""):
    arguments = ", ".join(([first] if first else []) + [a for _, a in call[1]])
    last = last if arguments else last.replace("PASS", "ONLY_PASS")
    return f"{'' if call[0] == 'void' else 'return '}{twin}{' GSHMEM_PASS_LAZY' if lazy else ''}({arguments}{last});"


def wrapper(name, twin, call, where):
    """The call of kernels, or of both sides where kernels are compiled."""
    lazy = "GSHMEM_LAZY " if "lazy" in where else ""
    space = "NVSHMEM_HD" if "both" in where else "NVSHMEM_D"
    inner = body(twin, call, bool(lazy), last=" GSHMEM_PASS_SITE")
    return f"{lazy}{space} {sited_head(name, call)}\n{{\n    {inner}\n}}\n"


def tell_site(name):
    """The macro by which a call of the host tells its place (gshmem/detail/call_sites.h)."""
    return f"#define {name}(...) GSHMEM_AT_SITE({name}(__VA_ARGS__))\n"


def queue_pair(name, device, where):
    """nvshmemx_qp_X over the same call with a context, which becomes the last parameter."""
    stem = name.removeprefix("nvshmemx_qp_")
    twin = ("gshmemx_ctx_" if stem.endswith(("_warp", "_block")) else "gshmem_ctx_") + stem
    if twin not in device:
        return None
    result, parameters = device[twin]
    call = (result, parameters[1:] + [("nvshmemx_qp_handle_t qp", "qp")])
    lazy = "GSHMEM_LAZY " if "lazy" in where else ""
    inner = body(twin, (result, parameters[1:]), bool(lazy), first="nvshmem_ctx_of(qp)", last=" GSHMEM_PASS_SITE")
    return f"{lazy}NVSHMEM_D {sited_head(name, call)}\n{{\n    {inner}\n}}\n"


def main():
    names_txt, *outputs = sys.argv[1:7]
    end = sys.argv.index("--")
    host, device = read_calls(sys.argv[7:end], sys.argv[end + 1:])
    made = {"host": "", "both": "", "device": "", "sites": "", "calls": ""}
    sites = {"host": "", "both": ""}
    wrong = []
    for line in pathlib.Path(names_txt).read_text().splitlines():
        if not line or line[0] == "#":
            continue
        name, where = line.split()
        where = where.split(",")
        if {"host", "both"} & set(where) and not NEVER_WAITS.fullmatch(name):
            sites["both" if "both" in where else "host"] += tell_site(name)
        twin = TWINS.get(name) or name.replace("nvshmem", "gshmem", 1)
        if "hand" in where:
            continue
        for calls in (host, device):
            if name in PARAMETERS and twin in calls:
                calls[twin] = (calls[twin][0], PARAMETERS[name])
        if name.startswith("nvshmemx_qp_"):
            text = queue_pair(name, device, where)
            made["device"] += text or ""
            wrong += [] if text else [name]
            continue
        if ("device" not in where and twin not in host) or ("host" not in where and twin not in device):
            wrong.append(name)
            continue
        if "device" not in where:
            made["both" if "both" in where else "host"] += head(name, host[twin]) + ";\n"
            made["calls"] += f"{head(name, host[twin])}\n{{\n    {body(twin, host[twin])}\n}}\n\n"
        if "host" not in where:
            made["device"] += wrapper(name, twin, device[twin], where)
    if wrong:
        sys.exit("generate.py: gshmem has no call for " + ", ".join(wrong))
    made["sites"] = sites["host"] + "#if !defined(NVSHMEM_DEVICE_CODE)\n" + sites["both"] + "#endif\n"
    includes = '#include <gshmemx.h>\n#include "nvshmem.h"\n\n'
    made["calls"] = includes + made["calls"]
    for path, text in zip(outputs, made.values()):
        pathlib.Path(path).write_text(NOTE + text)


main()
