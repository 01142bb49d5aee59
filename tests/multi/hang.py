#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the report of a job that hangs names the cause: each case of the program hang is started, and
gshmem-info --job asks until the report's last sentence names what was planted. A case that is never named
fails at the limit. Each name in its JSON is one that the guide explains.

    hang.py GSHMEMRUN GSHMEM_INFO PROGRAM [--threads] [--sites] [--gpus N] [CASE ...]

With --sites, the program is compiled with GSHMEM_CALL_SITES, and the sentence has the line of each call.
With --gpus, the program's kernels are for GPUs, of which there are N, and cases of more PEs are left out. So are cases
in which only host threads wait, of calls that have another case: each start of a job there takes seconds.

Each case says when it begins and how long it took, so that whoever ends the test early knows which are left."""

import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

LIMIT = 300.0  # seconds until a case must have been named, on a busy machine
GPU_LIMIT = 100.0  # so that the case is said before the whole test's time limit
AT_ONCE = 2

WORD = r"allocation 1 \(made at hang_cpu\+0x[0-9a-f]+\) \+ 0x"
# What is not known of a GPU.
LEFT, RUN = r": .* nothing is left on its streams", r": .* its kernels run"
BEHIND = r"; behind that 1 piece of work on PE 0's streams has not begun"
# name: (PEs, kind, words of the sentence)
CASES = {
    "missing_signal": (2, "first", r"PE 1 has not written .* PE 0 waits in gshmem_signal_wait_until: " + WORD +
                       r"40 to be == 1, and it is 0" + LEFT),
    "own_words": (2, "first", r"PE 1 has not written .* PE 0 waits in gshmem_signal_wait_until: 32 words from " + WORD +
                  r"40 on to be == 1, and they are 0: "),
    "host_missing_signal": (3, "unsent", r"PE 0 waits in gshmem_signal_wait_until: " + WORD +
                            r"40 to be >= 7, and it is 0; PEs 1 and 2, which do not wait, have not written it"),
    "busy_words": (2, "first", r"PE 1 has not written .*" + WORD + r"40 to be == 1, and it is 0" + RUN),
    "wrong_pe": (3, "unsent", r"PE 1 waits .*" + WORD + r"0 to be == 1.*PE 2's copy .* written there instead"),
    "wrong_address": (2, "first", r"PE 0 has not written .* PE 1 waits .*" + WORD +
                      r"18 to be == 5.*the word 8 bytes further on is as it should be"),
    "wrong_value": (2, "first", r"PE 0 has not written .* PE 1 waits .* to be == 2, and it is 3.*; "
                    r"the word is beyond that already"),
    "vector_wait": (2, "first", r"PE 0 has not written .* PE 1 waits in gshmem_int_wait_until_all: " + WORD +
                    r"4 to be > 0"),
    "host_vector_any": (2, "first", r"PE 0 has not written .* PE 1 waits in gshmem_int_wait_until_any"),
    "two_cycle": (2, "cycle", r"PE 0 waits for PE 1 in gshmem_signal.*0x0.*, and PE 1 waits for PE 0 .*0x8"),
    "three_cycle": (3, "unsent", r"PE 0 waits in .*; every other PE waits, too"),
    "barrier_absent": (3, "first", r"PE 2 has not made gshmem_barrier_all of team 0: arrival \d+, for which PE 0"),
    "kernel_barrier_absent": (3, "first", r"PE 1 has not made gshmem_barrier_all of team 0: arrival \d+"),
    "sync_absent": (2, "first", r"PE 0 has not made gshmem_sync_all of team 0"),
    "team_sync_absent": (2, "first", r"PE 1 has not made gshmem_team_sync of team \d+ \(PEs 0 to 1\): "
                        r"arrival 1, .* PE 0 waits"),
    "broadcast_absent": (2, "first", r"PE 0 has not made gshmem_long_broadcast"),
    "reduce_absent": (3, "first", r"PE 2 has not made gshmem_long_sum_reduce"),
    "alltoall_absent": (2, "first", r"PE 1 has not made gshmem_long_alltoall"),
    "fcollect_absent": (2, "first", r"PE 1 has not made gshmem_long_fcollect"),
    "malloc_absent": (2, "first", r"PE 1 has not made gshmem_malloc"),
    "teams_reversed": (2, "cycle", r"PE 0 waits for PE 1 in gshmem_team_sync of team (\d+) \(PEs 0 to 1\): .*"
                       r"PE 1 waits for PE 0 in gshmem_team_sync of team (?!\1)\d+"),
    "kernel_teams_reversed": (2, "cycle", r"PE 0 waits for PE 1 in gshmem_team_sync of team (\d+) \(PEs 0 to 1\): .*"
                              r"PE 1 waits for PE 0 in gshmem_team_sync of team (?!\1)\d+"),
    "lock_kept": (2, "first", r"PE 1 holds the lock for which PE 0 waits in gshmem_set_lock"),
    "kernel_lock_kept": (2, "first", r"PE 1 holds the lock for which PE 0 waits in gshmem_set_lock.*" + WORD + "0"),
    "lock_and_barrier": (2, "cycle", r"PE 0 waits for PE 1 in gshmem_set_lock.*, and PE 1 waits for PE 0 in "
                         r"gshmem_barrier_all"),
    "own_lock": (2, "own", r"PE 0 waits for its own thread that has the lock in gshmem_set_lock"),
    "stopped": (3, "lost", r"PE 1 does not answer: its process \d+ is stopped by a signal; PE [02] waits for PE 1 in "
                r"gshmem_barrier_all"),
    "stopped_sender": (3, "lost", r"PE 2 does not answer: .* is stopped by a signal; PE 0 waits in gshmem_signal_wait"),
    "debugged": (3, "lost", r"PE 1 does not answer: its process \d+ is stopped by a debugger; PE [02] waits for PE 1 "
                 r"in gshmem_barrier_all"),
    "unscheduled": (3, "lost", r"PE 1 does not answer: its process \d+ is alive, but the library's thread in it that "
                    r"answers does not run; PE [02] waits for PE 1 in gshmem_barrier_all"),
    "dead": (3, "lost", r"PE 1 does not answer: it has ended; PE [02] waits for PE 1 in gshmem_barrier_all"),
    "stream_behind_wait": (2, "cycle", r"PE 0 waits for PE 1 in gshmemx_signal_wait_until_on_stream: " + WORD +
                           r"8 .*" + BEHIND + r", and PE 1 waits for PE 0 in gshmem_signal_wait_until: " + WORD + "0"),
    "kernel_not_resident": (1, "unsent", r"PE 0 waits in gshmem_signal_wait_until: " + WORD + r"0 to be == 1.*" +
                            BEHIND),
    "far_stopped": (2, "lost", r"PE 1 does not answer: its process \d+ is stopped by a signal; PE 0 waits for PE 1 in "
                    r"gshmem_uint64_atomic_fetch_inc: the network's work"),
    "host_far_stopped": (2, "lost", r"PE 1 does not answer: its process \d+ is stopped by a signal; PE 0 waits for "
                         r"PE 1 in gshmem_uint64_atomic_fetch_inc: the network's work, 0 of 1"),
    "proxy_dead": (2, "first", r"PE 1 does not answer the network: PE 0 waits in gshmem_uint64_atomic_fetch_inc"),
    "nic_late": (2, "first", r"PE 1 does not answer the network: PE 0 waits in gshmem_uint64_atomic_fetch_inc"),
    "finalize_early": (2, "cycle", r"PE 0 waits for PE 1 in gshmem_barrier_all.* PE 1 waits for PE 0 in "
                       r"gshmem_finalize"),
    "one_missing": (4, "unsent", r"PE 1 has not made gshmem_barrier_all of team 0: (arrival \d+), for which PE \d "
                    r"waits: it waits itself in gshmem_signal_wait_until: " + WORD + r"40 to be == 1, and it is 0; "
                    r"PEs 0, 2 and 3 have left their kernels and wait in gshmem_barrier_all of team 0: \1$"),
    "chain": (3, "unsent", r"PE 1 has not made gshmem_barrier_all .* PE 0 waits: it waits itself in "
              r"gshmem_signal_wait_until: .*; PE 2, which does not wait, has not written it"),
    "alone": (1, "unsent", r"PE 0 waits in .* no other PE"),
}
PROCESSES_ONLY = {"own_lock", "stopped", "stopped_sender", "debugged", "unscheduled", "dead", "far_stopped",
                  "host_far_stopped", "proxy_dead"}
# Each has a sibling that waits in the same way, or, as nic_late, no GPU of another process can do it, or says what GPUs
# do not tell; 25 are left on two GPUs.
NOT_ON_GPUS = {"alltoall_absent", "host_far_stopped", "nic_late", "debugged", "unscheduled", "dead", "one_missing"}
# The PEs of each node; the network waits for ever.
FAR = {"far_stopped": 1, "host_far_stopped": 1, "proxy_dead": 1, "nic_late": 1, "one_missing": 2}
# A stopped process is asked so often: more often than it takes connections.
ASKED_OFTEN, N_ASKS = "stopped_sender", 24
# What PE 0 has asked of PE 1, and still waits for.
OLDEST = {"far_stopped": "atomic", "host_far_stopped": "atomic", "proxy_dead": "atomic"}
# The same of a NIC: its entry.
OLDEST_POSTED = {"nic_late": "fetch-add"}


def far_environment(node_pes):
    return {"GSHMEM_NODE_PES": str(node_pes), "GSHMEM_PROXY_TIMEOUT": "0"}


def slow_nic(threads):
    """A model of a NIC that takes hours; that of threads has no doorbell records, as with GPUs."""
    return {"GSHMEM_REMOTE": "nic", "GSHMEM_NIC": "model",
            "GSHMEM_NIC_MODEL": f"delay=4294967295,record={0 if threads else 1}"}


def on_gpus(words):
    """A case's words, without what is not known of a GPU."""
    for part in (LEFT, RUN, BEHIND):
        words = words.replace(part, "")
    return words.replace("hang_cpu", "hang_cuda")


