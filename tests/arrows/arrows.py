#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The include arrows: every #include "..." goes from a layer to one it may know. In folders that are
layered by file it also goes down: a file calls only what lies below it, for who calls a function
includes its module's header. Also: every source file and every header that a user's program reaches
is named in a meson.build, so that no file and no test is forgotten.

usage: arrows.py SOURCE_ROOT"""

import pathlib
import re
import sys

# A layer is a file or a folder; the longest matching entry decides. "x/": everything in folder x.
PUBLIC = ["include/", "gshmem/version.h"]
BASE = ["runtime/base/"]
HOST = PUBLIC + BASE
WIRE = ["device/far_op.h", "device/state.h", "proxy/ring.h"]
PROXY = ["proxy/copy.h", "proxy/lanes.h", "proxy/list.h", "proxy/proxy.h", "proxy/request.h", "proxy/transport.h"]
RUNTIME = HOST + ["device/", "proxy/ring.h", "heap/heap.h", "bootstrap/", "runtime/backend/device.h",
                  "runtime/team/team.h"]
JOB = RUNTIME + ["runtime/job/", "proxy/proxy.h"]
BACKEND = RUNTIME + ["runtime/backend/poll.h", "runtime/job/", "runtime/setup/modules.h", "proxy/"]
ARROWS = {
    "device/far_op.h": ["device/state.h"],
    "device/state.h": [],
    "proxy/ring.h": [],
    "include/": ["include/", "gshmem/version.h", "device/"],
    "device/": PUBLIC + ["device/", "proxy/ring.h"],
    "device/cpu/": PUBLIC + ["device/cpu/", "device/state.h"],
    "runtime/base/": HOST,
    "bootstrap/": HOST + ["bootstrap/"],
    "tools/": HOST + ["tools/", "bootstrap/", "proxy/transport.h"],
    "heap/": HOST + WIRE + ["heap/", "bootstrap/agree.h", "bootstrap/bootstrap.h", "bootstrap/fdpass.h"],
    "proxy/": HOST + WIRE + PROXY + ["proxy/ucx/plugin.h"],
    "proxy/ring/": HOST + WIRE + ["proxy/ring/", "proxy/request.h"],
    "proxy/engine/": HOST + WIRE + PROXY + ["proxy/engine/", "proxy/ring/", "proxy/stage/"],
    "proxy/stage/": HOST + WIRE + PROXY + ["proxy/engine/", "proxy/stage/"],
    "proxy/loop/": HOST + ["proxy/loop/", "proxy/copy.h", "proxy/list.h", "proxy/transport.h"],
    "proxy/ucx/": HOST + ["proxy/ucx/", "proxy/copy.h", "proxy/transport.h"],
    "runtime/": HOST + WIRE + ["runtime/", "heap/", "proxy/", "bootstrap/", "device/"],
    # A PE's state and its end lie below what sets it up; init.c, net.c stand on more than their folder.
    "runtime/job/": JOB,
    "runtime/job/net.c": JOB + ["runtime/far/far.h"],
    "runtime/job/init.c": JOB + ["runtime/far/far.h", "runtime/context/", "runtime/setup/"],
    "runtime/team/": RUNTIME + ["runtime/team/", "runtime/job/", "runtime/context/", "runtime/setup/", "proxy/proxy.h"],
    "runtime/context/": RUNTIME + ["runtime/context/", "runtime/job/", "runtime/far/far.h", "proxy/request.h"],
    "runtime/far/": RUNTIME + ["runtime/far/", "runtime/job/", "runtime/setup/place.h", "proxy/"],
    "runtime/backend/": BACKEND,
    "runtime/backend/cpu/": BACKEND + ["runtime/backend/cpu/", "runtime/far/far.h"],
    "runtime/backend/cuda/": BACKEND + ["runtime/backend/cuda/"],
    "runtime/setup/": RUNTIME + ["heap/lendable.h", "runtime/setup/", "runtime/job/", "runtime/far/far.h",
                                 "runtime/context/", "proxy/proxy.h"],
    "runtime/api/layer.c": RUNTIME + ["runtime/layer.h", "runtime/api/coll.h", "runtime/setup/", "runtime/job/",
                                      "runtime/far/far.h", "runtime/team/bootstrap.h", "heap/lendable.h",
                                      "device/cpu/cpu.h"],
    "runtime/api/": RUNTIME + ["runtime/api/", "runtime/setup/", "runtime/job/", "runtime/far/far.h",
                               "runtime/context/", "runtime/backend/poll.h", "proxy/proxy.h", "proxy/request.h"],
    "dialects/shmem/": PUBLIC + ["dialects/shmem/", "shmem_calls.h", "shmem_generic.h", "shmem_device_calls.h",
                                 "shmemx_device_calls.h", "shmemx_calls.h"],
    "dialects/nvshmem/": PUBLIC + ["dialects/nvshmem/", "nvshmem_host_calls.h", "nvshmem_both_calls.h",
                                   "nvshmem_device_calls.h", "nvshmem.h"],
    # A dialect's headers, which users include, know the public ones; what its library calls besides is layer.h.
    "dialects/nccl/": PUBLIC + ["runtime/layer.h", "dialects/nccl/"],
    "dialects/nccl/include/": PUBLIC + ["dialects/nccl/include/"],
    "examples/": PUBLIC + ["examples/"],
    "perftest/": PUBLIC + ["perftest/"],
    "tests/": None,  # anything
}
# Folders layered by file: modules (x.h and x.c) in order, each of which may include those before it.
LAYERS = [
    [f"proxy/{module}" for module in (
        "engine/pool", "engine/mailbox", "engine/messages", "stage/state", "engine/state",
        "engine/spin", "engine/failure", "engine/task", "engine/memory", "engine/peer",
        "engine/outbox",
        "stage/lanes_late", "stage/jobs", "stage/slots", "stage/out", "stage/in", "stage/stage",
        "engine/issue", "engine/execute", "engine/inbox", "engine/order", "engine/rings",
        "engine/round", "engine/thread", "engine/host", "engine/proxy")],
    [f"proxy/ucx/{module}" for module in (
        "plugin", "ucx", "loss", "call", "post", "events", "endpoint", "region", "carry", "rma",
        "message", "life", "transport")],
    [f"proxy/loop/{module}" for module in ("port", "region", "work", "transport")],
]
# Only these of the public headers lead into device/: the rest stay free of it.
INTO_DEVICE = {"include/gshmem_device.cuh", "include/gshmem/launch.h"}
SUFFIXES = {".c", ".h", ".cc", ".cu", ".cuh", ".def"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def longest(entries, path):
    found = [e for e in entries if path == e or (e.endswith("/") and path.startswith(e))]
    return max(found, key=len, default=None)


def resolve(root, source, name):
    """The tree's file that `#include "name"` in source means, as a path from the root."""
    for candidate in (pathlib.Path(source).parent / name, pathlib.Path("include") / name,
                      pathlib.Path(name)):
        if (root / candidate).is_file():
            return (root / candidate).resolve().relative_to(root).as_posix()
    return name  # made by the build, or not there: judged by its name


