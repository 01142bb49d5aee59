# SPDX-License-Identifier: Apache-2.0
"""gshmem.mscclpp: ranks put into each other's arrays by kernels that get channels' handles as bytes."""
import os
import subprocess
import sys


def test_channels():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'channel_calls.py')
    result = subprocess.run(['gshmemrun', '-n', '3', sys.executable, program], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, timeout=300)
    said = [line for line in result.stdout.splitlines() if not line.startswith('gshmemrun: ')]  # a slow start
    assert result.returncode == 0 and said == ['right'] * 3, result.stdout