def with_sites(words):
    """A case's words, with the line of each call."""
    words = re.sub(r"(gshmemx?_[a-z0-9_]+)", r"\1 at hang\.cu:\\d+", words)
    return words.replace(r"hang_cpu\+0x[0-9a-f]+", r"pe\.cuh:\d+")  # test_heap's line


def say(text):
    sys.stdout.write(f"{text}\n")  # one piece, since cases run at the same time
    sys.stdout.flush()


def timed(name, run_it):
    """Says when the case begins and ends. Returns what is wrong."""
    start = time.monotonic()
    say(f"{name}: begins")
    wrong = run_it()
    say(f"{name}: {'wrong' if wrong else 'named'} after {time.monotonic() - start:.1f} s")
    return wrong


def ask(info, name):
    done = subprocess.run([info, "--job", str(name), "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def ask_until(command, info, is_right, environment):
    """Starts a job that hangs, asks for its report until that is right, and ends it. Returns None, or how it ended, its
    latest report and its errors, as a text."""
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
                           env=environment)
    report, end, result = None, time.monotonic() + LIMIT, None
    try:
        while time.monotonic() < end and job.poll() is None:
            report = ask(info, job.pid) or report
            if report and is_right(report):
                break
        else:
            ended = "" if job.poll() is None else f"the job has ended with status {job.poll()}: "
            result = f"{ended}{json.dumps(report)}"
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        _, errors = job.communicate()
    return result and f"{result}\n{errors.decode()}"


def ask_often(info, name):
    asks = [subprocess.Popen([info, "--job", str(name), "--json"], stdout=subprocess.DEVNULL) for _ in range(N_ASKS)]
    for one in asks:
        one.wait()


def names_in(value):
    """All names of a JSON value."""
    if isinstance(value, list):
        return set().union(*map(names_in, value))
    return set(value).union(*map(names_in, value.values())) if isinstance(value, dict) else set()


def documented():
    """The words of the block in the guide that explains the names."""
    guide = pathlib.Path(__file__).resolve().parents[2] / "docs/guide/hangs.md"
    block = guide.read_text().partition("## For programs")[2].partition("```text")[2].partition("```")[0]
    return set(re.findall(r"[a-z_]+", block))


def has_oldest(report, name):
    """Whether PE 0's oldest request, and its NIC's oldest entry, are said with their ages if the case has them."""
    for wanted, count, field in ((OLDEST, "requests", "oldest_request"),
                                 (OLDEST_POSTED, "nic_entries", "oldest_nic_entry")):
        oldest = report["pes"][0].get(field)
        if name in wanted and (oldest is None or (oldest["name"], oldest["pe"]) != (wanted[name], 1) or
                               oldest["seconds"] <= 0 or report["pes"][0][count] <= 0):
            return False
    return True


def run_case(args, name):
    """None, or what is wrong."""
    n, kind, words = CASES[name]
    words = on_gpus(words) if args.gpus else with_sites(words) if args.sites else words
    command = [args.gshmemrun, "-n", str(n)] + (["--threads"] if args.threads else []) + [args.program, name]
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
                           env={**os.environ, "GSHMEM_WAIT_TIMEOUT": "0",
                                **(far_environment(FAR[name]) if name in FAR else {}),
                                **(slow_nic(args.threads) if name in OLDEST_POSTED else {})})
    report, result, is_asked_often = None, None, name != ASKED_OFTEN
    limit = GPU_LIMIT if args.gpus else LIMIT
    end = time.monotonic() + limit
    try:
        while time.monotonic() < end and job.poll() is None:
            report = ask(args.info, job.pid) or report
            verdict = report["verdict"] if report else {"kind": "", "text": ""}
            if verdict["kind"] == kind and re.search(words, verdict["text"]) and has_oldest(report, name):
                if is_asked_often:
                    break
                ask_often(args.info, job.pid)
                is_asked_often = True
        else:
            ended = f" (in {limit:g} s)" if job.poll() is None else f" (it has ended with status {job.poll()})"
            result = f"{name}{ended}: no report that says {kind}, {words!r}; the last one: {json.dumps(report)}"
        unknown = names_in(report) - documented()
        if unknown:
            result = f"{name}: docs/guide/hangs.md does not explain {unknown}"
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        _, errors = job.communicate()
    return f"{name}: {errors.decode()}" if b"Sanitizer" in errors else result


