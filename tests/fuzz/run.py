#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one fuzzer from its corpus, and prints how many inputs it tried. Fails when the fuzzer does, or tried fewer.

    run.py FUZZER CORPUS --runs N                 always the same inputs
    run.py FUZZER CORPUS --seconds S [--found DIR] [--keep]

CORPUS is a text file with one input a line, in Python's notation for bytes without quotes; lines that begin with # say
what follows. What a run finds goes to DIR, where the next one begins, or nowhere; --keep adds the part of it that
reaches other code to CORPUS. An input that fails is saved beside the fuzzer as NAME-failure-*, and the fuzzer with
that file as its argument fails again."""
import argparse, glob, os, re, signal, subprocess, sys, tempfile, time

MOST_INPUTS, MOST_BYTES = 64, 16384  # of a corpus: it is read by people, and run by each test


def read_corpus(path):
    inputs = []
    with open(path, encoding='ascii') as file:
        for line in file.read().splitlines():
            if line and not line.startswith('#'):
                inputs.append(line.encode('latin-1').decode('unicode_escape').encode('latin-1'))
    return inputs


def spell(data):
    text = ''.join(chr(b) if 33 <= b < 127 and chr(b) not in '#\\' else f'\\x{b:02x}' for b in data)
    return re.sub(r'(?<!^)\\x20(?!$)', ' ', text)


def write_inputs(inputs, folder):
    os.makedirs(folder, exist_ok=True)
    for i, data in enumerate(inputs):
        with open(os.path.join(folder, f'{i:03}'), 'wb') as file:
            file.write(data)


def read_inputs(folder):
    inputs = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), 'rb') as file:
            inputs.append(file.read())
    return sorted(inputs, key=lambda data: (len(data), data))


def statistic(pattern, log):
    found = re.findall(pattern, log, re.M)
    return int(found[-1]) if found else 0


def run(command, log_path):
    """The fuzzer's status; its children end with it."""
    with open(log_path, 'wb') as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            return child.wait()
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def is_small(inputs):
    return len(inputs) <= MOST_INPUTS and sum(map(len, inputs)) <= MOST_BYTES


def keep(fuzzer, corpus, known, folder, scratch):
    """Adds to the corpus what reaches code that its inputs do not, the shortest first, as long as it is small."""
    merged = os.path.join(scratch, 'merged')
    write_inputs(known, merged)
    log_path = os.path.join(scratch, 'merge.log')
    if run([fuzzer, '-merge=1', '-use_counters=0', merged, folder], log_path) != 0:
        with open(log_path, errors='replace') as log:
            sys.exit(log.read())
    new = [data for data in read_inputs(merged) if data not in known]
    n = len(new)
    while not is_small(known + new[:n]):
        n -= 1
    with open(corpus, 'a', encoding='ascii') as file:
        for data in new[:n]:
            file.write(spell(data) + '\n')
    print(f'   {n} inputs added to {corpus}' + (f', which has no room for {len(new) - n} more' if n < len(new) else ''))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('fuzzer')
    parser.add_argument('corpus')
    limit = parser.add_mutually_exclusive_group(required=True)
    limit.add_argument('--runs', type=int)
    limit.add_argument('--seconds', type=int)
    parser.add_argument('--found')
    parser.add_argument('--keep', action='store_true')
    args = parser.parse_args()
    name = os.path.basename(args.fuzzer).removeprefix('fuzz_')
    failure = os.path.join(os.path.dirname(os.path.abspath(args.fuzzer)), name + '-failure-')
    known = read_corpus(args.corpus)
    if not known:
        sys.exit(f'{args.corpus} holds no input')
    if not is_small(known):
        sys.exit(f'{args.corpus} is larger than {MOST_INPUTS} inputs and {MOST_BYTES} bytes in all')

    with tempfile.TemporaryDirectory(prefix='gshmem-fuzz-') as scratch:
        found = args.found or os.path.join(scratch, 'found')
        begin = os.path.join(scratch, 'corpus')
        log_path = os.path.join(scratch, 'log')
        os.makedirs(found, exist_ok=True)
        write_inputs(known, begin)
        command = [os.path.abspath(args.fuzzer), f'-artifact_prefix={failure}', '-print_final_stats=1', '-timeout=100']
        if args.runs:
            # Not what is compared in the program: there are addresses among it, which differ from run to run.
            command += ['-seed=1', '-use_cmp=0', f'-runs={args.runs}']
        else:
            command += [f'-max_total_time={args.seconds}']
        begun = time.monotonic()
        status = run(command + [found, begin], log_path)
        seconds = time.monotonic() - begun
        with open(log_path, errors='replace') as file:
            log = file.read()
        executions = statistic(r'^stat::number_of_executed_units: *(\d+)', log)
        print(f'{name}: {executions} executions in {seconds:.1f} s, {executions / seconds:.0f} a second, '
              f'{statistic("cov: ([0-9]+)", log)} places in the code reached, corpus of {len(known)} inputs')
        if status != 0:
            print(log[-20000:])
            kept = sorted(glob.glob(glob.escape(failure) + '*'), key=os.path.getmtime)
            print(f'failed with status {status}; the input: {kept[-1] if kept else "none was saved"}')
            return 1
        if executions < (args.runs or 1):
            print(log[-20000:])
            print(f'tried too few inputs: {executions}')
            return 1
        if args.keep:
            keep(os.path.abspath(args.fuzzer), args.corpus, known, found, scratch)
    return 0


sys.exit(main())
