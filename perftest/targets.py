# SPDX-License-Identifier: Apache-2.0
"""The hardware's limits, and gshmem's targets against NVSHMEM: data for compare.py."""

# From one H200 to another through NVSwitch (NV18), measured with small programs without a library.
# Blocks of 1024 threads -> GB/s, one direction.
STORE_GB_PER_S = {1: 46, 2: 91, 4: 181, 8: 349, 32: 353, 132: 369}
LOAD_GB_PER_S = {1: 49, 2: 97, 4: 193, 8: 362, 32: 368, 132: 368}
COPY_ENGINE_GB_PER_S = 395
# A block stores and fences at system scope: bytes -> us.
STORE_FENCE_US = {16: 1.21, 4096: 1.31, 65536: 2.69, 1 << 20: 24.5}
FLAG_ONE_WAY_US = 0.62

KIB, MIB = 1 << 10, 1 << 20


def row(program, operation, **rest):
    """The rows to which a target applies; omitted fields match anything."""
    return {"program": program, "operation": operation, **rest}


def target(name, rows, most=None, least=None, gb_per_s=None):
    """most: of the time, as a fraction of the other's; least: of the bandwidth or rate, as a
    multiple of the other's; gb_per_s: blocks -> least bandwidth of its own."""
    return {"name": name, "rows": rows, "most": most, "least": least, "gb_per_s": gb_per_s}


def latency_targets():
    groups = ("thread", "warp", "block")
    yield target("put latency, 8 B to 1 KiB", row("latency", ["put"], bytes=(8, KIB)), most=0.95)
    for group, most in zip(groups, (0.25, 0.25, 0.95)):
        yield target(f"put latency, 64 KiB, {group}",
                     row("latency", ["put"], group=group, bytes=(64 * KIB,) * 2), most=most)
    yield target("get latency, 8 B to 512 B", row("latency", ["get"], bytes=(8, 512)), most=0.9)
    for group, most in zip(groups, (0.1, 0.06, 0.7)):
        yield target(f"get latency, 64 KiB, {group}",
                     row("latency", ["get"], group=group, bytes=(64 * KIB,) * 2), most=most)


def bandwidth_targets():
    sizes = (("64 KiB", 64 * KIB), ("1 MiB", MIB), ("32 MiB", 32 * MIB))
    for operation, limits in (("put", (1.3, 1.15, 1.02)), ("get", (2, 2.3, 2.5))):
        for (text, size), least in zip(sizes, limits):
            yield target(f"{operation} bandwidth, 4 blocks, {text}",
                         row("bandwidth", [operation], blocks=4, mode="one", bytes=(size, size)),
                         least=least)
    yield target("put bandwidth of 1, 2, 4 blocks, 32 MiB: 0.95 of the limit",
                 row("bandwidth", ["put"], mode="one", bytes=(32 * MIB,) * 2),
                 gb_per_s={n: 0.95 * 46 * n for n in (1, 2, 4)})


def ping_pong_targets():
    for text, size, most in (("8 B", 8, 0.5), ("1 KiB", KIB, 0.4), ("64 KiB", 64 * KIB, 0.2)):
        for operation in ("put", "put_signal"):
            yield target(f"{operation} ping-pong, thread, {text}",
                         row("ping_pong", [operation], group="thread", bytes=(size, size)),
                         most=most)
    yield target("signal and atomic ping-pong", row("ping_pong", ["signal", "atomic"]), most=0.6)


def other_targets():
    yield target("p and g rate, 4 blocks",
                 row("rate", ["p", "g"], mode="rate", blocks=4), least=1.1)
    yield target("AMO rate, each operation, 4 blocks",
                 row("rate", ["fetch", "set", "swap", "compare_swap", "inc", "fetch_inc", "add",
                              "fetch_add", "and", "fetch_and", "or", "fetch_or", "xor",
                              "fetch_xor"], mode="rate", blocks=4), least=1.1)
    for operation in ("barrier_all", "sync_all"):
        yield target(f"{operation}, thread, warp, block",
                     row("sync", [operation], mode="kernel"), most=0.55)
    yield target("barrier_all on stream", row("sync", ["barrier_all"], group="stream"), most=0.8)
    calls = ["put", "get", "put_on_stream", "get_on_stream"]
    yield target("put and get of the host and on stream, below 64 KiB",
                 row("host", calls, bytes=(0, 64 * KIB - 1)), most=0.8)
    yield target("put and get of the host and on stream, from 64 KiB",
                 row("host", calls, bytes=(64 * KIB, 1 << 40)), most=1.0)
    yield target("init (of 8 PEs)", row("start", ["begin"]), most=0.5)
    yield target("GPU memory before the first byte", row("start", ["memory"]), most=0.016)
    yield target("no row slower", {}, most=1.0)


TARGETS = [*latency_targets(), *bandwidth_targets(), *ping_pong_targets(), *other_targets()]
