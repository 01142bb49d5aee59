# SPDX-License-Identifier: Apache-2.0
"""Kernels of CuTe DSL with gshmem.cute's calls, compiled and refused. In a file: CuTe DSL reads their source."""
import glob
import subprocess

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor

import gshmem
import gshmem.device

try:
    gshmem.device.bitcode()
except gshmem.Error:
    source = '#include <stddef.h>\n#include <stdint.h>\ntypedef int gshmem_team_t;\n'
    for row in gshmem.device.functions():
        parameters = ', '.join(f'{a["type"]} {a["name"]}' for a in row['arguments']) or 'void'
        body = '' if row['result'] == 'void' else 'return 0;'
        source += f'{row["result"]} {row["name"]}({parameters}) {{ __asm__ volatile("// {row["name"]}"); {body} }}\n'
    subprocess.run(['clang', '-x', 'c', '--target=nvptx64-nvidia-cuda', '-ffreestanding', '-c', '-emit-llvm', '-O1',
                    '-o', 'calls.bc', '-'], input=source, text=True, check=True)
    gshmem.device.bitcode = lambda: 'calls.bc'

import gshmem.cute as gs  # noqa: E402
import gshmem.examples.cute_ring as example  # noqa: E402


def tensor(dtype, n=64):
    return make_fake_tensor(dtype, (n,), stride=(1,))


numbers, words, doubles = tensor(cutlass.Int32), tensor(cutlass.Uint64, 1), tensor(cutlass.Float64)
assert cute.compile(example.launch, numbers, numbers, words).has_gpu_module
text = ''.join(open(path).read() for path in glob.glob('*.ptx'))
assert text.count('.entry') == 1, text


def wrong(text, use, *tensors):
    @cute.kernel
    def kernel(given: cute.Tensor):
        use(given)

    @cute.jit
    def launch(given: cute.Tensor):
        kernel(given).launch(grid=[1, 1, 1], block=[32, 1, 1])

    try:
        cute.compile(launch, *tensors)
    except Exception as e:
        assert text in str(e), e
        return
    raise AssertionError(f'refused nothing of: {text}')


wrong('gshmem_int_p: dest is of Float64, not of Int32: C has int *', lambda a: gs.gshmem_int_p(a, 3, 0), doubles)
wrong('gshmem_int_p: dest is a int, not a tensor or pointer', lambda a: gs.gshmem_int_p(3, 3, 0), numbers)
wrong('gshmem_int_p: pe is Float32, not an integer: C has int', lambda a: gs.gshmem_int_p(a, 3, 0.5), numbers)
wrong('gshmem_int_p: value is a ', lambda a: gs.gshmem_int_p(a, a, 0), numbers)
wrong('gshmem_int_p: 2 arguments for 3 parameters', lambda a: gs.gshmem_int_p(a, 3), numbers)
print('right')
