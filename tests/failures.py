#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which tests of a meson build did not pass, and the end of what each said.

    failures.py BUILD_DIR"""
import json
import os
import sys

LINES = 30  # of each test

with open(os.path.join(sys.argv[1], 'meson-logs/testlog.json'), encoding='utf-8', errors='replace') as log:
    for line in log:
        try:
            test = json.loads(line)
        except ValueError:  # meson was killed while it wrote
            continue
        if test['result'] in ('OK', 'EXPECTEDFAIL', 'SKIP'):
            continue
        name = test['name'].rpartition(' / ')[2]
        print(f'== {name} of {sys.argv[1]}: {test["result"]} after {test["duration"]:.0f} s')
        said = (test.get('stdout') or '') + (test.get('stderr') or '')
        for text in said.splitlines()[-LINES:]:
            print('   ', text)
