#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that bad input and death end a job soon, with one clear line and nothing left behind.

    trouble.py [--checks] [--pes N] [--node-pes N] [--alone | --together] GSHMEMRUN PROGRAM [CASE ...]

Each case is one run of the program trouble. It must end by itself within the limit, with the
wanted status; exactly one line from gshmem must say why, in the wanted words, after one hang
report if a time limit has passed; and afterwards no process of the job, no file in /dev/shm and
no gshmem socket that was not there before.

A few cases run at a time. Those in which a PE dies or a wait reaches its limit need the machine to themselves:
--alone runs only these, --together only the others, alongside other tests."""

import argparse
import concurrent.futures
import glob
import os
import re
import signal
import subprocess
import sys
import time

LIMIT = 60.0  # seconds for the job on a busy machine; without the call that is tested it would not end at all

# name: (words of the one line, exit status or None for any failure, environment, start)
# start: "run" by gshmemrun, "threads" by gshmemrun --threads, "single" alone, "uid" by the program
# itself; a name may begin with that
DEAD = r"PE 1\b.*(died|killed|the connection .*failed)"  # the last from another node
TIMED = {"GSHMEM_WAIT_TIMEOUT": "1"}
# Far members are all asked who is missing; near ones are named as they are found.
OTHERS = r"PEs? (1|2|1 and 2|1, 2 and 3) of team 0:"
CASES = {
    "before_init": (r"gshmem_long_p.*init", None, {}, "single"),
    "after_finalize": (r"gshmem_barrier_all.*(init|finalize)", None, {}, "single"),
    "kernel_before_init": (r"a kernel made a gshmem call before gshmem_init", 1, {}, "single"),
    "outside_kernel": (r"a call that is for kernels alone was made by host code", 1, {}, "run"),
    "stream_team_gone": (r"PE 0.*gshmemx_barrier_on_stream.*team \d+ does not exist, or has been destroyed", None, {},
                         "run"),
    "stream_gone": (r"PE 0.*gshmemx_long_put_on_stream: the stream does not exist, or has been destroyed", None, {},
                    "run"),
    "bad_pe": (r"PE 0.*gshmem_long_p.*PE [234] is out of range", None, {}, "run"),
    "negative_pe": (r"PE 0.*gshmem_long_g.*PE -1", None, {}, "run"),
    "stride": (r"PE 0.*gshmem_long_iget.*stride is 0;", None, {}, "run"),
    "null_dest": (r"PE 0.*gshmem_long_put: the symmetric address of 8 bytes is NULL", None, {}, "run"),
    "negative_count": (r"PE 0.*gshmem_long_sum_reduce: the number of elements is -1; it is at least 0", None, {},
                       "run"),
    "null_list": (r"PE 0.*gshmemx_team_create: the list of PEs is NULL", 0, {}, "run"),
    "signal_op": (r"PE 0.*gshmemx_signal_op.*sig_op 33 is neither", None, {}, "run"),
    "cmp": (r"PE 0.*gshmem_long_test.*cmp 6 is not", None, {}, "run"),
    "misaligned": (r"PE 0.*gshmem_signal_fetch.*0x[0-9a-f]+4 is not a multiple of 8", None, {},
                   "run"),
    "finalized_elsewhere": (r"PE 0.*gshmem_finalize.*thread", None, {}, "run"),
    "ctx_ended_twice": (r"PE 0.*gshmem_ctx_destroy: the context does not exist, or has been", None, {},
                        "run"),
    "ctx_invalid": (r"PE 0.*gshmem_ctx_long_p: the context is GSHMEM_CTX_INVALID", None, {}, "run"),
    "ctx_member": (r"PE 0.*gshmem_ctx_long_p: PE \d is out of range: the context's team has PEs 0 to",
                   None, {}, "run"),
    "ctx_default": (r"PE 0.*gshmem_ctx_destroy: the default context stays", 0, {}, "run"),
    "ctx_kernel_member": (r"PE 0.*gshmem_ctx_long_p.*kernel.*PE \d is out of range: the context's team",
                          None, {}, "run"),
    "fails_alone": (r"PE 1: error: GSHMEM_TRACE: cannot make", 1, {}, "run"),
    "bad_contexts": (r"GSHMEM_CONTEXTS=41 is more than 40", 1, {"GSHMEM_CONTEXTS": "41"}, "single"),
    "exit": (None, 7, {}, "run"),
    "kernel_exit": (None, 7, {}, "run"),
    "die_before_init": (r"PE 1\b", None, {"GSHMEM_BOOTSTRAP_TIMEOUT": "5"}, "run"),
    "die_in_barrier": (DEAD, None, {}, "run"),
    "die_in_malloc": (DEAD, None, {}, "run"),
    "die_in_wait": (DEAD, None, {}, "run"),
    "die_in_kernel": (DEAD, None, {}, "run"),
    "die_in_kernel_barrier": (DEAD, None, {}, "run"),
    "die_in_stream": (DEAD, None, {}, "run"),
    "die_in_lock": (DEAD, None, {}, "run"),
    "die_in_kernel_lock": (DEAD, None, {}, "run"),
    "die_in_finalize": (DEAD, None, {}, "run"),
    "die_in_ctx_puts": (DEAD, None, {}, "run"),
    "die_in_reduce": (DEAD, None, {}, "run"),
    "die_in_reduce_large": (DEAD, None, {}, "run"),
    "die_in_reduce_stream": (DEAD, None, {}, "run"),
    "die_in_reduce_kernel": (DEAD, None, {}, "run"),
    "die_in_reduce_kernel_large": (DEAD, None, {}, "run"),
    # the calls by one block of a kernel; a grid makes them all in turn
    **{f"die_in_coll_{call}": (DEAD, None, {"GSHMEM_COLLECTIVES": "far=64K"}, "run") for call in [
        "all_grid", *(f"{name}_{how}" for how in ("host", "stream", "kernel") for name in (
            "broadcast", "fcollect", "alltoall", "collect", "reducescatter", "scan", "alltoalls"))]},
    "uid_before_init": (r"missing: 1", None, {"GSHMEM_BOOTSTRAP_TIMEOUT": "5"}, "uid"),
    "uid_in_barrier": (DEAD, None, {}, "uid"),
    "uid_in_malloc": (DEAD, None, {}, "uid"),
    "uid_in_kernel": (DEAD, None, {}, "uid"),
    "uid_in_stream": (DEAD, None, {}, "uid"),
    "stuck_wait": (r"PE 0.*gshmem_long_wait_until.*waited 1\.0 s.*0x[0-9a-f]+.*== 42.*seen 0",
                   None, TIMED, "run"),
    "stuck_barrier": (r"PE 0.*gshmem_barrier_all.*waited 1\.2 s for " + OTHERS + r".*expected \d+.*seen \d+",
                      None, TIMED, "run"),
    "stuck_kernel": (r"PE 0.*gshmem_long_wait_until.*kernel.*waited 1\.0 s.*0x[0-9a-f]+.*== 42.*seen 0",
                     None, TIMED, "run"),
    "stuck_kernel_barrier": (r"PE 0.*gshmem_barrier_all.*kernel.*waited 1\.2 s for " + OTHERS + r".*"
                             r"expected \d+.*seen \d+", None, TIMED, "run"),
    "stuck_stream": (r"PE 0.*wait_until.*waited 1\.0 s.*0x[0-9a-f]+.*== 42.*seen 0",
                     None, TIMED, "run"),
    "stuck_reduce": (r"PE 0.*gshmem_long_sum_reduce.*waited 1\.2 s for " + OTHERS, None, TIMED, "run"),
    "stuck_reduce_large": (r"PE 0.*gshmem_long_sum_reduce.*waited 1\.2 s for " + OTHERS, None, TIMED, "run"),
    "stuck_reduce_stream": (r"PE 0.*gshmemx_long_sum_reduce_on_stream.*waited 1\.2 s for " + OTHERS, None,
                            TIMED, "run"),
    "stuck_reduce_kernel": (r"PE 0.*gshmemx_long_sum_reduce_block.*waited 1\.2 s for " + OTHERS, None, TIMED,
                            "run"),
    "stuck_reduce_kernel_large": (r"PE 0.*gshmemx_long_sum_reduce_block.*waited 1\.2 s for " + OTHERS, None,
                                  TIMED, "run"),
    **{name: (rf"{call}.*waited 1\.2 s for PE 3 of team [1-9]\d*: its arrivals expected \d+, seen \d+", None,
              TIMED, start) for start, prefix in (("run", ""), ("threads", "threads_")) for name, call in (
        (prefix + "member_barrier", "gshmem_barrier"),
        (prefix + "member_reduce", "gshmem_long_sum_reduce"),
        (prefix + "member_reduce_large", "gshmem_long_sum_reduce"),
        (prefix + "member_stream", "gshmemx_long_sum_reduce_on_stream"),
        (prefix + "member_kernel", "gshmemx_long_sum_reduce_block"),
        (prefix + "member_kernel_large", "gshmemx_long_sum_reduce_block"),
        (prefix + "member_kernel_barrier", "gshmemx_barrier_block"))},
    "stuck_kernel_late": (r"PE 0.*gshmem_long_wait_until.*kernel.*waited 1\.0 s.*== 42", None, TIMED,
                          "run"),
    "stuck_lock": (r"PE 0.*gshmem_set_lock: waited 1\.0 s for the lock at 0x[0-9a-f]+.*behind PE 1", None,
                   TIMED, "run"),
    "stuck_kernel_lock": (r"PE 0.*gshmem_set_lock.*kernel.*waited 1\.0 s for the lock at 0x[0-9a-f]+", None,
                          TIMED, "run"),
    "global": (r"PE 0.*gshmem_long_p.*is not symmetric.*a global or static of the program.*if init was asked",
               None, {}, "run"),
    "lock_not_held": (r"PE 0.*gshmem_clear_lock: this PE does not hold the lock at 0x[0-9a-f]+", None, {},
                      "run"),
    "kernel_lock_not_held": (r"PE 0.*gshmem_clear_lock.*kernel.*this PE does not hold the lock at 0x", None,
                             {}, "run"),
    "kernel_no_front": (r"PE 0.*gshmem_set_lock.*kernel.*PE [234] is out of range", None, {}, "run"),
    "kernel_no_behind": (r"PE 0.*gshmem_clear_lock.*kernel.*PE 1073741822 is out of range", None, {}, "run"),
    "lock_left": (r"PE 0.*gshmem_finalize: 1 lock is still held", 0, {}, "run"),
    "differ_calloc": (r"PE 1 called gshmem_calloc while PE 0 called gshmem_malloc", 0, {}, "run"),
    "differ_free": (r"gshmem_free: PE 0 .*offset \d+, PE 1 .*offset \d+", None, {}, "run"),
    "differ_finalize": (r"PE 1 called gshmem_finalize while PE 0 called gshmem_free", None, {},
                        "run"),
    "differ_range": (r"GSHMEM_HEAP_RANGE is 8589934592 bytes on PE 1 and 0 on PE 0", 1, {}, "run"),
    "differ_keep": (r"GSHMEM_HEAP_KEEP is 1048576 bytes on PE 1 and 4294967296 on PE 0", 1, {}, "run"),
    "differ_nodes": (r"GSHMEM_NODE_PES is 7 on PE 1 and \d on PE 0", 1, {}, "run"),
    "differ_team_memory": (r"GSHMEM_TEAM_MEMORY is not the same on PE 1 as on PE 0", 1, {}, "run"),
    "differ_collectives": (r"GSHMEM_COLLECTIVES: far is 1024 on PE 1 and 262144 on PE 0", 1,
                           {"GSHMEM_COLLECTIVES": "thread=0"}, "run"),
    "threads_differ_free": (r"gshmem_free: PE 0 .*offset \d+, PE 1 .*offset \d+", None, {},
                            "threads"),
    "alike_free": (r"gshmem_free: no allocation starts at", None, {}, "run"),
    "alike_align": (r"gshmem_align.* 3 is not a power of two", 0, {}, "run"),
    "alike_calloc": (r"gshmem_calloc of \d+ bytes.*GSHMEM_HEAP_RANGE", 0, {}, "run"),
    "huge": (r"PE 0.*gshmem_long_put: \d+ bytes", None, {}, "run"),
    "printed": (r"gshmem_long_p.*out of range", None, {}, "run"),
    "running_kernel": (None, 0, {}, "run"),
    "never_init": (None, 0, {}, "run"),
    "leave_before_init": (r"PE 1\b.*gshmem_init", 1, {}, "run"),
    "leave_return": (r"PE 1\b.*without gshmem_finalize", 1, {}, "run"),
    "leave_exit": (r"PE 1\b.*without gshmem_finalize", 1, {}, "run"),
    "leave_status": (r"PE 1\b.*without gshmem_finalize", 5, {}, "run"),
    "leave_all": (r"PE \d\b.*without gshmem_finalize", 1, {}, "run"),
    "threads_never_init": (None, 0, {}, "threads"),
    "threads_leave_before_init": (r"PE \d\b.*gshmem_init", 1, {}, "threads"),
    "threads_leave_return": (r"PE 1\b.*without gshmem_finalize", 1, {}, "threads"),
    "threads_leave_exit": (r"PE 1\b.*without gshmem_finalize", 1, {}, "threads"),
    "threads_leave_thread": (r"PE 1\b.*ended its thread without gshmem_finalize", 1, {}, "threads"),
    "threads_no_run": (r"gshmemx_run", 1, {}, "threads"),
    "bad_bootstrap": (r"GSHMEM_BOOTSTRAP.*bogus.*pmix.*uid", None, {"GSHMEM_BOOTSTRAP": "bogus"},
                      "single"),
    "bad_number": (r"GSHMEM_WAIT_TIMEOUT.*soon", None, {"GSHMEM_WAIT_TIMEOUT": "soon"}, "single"),
    "bad_log_file": (r"GSHMEM_LOG_FILE=log.%q: '%q' stands for nothing", None, {"GSHMEM_LOG_FILE": "log.%q"}, "single"),
    "unknown_launcher": (r"launcher.*PMI_SIZE", None, {"PMI_SIZE": "4", "PMI_RANK": "0"}, "single"),
}
SIZES = r"the members' sizes differ: \d+ bytes on PE \d, \d+ on PE \d"
CALLS = r"the members' calls differ: .*on PE \d, .*on PE \d"


def between(first, second):
    """That line if PE 1 makes the second call and the others the first, from either of two PEs."""
    return (rf"the members' calls differ: ({first} on PE [02], {second} on PE 1|"
            rf"{second} on PE 1, {first} on PE [02])$")


# Checking builds know the thread, and do not wait; and a member refuses its own count.
UNCHECKED = {
    "differ_collect": (r"gshmemx_long_collect_block.*kernel.*the members' counts say that \d+ bytes lie at offset 0x"
                       r"[0-9a-f]+ of the heap, which ends at 0x", None, {}, "run"),
    "stuck_twice": (r"PE 0.*gshmem_set_lock: waited 1\.0 s .*, which this PE holds", None, TIMED, "run"),
}

CHECKS = {
    "stuck_twice": (r"PE 0.*gshmem_set_lock: this thread already holds the lock at 0x", None, {}, "run"),
    "differ_reduce_size": (r"gshmem_long_sum_reduce.*" + SIZES, None, {}, "run"),
    "differ_reduce_op": (r"gshmem_long_(sum|max)_reduce.*" + CALLS, None, {}, "run"),
    "differ_reduce_root": (r"gshmem_long_broadcast.*" + CALLS, None, {}, "run"),
    "differ_reduce_call": (r"gshmem_long_(fcollect|alltoall).*" + CALLS, None, {}, "run"),
    "differ_reduce_zero": (r"gshmem_long_sum_reduce.*" + SIZES, None, {}, "run"),
    "differ_reduce_strides": (between("alltoalls of int64, strides 1 and 2", "alltoalls of int64, strides 3 and 2"),
                              None, {}, "run"),
    "differ_reduce_collect": (between("fcollect of int64", "collect of int64"), None, {}, "run"),
    "differ_type": (between("max reduce of int32", "max reduce of float"), None, {}, "run"),
    "differ_type_bare": (between("max reduce of int32", "max reduce of float"), None, {}, "run"),
    "differ_type_sign": (between("sum inscan of int32", "sum inscan of uint32"), None, {}, "run"),
    "differ_type_stream": (between("sum reducescatter of bfloat16", "sum reducescatter of half"), None, {}, "run"),
    "differ_type_move": (between("broadcast of int32 from root 0", "broadcast of float from root 0"), None, {},
                         "run"),
    "differ_type_kernel": (r"gshmemx_\w+_sum_reduce_block.*" + between("sum reduce of int32", "sum reduce of float"),
                           None, {}, "run"),
    "differ_reduce_kernel": (r"gshmemx_long_sum_reduce_block.*" + SIZES, None, {}, "run"),
    "ctx_ended": (r"PE 0.*gshmem_ctx_long_p: the context does not exist, or has been destroyed", None, {},
                  "run"),
    "ctx_ended_quiet": (r"PE 0.*gshmem_ctx_quiet: the context does not exist, or has been", None, {},
                        "run"),
    "kernel_holds": (r"PE 0.*gshmem_finalize: 1 lock is still held", 0, {}, "run"),
    "ctx_private": (r"PE 0.*gshmem_ctx_long_p: the context is private .*to another thread", None, {}, "run"),
    "ctx_kernel_ended": (r"PE 0.*gshmem_ctx_long_p.*kernel.*the context does not exist, or has", None, {},
                         "run"),
    "kernel_no_team": (r"PE 0.*gshmemx_long_sum_reduce_block \(in a kernel\): there is no team 12345678 of which", 0,
                       {}, "run"),
    "kernel_no_channel": (r"PE 0.*gshmemx_barrier_channel_block \(in a kernel\): "
                          r"the channel is 7777, and the team has \d", 0, {}, "run"),
    "kernel_no_root": (r"PE 0.*gshmemx_long_broadcast_block \(in a kernel\): the root is 3, and the team has 3 PEs", 0,
                       {}, "run"),
    "channel_shared": (r"PE 0.*gshmemx_long_sum_reduce_block.*kernel.*another group of this PE's threads is making a "
                    r"call on channel 0 of team 0", None, {}, "run"),
    "kernel_bad_pe": (r"PE 0.*gshmem_long_p.*kernel.*PE [234] is out of range", None, {}, "run"),
    "stack": (r"PE 0.*gshmem_long_p.*symmetric", None, {}, "run"),
    "freed": (r"PE 0.*gshmem_long_p.*alloc", None, {}, "run"),
    "past": (r"PE 0.*gshmem_long_put.*alloc", None, {}, "run"),
    "before": (r"PE 0.*gshmem_putmem.*alloc", None, {}, "run"),
    "kernel_huge": (r"PE 0.*gshmem_long_put.*kernel.*alloc", None, {}, "run"),
    "kernel_stack": (r"PE 0.*gshmem_long_p.*kernel.*symmetric", None, {}, "run"),
    "kernel_freed": (r"PE 0.*gshmem_long_p.*kernel.*alloc", None, {}, "run"),
    "kernel_past": (r"PE 0.*gshmem_long_put.*kernel.*alloc", None, {}, "run"),
    "kernel_stride": (r"PE 0.*gshmem_long_iput.*kernel.*stride is -1, with PE 1;", None, {}, "run"),
    "kernel_signal_op": (r"PE 0.*gshmemx_signal_op.*kernel.*sig_op 33, for PE 1, is neither", None,
                         {}, "run"),
    "kernel_cmp": (r"PE 0.*gshmem_long_wait_until.*kernel.*cmp -2 is not", None, {}, "run"),
    "kernel_misaligned": (r"PE 0.*gshmem_long_atomic_inc.*kernel.*0x[0-9a-f]+4, on PE 1, "
                          r"is not a multiple of 8", None, {}, "run"),
    "kernel_null": (r"PE 0.*gshmem_long_get.*kernel.*local address of 24 bytes is NULL, with PE 1",
                    None, {}, "run"),
}
# Among PEs that share their node. The others do not wait for one that lacks descriptors. A PE that closes its own says
# so, in finalize or in a thread of the library, unless another PE has seen its connection end before it.
CLOSED = r"PE \d.*the program has closed descriptor \d+"
NEAR = {
    "descriptors_closed": (rf"{CLOSED}|PE \d died or exited without gshmem_finalize", 1, {}, "run"),
    "descriptors_closed_alone": (CLOSED, 1, {}, "run"),
    "few_files": (r"PE 0.*init failed on PE 1: passing descriptors among \d processes.*ulimit -n", 1, {}, "run"),
}
# With all data staged.
STAGED = {"GSHMEM_STAGE": "always"}
# On several nodes of two PEs: PE 0 waits for PE 1, which has failed before they have met.
FAR_PAIRS = {
    "few_files_far": (r"PE 0.*init failed on PE 1: .*(ulimit -n|Too many open files)", 1, {}, "run"),
}
# Missing transports.
FAR = {
    "no_transport": (r"GSHMEM_TRANSPORT=pigeon.*auto, ucx, loop", 1, {"GSHMEM_TRANSPORT": "pigeon"},
                     "run"),
    "no_plugin": (r"PE 0.*GSHMEM_UCX_PLUGIN.*/nonexistent: cannot open", 1,
                  {"GSHMEM_UCX_PLUGIN": "/nonexistent"}, "run"),
    "no_ucx_tls": (r"PE 0.*starting UCX: No such device, with UCX_TLS=pigeon", 1,
                   {"UCX_TLS": "pigeon"}, "run"),
    "no_ucx_device": (r"PE 0.*starting UCX: No such device, with UCX_TLS=tcp.*UCX_NET_DEVICES=pigeon0",
                      1, {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "pigeon0"}, "run"),
    "no_way": (r"PE \d.*cannot connect.*UCX_TLS=self", 1, {"UCX_TLS": "self"}, "run"),
    "loop_processes": (r"PE 0.*GSHMEM_TRANSPORT=loop.*PE 1 is in another", 1,
                       {"GSHMEM_TRANSPORT": "loop"}, "run"),
    "bad_rings": (r"PE 0.*GSHMEM_PROXY_RINGS=3 is none of", 1, {"GSHMEM_PROXY_RINGS": "3"}, "run"),
    "bad_slots": (r"PE 0.*GSHMEM_PROXY_RING_SLOTS=300 is not a power", 1,
                  {"GSHMEM_PROXY_RING_SLOTS": "300"}, "run"),
    "bad_cpus": (r"PE 0.*GSHMEM_PROXY_CPUS=0-x is not a list of CPUs", 1,
                 {"GSHMEM_PROXY_CPUS": "0-x"}, "run"),
    "bad_nodes": (r"GSHMEM_NODE_PES=few.*whole number", 1, {"GSHMEM_NODE_PES": "few"}, "run"),
    "staged_puts": (DEAD, None, STAGED, "run"),
    "staged_no_memory": (r"PE 0.*failed on PE 0: \d+ bytes of staging buffers .* than a quarter", None,
                         dict(STAGED, GSHMEM_STAGE_CHUNK="8T"), "run"),
    "staged_bad_chunk": (r"GSHMEM_STAGE_CHUNK=100000 is not a multiple of 4096", None,
                         dict(STAGED, GSHMEM_STAGE_CHUNK="100000"), "run"),
    "staged_bad_buffers": (r"GSHMEM_STAGE_BUFFERS=257 is more than 256", None,
                           dict(STAGED, GSHMEM_STAGE_BUFFERS="257"), "run"),
}
WARNINGS = {
    "unknown_variable": (r"GSHMEM_WAIT_TIMEOUTS", 0, {"GSHMEM_WAIT_TIMEOUTS": "1"}, "single"),
}
# The program's arguments; the rest is its own name.
PLAYED = {**{name: "none" for name in FAR},
          "bad_bootstrap": "none", "bad_contexts": "none", "bad_log_file": "none", "bad_number": "none",
          "unknown_launcher": "none",
          "descriptors_closed_alone": "descriptors_closed",
          "unknown_variable": "none", "staged_puts": "die_in_puts", "staged_no_memory": "exit",
          "staged_bad_chunk": "exit", "staged_bad_buffers": "exit"}
# Those that the CPU device alone can tell.
CPU_ONLY = ("outside_kernel", "stream_gone")
# Puts of megabytes load the machine. Of the others, four run at a time if they wait for a death to be found or a
# member that is missing, otherwise two; twice as many with --alone.
HEAVY = re.compile(r"(threads_)?die_in_ctx_puts|staged_puts")
DEATHS = re.compile(r"(threads_)?(die_in_|uid_in_|member_)")
# The number of PEs if PE 3 is missing: with two per node, it is not its node's leader.
MEMBERS = 5
# Cases whose time counts; those before init end by their own time limit.
ALONE = re.compile(r"(threads_)?(die|uid|stuck|member)_(?!before_init)|staged_puts")
# Seconds that the kernel, and PEs that have to find their launcher dead, may take on a busy machine.
SETTLED = 60.0
# What other jobs of the machine leave for a while: longer than any of them.
PATIENCE = 300.0
# By what a wait's limit grows if it passes in another wait than the case's.
LONGER = (1, 4, 16)
TRIES = 3
# The program's output, which must not be lost; "heard" is from its error handler.
SAID = {"printed": "what PE 0 has printed before",
        "before_init": "heard: PE -1, status 1, gshmem_long_p: gshmem_long_p: called before",
        "after_finalize": "heard: PE -1, status 1, gshmem_barrier_all: gshmem_barrier_all: called after",
        "kernel_before_init": "heard: PE -1, status 1, : a kernel made a gshmem call before gshmem_init",
        "outside_kernel": "heard: PE 0, status 1, : a call that is for kernels alone was made by host code",
        "bad_pe": "heard: PE 0, status 1, gshmem_long_p: gshmem_long_p: PE ",
        "ctx_kernel_member": "heard: PE 0, status 1, gshmem_ctx_long_p: gshmem_ctx_long_p (in a kernel"}


def width_of(name):
    """How many cases of its kind run at a time."""
    return 1 if HEAVY.match(name) else 4 if DEATHS.match(name) else 2


def leftovers():
    """Names in shared memory and files of sockets that a job of ours may have made. Abstract sockets end with the
    processes that hold them, and no process of the case may be left."""
    return set(glob.glob("/dev/shm/*gshmem*") + glob.glob("/dev/shm/ucx*") + glob.glob("/tmp/*gshmem*.sock"))


def processes(mark):
    """Live processes that inherited the mark in their environment."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as environ:
                if mark.encode() + b"\0" in environ.read():
                    found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def end_all(mark):
    for pid in processes(mark):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def settled(get):
    """What is still there after a moment: the kernel is slow to clean up dead processes."""
    end = time.monotonic() + SETTLED
    while get() and time.monotonic() < end:
        time.sleep(0.02)
    return get()


