#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The include arrows: every #include "..." goes from a layer to one it may know. In runtime/, and in
folders that are layered by file, it also goes down. So do calls, since a caller includes the header
of the function's module; but the public calls share a few headers, so given the libraries' objects
the calls themselves are checked. The folders of NO_CIRCLES have no cycle of files by
either. Also: every source file and every header that a user's program reaches is named in a
meson.build, so no file and no test is forgotten.

usage: arrows.py SOURCE_ROOT [ARCHIVE...]

An archive lies in the build's folder of the meson.build that makes it."""

import collections
import pathlib
import re
import subprocess
import sys

# Headers that the build writes.
MADE = ["gshmem/version.h", "gshmem/call_sites.h", "gshmem/call_sites_x.h", "gshmem/typed.h",
        "gshmem/typed_stream.h", "gshmem/collectives.h", "gshmem/collectives_stream.h"]
# A layer is a file or a folder; the longest matching entry decides. "x/": everything in folder x.
PUBLIC = ["include/"] + MADE
BASE = ["base/"]
WIRE = ["wire/"]
TRACE = ["trace/merge.h", "trace/part.h", "trace/read.h", "trace/record.h"]
HOST = PUBLIC + BASE + WIRE + TRACE
PROXY = ["proxy/copy_streams.h", "proxy/list.h", "proxy/pairs.h", "proxy/proxy.h", "proxy/request.h",
         "proxy/transport.h"]
