#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves jobs over several hosts, which are network namespaces here: programs agree, loss and delay are survived, and a
cut wire or a killed PE ends the job soon, with one line that names that PE and no other.

    nodes.py GSHMEMRUN BUILD_FOLDER [CASE ...]

Exits 77 where the machine allows no namespaces."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab

PATIENCE = 300.0  # seconds for a run that is to end by itself, with others beside it
LIMIT = 60.0  # from the trouble to the end of the job, on a busy machine; without its notice it would not end at all
SETTLED = 60.0  # for the kernel, with processes that have just been ended
HOSTS = "h0:2,h1:2"
BASE = {"GSHMEM_DEVICE": "cpu", "UCX_TLS": "tcp,self", "GSHMEM_WAIT_TIMEOUT": "100"}
# TCP backs off for seconds after losing a packet several times; that does not make a PE dead.
PATIENT = {"GSHMEM_PROXY_TIMEOUT": "60"}


class Failed(Exception):
    pass


class Bench:
    def __init__(self, launcher, build):
        self.launcher = os.path.abspath(launcher)
        self.build = os.path.abspath(build)

    def start(self, net, program, *arguments, hosts=HOSTS, environment=None):
        """By gshmemrun on h0."""
        words = [self.launcher, "--hosts", hosts, "--agent", lab.AGENT,
                 os.path.join(self.build, program), *arguments]
        return subprocess.Popen(net.command(0, *words), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True,
                                env={**os.environ, **BASE, **(environment or {})})

    def finish(self, job, limit=PATIENCE):
        """Status, stdout, stderr; a job that does not end by itself fails the case."""
        try:
            out, err = job.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            out, err = job.communicate()
            raise Failed(f"still running after {limit:.0f} s; it said:\n{out}{err}") from None
        return job.returncode, out, err

    def pass_(self, net, program, *arguments, **options):
        status, out, err = self.finish(self.start(net, program, *arguments, **options))
        if status != 0:
            raise Failed(f"{program}: status {status}; it said:\n{out}{err}")
        return out

    def wait_until_running(self, job):
        line = job.stdout.readline()
        if line != "running\n":
            raise Failed(f"did not start: {line!r}\n{self.finish(job)}")

    def pids(self, program):
        """Process ids of the PEs, in order of their numbers."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    environ = dict(v.partition(b"=")[::2] for v in f.read().split(b"\0"))
                if os.readlink(f"/proc/{pid}/exe").endswith(program):
                    found[int(environ[b"GSHMEM_RANK"])] = int(pid)
            except (OSError, KeyError, ValueError):
                pass
        return [found[rank] for rank in sorted(found)]

    def ends_well(self, job, wanted):
        """One line from gshmem or its launcher in the expected words, in time, and no process left."""
        status, out, err = self.finish(job, LIMIT)
        lines = [l for l in err.splitlines() if l.startswith("gshmem")]
        if status == 0:
            raise Failed(f"status {status}; it said:\n{out}{err}")
        if not any(re.search(wanted, l) for l in lines):
            raise Failed(f"nobody said /{wanted}/; it said:\n{out}{err}")
        blames = [l for l in lines if re.search(r"PE \d+: error: PE \d+\b", l)]
        if not all(re.search(wanted, l) for l in blames):
            raise Failed(f"somebody is blamed who is not in /{wanted}/; it said:\n{out}{err}")
        end = time.monotonic() + SETTLED
        while self.pids("storm_cpu"):
            if time.monotonic() > end:
                raise Failed("processes are left")
            time.sleep(0.02)
        return err


# ---- cases: name -> what it does in a network ----

def agree(bench):
    """Programs that check themselves, over two hosts of two PEs."""
    with lab.Lab() as net:
        bench.pass_(net, "examples/hello")
        bench.pass_(net, "examples/ring_cpu")
        bench.pass_(net, "examples/put_signal_cpu")
        bench.pass_(net, "examples/on_stream_cpu")
        for variant in ("host", "kernel", "persistent"):
            out = bench.pass_(net, "examples/jacobi_cpu", "--variant", variant, "--nx", "200",
                              "--ny", "130", "--iterations", "60", "--quiet")
            if not re.search(r": right$", out, re.M):
                raise Failed(f"jacobi {variant}: {out}")


def conform(bench):
    """The conformance programs themselves."""
    with lab.Lab() as net:
        bench.pass_(net, "tests/check_cpu", "--quick")
        bench.pass_(net, "tests/check_amo_cpu", "--quick")
        for name, count in {"order": 20, "sync": 20, "wait": 20, "amo": 2, "heap": 1,
                            "stream": 20, "routes": 2}.items():
            bench.pass_(net, f"tests/{name}_cpu", f"--count={count}")


def collectives(bench):
    """Collectives of the host and on streams, by way of the leaders and in pieces. The program's model
    knows nodes by GSHMEM_NODE_PES; here they are the hosts."""
    with lab.Lab() as net:
        for table in ({}, {"GSHMEM_COLLECTIVES": "far=1K,far_piece=4K"}):
            bench.pass_(net, "tests/coll_host_cpu", "--count=1",
                        environment={"GSHMEM_NODE_PES": "2", **table})


def uneven(bench):
    """Three hosts with 1, 3 and 2 PEs."""
    with lab.Lab(3) as net:
        for mode in ("mixed", "barriers", "grow"):
            bench.pass_(net, "tests/storm_cpu", mode, "--rounds=6", hosts="h0:1,h1:3,h2:2")


def mpirun(bench):
    """The same by mpirun, whose agent plays ssh: hosts one behind the other, and PEs dealt to them by turns. With an
    interface by which hosts do not reach each other, all tell all."""
    if not shutil.which("mpirun"):
        raise lab.Unavailable("mpirun is not installed")
    for ifname, order in (("wire", "slot"), ("wire", "node"), ("lo", "slot")):
        mpirun_by(bench, ifname, order)


def mpirun_by(bench, ifname, order):
    told = "so all PEs tell all their addresses"
    with lab.Lab() as net:
        words = ["mpirun", "--mca", "plm_rsh_agent", f"{lab.AGENT} --shell", "--mca", "btl_tcp_if_include",
                 "wire", "--mca", "oob_tcp_if_include", "wire", "--host", HOSTS, "--map-by", order, "-n", "4"]
        debug = {"GSHMEM_UID_IFNAME": ifname, "GSHMEM_DEBUG": "info", "GSHMEM_DEBUG_SUBSYS": "bootstrap"}
        for name in ("GSH_LAB_h0", "GSH_LAB_h1", "LD_LIBRARY_PATH", *BASE, *debug):
            words += ["-x", name]
        words += [os.path.join(bench.build, "tests/storm_cpu"), "mixed", "--rounds=4"]
        allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        job = subprocess.Popen(net.command(0, *words), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True,
                               env={**os.environ, **BASE, **allow, **debug})
        status, out, err = bench.finish(job)
        if status != 0 or (told in err) != (ifname == "lo"):
            raise Failed(f"{ifname}, by {order}: status {status}; it said:\n{out}{err}")


def lossy(bench):
    """5 % of the packets are lost, the others take 50 ms: slow, but correct."""
    with lab.Lab(is_lossy=True) as net:
        net.wire.say("loss", 0.05)
        net.wire.say("delay", 0.05)
        bench.pass_(net, "tests/storm_cpu", "mixed", "--rounds=3", environment=PATIENT)
        bench.pass_(net, "examples/put_signal_cpu", hosts="h0:1,h1:1", environment=PATIENT)


def end_storm(bench, mode, trouble, wanted, environment=None):
    usual = {"GSHMEM_PROXY_TIMEOUT": "8"}
    with lab.Lab() as net:
        job = bench.start(net, "tests/storm_cpu", mode, "--rounds=0", environment={**usual, **(environment or {})})
        bench.wait_until_running(job)
        trouble(net)
        return bench.ends_well(job, wanted)


def kill(bench, rank):
    return lambda net: os.kill(bench.pids("storm_cpu")[rank], signal.SIGKILL)


def kill_in_storm(bench):
    """A PE of the second host dies while all PEs put."""
    end_storm(bench, "mixed", kill(bench, 3), r"PE 3\b")


def kill_in_storm_here(bench):
    """A PE of the launcher's host dies."""
    end_storm(bench, "mixed", kill(bench, 1), r"PE 1\b")


