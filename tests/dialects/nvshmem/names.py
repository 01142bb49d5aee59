#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every name of NVSHMEM 3.8 is in names.txt, and every name of names.txt is there where it says:
declared by the headers for files without kernels (C++14) and with them (C++17, for the CPU device),
and exported by the library, which exports nothing else.

usage: names.py NAMES LIBRARY CXX ARGS... -- MORE_ARGS_FOR_KERNELS..."""

import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDES = "#define NVSHMEM_COMPLEX_SUPPORT 1\n#include <nvshmem.h>\n#include <nvshmemx.h>\n"

# ---- the interface: names of types, and names made from them

BITWISE = "uint ulong ulonglong int32 uint32 int64 uint64".split()
STANDARD = BITWISE + "int long longlong size ptrdiff".split()
RMA = ("bfloat16 half float double char schar short int long longlong uchar ushort uint ulong ulonglong int8 int16 "
       "int32 int64 uint8 uint16 uint32 uint64 size ptrdiff").split()
WAIT = "short int long longlong ushort uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff".split()
LOGIC = "uchar ushort uint ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 size".split()
ORDERED = LOGIC + "char schar short int long longlong bfloat16 half float double".split()
ARITH = ORDERED + ["complexf", "complexd"]
COPIES = [f"{c}{s}" for c in ("put", "get") for s in ("8", "16", "32", "64", "128", "mem")]
SCOPES = ("_warp", "_block")
# Types and constants; not those that only NVSHMEM's own code uses, such as *_SENTINEL and NVSHMEM_TEAM_*_INDEX.
CONSTANTS = (
    "NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED NVSHMEMX_ERROR_GPU_NOT_SELECTED NVSHMEMX_ERROR_INTERNAL "
    "NVSHMEMX_ERROR_INVALID_VALUE NVSHMEMX_ERROR_NOT_SUPPORTED NVSHMEMX_ERROR_OUT_OF_MEMORY NVSHMEMX_ERROR_SYMMETRY "
    "NVSHMEMX_INIT_MAX NVSHMEMX_INIT_THREAD_PES NVSHMEMX_INIT_WITH_MPI_COMM NVSHMEMX_INIT_WITH_SHMEM "
    "NVSHMEMX_INIT_WITH_UNIQUEID NVSHMEMX_PE_ALL NVSHMEMX_PE_ANY NVSHMEMX_QP_ALL NVSHMEMX_QP_ANY NVSHMEMX_QP_DEFAULT "
    "NVSHMEMX_QP_HOST NVSHMEMX_REGION_HINT_BATCH_RMA NVSHMEMX_REGION_HINT_NONE NVSHMEMX_SMEM_AMOUNT_MAX "
    "NVSHMEMX_SMEM_BARRIERS_ONLY NVSHMEMX_SMEM_MINIMUM NVSHMEMX_SMEM_RECOMMENDED NVSHMEMX_SUCCESS NVSHMEMX_TEAM_NODE "
    "NVSHMEMX_TEAM_SAME_MYPE_NODE NVSHMEMX_TMA_DISABLE NVSHMEMX_TMA_ENABLE NVSHMEMX_TMA_FORCE NVSHMEMX_TMA_POLICY_MAX "
    "NVSHMEM_CMP_EQ NVSHMEM_CMP_GE NVSHMEM_CMP_GT NVSHMEM_CMP_LE NVSHMEM_CMP_LT NVSHMEM_CMP_NE NVSHMEM_PE_INVALID "
    "NVSHMEM_SIGNAL_ADD NVSHMEM_SIGNAL_SET NVSHMEM_STATUS_FULL_MPG NVSHMEM_STATUS_INVALID "
    "NVSHMEM_STATUS_IS_BOOTSTRAPPED NVSHMEM_STATUS_IS_INITIALIZED NVSHMEM_STATUS_LIMITED_MPG "
    "NVSHMEM_STATUS_NOT_INITIALIZED NVSHMEM_TEAM_INVALID NVSHMEM_TEAM_MC_SHARED NVSHMEM_TEAM_SHARED "
    "NVSHMEM_TEAM_WORLD NVSHMEM_THREAD_FUNNELED NVSHMEM_THREAD_MULTIPLE NVSHMEM_THREAD_SERIALIZED "
    "NVSHMEM_THREAD_SINGLE nvshmem_pe_index_t nvshmem_team_config_t nvshmem_team_id_t nvshmem_team_t "
    "nvshmemx_cmp_type_t nvshmemx_collective_launch_attr_t nvshmemx_init_args_t nvshmemx_init_attr_t "
    "nvshmemx_init_status_t nvshmemx_qp_handle_index_t nvshmemx_qp_handle_t nvshmemx_region_attrs_t "
    "nvshmemx_region_handle_t nvshmemx_region_hint_t nvshmemx_signal_op_t nvshmemx_smem_amount_t nvshmemx_team_t "
    "nvshmemx_team_uniqueid_t nvshmemx_thread_support_t nvshmemx_tma_policy_t nvshmemx_uniqueid_args_t "
    "nvshmemx_uniqueid_t").split()
MACROS = (
    "NVSHMEMX_INIT_ARGS_INITIALIZER NVSHMEMX_INIT_ARGS_V2_INITIALIZER NVSHMEMX_INIT_ATTR_INITIALIZER "
    "NVSHMEMX_INIT_ATTR_V1_INITIALIZER NVSHMEMX_REGION_ATTRS_INITIALIZER NVSHMEMX_REGION_ATTRS_RESERVED_BYTES "
    "NVSHMEMX_UNIQUEID_ARGS_INITIALIZER NVSHMEMX_UNIQUEID_INITIALIZER NVSHMEM_MAJOR_VERSION NVSHMEM_MAX_NAME_LEN "
    "NVSHMEM_MINOR_VERSION NVSHMEM_TEAM_CONFIG_INITIALIZER NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS "
    "NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID NVSHMEM_TEAM_UNIQUID_INITIALIZER NVSHMEM_VENDOR_MAJOR_VERSION "
    "NVSHMEM_VENDOR_MINOR_VERSION NVSHMEM_VENDOR_PACKAGE_VERSION NVSHMEM_VENDOR_PATCH_VERSION NVSHMEM_VENDOR_STRING "
    "NVSHMEM_VENDOR_VERSION").split()


def expected():
    """Every name of the interface, and where it is: h, d, hd."""
    found = {}

    def add(where, names, prefix="nvshmem_"):
        found.update((prefix + name, where) for name in names)

    def extended(where, names):
        add(where, names, "nvshmemx_")

    add("h", "init init_thread query_thread finalize malloc calloc align free team_get_config team_split_strided "
             "team_split_2d team_destroy".split())
    add("hd", "global_exit my_pe n_pes info_get_version info_get_name ptr signal_fetch fence quiet team_my_pe "
              "team_n_pes team_translate_pe barrier barrier_all team_sync sync_all".split())
    add("d", ["signal_wait_until"])
    extended("h", "init_attr hostlib_init_attr hostlib_finalize init_status get_uniqueid set_attr_uniqueid_args "
                  "set_attr_mpi_comm_args team_get_uniqueid team_init cumodule_init cumodule_finalize culibrary_init "
                  "culibrary_finalize collective_launch collective_launch_query_gridsize buffer_register "
                  "buffer_unregister buffer_unregister_all buffer_register_symmetric buffer_unregister_symmetric "
                  "qp_create signal_op_on_stream signal_wait_until_on_stream quiet_on_stream barrier_on_stream "
                  "team_sync_on_stream barrier_all_on_stream sync_all_on_stream".split())
    extended("h", "buffer_register_symmetric_at_preferred_address flush_on_stream region_start region_stop "
                  "collective_launch_attr".split())
    extended("hd", "mc_ptr vendor_get_version_info flush region_is_active signal_counted_reset".split())
    extended("d", "signal_counted_load signal_counted_wait_until putmem_signal_counted_nbi_block".split())
    extended("d", "flush_warp flush_block region_start_block region_stop_block ask_smem give_smem "
                  "release_smem status_string".split())
    extended("d", "barrier_warpgroup double2_maxloc_reduce_block signal_op qp_signal_op".split())
    extended("d", [c + s for c in ("barrier", "barrier_all", "team_sync", "sync_all") for s in SCOPES])
    extended("d", [f"qp_{c}{s}" for c in ("quiet", "fence") for s in ("",) + SCOPES])

    # copies, by type, by size and by bytes
    copies = [f"{t}_{c}" for t in RMA for c in ("put", "get")] + COPIES
    plain = copies + [f"{c}_nbi" for c in copies]
    strided = [f"{t}_i{c}" for t in RMA for c in ("put", "get")] + [f"i{c}" for c in COPIES if "mem" not in c]
    signals = [f"{c}_signal{n}" for c in copies if "get" not in c for n in ("", "_nbi")]
    single = [f"{t}_{c}" for t in RMA for c in ("p", "g")]
    add("hd", plain + strided + single)
    add("d", signals)
    extended("h", [c + "_on_stream" for c in plain + strided + single + signals])
    extended("d", [c + s for c in plain + strided + signals for s in SCOPES])
    extended("d", [f"qp_{c}{s}" for c in plain + signals for s in ("",) + SCOPES])
    extended("d", [f"qp_{c}" for c in single])

    # atomics, waits
    add("hd", [f"{t}_atomic_{o}" for t in STANDARD for o in "inc fetch_inc add fetch_add compare_swap".split()])
    add("hd", [f"{t}_atomic_{o}" for t in STANDARD + ["half", "float", "double"] for o in "fetch set swap".split()])
    extended("hd", [f"{t}_atomic_{o}" for t in ("half", "float", "double") for o in ("add", "fetch_add")])
    add("hd", [f"{t}_atomic_{f}{o}" for t in BITWISE for f in ("", "fetch_") for o in "and or xor".split()])
    many = ("", "_all", "_any", "_some", "_all_vector", "_any_vector", "_some_vector")
    add("d", [f"{t}_{c}{m}" for t in WAIT for c in ("wait_until", "test") for m in many])
    extended("h", [f"{t}_wait_until{m}_on_stream" for t in WAIT for m in ("", "_all", "_all_vector")])

    # collectives
    moves = [f"{t}_{c}" for t in RMA for c in ("alltoall", "broadcast", "fcollect")]
    moves += ["alltoallmem", "broadcastmem", "fcollectmem"]
    reduces = [f"{t}_{o}_{k}" for types, ops in ((LOGIC, "and or xor"), (ORDERED, "min max"), (ARITH, "sum prod"))
               for t, o, k in itertools.product(types, ops.split(), ("reduce", "reducescatter"))]
    add("hd", moves + reduces)
    extended("h", [c + "_on_stream" for c in moves + reduces])
    extended("d", [c + s for c in moves + reduces for s in SCOPES])
    tiles = [f"{o}_{k}" for o in ("sum", "max", "min") for k in ("reduce", "rooted_reduce")]
    tiles += ["allgather", "broadcast", "put", "get", "collective_wait"]
    add("d", [f"tile_{c}{s}" for c in tiles for s in ("", "_warp", "_warpgroup", "_block")], "nvshmemx::")
    return found


def compare_lists(names):
    """What names.txt lacks, or lists in fewer places."""
    wrong = []
    wanted = expected()
    for name, where in wanted.items():
        has = names.get(name, set())
        if not has:
            wrong.append(f"not in names.txt: {name}")
        elif ("h" in where and not has & {"host", "both", "inline"}
              or "d" in where and not has & {"device", "both", "tile"}):
            wrong.append(f"not where NVSHMEM has it: {name}")
    print(f"{len(wanted)} names of the interface")
    return wrong


# ---- the headers and the library


def read(path):
    """name -> the words after it."""
    lines = [l.split() for l in pathlib.Path(path).read_text().splitlines() if l and l[0] != "#"]
    return {name: set(where.split(",")) for name, where in lines}


def compile_text(command, text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "names.cc"
        source.write_text(INCLUDES + text)
        return subprocess.run([*command, "-fsyntax-only", "-w", "-fmax-errors=0", str(source)],
                              capture_output=True, text=True)


def check(what, command, text, n):
    """The names unknown to the compiler."""
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
    for name, where in names.items():
        if "inline" in where:
            lines.append(f"#ifndef {name}\n#error missing {name}\n#endif")
        elif "tile" in where:
            lines.append(f"using {name};")
        else:
            lines.append(f"static_assert(sizeof(decltype(&{name})) > 0, \"\");")
    return "\n".join(lines) + "\n"


def take_constants():
    lines = [f"static_assert(sizeof({name}) > 0, \"\");" for name in CONSTANTS]
    return "\n".join(lines + [f"#ifndef {name}\n#error missing {name}\n#endif" for name in MACROS]) + "\n"


def main():
    names, library = read(sys.argv[1]), sys.argv[2]
    end = sys.argv.index("--")
    host_command = sys.argv[3:end] + ["-std=c++14"]
    kernel_command = sys.argv[3:end] + ["-std=c++17", *sys.argv[end + 1:], "-DGSHMEM_PLAIN_CALLS=1"]
    in_host = {n: w for n, w in names.items() if w & {"host", "both"}}
    wrong = compare_lists(names)
    wrong += check("without kernels", host_command, take(in_host) + take_constants(), len(in_host))
    wrong += check("with kernels", kernel_command, take(names) + take_constants(), len(names))

    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1] for line in text.splitlines()}
    wrong += [f"not exported: {n}" for n in sorted(in_host.keys() - exported)]
    wrong += [f"exported but not in the list: {n}" for n in sorted(exported - in_host.keys())]
    print("\n".join(wrong))
    print(f"{len(names)} names, {len(exported)} exported")
    sys.exit(1 if wrong else 0)


main()