RUNTIME = HOST + ["cpu/", "heap/heap.h", "bootstrap/", "runtime/instance/device_ops.h"]
TEAMS = ["runtime/instance/", "runtime/team/team.h"]
INSTANCE = RUNTIME + ["runtime/instance/", "proxy/proxy.h", "proxy/request.h"]
BACKEND = RUNTIME + TEAMS + ["runtime/backend/modules.h", "runtime/backend/poll.h", "proxy/"]
ARROWS = {
    "base/": PUBLIC + BASE,
    "wire/": WIRE,
    "trace/": PUBLIC + BASE + WIRE + ["trace/"],
    "cpu/": PUBLIC + ["cpu/", "wire/state.h"],
    "include/": ["include/", "cpu/", "device/"] + MADE,
    "device/": PUBLIC + WIRE + ["cpu/", "device/"],
    "kernels/": PUBLIC + WIRE + ["cpu/", "device/", "kernels/"],
    "bootstrap/": PUBLIC + BASE + ["bootstrap/"],
    "tools/": PUBLIC + BASE + TRACE + ["tools/", "bootstrap/", "proxy/transport.h", "nic/nic.h", "wire/", "hang/"],
    "heap/": HOST + ["heap/", "bootstrap/agree.h", "bootstrap/bootstrap.h", "bootstrap/fdpass.h",
                     # without a job
                     "bootstrap/descriptor.h", "bootstrap/socket.h", "bootstrap/uds.h"],
    "proxy/": HOST + PROXY + ["proxy/pairs_impl.h", "proxy/ucx/plugin.h"],
    "hang/": PUBLIC + BASE + ["hang/"],
    "nic/": PUBLIC + BASE + WIRE + ["nic/"],
    "proxy/ring/": HOST + ["proxy/ring/", "proxy/request.h"],
    "proxy/engine/": HOST + PROXY + ["proxy/engine/", "proxy/ring/"],
    "proxy/loop/": PUBLIC + BASE + ["proxy/loop/", "proxy/list.h", "proxy/transport.h"],
    "proxy/ucx/": PUBLIC + BASE + ["proxy/ucx/", "proxy/transport.h"],
    "runtime/": HOST + ["runtime/", "heap/", "proxy/", "nic/nic.h", "bootstrap/"],
    "runtime/instance/": INSTANCE,
    "runtime/trace/": INSTANCE + ["runtime/trace/"],
    "runtime/team/": INSTANCE + ["runtime/team/"],
    "runtime/far/": RUNTIME + ["runtime/far/", "runtime/instance/", "runtime/trace/kernels.h", "proxy/", "nic/nic.h",
                              "nic/names.h"],
    "runtime/context/": RUNTIME + ["runtime/context/", "runtime/instance/", "runtime/far/far.h", "proxy/request.h"],
    "runtime/hang/": INSTANCE + ["hang/", "proxy/proxy.h", "runtime/hang/", "runtime/far/far.h",
                                 "runtime/team/absent.h"],
    "runtime/backend/": BACKEND,
    "runtime/backend/cpu/": BACKEND + ["runtime/backend/cpu/", "runtime/far/far.h"],
    "runtime/backend/cuda/": BACKEND + ["runtime/backend/cuda/"],
    "runtime/init/": INSTANCE + ["heap/memory.h", "heap/registrable.h", "runtime/init/", "runtime/team/",
                                 "runtime/far/far.h", "runtime/far/affinity_proxy.h", "runtime/context/",
                                 "runtime/trace/", "runtime/hang/",
                                 "runtime/backend/modules.h"],
    "runtime/api/": RUNTIME + TEAMS + ["runtime/api/", "runtime/init/", "runtime/trace/call.h",
                                       "runtime/trace/stream.h", "runtime/far/far.h", "runtime/context/",
                                       "runtime/backend/poll.h", "proxy/proxy.h", "proxy/request.h",
                                       # what dialects ask for besides
                                       "runtime/layer.h", "proxy/pairs.h", "heap/range.h", "heap/registrable.h",
                                       "runtime/team/bootstrap.h",
                                       "runtime/team/page.h"],
    "dialects/shmem/": PUBLIC + ["dialects/shmem/", "shmem_calls.h", "shmem_generic.h", "shmem_device_calls.h",
                                 "shmem_call_sites.h", "shmemx_call_sites.h",
                                 "shmemx_device_calls.h", "shmemx_calls.h"],
    "dialects/nvshmem/": PUBLIC + ["dialects/nvshmem/", "nvshmem_host_calls.h", "nvshmem_both_calls.h",
                                   "nvshmem_device_calls.h", "nvshmem_call_sites.h", "nvshmem.h"],
    "dialects/shmem/environment.c": PUBLIC + ["runtime/layer.h", "dialects/shmem/"],
    "dialects/shmem/setup.c": PUBLIC + ["runtime/layer.h", "dialects/shmem/"],
    "dialects/nvshmem/setup.c": PUBLIC + ["runtime/layer.h", "dialects/nvshmem/", "nvshmem.h"],
    "dialects/nvshmem/environment.c": PUBLIC + ["runtime/layer.h", "dialects/nvshmem/"],
    # A dialect's headers, which users include, know the public ones; what its library calls besides is layer.h.
    "dialects/nccl/": PUBLIC + ["base/array.h", "runtime/layer.h", "dialects/nccl/"],
    "dialects/nccl/include/": PUBLIC + ["dialects/nccl/include/"],
    "dialects/mscclpp/": PUBLIC + ["runtime/layer.h", "dialects/mscclpp/"],
    "dialects/mscclpp/include/": PUBLIC + ["dialects/mscclpp/include/"],
    "examples/": PUBLIC + ["examples/"],
    "perftest/": PUBLIC + ["runtime/layer.h", "perftest/"],
    # The simulation runs the schedules of the library itself.
    "perftest/sim/": ["perftest/sim/", "bootstrap/", "device/coll/schedule.h", "runtime/instance/instance.h",
                      "runtime/instance/book.h", "runtime/instance/end_notice.h", "runtime/init/identity.h"],
    "tests/": None,  # anything
}
# runtime/ from the bottom up, as its README says: a file knows and calls only its own folder and those before it.
RUNTIME_ORDER = ["base/", "runtime/instance/", "runtime/trace/", "runtime/team/", "runtime/far/", "runtime/context/",
                 "runtime/backend/", "runtime/hang/", "runtime/init/", "runtime/api/"]
# Folders without cycles of files: all but include/, whose entries lead to each other, so that a program may name any of
# them first.
NO_CIRCLES = ("base/", "trace/", "wire/", "bootstrap/", "cpu/", "heap/", "proxy/", "nic/", "runtime/", "tools/",
              "hang/", "kernels/", "device/", "dialects/", "perftest/", "examples/", "bindings/")