def ask_by_signal(args, name, send, words):
    """None if the job prints a line with the words, and goes on, after signals; else what is wrong. A report may come
    before all waits answer, so each that says something else is asked for again."""
    job = subprocess.Popen([args.gshmemrun, "-n", "2", args.program, name], stderr=subprocess.PIPE,
                           stdout=subprocess.DEVNULL, start_new_session=True, text=True,
                           env={**os.environ, "GSHMEM_WAIT_TIMEOUT": "0"})
    end = threading.Timer(GPU_LIMIT if args.gpus else LIMIT, job.kill)
    end.start()
    said = ""
    try:
        report = None
        # Who answers has its handler; the first waits may be start-up's.
        while job.poll() is None and not (report and report["pes"][0].get("waits") and
                                          all(pe["state"] == "answered" for pe in report["pes"])):
            report = ask(args.info, job.pid)
        send(job, report)
        for line in job.stderr:
            said += line
            if re.search(words, line):
                return None if job.poll() is None else f"a signal in {name}: the job has ended"
            if "gshmem: cause: " in line:
                send(job, report)
        return f"a signal in {name}: no line says {words!r}: {said}"
    finally:
        end.cancel()
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        job.communicate()


# Cases in which a time limit passes: the only line of an error, and words of the cause.
LIMITED = {
    "two_cycle": (r"PE [01]: error: gshmem_signal_wait_until \(in a kernel, .*: waited ",
                  r"PE 0 waits for PE 1 in gshmem_signal_wait_until: .*, and PE 1 waits for PE 0 in "
                  r"gshmem_signal_wait_until: "),
    "host_missing_signal": (r"PE 0: error: gshmem_signal_wait_until: waited ", r"gshmem_signal_wait_until: "),
    "broadcast_absent": (r"PE 1: error: gshmem_long_broadcast \(host call, by the library's kernel\): waited ",
                         r"PE 0 has not made gshmem_long_broadcast"),
    "malloc_absent": (r"PE 0: error: gshmem_malloc: waited .* for PE 1 in a collective call",
                      r"PE 1 has not made gshmem_malloc"),
}
# Seconds. On a slow machine a limit may pass before the PEs have come to their waits, and a PE may answer, or print,
# too late: then the job is tried again.
LIMITS = [1, 2, 4] * 5


