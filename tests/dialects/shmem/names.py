#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every name of the standard is there: declared by shmem.h (a function, or the one that the generic
interfaces choose) and exported by the library, under its own name and as pshmem_; the generic
interfaces take every type that the standard has for them, with a context and without, in C11 and C++;
and the library exports no name that the headers do not declare.

usage: names.py NAMES LIBRARY HEADER... -- COMPILER ARGS... -- C++ COMPILER ARGS..."""

import pathlib
import re
import subprocess
import sys
import tempfile

TYPES = {"char": "char", "schar": "signed char", "uchar": "unsigned char", "short": "short",
         "ushort": "unsigned short", "int": "int", "uint": "unsigned int", "long": "long", "ulong": "unsigned long",
         "longlong": "long long", "ulonglong": "unsigned long long", "float": "float", "double": "double",
         "longdouble": "long double", "size": "size_t", "ptrdiff": "ptrdiff_t",
         "complexf": "shmem_complexf_t", "complexd": "shmem_complexd_t",
         **{f"{u}int{bits}": f"{u}int{bits}_t" for u in ("", "u") for bits in (8, 16, 32, 64)}}
# The arguments of the generic interfaces, chosen by the first expression that matches the whole name.
ARGUMENTS = [
    (r"(put|get)(_nbi)?|(f?collect|alltoall|.*_reduce|.*scan)", "d, s, 1"), (r"p", "d, *s"), (r"g", "s"),
    (r"i(put|get)", "d, s, 1, 1, 1"), (r"ib(put|get)", "d, s, 1, 1, 1, 1"),
    (r"put_signal(_nbi)?", "d, s, 1, signal, 1, SHMEM_SIGNAL_SET"),
    (r"atomic_fetch", "s"), (r"atomic_(fetch_)?inc", "d"), (r"atomic_compare_swap", "d, *s, *s"),
    (r"atomic_fetch_nbi", "f, s"), (r"atomic_fetch_inc_nbi", "f, d"), (r"atomic_compare_swap_nbi", "f, d, *s, *s"),
    (r"atomic_\w+_nbi", "f, d, *s"), (r"atomic_\w+", "d, *s"),
    (r"wait_until|test", "d, SHMEM_CMP_EQ, *s"), (r"\w+_some", "d, 1, found, status, SHMEM_CMP_EQ, *s"),
    (r"\w+_(all|any)", "d, 1, status, SHMEM_CMP_EQ, *s"), (r"\w+_some_vector", "d, 1, found, status, SHMEM_CMP_EQ, d"),
    (r"\w+_vector", "d, 1, status, SHMEM_CMP_EQ, d"), (r"broadcast", "d, s, 1, 0"), (r"alltoalls", "d, s, 1, 1, 1"),
]
# Calls that other implementations had as shmemx_ first.
WERE_EXTENSIONS = re.compile(r"(\w+_)?ib(put|get)\d*|(\w+_)?sum_(in|ex)scan")
COLLECTIVE = re.compile(r"broadcast|f?collect|alltoalls?|.*_reduce|.*scan")


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines()}


def wanted(path):
    for line in pathlib.Path(path).read_text().splitlines():
        if line and line[0] != "#":
            yield from line.split()


def is_generic(name, names):
    """put, atomic_add: a name that other names contain together with a type."""
    return f"int_{name}" in names or f"uint_{name}" in names


def undeclared(command, names, generics):
    """The names that a C11 program cannot use."""
    lines = ["#include <shmem.h>", "#include <shmemx.h>"]
    for name in names:
        lines += [f"void *use_{name}(void);", f"void *use_{name}(void) {{ return (void *)&shmem_{name}; }}"]
    for name in generics:
        lines += [f"#ifndef shmem_{name}", f"#error missing shmem_{name}", "#endif"]
    for name in filter(WERE_EXTENSIONS.fullmatch, [*names, *generics]):
        lines += [f"#ifndef shmemx_{name}", f"#error missing shmemx_{name}", "#endif"]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "names.c"
        source.write_text("\n".join(lines) + "\n")
        done = subprocess.run([*command, "-std=c11", "-fsyntax-only", "-w", str(source)],
                              capture_output=True, text=True)
    found = set(re.findall(r"error: .*?[‘'`]shmem_(\w+)[’'`] undeclared", done.stderr))
    found |= set(re.findall(r"missing shmemx?_(\w+)", done.stderr))
    if done.returncode != 0 and not found:
        sys.exit(f"names.py: shmem.h does not compile:\n{done.stderr[:2000]}")
    return found


def calls(generics, names):
    """(what it is, type, call) for each generic interface with each type that the standard lists for it."""
    for name in generics:
        arguments = next(arguments for pattern, arguments in ARGUMENTS if re.fullmatch(pattern, name))
        is_on_team, is_on_words = COLLECTIVE.fullmatch(name), re.match("wait|test", name)
        if not is_on_team and not is_on_words:
            arguments += ", 0"
        for short, type_name in TYPES.items():
            if f"{short}_{name}" in names:
                yield f"{name} of {short}", type_name, f"shmem_{name}({'t, ' if is_on_team else ''}{arguments})"
                if f"ctx_{short}_{name}" in names:
                    yield f"{name} of {short} with a context", type_name, f"shmem_{name}(ctx, {arguments})"


def refused(command, standard, generics, names):
    """The generic calls that do not compile without a warning."""
    lines, what = ["#include <shmem.h>"], {}
    for n, (title, type_name, call) in enumerate(calls(generics, names)):
        what[len(lines) + 1] = f"{standard}: {title}"
        head = (f"void call{n}(shmem_ctx_t ctx, shmem_team_t t, {type_name} *d, {type_name} const *s, "
                f"{type_name} *f, uint64_t *signal, size_t *found, int *status)")
        lines.append(f"{head}; {head} "
                     f"{{ (void)ctx, (void)t, (void)d, (void)s, (void)f, (void)signal, (void)found, (void)status; "
                     f"(void){call}; }}")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / ("calls.cc" if "++" in standard else "calls.c")
        source.write_text("\n".join(lines) + "\n")
        done = subprocess.run([*command, "-std=" + standard, "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                               str(source)],
                              capture_output=True, text=True)
    found = {what[int(n)] for n in re.findall(r"calls\.\w+:(\d+):\d+: error", done.stderr) if int(n) in what}
    if len(what) < 1500 or (done.returncode != 0 and not found):
        sys.exit(f"names.py: {len(what)} generic calls in {standard}\n{done.stderr[:2000]}")
    return found


# Arguments with commas, and a dest after a context in every form.
COMMAS = """#include <shmem.h>
void commas(shmem_ctx_t ctx, long *d, int *flag, long m[3][4]);
void commas(shmem_ctx_t ctx, long *d, int *flag, long m[3][4])
{
    static uint64_t signal;
    void *p = d;
    shmem_put(ctx, d, (long[]){1, 2}, 2, 0);
    shmem_put(d, (long[]){1, 2, 3}, 3, 0);
    shmem_put(d, (const long[2]){[1] = 1}, 2, 0);
    shmem_iput(d, (long[]){1, 2}, 1, 1, 2, 0);
    shmem_put_signal(d, (long[]){1, 2}, 2, &signal, 1, SHMEM_SIGNAL_SET, 0);
    shmem_atomic_add(d, (long[]){1, 2}[1], 0);
    shmem_put(ctx, (long *)p + 1, (long[]){1, 2}, 2, 0);
    shmem_put(ctx, (d) + 1, d, 2, 0);
    shmem_get(ctx, (m[1]), (const long *)p, 4, 0);
    shmem_put(m[0], m[1], 4, 0);
    shmem_wait_until_all(flag, 2, (int[]){0, 1}, SHMEM_CMP_EQ, 1);
    shmem_wait_until_all_vector(flag, 2, NULL, SHMEM_CMP_EQ, (int[]){3, 4});
    enum { A, B } *e = 0;
    shmem_p(e, B, 0);
}
"""


def main():
    names_path, library = sys.argv[1:3]
    end = sys.argv.index("--")
    second = sys.argv.index("--", end + 1)
    headers, command, cxx = sys.argv[3:end], sys.argv[end + 1:second], sys.argv[second + 1:]
    names = list(wanted(names_path))
    exports = exported(library)
    wrong = []
    generics = [n for n in names if is_generic(n, set(names))]
    functions = [n for n in names if n not in set(generics)]
    missing = undeclared(command, functions, generics)
    for name in names:
        profiling = name not in generics
        is_there = name not in missing and (name in generics or f"shmem_{name}" in exports)
        is_there = is_there and (not profiling or f"pshmem_{name}" in exports)
        if not is_there:
            wrong.append(f"missing: shmem_{name}")
    wrong += sorted(refused(command, "c11", generics, set(names)) | refused(cxx, "c++17", generics, set(names)))
    done = subprocess.run([*command, "-std=c11", "-fsyntax-only", "-Wall", "-Werror", "-x", "c", "-"], input=COMMAS,
                          capture_output=True, text=True)
    wrong += [f"arguments with commas:\n{done.stderr[:1000]}"] if done.returncode != 0 else []
    wrong += [f"exported without a profiling name: {name}" for name in sorted(exports)
              if name.startswith("shmem_") and f"p{name}" not in exports]
    words = set(re.findall(r"\w+", "\n".join(pathlib.Path(h).read_text() for h in headers)))
    stamped = re.compile(r"^p?shmem_(int|long|longlong|short|float|double|longdouble|complex[fd])_|(32|64)$")
    for name in sorted(exports):
        if name not in words and not stamped.search(name) and re.sub("^p?shmem_", "", name) not in words:
            wrong.append(f"exported but not declared: {name}")
    print("\n".join(wrong))
    print(f"{len(names)} names of the standard, {len(exports)} exported")
    sys.exit(1 if wrong else 0)


main()