# Folders layered by file: modules (x.h and x.c) in order, each of which may include and call those before it.
LAYERS = [
    [f"proxy/{module}" for module in (
        "engine/pool", "engine/mailbox", "engine/outstanding", "engine/messages", "engine/stage_state", "engine/state",
        "engine/spin", "engine/check", "engine/loss", "engine/failure", "engine/observe", "engine/task",
        "engine/learn", "engine/memory", "engine/peer", "engine/outbox",
        "engine/copy_streams_late", "engine/stage_jobs", "engine/stage_slots", "engine/stage_out", "engine/stage_in",
        "engine/stage",
        "engine/issue", "engine/execute", "engine/inbox", "engine/order", "engine/drop",
        "engine/rings", "engine/round", "engine/thread", "engine/host", "engine/unfinished",
        "engine/proxy")],
    [f"proxy/ucx/{module}" for module in (
        "plugin", "ucx", "loss", "wire", "call", "post", "events", "endpoint", "region", "carry", "rma",
        "message", "life", "transport")],
    [f"proxy/loop/{module}" for module in ("port", "region", "work", "transport")],
    [f"nic/{module}" for module in ("nic", "names", "model/files", "model/sheet", "model/settings", "model/model",
                                    "model/queue", "model/execute", "model/round", "model/thread", "model/create",
                                    "mlx5/plugin", "mlx5/command", "mlx5/verbs", "mlx5/mlx5", "mlx5/choose",
                                    "mlx5/queue", "mlx5/memory", "mlx5/watch", "mlx5/adapter", "mlx5_load",
                                    "adapter")],
    [f"dialects/nccl/{module}" for module in (
        "kernels/args", "kernels/rings", "kernels/ring_lines", "kernels/offers", "kernels/own_copies",
        "kernels/transfer", "kernels/kernels", "kernels/streams", "kernels/copier",
        "base/error", "base/param", "base/encryption", "base/type", "base/worker", "base/copier",
        "base/job", "base/pieces", "base/pool",
        "comm/collective", "comm/latest", "comm/comm", "comm/launch", "comm/ask", "comm/near_ranks",
        "comm/clique", "comm/awaited_word", "comm/parting",
        "group/call", "group/simulate", "group/group",
        "window/record", "window/layout", "window/window", "window/memory", "window/devcomm",
        "window/foreign", "window/requirements", "window/teams", "window/endpoints",
        "coll/op", "coll/selection", "coll/work", "coll/reduction", "coll/scale", "coll/direct", "coll/staged",
        "coll/compare", "coll/config", "coll/batch", "coll/begin", "coll/coll", "coll/configured",
        "transfer/transfer", "transfer/send", "transfer/rooted", "transfer/rma",
        "init/make", "init/init", "init/settle", "init/end", "init/split", "init/suspend")],
    [f"dialects/mscclpp/channel/{module}" for module in (
        "watch", "fifo", "proxy", "semaphore", "memory_channel", "port_channel", "switch_channel")],
]
# The only public headers that lead into device/ and cpu/: the rest stay free of it.
INTO_DEVICE = {"include/gshmem_device.cuh", "include/gshmem/launch.h"}
SUFFIXES = {".c", ".h", ".hpp", ".cc", ".cu", ".cuh", ".def"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def longest(entries, path):
    found = [e for e in entries if path == e or (e.endswith("/") and path.startswith(e))]
    return max(found, key=len, default=None)


def resolve(root, source, name):
    """The tree's file that `#include "name"` in source resolves to, as a path from the root."""
    for candidate in (pathlib.Path(source).parent / name, pathlib.Path("include") / name,
                      pathlib.Path(name)):
        if (root / candidate).is_file():
            return (root / candidate).resolve().relative_to(root).as_posix()
    return name  # made by the build, or missing: judged by its name


def judge(source, target):
    """None if source may include target, else why not."""
    layer = longest(ARROWS, source)
    if layer is None:
        return "lies in no layer"
    allowed = ARROWS[layer]
    if allowed is None:
        return None
    if not longest(allowed, target):
        return f"may not include {target}: {layer} knows {', '.join(allowed) or 'nothing'}"
    if layer == "include/" and target.startswith(("device/", "cpu/")) and source not in INTO_DEVICE:
        return f"may not include {target}: only {', '.join(sorted(INTO_DEVICE))} may"
    return judge_runtime(source, target) or judge_layers(source, target)


def is_upward(source, target):
    """For files in runtime/, by RUNTIME_ORDER."""
    here, there = longest(RUNTIME_ORDER, source), longest(RUNTIME_ORDER, target)
    return bool(here and there) and RUNTIME_ORDER.index(there) > RUNTIME_ORDER.index(here)


def judge_runtime(source, target):
    if source.startswith("runtime/") and target.startswith("runtime/") and is_upward(source, target):
        return f"may not include {target}, which lies above it in runtime/"
    return None


def judge_layers(source, target):
    """The same for two files in folders that are layered by file."""
    module = source.rsplit(".", 1)[0]
    for layers in LAYERS:
        if pathlib.PurePath(module).parent in {pathlib.PurePath(m).parent for m in layers} and module not in layers:
            return f"has no place in LAYERS of {pathlib.PurePath(__file__).name}"
    return f"may not include {target}, which lies above it" if is_above(source, target) else None


def is_above(source, target):
    """By LAYERS."""
    module, other = source.rsplit(".", 1)[0], target.rsplit(".", 1)[0]
    return any(module in layers and other in layers and layers.index(other) > layers.index(module)
               for layers in LAYERS)


def folder_of(root, archive):
    """The folder whose meson.build makes the archive, with a slash; "": the root's."""
    parts = pathlib.Path(archive).resolve().parent.parts
    for i in range(len(parts)):
        folder = pathlib.PurePath(*parts[i:])
        if not folder.is_absolute() and (root / folder / "meson.build").is_file():
            return f"{folder.as_posix()}/"
    return ""


def calls_of(root, archive):
    """The C files that call functions, or name objects, of others: {caller: {callee: a symbol}}."""
    folder = folder_of(root, archive)
    files = {path[len(folder):].replace("/", "_") + ".o": path for path in sources(root)
             if path.endswith(".c") and path.startswith(folder)}
    listing = subprocess.run(["nm", "-A", archive], check=True, capture_output=True, text=True).stdout
    defined, wanted = {}, collections.defaultdict(set)
    for line in listing.splitlines():
        # archive:object:value type name, where the object may be a path
        source = files.get(pathlib.PurePath(line.split(":")[1]).name)
        kind, symbol = line.split()[-2:]
        if source and kind == "U":
            wanted[source].add(symbol)
        elif source and kind in "TDBRW":
            defined[symbol] = source
    calls = {source: {} for source in defined.values()}
    for source, symbols in wanted.items():
        for symbol in symbols & defined.keys():
            if defined[symbol] != source:
                calls.setdefault(source, {})[defined[symbol]] = symbol
    return calls


def judge_calls(calls):
    return [f"{source}: calls {symbol} of {target}, which lies above it"
            for source, targets in sorted(calls.items()) for target, symbol in sorted(targets.items())
            if is_upward(source, target) or is_above(source, target)]


def find_circle(edges):
    """A list of nodes, each of which leads to the next, and the last to the first; or None."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):]
        if node in done:
            return None
        path.append(node)
        for target in sorted(edges.get(node, ())):
            circle = visit(target)
            if circle:
                return circle
        done.add(path.pop())
        return None

    return next(filter(None, map(visit, sorted(edges))), None)


def judge_circles(root, calls):
    """By include, with x.h and x.c as one, and by call."""
    includes = collections.defaultdict(set)
    for source in sources(root):
        for name in INCLUDE.findall((root / source).read_text()):
            includes[source.rsplit(".", 1)[0]].add(resolve(root, source, name).rsplit(".", 1)[0])
    wrong = []
    for how, graph in (("include", includes), ("call", calls)):
        circle = find_circle({source: {t for t in targets if t != source and t.startswith(NO_CIRCLES)}
                              for source, targets in graph.items() if source.startswith(NO_CIRCLES)})
        if circle:
            wrong.append(f"a circle of files, by {how}: " + " -> ".join(circle + circle[:1]))
    return wrong


def sources(root):
    for top in sorted({layer.split("/")[0] for layer in ARROWS}):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path.relative_to(root).as_posix()


def reachable(root, starts):
    """The tree's files that these files reach by includes."""
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
    assert judge("heap/create.c", "bootstrap/bootstrap.h") is None
    assert judge("heap/create.c", "bootstrap/uid.h")
    assert judge("heap/create.c", "proxy/proxy.h")
    assert judge("heap/create.c", "runtime/instance/instance.h")
    assert judge("proxy/list.h", "proxy/engine/state.h")
    assert judge("bootstrap/uid.c", "heap/heap.h")
    assert judge("wire/state.h", "include/gshmem/types.h")
    assert judge("runtime/init/init.c", "heap/heap.h") is None
    assert judge("include/gshmem.h", "device/rma.cuh")
    assert judge("include/gshmem_device.cuh", "device/rma.cuh") is None
    assert judge("examples/ring.cu", "runtime/instance/instance.h")
    assert judge("dialects/nccl/comm/comm.c", "runtime/layer.h") is None
    assert judge("dialects/nccl/comm/comm.c", "runtime/instance/instance.h")
    assert judge("dialects/nccl/kernels/kernels.cu", "device/wait.cuh")
    assert judge("dialects/nccl/include/nccl.h", "runtime/layer.h")
    assert judge("dialects/mscclpp/connection/connection.cc", "runtime/layer.h") is None
    assert judge("dialects/mscclpp/connection/connection.cc", "heap/heap.h")
    assert judge("dialects/mscclpp/include/mscclpp/core.hpp", "runtime/layer.h")
    assert judge("elsewhere/x.c", "heap/heap.h")
    assert judge("proxy/ring/reader.c", "proxy/engine/state.h")
    assert judge("proxy/engine/stage_out.c", "proxy/engine/peer.h") is None
    assert judge("proxy/engine/peer.c", "proxy/engine/stage_out.h")
    assert judge("proxy/engine/peer.c", "proxy/engine/peer.h") is None
    assert judge("proxy/engine/new.c", "proxy/engine/state.h")
    assert judge("proxy/ucx/loss.c", "proxy/ucx/life.h")
    assert judge("base/log.c", "runtime/instance/instance.h")
    assert judge("runtime/instance/end.c", "runtime/init/setup.h")
    assert judge("runtime/backend/cuda/stream.c", "runtime/api/host_calls.h")
    assert judge("runtime/api/rma.c", "runtime/backend/cuda/device.h")
    assert judge("runtime/init/setup.c", "heap/physical.h")
    assert judge("runtime/instance/end.c", "runtime/team/team.h")
    assert judge("runtime/team/create.c", "runtime/context/context.h")
    assert judge("runtime/far/far_memory.c", "runtime/backend/modules.h")
    assert judge("runtime/init/setup.c", "runtime/backend/modules.h") is None
    assert judge_calls({"runtime/team/team.c": {"runtime/api/memory.c": "gshmem_ptr"}})
    assert not judge_calls({"runtime/api/memory.c": {"runtime/team/team.c": "gsh_team_find"}})
    assert judge("dialects/nccl/comm/comm.c", "dialects/nccl/base/job.h") is None
    assert judge("dialects/nccl/comm/comm.c", "dialects/nccl/group/group.h")
    assert judge_calls({"dialects/nccl/group/group.c": {"dialects/nccl/transfer/transfer.c": "gsh_nccl_transfer_add"}})
    assert find_circle({"a": {"b", "c"}, "c": {"d"}, "d": {"c"}}) == ["c", "d"]
    assert not find_circle({"a": {"b", "c"}, "c": {"b"}})


def main():
    self_test()
    root = pathlib.Path(sys.argv[1]).resolve()
    installed = reachable(root, [s for s in sources(root)
                                 if s.startswith(("include/", "cpu/shim/"))])
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
    calls = {}
    for archive in sys.argv[2:]:
        found = calls_of(root, archive)
        calls.update(found)
        if not any(found.values()):
            wrong.append(f"{archive} shows no calls")
    wrong += judge_calls(calls) + judge_circles(root, calls)
    print("\n".join(wrong))
    print(f"{n} files, {len(wrong)} wrong")
    return 1 if wrong or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