def lasting(suspects, patience):
    """The part of (name, leftovers) of a case that stays: other jobs remove theirs."""
    end = time.monotonic() + patience
    while suspects and time.monotonic() < end:
        now = leftovers()
        suspects = [(name, left & now) for name, left in suspects if left & now]
        time.sleep(0.2 if suspects else 0)
    return suspects


def run(options, name, case, suspects):
    """Returns the list of what is wrong; adds to the suspects what may be another job's.

    A limit holds from start-up on, for every PE. If the machine lets a PE run late, it may pass in another wait than
    the one that the case is about, or in a second one, or a PE may not print the report in the seconds that it has:
    then the case is tried again with a longer limit. Of several nodes, each that hears of a loss a quarter of a second
    later than another has a line of its own: a case in which that is all that is wrong is tried three times."""
    words, status, environment, start = case
    if environment != TIMED:
        for _ in range(TRIES if options.node_pes else 1):
            wrong, _ = play(options, name, case, suspects, 0)
            if len(wrong) != 2 or "lines instead of one" not in wrong[0]:
                break
        return wrong
    for limit in LONGER:
        for_members = f"{limit + max(0.1 * limit, 0.2):.1f}"  # GSH_SYNC_LIMIT_NS
        scaled = words.replace(r"1\.0 s", rf"{limit}\.0 s").replace(r"1\.2 s", rf"{re.escape(for_members)} s")
        wrong, output = play(options, name, (scaled, status, {"GSHMEM_WAIT_TIMEOUT": str(limit)}, start), suspects,
                             limit)
        waits = re.findall(r"^gshmem: .*error: .*waited [\d.]+ s", output, re.M)
        is_late = not re.search(scaled, output) or "gshmem: cause: " not in output or len(waits) > 1
        if not wrong or not is_late or not waits:
            break
    return wrong