def judge(source, target):
    """None when source may include target, else why not."""
    layer = longest(ARROWS, source)
    if layer is None:
        return "lies in no layer"
    allowed = ARROWS[layer]
    if allowed is None:
        return None
    if not longest(allowed, target):
        return f"may not include {target}: {layer} knows {', '.join(allowed) or 'nothing'}"
    if layer == "include/" and target.startswith("device/") and source not in INTO_DEVICE:
        return f"may not include {target}: only {', '.join(sorted(INTO_DEVICE))} may"
    return judge_layers(source, target)


def judge_layers(source, target):
    """The same of two files in folders that are layered by file."""
    module, included = source.rsplit(".", 1)[0], target.rsplit(".", 1)[0]
    for layers in LAYERS:
        if pathlib.PurePath(module).parent not in {pathlib.PurePath(m).parent for m in layers}:
            continue
        if module not in layers:
            return f"has no place in LAYERS of {pathlib.PurePath(__file__).name}"
        if included in layers and layers.index(included) > layers.index(module):
            return f"may not include {target}, which lies above it"
    return None


def sources(root):
    for top in sorted({layer.split("/")[0] for layer in ARROWS}):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path.relative_to(root).as_posix()


def reachable(root, starts):
    """The tree's files that these and what they include lead to."""
    found, todo = set(), list(starts)
    while todo:
        source = todo.pop()
        if source in found or not (root / source).is_file():
            continue
        found.add(source)
        names = INCLUDE.findall((root / source).read_text())
        todo += [resolve(root, source, name) for name in names]
    return found