def kill_in_barriers(bench):
    end_storm(bench, "barriers", kill(bench, 2), r"PE 2\b")


def kill_in_growth(bench):
    end_storm(bench, "grow", kill(bench, 3), r"PE 3\b")


def kill_in_staging(bench):
    """A PE dies while megabytes are under way through buffers, granted and full."""
    for rank in (3, 0):
        end_storm(bench, "large", kill(bench, rank), rf"PE {rank}\b", {"GSHMEM_STAGE": "always"})


def staged(bench):
    """Programs that check themselves, with all data through buffers, also over a bad wire."""
    always = {"GSHMEM_STAGE": "always", "GSHMEM_STAGE_CHUNK": "64K"}
    with lab.Lab() as net:
        bench.pass_(net, "tests/storm_cpu", "large", "--rounds=3", environment=always)
        bench.pass_(net, "tests/storm_cpu", "mixed", "--rounds=5", environment=always)
        bench.pass_(net, "tests/check_cpu", "--quick", environment=always)
    with lab.Lab(is_lossy=True) as net:
        net.wire.say("loss", 0.05)
        net.wire.say("delay", 0.05)
        bench.pass_(net, "tests/storm_cpu", "mixed", "--rounds=1",
                    environment={**always, **PATIENT})


def cut(bench):
    """The wire of the second host is broken: no more answers, no end of a connection. Each side names a PE of the
    other, and prints what its own PEs wait for."""
    across = r"PE [01]: error: PE [23]\b|PE [23]: error: PE [01]\b"
    said = end_storm(bench, "mixed", lambda net: net.cut(1), across, {"GSHMEM_PROXY_TIMEOUT": "5"})
    if "gshmem: cause: " not in said:
        raise Failed(f"the proxy's limit has passed without a report; it said:\n{said}")