def play(options, name, case, suspects, limit):
    """What is wrong, and the output. limit: seconds that a wait has, or 0 if none is to reach it."""
    words, status, environment, start = case
    played = PLAYED.get(name, name.replace("uid_", "die_") if start == "uid" else name)
    played = played.replace("threads_", "")
    mark = "GSH_TROUBLE=%d.%s;" % (os.getpid(), name) # no other case's begins like it
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GSHMEM_", "PMI", "OMPI_"))}
    for keep in ("GSHMEM_CONFIG", "GSHMEM_DEVICE", "GSHMEM_PROXY_TIMEOUT", "GSHMEM_SHARE_DEVICE"):
        if keep in os.environ:
            env[keep] = os.environ[keep]
    if options.node_pes:
        env["GSHMEM_NODE_PES"] = str(options.node_pes)
    env.update(environment)
    env["GSH_TROUBLE"] = mark.split("=")[1]
    command = [options.program, played]
    pes = MEMBERS if "member_" in name else 1 if name == "descriptors_closed_alone" else options.pes
    if start == "run":
        command = [options.gshmemrun, "-n", str(pes)] + command
    elif start == "threads":
        command = [options.gshmemrun, "-n", str(pes), "--threads"] + command
    elif start == "uid":
        command += ["uid", str(options.pes)]
    before = leftovers()
    wrong = []
    job = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        output, _ = job.communicate(timeout=LIMIT + limit)
    except subprocess.TimeoutExpired:
        wrong.append("did not end within %g s" % (LIMIT + limit))
        end_all(mark)
        output, _ = job.communicate()
    lines = [line for line in output.splitlines() if re.match(r"gshmem: .*(error|warn)", line)]
    # A wait that reaches its limit has the report of the whole job printed, once.
    n_reports = len(re.findall(r"^gshmem: cause: ", output, re.M))
    if n_reports != (1 if limit else 0):
        wrong.append("%d hang reports" % n_reports)
    told = [line for line in output.splitlines() if line.startswith("gshmemrun: ")]
    if job.returncode < 0:
        wrong.append("died by signal %d" % -job.returncode)
    if status is not None and job.returncode != status:
        wrong.append("status %d, not %d" % (job.returncode, status))
    if status is None and job.returncode == 0:
        wrong.append("status 0")
    if words is None and lines:
        wrong.append("%d lines of error, none wanted" % len(lines))
    # The launcher may find a death before the other PEs do, and end them.
    if words is not None and not any(re.search(words, line) for line in lines + told):
        wrong.append("no line says /%s/" % words)
    if SAID.get(name, "") not in output:
        wrong.append("what was printed is lost")
    # During start-up PEs do not know yet what the others say, nor on other nodes if all leave at once, nor if no
    # network joins them, nor without descriptors.
    is_alone = (name.endswith("before_init") or (options.node_pes and name == "leave_all") or
                name in ("descriptors_closed", "no_transport", "bad_nodes", "no_way"))
    if len(lines) > (options.pes if is_alone else 1):
        wrong.append("%d lines instead of one" % len(lines))
    if settled(lambda: processes(mark)):
        wrong.append("processes left: %s" % processes(mark))
        end_all(mark)
    left = leftovers() - before
    if left:
        suspects.append((name, left))
    if wrong:
        wrong.append("output:\n" + "".join("        %s\n" % line for line in output.splitlines()[-12:]))
    return wrong, output


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gshmemrun")
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--checks", action="store_true", help="the library was built with them")
    parser.add_argument("--pes", type=int, default=3)
    parser.add_argument("--node-pes", type=int, help="pretend nodes of so many")
    parser.add_argument("--alone", action="store_true", help="only cases whose time counts")
    parser.add_argument("--together", action="store_true", help="only the others; other tests run beside")
    options = parser.parse_args()
    cases = dict(CASES, **WARNINGS)
    cases.update(CHECKS if options.checks else UNCHECKED)
    cases.update(FAR if options.node_pes else NEAR)
    if options.node_pes == 2:
        cases.update(FAR_PAIRS)
    if options.program.endswith("_cuda"):
        cases = {name: case for name, case in cases.items() if name not in CPU_ONLY}
    names = [name for name in options.cases or cases
             if not (options.together if ALONE.match(name) else options.alone)]
    failed = 0
    suspects = []
    if not names:
        parser.error("no case is left to run")
    for width in sorted({width_of(name) for name in names}, reverse=True):
        chosen = [name for name in names if width_of(name) == width]
        at_a_time = 2 * width if options.alone and width > 1 else width
        with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
            for name, wrong in zip(chosen, pool.map(lambda name: run(options, name, cases[name], suspects), chosen)):
                print("%-24s %s" % (name, "ok" if not wrong else "FAILED: " + "\n    ".join(wrong)), flush=True)
                failed += bool(wrong)
    for name, left in lasting(suspects, PATIENCE):
        print("%-24s FAILED: left behind: %s" % (name, sorted(left)))
        failed += 1
    print("%d of %d cases failed" % (failed, len(names)))
    return 1 if failed else 0


sys.exit(main())
