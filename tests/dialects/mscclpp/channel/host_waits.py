#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the hang report has what a host thread waits for in MSCCL++'s calls: the call under its own name, and the
PE that is to end the wait, where one is. The program is started once for each call, and gshmem-info --job asks until
the report says so.

    host_waits.py GSHMEMRUN GSHMEM_INFO PROGRAM"""

import concurrent.futures
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "multi"))
import hang  # noqa: E402

# The PE that is waited for; -1: none in particular.
CALLS = {"TcpBootstrap::initialize": -1, "TcpBootstrap::recv": 1, "TcpBootstrap::barrier": -1,
         "TcpBootstrap::allGather": -1, "Bootstrap::groupBarrier": 1, "Bootstrap::broadcast": 1,
         "Communicator::recvMemory": 1, "Communicator::connect": 1, "Communicator::buildSemaphore": 1,
         "Host2HostSemaphore::wait": 1, "Proxy::start": -1, "Proxy::stop": -1, "Connection::flush": 1}
WORDS = {"TcpBootstrap::initialize": "PE 1, which does not wait, has not done its part of it",
         "TcpBootstrap::recv": "PE 1 has not done its part of TcpBootstrap::recv, for which PE 0 waits",
         "Connection::flush": "PE 1 does not answer: its process"}


def is_named(report, call):
    waits = [w for w in report["pes"][0].get("waits", []) if "host_thread" in w]
    return [(w["call"], w["for"], w["pe"]) for w in waits] == [(call, "peer", CALLS[call])] and \
        WORDS.get(call, "") in report["verdict"]["text"]


def run_case(launcher, info, program, call):
    """None, or what is wrong."""
    wrong = hang.ask_until([launcher, "-n", "2", program, call], info, lambda report: is_named(report, call),
                           {**os.environ, "GSHMEM_WAIT_TIMEOUT": "0"})
    return wrong and f"{call}: no report names it: {wrong}"


def main():
    with concurrent.futures.ThreadPoolExecutor(hang.AT_ONCE) as pool:
        wrong = [w for w in pool.map(lambda call: run_case(*sys.argv[1:4], call), CALLS) if w]
    print("\n".join(wrong) if wrong else f"{len(CALLS)} calls named")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