def hang_report(bench):
    """gshmem-info on a host asks the other one; a PE that is stopped there is named as such."""
    info = os.path.join(bench.build, "gshmem-info")
    with lab.Lab() as net:
        for host in (0, 1):
            job = bench.start(net, "tests/hang_cpu", "barrier_absent")
            try:
                text, stopped, end = "", None, time.monotonic() + PATIENCE
                while time.monotonic() < end and job.poll() is None:
                    done = subprocess.run(net.command(host, info, "--job", "--json"), capture_output=True, text=True)
                    text = done.stdout + done.stderr
                    report = json.loads(done.stdout) if done.returncode == 0 else {"pes": [], "verdict": {"text": ""}}
                    answered = [pe["pe"] for pe in report["pes"] if pe["state"] == "answered"]
                    verdict = report["verdict"]["text"]
                    if stopped is None and answered == [0, 1, 2, 3] and re.match(
                            r"PE 2 has not made gshmem_barrier_all .* for which PE [013] waits", verdict):
                        stopped = bench.pids("hang_cpu")[2]
                        os.kill(stopped, signal.SIGSTOP)
                    elif re.match(r"PE 2 does not answer: its process \d+ is stopped by a signal", verdict):
                        break
                else:
                    ended = "" if job.poll() is None else "; the job has ended: " + "".join(job.communicate())
                    raise Failed(f"on host {host} nothing names the cause; the last report: {text}{ended}")
            finally:
                for pid in bench.pids("hang_cpu"):
                    with contextlib.suppress(ProcessLookupError): # with one of them the job ends
                        os.kill(pid, signal.SIGKILL)
                if job.poll() is None:
                    os.killpg(job.pid, signal.SIGKILL)
                job.communicate()


CASES = [agree, conform, collectives, uneven, mpirun, lossy, kill_in_storm, kill_in_storm_here, kill_in_barriers,
         kill_in_growth, kill_in_staging, staged, cut, hang_report]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        lab.enter()
    except lab.Unavailable as e:
        print("skipped: no network namespaces:", e)
        sys.exit(77)
    bench = Bench(sys.argv[1], sys.argv[2])
    wanted, n_failed, n_skipped = sys.argv[3:], 0, 0
    unknown = set(wanted) - {case.__name__ for case in CASES}
    if unknown:
        sys.exit("nodes.py: no such case: " + ", ".join(sorted(unknown)))
    for case in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        begun = time.monotonic()
        try:
            case(bench)
            verdict = "passed"
        except lab.Unavailable as e:
            n_skipped += 1
            verdict = f"skipped: {e}"
        except Failed as e:
            n_failed += 1
            verdict = f"FAILED: {e}"
        print(f"{case.__name__}: {time.monotonic() - begun:.1f} s: {verdict}", flush=True)
    sys.exit(1 if n_failed else 77 if n_skipped else 0)


if __name__ == "__main__":
    main()
