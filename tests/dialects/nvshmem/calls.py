#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every call that NVSHMEM's benchmarks and examples make is made by one of these programs, after
their macros have been expanded.

usage: calls.py CXX ARGS... -- PROGRAM..."""

import re
import subprocess
import sys

SCOPES = ("", "_warp", "_block")


def by_scope(call):
    return [("nvshmem_" if s == "" else "nvshmemx_") + call + s for s in SCOPES]


def expected():
    found = ["nvshmem_" + c for c in (
        "init my_pe n_pes malloc free calloc align barrier_all finalize team_my_pe team_n_pes team_split_strided "
        "team_destroy ptr fence quiet signal_wait_until int_put int64_g putmem putmem_nbi getmem getmem_nbi "
        "uint64_wait_until float_sum_reduce double_sum_reduce int_fcollect int_put_signal_nbi").split()]
    found += ["nvshmemx_" + c for c in (
        "init_attr get_uniqueid set_attr_uniqueid_args cumodule_init collective_launch "
        "collective_launch_query_gridsize buffer_register_symmetric buffer_unregister_symmetric signal_op "
        "double2_maxloc_reduce_block float_put_block float_put_nbi_warp float_put_nbi_block int_fcollect_block "
        "barrier_on_stream team_sync_on_stream barrier_all_on_stream sync_all_on_stream quiet_on_stream "
        "putmem_on_stream putmem_nbi_on_stream getmem_on_stream getmem_nbi_on_stream int_sum_reduce_on_stream "
        "float_sum_reduce_on_stream double_put_nbi_warp double_put_nbi_block double_get_nbi_block int_put_warp "
        "int_put_block int_get_nbi_warp int_get_nbi_block").split()]
    found += [f"nvshmem_{t}_{c}" for t in "uint8 uint16 uint32 double int".split() for c in "pg"]
    found += ["nvshmem_double_put_nbi", "nvshmem_int_put_nbi", "nvshmem_int_get_nbi"]
    found += by_scope("int_put_signal_nbi")
    simple = "inc add set swap compare_swap fetch_inc fetch_add".split()
    bits = "and or xor fetch_and fetch_or fetch_xor".split()
    for types, calls in (("int long size int32", simple), ("uint ulong ulonglong uint32 uint64", simple + bits),
                         ("int32 int64", ["xor", "fetch_xor"])):
        found += [f"nvshmem_{t}_atomic_{c}" for t in types.split() for c in calls]
        found += [f"nvshmem_{t}_wait_until" for t in types.split()]
    for call in ["barrier", "barrier_all", "team_sync", "sync_all"]:
        found += by_scope(call)
    for t in ("int32", "int64"):
        for call in ["alltoall", "broadcast", "fcollect"] + [
                f"{o}_{k}" for o in "sum prod min max and or xor".split() for k in ("reduce", "reducescatter")]:
            found += by_scope(f"{t}_{call}")
    numbers = "bfloat16 half float double int int32 int64 long longlong size uint uint32 uint64 ulonglong".split()
    found += [f"nvshmemx_{t}_{c}_on_stream" for t in numbers + ["ptrdiff"]
              for c in ("alltoall", "broadcast", "fcollect")]
    for types, ops in ((numbers, "min max sum prod"), ("int32 int64 uint32 uint64 size uint".split(), "and or xor")):
        found += [f"nvshmemx_{t}_{o}_{k}_on_stream" for t in types for o in ops.split()
                  for k in ("reduce", "reducescatter")]
    found += [f"tile_{c}{s}" for c in ("sum_reduce", "allgather", "collective_wait")
              for s in ("", "_warp", "_warpgroup", "_block")]
    return set(found)


def called(command, program):
    """The names in the program's own lines after its macros are expanded. Launches are macros."""
    source = open(program).read()
    text = subprocess.run([*command, "-E", "-x", "c++", program], check=True, capture_output=True, text=True).stdout
    names, is_own = set(re.findall(r"nvshmemx_collective_\w+", source)), False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            is_own = marker[1].endswith(program) or marker[1].endswith("/start.h")
        elif is_own:
            names |= set(re.findall(r"\w+(?=\s*[(<])", line))
    return names


def main():
    end = sys.argv.index("--")
    names = set().union(*(called(sys.argv[1:end], p) for p in sys.argv[end + 1:]))
    wanted = expected()
    missing = sorted(wanted - names)
    print("\n".join(f"no program calls {n}" for n in missing))
    print(f"{len(wanted)} calls, {len(missing)} not called")
    sys.exit(1 if missing else 0)


main()