def limited(args, name):
    """None, or what is wrong: with a time limit the job says why it ends by one line, and the report, with the places
    of all calls."""
    line, cause = (with_sites(words) if args.sites else words for words in LIMITED[name])
    for limit in LIMITS:
        done = subprocess.run([args.gshmemrun, "-n", str(CASES[name][0]), args.program, name], capture_output=True,
                              text=True, timeout=LIMIT, env={**os.environ, "GSHMEM_WAIT_TIMEOUT": str(limit)})
        lines = re.findall(r"^gshmem: .*error: .*", done.stderr, re.M)
        if len(lines) == 1 and re.search(line, lines[0]) and re.search("gshmem: cause: .*" + cause, done.stderr):
            return None
    return f"{name} with a limit: not the only line, {line!r}, or no cause, {cause!r}: {done.stderr}"


def signals(args):
    """SIGQUIT to gshmemrun and SIGUSR2 to a PE print the report; a program's own handler stays. {name: test}"""
    cause = r"gshmem: cause: PE 1 has not written the word"
    to_pe = lambda job, report: os.kill(report["pes"][1]["process"], signal.SIGUSR2)
    to_launcher = lambda job, report: job.send_signal(signal.SIGQUIT)
    return {"SIGQUIT to gshmemrun": lambda: ask_by_signal(args, "host_missing_signal", to_launcher, cause),
            "SIGUSR2 to a PE": lambda: ask_by_signal(args, "host_missing_signal", to_pe, cause),
            "the program's own handler": lambda: ask_by_signal(args, "own_handler", to_pe, "^own handler$")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gshmemrun")
    parser.add_argument("info")
    parser.add_argument("program")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--sites", action="store_true")
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    names = args.cases or [c for c in CASES if not (args.threads and c in PROCESSES_ONLY) and
                           not (args.gpus and (args.gpus < CASES[c][0] or c in NOT_ON_GPUS))]
    tests = {name: functools.partial(run_case, args, name) for name in names} | ({} if args.cases else signals(args))
    if args.sites:
        tests |= {f"{name} with a limit": functools.partial(limited, args, name) for name in LIMITED}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [w for w in pool.map(timed, tests.keys(), tests.values()) if w]
    say("\n".join(wrong) if wrong else f"{len(names)} hangs named")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
