#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the device library to LLVM bitcode that other compilers can link.

    bitcode.py OUTPUT INPUT -- CLANG ARGS...

Between clang's output and the file:

- Only the calls stay visible, so that a compiler that links the file drops what its kernel does not use.
- Notes that only messages and analyses would use are left out, which is an eighth of the file.
- Clang notes in the module that numbers below the normal range are kept. The module of a compiler that flushes them,
  such as Triton, says otherwise, and LLVM then refuses to link the two: the note is taken out, so the other's holds.
- Functions have no alignment of their own. Clang gives it to C++ member functions, and libNVVM, by which CuTe DSL
  compiles, refuses it.
- Structures that are passed by value become pointers to the caller's copy, after LLVM has found that the function only
  reads it: where pointers to local memory have 32 bits, as Triton has it, LLVM 21 has no code for the former. A call
  that passes one is no tail call any more: such a call promises not to read what the caller has, so that LLVM would
  not even write it."""
import re
import subprocess
import sys


def without_flag(text, name):
    """The text of a module without that one of its flags."""
    flags = re.search(r'^!llvm\.module\.flags = !\{(.*)\}$', text, re.M)
    node = re.search(rf'^(!\d+) = !\{{i32 \d+, !"{name}".*$', text, re.M)
    if flags is None or node is None:
        return text
    kept = ', '.join(n for n in flags[1].split(', ') if n != node[1])
    return text.replace(flags[0], f'!llvm.module.flags = !{{{kept}}}')


def with_private_helpers(text):
    """Functions that are no calls of the library are internal."""
    def change(definition):
        head = definition.group()
        if re.search(r'@(nv|g)shmemx?_', head):
            return head
        head = re.sub(r'\b(weak_odr|linkonce_odr|weak|linkonce) (dso_local )?', 'internal ', head)
        return re.sub(r' comdat(\([^)]*\))?', '', head)
    return re.sub(r'^define .*$', change, text, flags=re.M)


def without_copies(text):
    """Parameters of functions are pointers to what the caller has."""
    copy = r'byval\((?:%"[^"]*"|%[\w.]+)\) '
    for head in re.findall(r'^define .*$', text, re.M):
        for parameter in re.findall(rf'[^,(]*{copy}', head):
            if ' readonly ' not in parameter:
                sys.exit(f'bitcode.py: this function changes a structure that it is given by value: {head}')
    lines = (line.replace('tail call ', 'call ', 1) if re.search(copy, line) else line for line in text.split('\n'))
    return re.sub(copy, '', '\n'.join(lines))


def without_alignment(text):
    """Functions have none; parameters keep theirs."""
    return re.sub(r'^(define .*#\d+) align \d+', r'\1', text, flags=re.M)


def run(clang, *arguments, text=None):
    return subprocess.run([*clang, *arguments], check=True, text=True, input=text, stdout=subprocess.PIPE).stdout


def main():
    output, source, _, clang, *arguments = sys.argv[1:]
    text = run([clang], *arguments, '-S', '-emit-llvm', '-o', '-', source)
    text = re.sub(r', !(srcloc|tbaa) !\d+', '', without_flag(text, 'nvvm-reflect-ftz'))
    again = [clang, '--target=nvptx64-nvidia-cuda', '-Wno-override-module', '-emit-llvm', '-x', 'ir']
    text = without_copies(run(again, '-O3', '-S', '-o', '-', '-', text=with_private_helpers(text)))
    text = without_alignment(text)
    run(again, '-O0', '-c', '-o', output, '-', text=text)


main()
