#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that gshmem-info --serve gives whoever connects the hang reports of the user's jobs: of a job that hangs, with
its cause; where one PE is stopped, that it is silent, and the others' part; and of a job all of whose processes are
stopped, that one is silent. The socket is the user's alone, a second server is refused, one that was killed is
replaced, and one that is told to end takes its socket away.

On a busy machine a PE may answer too late, so each report is asked for until it is right; one that never is ends by the
test's time limit. Jobs of other tests may be among the reports.

    serve.py GSHMEMRUN GSHMEM_INFO HANG"""

import json
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import tempfile

from asked_one import CASE, N_PES, stop


def serve(info, path):
    """Returns once it serves."""
    server = subprocess.Popen([info, "--serve", path], stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    return server


def poll(path):
    """What a health checker reads: one report for each job."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as checker:
        checker.connect(os.fspath(path))
        with checker.makefile() as lines:
            return [json.loads(line) for line in lines]


def await_report(job, path, kind, states):
    """The job's report, once its PEs have these states, PE 0 waits and the cause is of this kind; None: the job has
    ended."""
    while job.poll() is None:
        for report in poll(path):
            if report.get("launcher") == job.pid and [pe["state"] for pe in report["pes"]] == states and \
                    report["pes"][0]["waits"] and report["verdict"]["kind"] == kind:
                return report
    return None


def check_job(job, path):
    report = await_report(job, path, "unsent", ["answered"] * N_PES)
    if report is None:
        return ["a job that hangs has ended"]
    processes = [pe["process"] for pe in report["pes"]]
    stop(processes[1])
    report = await_report(job, path, "lost", ["answered", "silent", "answered"])
    if report is None:
        return ["a job of which one PE is stopped has ended"]
    for process in processes:
        stop(process)
    found = poll(path)
    if not any("silent_process" in line or line["launcher"] != job.pid for line in found) or \
            any(line.get("launcher") == job.pid for line in found):
        return [f"all PEs are stopped: {found}"]
    return []


def check_servers(info, path):
    wrong = []
    server = serve(info, path)
    found = path.stat().st_mode
    if not stat.S_ISSOCK(found) or stat.S_IMODE(found) != 0o600:
        wrong.append(f"the socket's mode is {found:o}")
    second = subprocess.run([info, "--serve", path], capture_output=True, text=True)
    if second.returncode != 1 or "there is something already" not in second.stderr:
        wrong.append(f"a second server: {second}")
    server.kill()
    server.communicate()
    server = serve(info, path)
    poll(path)
    server.terminate()
    server.communicate()
    if server.returncode != 0 or path.exists():
        wrong.append(f"a server that is told to end: status {server.returncode}, its socket {path.exists()}")
    path.write_text("mine")
    other = subprocess.run([info, "--serve", path], capture_output=True, text=True)
    if other.returncode != 1 or path.read_text() != "mine":
        wrong.append(f"a file in the socket's place: {other}")
    return wrong


def main():
    launcher, info, program = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="gshmem-") as folder:
        wrong = check_servers(info, pathlib.Path(folder) / "other")
        path = pathlib.Path(folder) / "hangs"
        server = serve(info, path)
        job = subprocess.Popen([launcher, "-n", str(N_PES), program, CASE], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, "GSHMEM_WAIT_TIMEOUT": "0"})
        try:
            wrong += check_job(job, path)
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            server.terminate()
            server.communicate()
    print("\n".join(wrong) if wrong else "a checker has seen all of it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
