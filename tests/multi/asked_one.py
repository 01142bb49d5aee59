#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that who asks for one job's hang report asks no other job. One job hangs; of a second one this script plays a
process: it has that process's sockets, and sees who connects, which is the first step of a question. The first job is
named by its number in reports, by gshmemrun's process and by a PE's, and asked by gshmemrun and by a PE themselves:
the other one is not asked, and each report has all PEs of the first. Asked for without a name, the other one is.
A job all of whose processes are stopped is named as such.

On a busy machine a PE may answer too late, so each report is asked for until it is whole; one that never is ends by
the test's time limit.

    asked_one.py GSHMEMRUN GSHMEM_INFO HANG"""

import json
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys

CASE, N_PES = "host_missing_signal", 3


class Other:
    """A process of another job, as askers find it (hang/names.h)."""

    def __init__(self):
        process = f"{secrets.randbits(64):016x}.{os.getpid()}"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(f"\0gshmem-hang.{process}")
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.job = f"{secrets.randbits(32):08x}"
        self.mark = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.mark.bind(f"\0gshmem-hang-job.{process}.{self.job}.0")

    def askers(self):
        """The numbers of the processes that have connected since the last call. Other tests may be among them."""
        found = set()
        while True:
            try:
                connection, _ = self.listener.accept()
            except BlockingIOError:
                return found
            found.add(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])
            connection.close()


def ask(info, *name):
    """The report, None if there is none, the errors, and the asker's number."""
    asker = subprocess.Popen([info, "--job", *name, "--json"], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    out, errors = asker.communicate()
    return json.loads(out) if asker.returncode == 0 else None, errors, asker.pid


def is_whole(report):
    return report is not None and len(report["pes"]) == N_PES and all(pe["state"] == "answered"
                                                                       for pe in report["pes"])


def ask_by_signal(pid, number, job):
    """The lines up to the end of the report that the process prints in the job's errors at that signal."""
    os.kill(pid, number)
    said = ""
    for line in job.stderr:
        said += line
        if "gshmem: cause: " in line:
            break
    return said


def stop(pid):
    """Returns once all threads are stopped."""
    def is_stopped():
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat") as f:
                if f.read().rpartition(")")[2].split()[0] != "T":
                    return False
        return True

    os.kill(pid, signal.SIGSTOP)
    while not is_stopped():
        os.sched_yield()


def check(job, info, other):
    """What is wrong. Ends early if the job does."""
    report, wrong = None, []
    while not is_whole(report):
        report, _, _ = ask(info, str(job.pid))
        if job.poll() is not None:
            return [f"the job has ended with status {job.poll()}"]
    processes = [pe["process"] for pe in report["pes"]]
    other.askers()
    for what, name in (("name", report["job"]), ("launcher", str(job.pid)), ("PE", str(processes[1]))):
        one = None
        while not is_whole(one) and job.poll() is None and not wrong:
            one, errors, pid = ask(info, name)
            if one and one["job"] != report["job"]:
                wrong.append(f"by its {what}: {one}, {errors}")
            if pid in other.askers():
                wrong.append(f"by its {what}: the other job is asked, too")
    for what, pid, number in (("gshmemrun", job.pid, signal.SIGQUIT), ("PE", processes[2], signal.SIGUSR2)):
        said = ""
        while any(f"  PE {pe}, process {processes[pe]} " not in said for pe in range(N_PES)) and \
                job.poll() is None and not wrong:
            said = ask_by_signal(pid, number, job)
            if pid in other.askers():
                wrong.append(f"asked by {what}: the other job is asked, too")
    for pid in processes:
        stop(pid)
    one, errors, pid = ask(info, report["job"])
    if one is not None or "gshmem-info: the job does not answer: its process " not in errors or \
            "is stopped by a signal" not in errors:
        wrong.append(f"stopped: {one}, {errors}")
    if pid in other.askers():
        wrong.append("stopped: the other job is asked")
    # What would have been seen:
    _, _, pid = ask(info)
    if pid not in other.askers():
        wrong.append("without a name: the other job is not asked")
    _, errors, pid = ask(info, other.job)
    if pid not in other.askers() or f"its process {os.getpid()} " not in errors:
        wrong.append(f"by the other job's name: it is not asked, or not said to be silent: {errors}")
    return wrong + ([f"the job has ended with status {job.poll()}"] if job.poll() is not None else [])


def main():
    launcher, info, program = sys.argv[1:]
    job = subprocess.Popen([launcher, "-n", str(N_PES), program, CASE], stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True, start_new_session=True,
                           env={**os.environ, "GSHMEM_WAIT_TIMEOUT": "0"})
    try:
        wrong = check(job, info, Other())
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        job.communicate()
    print("\n".join(wrong) if wrong else "the other job was left alone")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