def is_listed(root, path):
    """Whether a meson.build above the file names it, with its suffix or, in lists of programs,
    without."""
    source = root / path
    for folder in source.parents:
        build = folder / "meson.build"
        text = build.read_text() if build.is_file() else ""
        name = source.relative_to(folder).as_posix()
        if f"'{name}'" in text:
            return True
        if path.startswith(("tests/", "examples/", "perftest/")) and f"'{source.stem}'" in text:
            return True
        if folder == root:
            break
    return any(f"'../{path}'" in build.read_text() for build in root.glob("*/meson.build"))


def self_test():
    assert judge("heap/heap.c", "bootstrap/bootstrap.h") is None
    assert judge("heap/heap.c", "bootstrap/uid.h")
    assert judge("heap/heap.c", "proxy/proxy.h")
    assert judge("heap/heap.c", "runtime/job/instance.h")
    assert judge("proxy/copy.h", "proxy/engine/state.h")
    assert judge("bootstrap/uid.c", "heap/heap.h")
    assert judge("device/state.h", "include/gshmem/types.h")
    assert judge("runtime/job/init.c", "heap/heap.h") is None
    assert judge("include/gshmem.h", "device/rma.cuh")
    assert judge("include/gshmem_device.cuh", "device/rma.cuh") is None
    assert judge("examples/ring.cu", "runtime/job/instance.h")
    assert judge("dialects/nccl/src/comm.c", "runtime/layer.h") is None
    assert judge("dialects/nccl/src/comm.c", "runtime/job/instance.h")
    assert judge("dialects/nccl/src/kernels.cu", "device/wait.cuh")
    assert judge("dialects/nccl/include/nccl.h", "runtime/layer.h")
    assert judge("elsewhere/x.c", "heap/heap.h")
    assert judge("proxy/ring/reader.c", "proxy/engine/state.h")
    assert judge("proxy/stage/out.c", "proxy/engine/peer.h") is None
    assert judge("proxy/engine/peer.c", "proxy/stage/out.h")
    assert judge("proxy/engine/peer.c", "proxy/engine/peer.h") is None
    assert judge("proxy/engine/new.c", "proxy/engine/state.h")
    assert judge("proxy/ucx/loss.c", "proxy/ucx/life.h")
    assert judge("runtime/base/log.c", "runtime/job/instance.h")
    assert judge("runtime/job/end.c", "runtime/setup/setup.h")
    assert judge("runtime/backend/cuda/stream.c", "runtime/api/host_calls.h")
    assert judge("runtime/api/rma.c", "runtime/backend/cuda/device.h")
    assert judge("runtime/setup/setup.c", "heap/physical.h")


def main():
    self_test()
    root = pathlib.Path(sys.argv[1]).resolve()
    installed = reachable(root, [s for s in sources(root)
                                 if s.startswith(("include/", "device/cpu/shim/"))])
    wrong = []
    n = 0
    for source in sources(root):
        n += 1
        text = (root / source).read_text()
        for match in INCLUDE.finditer(text):
            reason = judge(source, resolve(root, source, match.group(1)))
            if reason:
                line = text.count("\n", 0, match.start()) + 1
                wrong.append(f"{source}:{line}: {reason}")
        if source.endswith((".c", ".cc", ".cu")) or source in installed:
            if not is_listed(root, source):
                wrong.append(f"{source}: named in no meson.build")
    print("\n".join(wrong))
    print(f"{n} files, {len(wrong)} wrong")
    return 1 if wrong or n == 0 else 0


sys.exit(main())
