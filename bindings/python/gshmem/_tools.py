# SPDX-License-Identifier: Apache-2.0
"""The console scripts: the tools of the wheel in place of this process."""
import os
import sys

from ._library import package_folder


def _run(name):
    folder = package_folder()
    if folder is None:
        sys.exit(f'{name}: this gshmem is not installed from a wheel; use the {name} beside its library')
    path = os.path.join(folder, 'bin', name)
    os.execv(path, [name] + sys.argv[1:])


def gshmemrun():
    _run('gshmemrun')


def gshmem_info():
    _run('gshmem-info')


def gshmem_trace():
    _run('gshmem-trace')
