# SPDX-License-Identifier: Apache-2.0
"""The table of prototypes is what the headers say, and has what the package calls."""
import ctypes
import glob
import os
import re

import pytest

import gshmem
import gshmem.device
from gshmem import _library

C_TYPES = {'void': None, 'int': 'i4', 'int32_t': 'i4', 'uint32_t': 'u4', 'int64_t': 'i8', 'uint64_t': 'u8',
           'size_t': 'u8', 'long': 'i8', 'unsigned int': 'u4', 'gshmem_team_t': 'i4', 'float': 'f4', 'double': 'f8'}


def kind_of_c(text):
    """pointer, or the kind and size of a number."""
    text = re.sub(r'\b(const|volatile)\b', '', text).strip()
    return 'pointer' if '*' in text or text == 'gshmemx_stream_t' else C_TYPES[text]


def kind_of_ctypes(t):
    if t is None:
        return None
    if t in (ctypes.c_void_p, ctypes.c_char_p) or hasattr(t, 'contents'):
        return 'pointer'
    letter = 'f' if t in (ctypes.c_float, ctypes.c_double) else 'i' if t(-1).value < 0 else 'u'
    return f'{letter}{ctypes.sizeof(t)}'


def declarations():
    include = os.path.join(gshmem.get_include(), 'gshmem')
    found = {}
    for path in glob.glob(os.path.join(include, '**', '*.h'), recursive=True):
        text = re.sub(r'/\*.*?\*/', ' ', open(path, encoding='utf-8').read(), flags=re.S)
        for m in re.finditer(r'^(\w[\w ]*?[ *]+)(gshmemx?_\w+)\(([^()]*)\)[^;{]*;', text, re.M):
            if not m[1].startswith('return '):
                found.setdefault(m[2], (m[1], m[3]))
    return found


def test_prototypes():
    headers = declarations()
    table = {**_library.PROTOTYPES, **_library.typed_prototypes()}
    wrong = []
    for name, (result, arguments) in table.items():
        if name not in headers:
            wrong.append(f'{name} is not in the headers')
            continue
        its_result, its_arguments = headers[name]
        parts = [re.sub(r'\w+$', '', a.strip()) if not a.strip().endswith('*') else a
                 for a in its_arguments.split(',') if a.strip() not in ('', 'void')]
        expected = (kind_of_c(its_result), [kind_of_c(p) for p in parts])
        if (kind_of_ctypes(result), [kind_of_ctypes(a) for a in arguments]) != expected:
            wrong.append(f'{name}: {its_result}({its_arguments})')
    assert not wrong, '\n'.join(wrong)
    assert len(table) > 150


def test_all_calls_are_in_the_table():
    folder = os.path.dirname(_library.__file__)
    for path in glob.glob(os.path.join(folder, '*.py')):
        for name in re.findall(r'\blibrary\.(gshmem\w+)', open(path, encoding='utf-8').read()):
            assert name in _library.PROTOTYPES, f'{os.path.basename(path)}: {name}'


def test_library_has_them():
    for name in {**_library.PROTOTYPES, **_library.typed_prototypes()}:
        assert getattr(gshmem._library.library, name)


def test_device_functions():
    """The table of device functions is what the device headers define: the compiler compares them."""
    table = gshmem.device.functions()
    assert len({row['name'] for row in table}) == len(table) > 300
    lines = [f'static {row["result"]} (*const p{i})({", ".join(a["type"] for a in row["arguments"])}) = {row["name"]};'
             for i, row in enumerate(table)]
    source = '\n'.join(lines) + '\n__global__ void k() {}\n'
    gshmem.run_threads(1, lambda: gshmem.compile(source))
    aliases = [alias for row in table for alias in row['aliases']]
    assert 'nvshmemx_putmem_nbi_block' in aliases and 'nvshmem_signal_wait_until' in aliases
    with pytest.raises(gshmem.Error, match='ltoir: this wheel has none for sm_10'):
        gshmem.device.ltoir('sm_10')
