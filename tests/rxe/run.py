#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs far tests over UCX's verbs on an RDMA device in software (soft-RoCE, rdma_rxe) in a machine of QEMU, which boots
Debian's kernel. The kernel here need not have the device. Its last line is `N passed, N failed, N skipped`.

    run.py BUILD [NAME...]
    run.py BUILD --targets     what ninja must have built

With names, only those tests. Without KVM, or where it does not run a kernel, QEMU translates the code: the same in a
few minutes more. What it needs lies in BUILD/rxe: packages of kernel and busybox, which are unpacked, not installed;
`console.txt`, what the kernel said; `output.txt`, what the tests said."""
import fcntl
import glob
import os
import platform
import re
import select
import shutil
import signal
import subprocess
import sys
import time

from archive import Archive

# UCX_TLS by what a test's name ends in: UCX's names of reliable connections by verbs, and of datagrams, over which
# gshmem's messages carry all; and what UCX chooses without shared memory.
WAYS = {'rc': 'rc_v', 'ud': 'ud_v', 'any': '^sm'}
# program, number of PEs, its arguments, ways. Without a number it starts its PEs by itself, over the way of its second
# argument.
TESTS = (
    ('unit/transport_conform', 0, ['--ordered=5000'], ['rc', 'ud']),
    ('unit/transport_loss', 0, ['killed'], ['rc', 'ud']),
    ('amo_cpu', 2, ['--count=1'], ['rc', 'ud', 'any']),
    ('check_amo_cpu', 2, ['--quick'], ['rc']),
    ('order_cpu', 2, ['--count=20'], ['rc', 'ud', 'any']),
    ('heap_cpu', 2, [], ['rc', 'any']),
    ('contexts_cpu', 2, ['--count=1'], ['rc']),
    ('litmus_cpu', 2, ['--count=20'], ['rc']),
)
# For so many seconds, at least once.
AGAIN = {'litmus_cpu': 60}
MODULES = ('crc32_generic', 'udp_tunnel', 'ip6_udp_tunnel', 'ib_core', 'ib_uverbs', 'rdma_rxe', 'dummy')
# Seconds that a test may take, by KVM and without.
LIMITS = {'kvm': 200, 'tcg': 900}
# In which the kernel says something, or KVM does not run it.
BOOT_LIMIT = 20
TABLES = ('/usr/lib/x86_64-linux-gnu', '/usr/lib64')


class Missing(Exception):
    """This machine lacks something."""


def say(text):
    print(f'== {text}', flush=True)


def output_of(*command, cwd=None):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd).stdout
    except FileNotFoundError as e:
        raise Missing(f'no {command[0]} here') from e
    except subprocess.CalledProcessError as e:
        raise Missing(f'{" ".join(command)}: {e.stderr.strip()}') from e


# ---- what the machine consists of -------------------------------------------------------------------

def unpacked(folder, package):
    """The folder into which the package is unpacked; packages of older versions go."""
    into = os.path.join(folder, package)
    if not os.path.isdir(into):
        say(f'getting {package}')
        for old in glob.glob(os.path.join(folder, re.sub(r'\d.*', '', package) + '*')):
            shutil.rmtree(old) if os.path.isdir(old) else os.remove(old)
        output_of('apt-get', 'download', '-qq', '-o', 'APT::Sandbox::User=root', package, cwd=folder)
        [file] = glob.glob(os.path.join(folder, f'{package}_*.deb'))
        output_of('dpkg-deb', '-x', file, into + '.new')
        os.remove(file)
        os.rename(into + '.new', into)
    return into


def kernel_package():
    found = re.search(r'Depends: (linux-image-\S+)', output_of('apt-cache', 'depends', 'linux-image-amd64'))
    if not found:
        raise Missing('apt knows no package linux-image-amd64')
    return found[1]


def programs(tests):
    return ['gshmemrun', 'libgshmem_ucx.so', *sorted({f'tests/{program}' for _, program, *_ in tests})]


def pack(build, folder, kernel, tests):
    """Writes the initial file system; returns its path."""
    def find(what, *patterns):
        found = [path for pattern in patterns for path in glob.glob(pattern, recursive=True)]
        if not found:
            raise Missing(f'no {what} here')
        return found

    archive = Archive()
    archive.console('dev/console')
    for name in ('bin', 'lib', 'lib64', 'sbin'):
        if os.path.islink(f'/{name}') and name != 'bin':
            archive.link(name, os.readlink(f'/{name}'))
    archive.copy(find('busybox', os.path.join(unpacked(folder, 'busybox-static'), '**/bin/busybox'))[0], 'bin/busybox')
    archive.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'init'), 'init')
    for name in programs(tests):
        archive.copy_program(os.path.join(build, name))
    for path in find("plug-in of UCX's for verbs", *(f'{top}/ucx/libuct_ib.so*' for top in TABLES)):
        archive.copy_program(path)
    for path in find('provider of libibverbs for soft-RoCE', *(f'{top}/libibverbs/librxe-*.so' for top in TABLES)):
        archive.copy_program(path)
    archive.copy(find('provider of libibverbs for soft-RoCE', '/etc/libibverbs.d/rxe.driver')[0])
    archive.copy_program(shutil.which('rdma', path=os.environ['PATH'] + ':/sbin:/usr/sbin') or find('rdma')[0])
    lines = []
    for name in MODULES:
        module = find(f'module {name} in {kernel}', os.path.join(kernel, '**', f'{name}.ko'))[0]
        archive.copy(module, f'modules.d/{name}.ko')
        lines.append(f'/modules.d/{name}.ko\n')
    archive.write('modules', ''.join(lines).encode())
    archive.write('tests', tests_script(build, tests).encode())
    path = os.path.join(folder, 'initramfs')
    archive.save(path)
    return path


def tests_script(build, tests):
    lines = ['export GSHMEM_CONFIG=none GSHMEM_DEVICE=cpu GSHMEM_NODE_PES=1 GSHMEM_WAIT_TIMEOUT=100']
    for name, program, n_pes, arguments, way in tests:
        path = os.path.join(build, 'tests', program)
        command = [path, os.path.join(build, 'libgshmem_ucx.so'), WAYS[way], *arguments]
        if n_pes:
            command = [os.path.join(build, 'gshmemrun'), '-n', str(n_pes), path, *arguments]
        lines.append(' '.join(['run', name, *(f"'{word}'" for word in [WAYS[way], AGAIN.get(program, 0), *command])]))
    return '\n'.join(lines) + '\n'


# ---- the machine ------------------------------------------------------------------------------------

class Machine:
    """QEMU with what it says: output, an iterator of lines of the tests, and the console's file."""

    def __init__(self, folder, kernel, initramfs, accelerator):
        self.console = os.path.join(folder, 'console.txt')
        self.accelerator = accelerator
        if os.path.exists(self.console):
            os.remove(self.console)
        processor = 'host,-arch-capabilities' if accelerator == 'kvm' else 'max'
        [image] = glob.glob(os.path.join(kernel, 'boot/vmlinuz-*'))
        self.process = subprocess.Popen(
            ['qemu-system-x86_64', '-machine', 'q35', '-accel', accelerator, '-cpu', processor, '-smp', '2',
             '-m', '2048', '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-kernel', image,
             '-initrd', initramfs, '-append', f'console=ttyS0 panic=-1 quiet limit={LIMITS[accelerator]}',
             '-serial', f'file:{self.console}', '-serial', 'stdio'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.rest = b''

    def line(self, seconds):
        """The next line; None at the end, or if none comes in so many seconds."""
        end = time.monotonic() + seconds
        while b'\n' not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            more = os.read(self.process.stdout.fileno(), 65536) if ready else b''
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b'\n', 1)
        return line.decode(errors='replace').rstrip('\r')

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def has_kvm():
    try:
        with open('/dev/kvm', 'rb+', buffering=0) as file:
            return fcntl.ioctl(file, 0xAE00) == 12  # KVM_GET_API_VERSION
    except OSError:
        return False


def boot(*parts):
    """A machine whose tests begin."""
    for accelerator in ['kvm'] * has_kvm() + ['tcg']:
        machine = Machine(*parts, accelerator)
        try:
            line = machine.line(BOOT_LIMIT if accelerator == 'kvm' else LIMITS['tcg'])
            lines = []
            while line is not None and line != '@ ready':
                lines.append(line)
                line = machine.line(LIMITS[accelerator])
            if line is not None:
                say(f'tests run in a machine of QEMU, {"by KVM" if accelerator == "kvm" else "without KVM: slowly"}')
                return machine
        except BaseException:
            machine.stop()
            raise
        machine.stop()
        say(f'QEMU boots no kernel by {accelerator}' + ''.join('\n' + line for line in lines[-20:]))
    return None


def judge(machine, tests, log):
    """The names of those that passed; prints a line for each test, and what a failed one said."""
    passed, said = [], []
    for number, (name, *_) in enumerate(tests, 1):
        begun = time.monotonic()
        while True:
            line = machine.line(LIMITS[machine.accelerator] + 100)
            if line is None:
                print('\n'.join(said[-60:]), f'\nthe machine ended in {name}; {machine.console} may say why')
                return passed
            log.write(line + '\n')
            end = re.fullmatch(rf'@ end {name} (\d+) (\d+)', line)
            if end:
                break
            said.append(line)
        is_good = end[1] == '0'
        if is_good:
            passed.append(name)
        else:
            print('\n'.join(said[-60:]))
        print(f'{number:2}/{len(tests)} {name:24} {"OK  " if is_good else "FAIL"} {time.monotonic() - begun:6.1f}s '
              f'{end[2]} packets', flush=True)
        said = []
    return passed


def main(build, names):
    tests = [(f'{os.path.basename(program).removesuffix("_cpu")}_{way}', program, n_pes, arguments, way)
             for program, n_pes, arguments, ways in TESTS for way in ways]
    if names == ['--targets']:
        print(*programs(tests))
        return 0
    unknown = set(names) - {test[0] for test in tests}
    if unknown:
        print(f'run.py: no test {", ".join(unknown)}; there are', *(test[0] for test in tests), file=sys.stderr)
        return 2
    tests = [test for test in tests if not names or test[0] in names]
    folder = os.path.join(build, 'rxe')
    os.makedirs(folder, exist_ok=True)
    try:
        if platform.machine() != 'x86_64':
            raise Missing('the machine is one of x86-64')
        output_of('qemu-system-x86_64', '--version')
        kernel = unpacked(folder, kernel_package())
        initramfs = pack(build, folder, kernel, tests)
    except Missing as e:
        say(f'skipped: {e}')
        print(f'0 passed, 0 failed, {len(tests)} skipped')
        return 77
    machine = boot(folder, kernel, initramfs)
    if machine is None:
        return 1
    try:
        with open(os.path.join(folder, 'output.txt'), 'w', 1, encoding='utf-8') as log:
            passed = judge(machine, tests, log)
    finally:
        machine.stop()
    print(f'{len(passed)} passed, {len(tests) - len(passed)} failed, 0 skipped')
    return 0 if len(passed) == len(tests) else 1


if __name__ == '__main__':
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the machine ends, too
    sys.exit(main(os.path.realpath(sys.argv[1]), sys.argv[2:]))
