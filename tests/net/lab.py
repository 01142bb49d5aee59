# SPDX-License-Identifier: Apache-2.0
"""Several hosts on one machine: network namespaces joined by a wire that can lose, delay and be cut.

The caller's process moves into a user namespace of its own first (enter), so that no privilege is
needed and nothing is left behind: every namespace dies with the processes in it."""

import ctypes
import fcntl
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
import traceback

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TAP_NO_PI = 0x0002 | 0x1000
AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.sh")


class Unavailable(Exception):
    """This machine does not allow such namespaces; the message says what it refused."""


def enter():
    """Continues this program in a user and network namespace of its own."""
    if os.environ.get("GSH_LAB_INSIDE"):
        return
    for tool in ("unshare", "nsenter", "ip", "hostname"):
        if not shutil.which(tool):
            raise Unavailable(f"{tool} is not installed")
    probe = subprocess.run(["unshare", "-Urn", "true"], capture_output=True, text=True)
    if probe.returncode != 0:
        raise Unavailable("unshare -Urn: " + probe.stderr.strip())
    os.environ["GSH_LAB_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", "-Urn", "--kill-child", sys.executable, *sys.argv])


def _set_netns(fd):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _ip(*words, pid=None):
    inside = ["nsenter", "-t", str(pid), "-n"] if pid else []
    done = subprocess.run([*inside, "ip", *words], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Unavailable(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Lab:
    """Hosts h0, h1, ... with addresses 10.0.0.1, 10.0.0.2, ... on interface `wire`.

    is_lossy: the wire is a program (Wire) instead of a kernel device."""

    def __init__(self, n_hosts=2, is_lossy=False):
        self.holders = []
        self.wire = None
        self.names = [f"h{i}" for i in range(n_hosts)]
        for i in range(n_hosts):
            # UCX looks for interfaces in /sys, which shows those of the namespace in which it was mounted; Open MPI's
            # daemons name their files in /tmp by the host's name
            holder = subprocess.Popen(
                ["unshare", "-nmu", "sh", "-c",
                 'hostname "$0" && mount -t sysfs sysfs /sys && echo in && exec cat', self.names[i]],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            if holder.stdout.readline() != b"in\n":
                raise Unavailable("a host cannot have a name or /sys of its own")
            self.holders.append(holder)
            os.environ[f"GSH_LAB_{self.names[i]}"] = str(holder.pid)
        if is_lossy:
            self.wire = Wire([h.pid for h in self.holders])
        else:
            self._make_bridge()
        for i, holder in enumerate(self.holders):
            _ip("link", "set", "lo", "up", pid=holder.pid)
            _ip("addr", "add", f"10.0.0.{i + 1}/24", "dev", "wire", pid=holder.pid)
            _ip("link", "set", "wire", "up", pid=holder.pid)

    def _make_bridge(self):
        _ip("link", "add", "hub", "type", "bridge")
        _ip("link", "set", "hub", "up")
        for i, holder in enumerate(self.holders):
            _ip("link", "add", f"port{i}", "type", "veth", "peer", "name", "wire",
                "netns", str(holder.pid))
            _ip("link", "set", f"port{i}", "master", "hub", "up")

    def command(self, host, *words):
        """The command that runs these words on that host."""
        return [AGENT, self.names[host], *map(str, words)]

    def cut(self, host):
        """Breaks the host's wire, silently."""
        if self.wire:
            self.wire.say("cut", host)
        else:
            _ip("link", "set", f"port{host}", "down")

    def close(self):
        if self.wire:
            self.wire.close()
        else:  # now: the kernel is slow to remove namespaces
            for i in range(len(self.holders)):
                _ip("link", "del", f"port{i}")
            _ip("link", "del", "hub")
        for holder in self.holders:
            holder.kill()
            holder.wait()
            holder.stdin.close()
            holder.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Wire:
    """A hub in a process of its own, between a tap device `wire` in each given namespace."""

    def __init__(self, pids):
        self.taps = [self._open_tap(pid) for pid in pids]
        read_end, self.control = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.control)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                self._carry(read_end)
                os._exit(0)
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(read_end)
        for tap in self.taps:
            os.close(tap)

    @staticmethod
    def _open_tap(pid):
        own = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        try:
            _set_netns(there)
            tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"wire", IFF_TAP_NO_PI))
        except OSError as e:
            raise Unavailable(f"/dev/net/tun: {e}") from None
        finally:
            _set_netns(own)
            os.close(own)
            os.close(there)
        return tap

    def say(self, *words):
        """loss SHARE, delay SECONDS, cut HOST: from now on."""
        os.write(self.control, (" ".join(map(str, words)) + "\n").encode())

    def close(self):
        os.close(self.control)
        if os.waitpid(self.pid, 0)[1] != 0:
            raise RuntimeError("the wire broke down, not by request")

    def _carry(self, control):
        loss, delay, is_cut = 0.0, 0.0, set()
        waiting = []  # (when, from, frame), ordered by time: the delay is the same for all
        dice = random.Random(1)
        text = b""
        while True:
            pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
            ready, _, _ = select.select([control, *self.taps], [], [], pause)
            if control in ready:
                piece = os.read(control, 4096)
                if not piece:
                    return
                *lines, text = (text + piece).split(b"\n")
                for verb, value in (line.decode().split() for line in lines):
                    loss = float(value) if verb == "loss" else loss
                    delay = float(value) if verb == "delay" else delay
                    is_cut |= {int(value)} if verb == "cut" else set()
            now = time.monotonic()
            for i, tap in enumerate(self.taps):
                for _ in range(64 if tap in ready else 0):
                    try:
                        frame = os.read(tap, 65536)
                    except BlockingIOError:
                        break
                    if i not in is_cut and dice.random() >= loss:
                        waiting.append((now + delay, i, frame))
            while waiting and waiting[0][0] <= time.monotonic():
                _, i, frame = waiting.pop(0)
                for k, tap in enumerate(self.taps):
                    if k != i and k not in is_cut:
                        try:
                            os.write(tap, frame)
                        except (BlockingIOError, OSError):
                            pass  # a full device drops frames, as wires do
